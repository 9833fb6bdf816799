"""A prompt described in YAML: its sections, and the arguments of `brim.fit`.

`Section` and `fit` check their own values; this module adds the file and line to their errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from brim.amounts import units
from brim.errors import InvalidValue, SourceError, UnknownName, shown
from brim.files.source import Source, load, place, text_of
from brim.files.text_files import matching
from brim.meter.window import Window
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.section_fit import Prompt

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_OPTIONS = (
    *("separator", "order", "fill", "policy", "template", "show_budget", "direction"),
    *("stages", "hard_marker"),
)
_KEYS = ("model", "meter", "budget", *_OPTIONS, "sections")
_CONTENTS = ("text", "file", "entries", "files")
"""The sources of a section's content, of which it has exactly one."""
_SECTION_KEYS = ("name", *_CONTENTS, *(slot.name for slot in fields(Section) if slot.name not in ("name", "content")))
_WINDOW_KEYS = ("model", "size", "reserve", "cap", "warn", "limit")

_LOOKS_LIKE_ONE = re.compile(r"^sections[ \t]*:", re.MULTILINE)
_PLACE = re.compile(r"(\w+)(?:\[(\d+)\](?: (\w+))?)?")


@dataclass(frozen=True, slots=True)
class Spec:
    """A prompt described by a file."""

    source: Source
    arguments: Mapping[str, Any]
    """The keyword arguments of `brim.fit`."""

    @property
    def rows(self) -> list[tuple[Section, dict[str, Any]]]:
        """The sections, each with the options that the file sets for it."""
        sections: list[Section] = self.arguments["sections"]
        names = ("name", *_CONTENTS)
        given = (self.source.at("sections", i) for i in range(len(sections)))
        return [
            (section, {key: value for key, value in row.items() if key not in names})
            for section, row in zip(sections, given, strict=True)
        ]

    def fit_with(self, settings: Resolved, **options: Any) -> Prompt:
        """Return the prompt with the settings of a profile; the file overrides them, and options override both.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            SourceError: a value of the file or of the settings is invalid.
        """
        contents = {section.name: settings.section(section.name, section.content, **own) for section, own in self.rows}
        own = {key: value for key, value in self.arguments.items() if key != "sections"}
        if options.keys() & {"model", "meter"}:
            own = {key: value for key, value in own.items() if key not in ("model", "meter")}
        try:
            return settings.fit(contents, **{**own, **options})
        except (InvalidValue, UnknownName) as error:
            keys = _keys(error, own)
            if not keys or keys[0] in options:
                raise
            raise self.source.error(str(error), *keys) from error

    def fit(
        self,
        *,
        budget: int | Window | None = None,
        model: str | None = None,
        meter: str | None = None,
        capture: bool = False,
    ) -> Prompt:
        """Return the fitted prompt; the arguments override the file.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            SourceError: a value of the file is invalid.
            InvalidValue: an argument is invalid.
            UnknownName: no model or meter has the name in an argument.
        """
        arguments = {"budget": budget, "model": model, "meter": meter}
        overrides = {key: value for key, value in arguments.items() if value is not None}
        own = dict(self.arguments)
        if model is not None or meter is not None:
            own = {key: value for key, value in own.items() if key not in ("model", "meter")}
        options = {**own, **overrides}
        if options.get("budget") is None and options.get("model") is None:
            raise self.source.error("budget is missing: set tokens or a window, or name a model")
        try:
            return fit(**options, capture=capture)
        except (InvalidValue, UnknownName) as error:
            keys = _keys(error, own)
            if not keys or keys[0] in overrides:
                raise
            raise self.source.error(str(error), *keys) from error


def _keys(error: InvalidValue | UnknownName, own: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return the path of the value that an error of `brim.fit` is about; empty if it is not in the file."""
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
    """Return whether a file describes a prompt, rather than being one: it is YAML with `sections:` at its top."""
    return path.endswith((".yaml", ".yml")) and bool(_LOOKS_LIKE_ONE.search(text))


def read_spec(path: str) -> Spec:
    """Return the prompt that a file describes; paths in it are relative to the file.

    Raises:
        SourceError: the file, or one that it names, cannot be read or is invalid.
    """
    source = load(path)
    values = source.mapping(_KEYS)
    rows = values.get("sections")
    if not isinstance(rows, list):
        raise source.error(f"sections must be a list of sections, not {shown(rows)}", "sections")
    for key in ("model", "meter"):
        if not isinstance(values.get(key), str | None):
            raise source.error(f"{key} must be a string, not {shown(values[key])}", key)
    arguments = {key: values[key] for key in ("model", "meter", *_OPTIONS) if key in values}
    if "budget" in values:
        arguments["budget"] = budget_at(source, "budget", model=values.get("model"))
    return Spec(source, {"sections": [_section(source, i) for i in range(len(rows))], **arguments})


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
    if kind == "entries" and isinstance(value, list):
        return value
    if kind == "files" and isinstance(value, list):
        return [text for i in range(len(value)) for text in _files(source, value[i], *keys, i)]
    if kind == "entries" or not isinstance(value, str):
        lists = {"entries": "a list of strings", "files": "a pattern or a list of patterns"}
        expected = lists.get(str(kind), "a string")
        raise source.error(f"{place(keys)} must be {expected}, not {shown(value)}", *keys)
    if kind == "text":
        return value
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
