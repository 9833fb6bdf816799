"""A prompt described in YAML: its sections, and the arguments of `brim.fit`.

`Section` and `fit` check their own values; this module adds the file and line to their errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue, SourceError, UnknownName, shown
from brim.files.source import Source, load, parse, place, text_of
from brim.files.text_files import matching
from brim.meter.window import Window
from brim.receipts.section import Section
from brim.requests.fit import fit_request
from brim.requests.request import PAGES, Request, RequestTerms
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.settings.project import is_inside
from brim.settings.prompt import OPTIONS

if TYPE_CHECKING:
    from brim.history.request_body import RequestBody
    from brim.settings.resolved import Resolved

_REQUEST = ("model", "meter", "budget", "separator", "fill", "policy")
"""The arguments of a request that a file may set."""
_KEYS = ("model", "meter", "budget", *OPTIONS, "sections", "messages", "tools")
_TERMS = {"messages": ("file", "priority", "floor", "ceiling"), "tools": ("keep", "priority", "floor", "ceiling")}
"""The keys for the messages and the tools of a request."""
_CONTENTS = ("content", "file", "files")
"""The keys for a section's content, of which exactly one must be set."""
_SECTION_KEYS = (
    "name",
    "page",
    *_CONTENTS,
    *(slot.name for slot in fields(Section) if slot.name not in ("name", "content")),
)
_WINDOW_KEYS = ("model", "size", "reserve", "cap", "warn", "limit")

_LOOKS_LIKE_ONE = re.compile(r"^sections[ \t]*:", re.MULTILINE)
_PLACE = re.compile(r"(\w+)(?:\[(\d+)\](?: (\w+))?)?")


@dataclass(frozen=True, slots=True)
class Spec:
    """A prompt described by a file."""

    source: Source
    arguments: Mapping[str, Any]
    """The keyword arguments of `brim.fit`."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """The page of each section in a request, by name: `system` or `user`."""
    terms: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of `brim.fit_request` about messages and tools."""
    messages: str | None = None
    """The file with the messages or the request body, if it is set."""

    def fit_request(self, given: RequestBody, settings: Resolved | None = None, **options: Any) -> Request:
        """Return a request of these sections and the messages, tools and system prompt of a body.

        The file overrides the settings, and options override both.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
            SourceError: a value of the file is invalid.
            InvalidValue: an argument or a message is invalid.
        """
        own = {key: value for key, value in self._own(options).items() if key in _REQUEST}
        if not options.keys() & {"model", "meter"} and given.model:
            known = own.keys() & {"model", "meter"} or (settings is not None and settings.window() is not None)
            own |= {} if known else {"model": given.model}
        pages: dict[str, list[Section]] = {page: [] for page in PAGES}
        for section, row in self.rows:
            made = section if settings is None else settings.section(section.name, section.content, **row)
            page = "user" if settings is None else settings.value(f"sections.{section.name}.page")
            pages[self.pages.get(section.name, page)].append(made)
        if given.system is not None and not isinstance(given.system, str):
            raise InvalidType("system", given.system, "a string, to be joined by sections")
        told = [Section("system", given.system, priority="required")] if given.system else []
        arguments: dict[str, Any] = {**own, **self.terms, "format": given.format, **options}
        arguments = arguments if settings is None else settings.request_options(arguments)
        with self._lines(own, options):
            return fit_request(
                system=[*told, *pages["system"]],
                messages=given.messages,
                user=pages["user"],
                tools=given.tools,
                fields={key: value for key, value in given.fields.items() if key not in ("model", "modelId")},
                **arguments,
            )

    @property
    def rows(self) -> list[tuple[Section, dict[str, Any]]]:
        """The sections, each with its options in the file."""
        sections: list[Section] = self.arguments["sections"]
        names = ("name", "page", *_CONTENTS)
        given = (self.source.at("sections", i) for i in range(len(sections)))
        return [
            (section, {key: value for key, value in row.items() if key not in names})
            for section, row in zip(sections, given, strict=True)
        ]

    def _only_sections(self) -> None:
        """Raise an error if the file describes a request."""
        for key in ("messages", "tools"):
            if self.source.at().get(key) is not None:
                raise self.source.error(
                    f"{key} is for requests: brim fit REQUEST.json --sections {self.source.path}", key
                )

    def fit(self, settings: Resolved | None = None, **options: Any) -> Prompt:
        """Return the fitted prompt.

        Args:
            settings: the settings of a profile; the file overrides them.
            options: arguments of `brim.fit`, which override both; `None` means not set.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            SourceError: a value of the file or of the settings is invalid.
            InvalidValue: an argument is invalid.
            UnknownName: no model or meter has the name in an argument.
        """
        self._only_sections()
        options = {key: value for key, value in options.items() if value is not None}
        own = self._own(options)
        made = {**own, **options}
        with self._lines({**own, "sections": ()}, options):
            if settings is not None:
                rows = {each.name: settings.section(each.name, each.content, **row) for each, row in self.rows}
                return settings.fit(rows, **made)
            if made.get("budget") is None and made.get("model") is None:
                raise self.source.error("budget is missing: set tokens or a window, or name a model")
            return fit(self.arguments["sections"], **made)

    def _own(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the file except its sections; a model or meter in the options replaces its own."""
        left = ("sections", *(("model", "meter") if options.keys() & {"model", "meter"} else ()))
        return {key: value for key, value in self.arguments.items() if key not in left}

    @contextmanager
    def _lines(self, own: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[None]:
        """Add the line of the file to an error about one of its values."""
        try:
            yield
        except (InvalidValue, UnknownName) as error:
            keys = _keys(error, own)
            if not keys or keys[0] in options:
                raise
            raise self.source.error(str(error), *keys) from error


def _keys(error: InvalidValue | UnknownName, own: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return the path of the value that an error of `brim.fit` is about; empty if the file does not set it."""
    if isinstance(error, UnknownName):
        return ("meter",) if "meter" in own else ("model",)
    found = _PLACE.match(error.place)
    if not found or found[1] not in (*own, "budget"):
        return ()
    keys: list[str | int] = [found[1]]
    if found[2]:
        keys.append(int(found[2]))
    return (*keys, found[3]) if found[3] else tuple(keys)


def is_spec(path: str, text: str) -> bool:
    """Return whether a file is a description of a prompt: YAML with `sections:` at the top."""
    return path.endswith((".yaml", ".yml")) and bool(_LOOKS_LIKE_ONE.search(text))


def read_spec(path: str, text: str | None = None) -> Spec:
    """Return the prompt that a file describes; paths in it are relative to the file.

    Args:
        path: the file.
        text: its content, if already read, for example from a pipe.

    Raises:
        SourceError: the file, or a file that it names, cannot be read or is invalid.
    """
    source = load(path) if text is None else parse(text, path)
    values = source.mapping(_KEYS)
    rows = values.get("sections")
    if not isinstance(rows, list):
        raise source.error(f"sections must be a list of sections, not {shown(rows)}", "sections")
    for key in ("model", "meter"):
        if not isinstance(values.get(key), str | None):
            raise source.error(f"{key} must be a string, not {shown(values[key])}", key)
    arguments = {key: values[key] for key in ("model", "meter", *OPTIONS) if key in values}
    if "budget" in values:
        arguments["budget"] = budget_at(source, "budget", model=values.get("model"))
    sections = [_section(source, i) for i in range(len(rows))]
    pages = {section.name: row["page"] for section, row in zip(sections, rows, strict=True) if "page" in row}
    terms, file = _terms(source, values)
    return Spec(source, {"sections": sections, **arguments}, pages, terms, file)


def check_files(path: str, root: str) -> None:
    """Check that a file that describes a prompt, and every file that it names, is inside a project.

    Raises:
        SourceError: a file is outside of it.
    """
    if not is_inside(path, root):
        raise SourceError(path, f"outside of the project {root}")
    source = load(path)
    rows = source.values.get("sections") if isinstance(source.values, dict) else None
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        named = row if isinstance(row, dict) else {}
        patterns = named.get("files") if isinstance(named.get("files"), list) else [named.get("files")]
        for value in (named.get("file"), *(patterns or ())):
            found = [_path(source, value), *matching(_path(source, value))] if isinstance(value, str) else []
            if not all(is_inside(each, root) for each in found):
                raise source.error(f"sections[{i}] names a file outside of the project", "sections", i)


def _terms(source: Source, values: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the arguments about messages and tools, and the file with the messages."""
    terms: dict[str, Any] = {}
    file = None
    for key, name in (("messages", "history"), ("tools", "tools")):
        row = dict(source.mapping(_TERMS[key], key)) if values.get(key) is not None else {}
        if "keep" in row:
            terms["keep_tools"] = row.pop("keep")
        if "file" in row:
            file = _path(source, str(row.pop("file")))
        terms |= {f"{name}_{term}": value for term, value in row.items()}
    try:
        RequestTerms(**terms)
    except InvalidValue as error:
        raise source.error(str(error), "tools" if "tools" in error.place else "messages") from error
    return terms, file


def budget_at(source: Source, *keys: str | int, model: str | None = None) -> int | Window:
    """Return the budget in a file: tokens, or a window by its size or its model.

    Raises:
        SourceError: the budget is invalid.
    """
    value = source.at(*keys)
    where = place(keys)
    if not isinstance(value, dict):
        try:
            return units(where, value)
        except InvalidValue as error:
            raise source.error(str(error), *keys) from error
    window = dict(source.mapping(_WINDOW_KEYS, *keys))
    named, size = window.pop("model", None), window.pop("size", None)
    if (named is None) == (size is None) and (named is not None or model is None):
        raise source.error(f"{where} must have exactly one of model and size", *keys)
    try:
        return Window(size, **window) if size is not None else Window.of(named or model or "", **window)
    except InvalidValue as error:
        raise source.error(f"{where}: {error}", *keys, error.place.rpartition(" ")[2]) from error
    except UnknownName as error:
        raise source.error(f"{where}.model: {error}", *keys, "model") from error


def _section(source: Source, index: int) -> Section:
    keys = ("sections", index)
    row = dict(source.mapping(_SECTION_KEYS, *keys))
    page = row.pop("page", "user")
    if page not in PAGES:
        raise source.error(f"{place(keys)}: page must be one of {', '.join(PAGES)}, not {shown(page)}", *keys, "page")
    given = [key for key in _CONTENTS if key in row]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise source.error(f"{place(keys)} must have exactly one of {', '.join(_CONTENTS)}, and has {found}", *keys)
    kind = given[0]
    content = _content(source, row.pop(kind), *keys, kind)
    try:
        return Section(row.pop("name", None), content, **row)
    except InvalidValue as error:
        name, _, item = error.place.replace("section name", "name").rpartition(": ")[2].partition("[")
        at = (kind if name == "content" else name, *((int(item[:-1]),) if item else ()))
        raise source.error(f"{place(keys)}: {error}", *keys, *at) from error


def _content(source: Source, value: Any, *keys: str | int) -> str | list[str]:
    kind = keys[-1]
    if kind == "content" and isinstance(value, str | list):
        return value
    if kind == "files" and isinstance(value, list):
        return [text for i in range(len(value)) for text in _files(source, value[i], *keys, i)]
    if not isinstance(value, str):
        kinds = {"content": "a string or a list of strings", "files": "a pattern or a list of patterns"}
        expected = kinds.get(str(kind), "a string")
        raise source.error(f"{place(keys)} must be {expected}, not {shown(value)}", *keys)
    return _files(source, value, *keys) if kind == "files" else _text(source, _path(source, value), value, *keys)


def _files(source: Source, pattern: object, *keys: str | int) -> list[str]:
    if not isinstance(pattern, str):
        raise source.error(f"{place(keys)} must be a pattern, not {shown(pattern)}", *keys)
    paths = matching(_path(source, pattern))
    if not paths:
        raise source.error(f"{place(keys)}: no file matches {shown(pattern)}", *keys)
    return [_text(source, path, path, *keys) for path in paths]


def _text(source: Source, path: str, written: str, *keys: str | int) -> str:
    try:
        return text_of(path)
    except SourceError as error:
        raise source.error(f"{place(keys)}: {shown(written)}: {error.problem}", *keys) from error


def _path(source: Source, path: str) -> str:
    return os.path.join(os.path.dirname(source.path), path)
