"""A prompt described in YAML: its sections with their contents, and settings of the prompt.

The settings are read by the table of `brim.yaml`, and are one more layer above those of a project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brim.amounts import units
from brim.errors import InvalidValue, SourceError, UnknownName, shown
from brim.files.source import Source, parse, place, text_of
from brim.files.source import load as load_yaml
from brim.files.text_files import matching
from brim.meter.window import Window
from brim.receipts.section import Section
from brim.sections.prompt_fit import Prompt
from brim.settings.keys import ANY, TREE
from brim.settings.loader import load
from brim.settings.prompt import OPTIONS
from brim.settings.reader import Reader
from brim.settings.values import Value, Values

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_PROMPT = TREE["prompt"]
_TOP = {
    **{name: TREE[name] for name in ("model", "meter")},
    **{name: _PROMPT[name] for name in OPTIONS},
}
"""The settings of a file."""
_SECTION = TREE["sections"][ANY]
"""The settings of a section."""
_OWN = ("model", "meter")
"""Settings that are passed to a fit, so that they replace those of a project together with its window."""
_CONTENTS = ("content", "file", "files")
"""The keys for a section's content, of which exactly one must be set."""
_LABELS = ("forms", "scores", "ids")
"""The options of a section that are no settings, because they belong to its content."""
_WINDOW_KEYS = ("model", "size", "reserve", "cap", "warn", "limit")

_LOOKS_LIKE_ONE = re.compile(r"^sections[ \t]*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Spec:
    """A prompt described by a file."""

    source: Source
    contents: Sequence[Section]
    """The sections with their names and contents, but without the settings of the file."""
    values: Values
    """The settings of the file."""
    own: Mapping[str, Any]
    """The model, the meter and the budget, as far as the file sets them."""

    def settings(self, below: Resolved | None = None) -> Resolved:
        """Return the settings of the file, above other settings or the defaults."""
        return (load({}, {}, {}).resolve() if below is None else below).under(self.values)

    def sections(self, below: Resolved | None = None) -> list[Section]:
        """Return the sections with their settings.

        Raises:
            SourceError: a setting is invalid.
        """
        settings = self.settings(below)
        labels = [{name: getattr(each, name) for name in _LABELS} for each in self.contents]
        return [settings.section(e.name, e.content, **own) for e, own in zip(self.contents, labels, strict=True)]

    def fit(self, below: Resolved | None = None, **options: Any) -> Prompt:
        """Return the fitted prompt.

        Args:
            below: the settings of a profile; the file overrides them.
            options: arguments of `brim.fit`, which override both; `None` means not set.

        Raises:
            DoesNotFit: the required sections are bigger than the budget.
            SourceError: a value of the file or of the settings is invalid.
            InvalidValue: an argument is invalid.
            UnknownName: no model or meter has the name in an argument.
        """
        options = {key: value for key, value in options.items() if value is not None}
        own = self._own(options)
        if below is None and not (own | options).keys() & {"budget", "model"}:
            raise self.source.error("budget is missing: set tokens or a window, or name a model")
        with self._lines(own, options):
            contents = {section.name: section for section in self.sections(below)}
            return self.settings(below).fit(contents, **own, **options)

    def _own(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the file that no option replaces; a model or a meter replaces both."""
        replaced = options.keys() | ({"model", "meter"} if options.keys() & {"model", "meter"} else set())
        return {key: value for key, value in self.own.items() if key not in replaced}

    @contextmanager
    def _lines(self, own: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[None]:
        """Add the line of the file to an error about one of its values."""
        try:
            yield
        except (InvalidValue, UnknownName) as error:
            key = "meter" if "meter" in own else "model"
            if isinstance(error, InvalidValue) and not isinstance(error, UnknownName):
                key = error.place
            if key not in own and (key in options or f"prompt.{key}" not in self.values):
                raise
            raise self.source.error(str(error), key) from error


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
    source = load_yaml(path) if text is None else parse(text, path)
    reader = Reader(source)
    values = reader.mapping(source.values)
    rows = values.get("sections")
    if not isinstance(rows, list):
        raise source.error(f"sections must be a list of sections, not {shown(rows)}", "sections")
    found = reader.layer(values, "file", ("budget", "sections"), tree=_TOP)
    contents = [_contents(reader, found, rows, i) for i in range(len(rows))]
    reader.finish()
    own: dict[str, Any] = {key: found.pop(key).value for key in _OWN if key in found}
    if values.get("budget") is not None:
        own["budget"] = _budget(source, model=own.get("model"))
    spec = Spec(source, contents, found, own)
    spec.sections()
    return spec


def _budget(source: Source, model: str | None) -> int | Window:
    """Return the budget of a file: tokens, or a window by its size or its model.

    Raises:
        SourceError: the budget is invalid.
    """
    keys = ("budget",)
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


def _contents(reader: Reader, found: dict[str, Value], rows: Sequence[Any], index: int) -> Section:
    """Return the name and the content of a section, and add its settings to those of the file."""
    source, keys = reader.source, ("sections", index)
    row = source.mapping((), *keys)
    name = row.get("name")
    first = next(
        (i for i, each in enumerate(rows[:index]) if isinstance(each, dict) and each.get("name") == name), None
    )
    if not isinstance(name, str) or not name or first is not None:
        other = "a non-empty string" if first is None else f"different from that of sections[{first}]"
        raise source.error(f"{place(keys)}: name must be {other}, not {shown(name)}", *keys, "name")
    found |= reader.layer(row, "file", ("name", *_CONTENTS, *_LABELS), *keys, tree=_SECTION, section=name)
    given = [key for key in _CONTENTS if key in row]
    if len(given) != 1:
        which = " and ".join(given) or "none"
        raise source.error(f"{place(keys)} must have exactly one of {', '.join(_CONTENTS)}, and has {which}", *keys)
    content = _content(source, row[given[0]], *keys, given[0])
    try:
        return Section(name, content, **{each: row[each] for each in _LABELS if each in row})
    except InvalidValue as error:
        slot, _, item = error.place.rpartition(": ")[2].partition("[")
        at = (given[0] if slot == "content" else slot, *((int(item[:-1]),) if item else ()))
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
