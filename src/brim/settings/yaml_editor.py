"""Changes or removes one value of a YAML text and keeps every other byte.

The parser's marks give the position of the value, and only that part is rewritten. The new text is parsed and compared
with the expected values, so an edit either is correct or raises an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from brim.errors import SourceError
from brim.files.source import Keys, Source, parse, place

_COLON = re.compile(r"\s*:")
_STEP = 2
"""Columns by which a new block is indented."""


def with_value(text: str, path: str, keys: Keys, value: Any) -> str:
    """Return the text with a new value at `keys`; missing mappings are added.

    Raises:
        SourceError: the text is not plain YAML, or the edit would change other values.
    """
    before = parse(text, path)
    wanted = _with(before.values, path, keys, value)
    return _edited(before, text, keys, wanted, "changed", lambda edit: edit.changed(keys, value))


def without_value(text: str, path: str, keys: Keys, kept: int = 0) -> str:
    """Return the text without the value at `keys`, and without the mappings that become empty.

    The mappings of the first `kept` keys stay. A comment on a line of the value is removed with it.

    Raises:
        SourceError: there is no such value, or the edit would change other values.
    """
    before = parse(text, path)
    wanted = _without(before.values, keys, kept)
    if wanted == before.values:
        raise SourceError(path, f"{place(keys)} is not set here, so it cannot be removed")
    return _edited(before, text, keys, wanted, "removed", lambda edit: edit.removed(keys, kept))


def _edited(  # noqa: PLR0917 - the parts of one edit
    before: Source, text: str, keys: Keys, wanted: Any, verb: str, edit: Callable[[_Edit], str]
) -> str:
    """Return the edited text, and check that it has the expected values."""
    marked = text.removeprefix("\ufeff")
    try:
        after = text[: len(text) - len(marked)] + edit(_Edit(marked))
        values = parse(after, before.path).values or {}
    except SourceError as error:
        raise SourceError(before.path, f"{place(keys)} cannot be {verb}: {error.problem}", line=error.line) from error
    if values != wanted:
        raise before.error(
            f"{place(keys)} cannot be {verb} without changing other values; edit the file by hand", *keys
        )
    return after


def _without(values: Any, keys: Keys, kept: int) -> Any:
    """Return values without the one at `keys` and the mappings that become empty."""
    key, *rest = keys
    if isinstance(values, list) and isinstance(key, int) and rest:
        return [_without(item, tuple(rest), kept - 1) if i == key else item for i, item in enumerate(values)]
    if not isinstance(values, Mapping) or key not in values:
        return values
    known = dict(values)
    inner = _without(known[str(key)], tuple(rest), kept - 1) if rest else {}
    if rest and (inner or kept > 0 or inner == known[str(key)]):
        known[str(key)] = inner
    else:
        del known[str(key)]
    return known


def _with(values: Any, path: str, keys: Keys, value: Any, depth: int = 0) -> Any:
    """Return a copy of values with a new one at `keys`."""
    if depth == len(keys):
        return list(value) if isinstance(value, tuple) else value
    key = keys[depth]
    if isinstance(values, list) and isinstance(key, int) and key < len(values):
        return [_with(item, path, keys, value, depth + 1) if i == key else item for i, item in enumerate(values)]
    if not isinstance(values, dict | None):
        raise SourceError(path, f"{place(keys[:depth]) or 'the file'} must be a mapping to hold {place(keys)}")
    known = values or {}
    return {**known, key: _with(known.get(key), path, keys, value, depth + 1)}


class _Edit:
    """One edit of one text; `_edited` refuses the result if it is wrong."""

    def __init__(self, text: str) -> None:
        import yaml

        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._yaml = yaml
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._root: Any = yaml.compose(text, Loader=loader)

    def changed(self, keys: Keys, value: Any) -> str:
        """Return the changed text."""
        node: Any = self._root
        if node is None or self._is_nothing(node):
            return self._with_lines(len(self._text), self._block(keys, value, 0))
        for i, key in enumerate(keys):
            name, child = self._child(node, key)
            if child is None:
                return self._added(node, keys[i:], value)
            if i == len(keys) - 1 or self._is_nothing(child):
                return self._replaced(name, child, keys[i + 1 :], value)
            node = child
        return self._text

    def removed(self, keys: Keys, kept: int) -> str:
        """Return the text without a value, and without mappings that would become empty."""
        way: list[tuple[Any, Any, Any]] = []
        node: Any = self._root
        for key in keys:
            name, child = self._child(node, key)
            way.append((node, name, child))
            node = child
        depth = len(way) - 1
        while depth > kept and len(way[depth][0].value) == 1:
            depth -= 1
        node, name, child = way[depth]
        at = next(i for i, (known, _) in enumerate(node.value) if known is name)
        before, after = node.value[:at], node.value[at + 1 :]
        start, end = name.start_mark.index, self._end(name, child)
        line = self._text.rfind("\n", 0, start) + 1
        if not node.flow_style and not self._text[line:start].strip():
            start, end = line, self._next_line(end)
        elif after:  # In braces, or the first key of a list item: the next one moves up.
            end = after[0][0].start_mark.index
        elif before:
            start = self._end(*before[-1])
        return self._text[:start] + self._text[end:]

    @staticmethod
    def _child(node: Any, key: str | int) -> tuple[Any, Any]:
        """Return the key and the value of an entry, or the item of a list; `None` twice if there is none."""
        if isinstance(key, int):
            return None, node.value[key]
        return next(((name, child) for name, child in node.value if name.value == key), (None, None))

    def _replaced(self, name: Any, child: Any, keys: Keys, value: Any) -> str:
        """Return the text with a new value of an existing key, below `keys` if there are any."""
        start, end = child.start_mark.index, self._end(None, child)
        style = child.style if isinstance(child, self._yaml.ScalarNode) and not keys else None
        new = _flow(keys, value) if keys else written(value, style)
        if start == end:
            start = end = self._colon(name)
            new = f" {new}"
        return self._text[:start] + new + self._text[end:]

    def _added(self, node: Any, keys: Keys, value: Any) -> str:
        """Return the text with a new entry at the end of a mapping."""
        end = self._end(*node.value[-1]) if node.value else node.start_mark.index + 1
        if not node.flow_style:
            return self._with_lines(end, self._block(keys, value, node.value[0][0].start_mark.column))
        comma = ", " if node.value else ""
        return self._text[:end] + comma + _flow(keys, value)[1:-1] + self._text[end:]

    def _with_lines(self, at: int, lines: str) -> str:
        """Return the text with lines inserted after the line of a position."""
        at = self._next_line(at)
        gap = self._newline if at and self._text[at - 1] != "\n" else ""
        return self._text[:at] + gap + lines + self._text[at:]

    def _block(self, keys: Keys, value: Any, column: int) -> str:
        """Return the lines of a new value, with each key one level deeper."""
        lines = []
        for depth, key in enumerate(keys):
            last = f" {written(value)}" if depth == len(keys) - 1 else ""
            lines.append(" " * (column + _STEP * depth) + f"{written(str(key))}:{last}" + self._newline)
        return "".join(lines)

    def _end(self, name: Any, node: Any) -> int:
        """Return the end of an entry or a value, without trailing blanks and comments."""
        start, end = int(node.start_mark.index), int(node.end_mark.index)
        if isinstance(node, self._yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            end = self._end(*last) if isinstance(last, tuple) else self._end(None, last)
        elif isinstance(node, self._yaml.ScalarNode) and node.style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip())
        return end if name is None or end > name.end_mark.index else self._colon(name)

    def _is_nothing(self, node: Any) -> bool:
        return isinstance(node, self._yaml.ScalarNode) and node.tag.endswith(":null")

    def _colon(self, name: Any) -> int:
        """Return the position after the colon of a key."""
        found = _COLON.match(self._text, name.end_mark.index)
        return found.end() if found else int(name.end_mark.index)

    def _next_line(self, at: int) -> int:
        """Return the start of the next line, or the end of the text."""
        return self._text.find("\n", at) + 1 or len(self._text)


def _flow(keys: Keys, value: Any) -> str:
    """Return a new value on one line, in braces."""
    inner = written(value)
    for key in reversed(keys):
        inner = f"{{{written(str(key))}: {inner}}}"
    return inner


def written(value: Any, style: str | None = None) -> str:
    """Return a value as YAML on one line; a string keeps its style of quotes, and gets quotes if it needs them."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and not set(value) & set("\n\r\t\\") and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and _is_plain(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Return whether a string needs no quotes anywhere."""
    try:
        read = [parse(f"{{x: {text}}}\n", "").values, parse(f"x: {text} # c\n", "").values]
    except SourceError:
        return False
    return all(values == {"x": text} for values in read)
