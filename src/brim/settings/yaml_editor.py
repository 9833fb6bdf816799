"""An editor that changes or removes one value of a YAML text and leaves every other byte as it was.

The marks of the parser give the position of the value, and only that is rewritten. The new text is parsed again and
compared with the expected values, so an edit is right or refused.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

from brim.errors import SourceError
from brim.files.source import Keys, Source, parse, place

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_COLON = re.compile(r"\s*:")
_STEP = 2
"""Columns of indentation of a new block."""


def with_value(text: str, path: str, keys: Keys, value: Any, most: int = 1_000_000) -> str:
    """Return the text with another value at `keys`; missing mappings are added.

    Raises:
        SourceError: the text is not plain YAML, or the value cannot be changed alone.
    """
    before = parse(text, path, most)
    _refuse_lists(before.values, path, keys)
    wanted = _with(before.values, keys, value)
    return _edited(before, text, keys, wanted, "changed", lambda edit: edit.changed(keys, value), most)


def without_value(text: str, path: str, keys: Keys, kept: int = 0, most: int = 1_000_000) -> str:
    """Return the text without the value at `keys`, and without the mappings that become empty.

    The first `kept` keys always stay. A comment on a line of the value is removed with it.

    Raises:
        SourceError: there is no such value, or it cannot be removed alone.
    """
    before = parse(text, path, most)
    wanted = _without(before.values, keys, kept)
    if wanted == before.values:
        raise SourceError(path, f"{place(keys)} is not set here: nothing to remove")
    return _edited(before, text, keys, wanted, "removed", lambda edit: edit.removed(keys, kept), most)


def _edited(  # noqa: PLR0917 - the parts of one edit
    before: Source, text: str, keys: Keys, wanted: Any, verb: str, edit: Callable[[_Edit], str], most: int
) -> str:
    """Return the edited text if it has the wanted values."""
    marked = text.removeprefix("\ufeff")
    try:
        after = text[: len(text) - len(marked)] + edit(_Edit(marked, before.path))
        values = parse(after, before.path, most).values or {}
    except SourceError as error:
        raise SourceError(before.path, f"{place(keys)} cannot be {verb}: {error.problem}", line=error.line) from error
    if values != wanted:
        raise before.error(f"{place(keys)} cannot be {verb} without changing more; edit it by hand", *keys)
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


def _refuse_lists(values: Any, path: str, keys: Keys) -> None:
    at = values
    for i, key in enumerate(keys):
        if isinstance(at, dict):
            at = at.get(key) if isinstance(key, str) else None
        elif isinstance(at, list) and isinstance(key, int) and key < len(at):
            at = at[key]
        elif at is not None:
            raise SourceError(path, f"{place(keys[:i])} must be a mapping to hold {place(keys)}")


def _with(values: Any, keys: Keys, value: Any) -> Any:
    """Return a copy of values with another one at `keys`."""
    if not keys:
        return list(value) if isinstance(value, tuple) else value
    key, *rest = keys
    if isinstance(values, list) and isinstance(key, int):
        return [_with(item, tuple(rest), value) if i == key else item for i, item in enumerate(values)]
    known = dict(values) if isinstance(values, Mapping) else {}
    known[str(key)] = _with(known.get(str(key)), tuple(rest), value)
    return known


class _Edit:
    """One edit of one text."""

    def __init__(self, text: str, path: str) -> None:
        import yaml

        self._text = text
        self._path = path
        self._lines = [0, *(found.end() for found in _BREAK.finditer(text))]
        found = _BREAK.search(text)
        self._newline = found[0] if found else "\n"
        self._yaml = yaml
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._root: Any = yaml.compose(text, Loader=loader)

    def changed(self, keys: Keys, value: Any) -> str:
        """Return the changed text."""
        node: Any = self._root
        if node is None or self._is_nothing(node):
            return self._appended(self._block(keys, value, 0))
        for i, key in enumerate(keys):
            found = self._child(node, key)
            if found is None:
                return self._added(node, keys[i:], value)
            name, child = found
            if name is not None and self._at(child.start_mark) < self._at(name.end_mark):
                line = name.start_mark.line + 1
                raise SourceError(self._path, "it is an alias; edit the anchor by hand", line=line)
            if i == len(keys) - 1:
                return self._replaced(name, child, value)
            if self._is_nothing(child):
                return self._filled(node, name, child, keys[i + 1 :], value)
            node = child
        raise SourceError(self._path, "no key is given")

    def removed(self, keys: Keys, kept: int) -> str:
        """Return the text without a value; a mapping that would become empty is removed as a whole."""
        way: list[tuple[Any, Any, Any]] = []
        node: Any = self._root
        for key in keys:
            name, child = self._child(node, key) or (None, None)
            way.append((node, name, child))
            node = child
        depth = len(way) - 1
        while depth > kept and len(way[depth][0].value) == 1:
            depth -= 1
        node, name, child = way[depth]
        return self._cut(node, name, child) if node.flow_style else self._lines_cut(node, name, child)

    def _cut(self, node: Any, name: Any, child: Any) -> str:
        """Return the text without an entry between braces."""
        at = next(i for i, (known, _) in enumerate(node.value) if known is name)
        start, end = self._at(name.start_mark), max(self._span(child)[1], self._at(name.end_mark))
        if at + 1 < len(node.value):
            end = self._at(node.value[at + 1][0].start_mark)
        elif at:
            start = self._span(node.value[at - 1][1])[1]
        return self._text[:start] + self._text[end:]

    def _lines_cut(self, node: Any, name: Any, child: Any) -> str:
        """Return the text without the lines of an entry."""
        start = self._at(name.start_mark)
        begin = self._line_start(start)
        if self._text[begin:start].strip():  # The first key of a list item: the next one moves up to the dash.
            others = [self._at(each.start_mark) for each, _ in node.value if self._at(each.start_mark) > start]
            end = min(others, default=start)
            if not others or "#" in self._text[max(self._span(child)[1], start) : end]:
                raise SourceError(
                    self._path, "it shares its line with another value; edit it by hand", line=name.start_mark.line
                )
            return self._text[:start] + self._text[end:]
        end = self._line_end(max(self._span(child)[1], self._at(name.end_mark)))
        found = _BREAK.match(self._text, end)
        return self._text[:begin] + self._text[found.end() if found else end :]

    def _child(self, node: Any, key: str | int) -> tuple[Any, Any] | None:
        """Return the key and the value of an entry, or the item of a list."""
        if isinstance(node, self._yaml.SequenceNode) and isinstance(key, int):
            return None, node.value[key]
        if not isinstance(node, self._yaml.MappingNode):
            raise SourceError(self._path, "a parent of it is not a mapping", line=node.start_mark.line + 1)
        return next(((name, child) for name, child in node.value if name.value == key), None)

    def _replaced(self, name: Any, child: Any, value: Any) -> str:
        """Return the text with another value of an existing key."""
        start, end = self._span(child)
        style = getattr(child, "style", None)
        if isinstance(child, self._yaml.CollectionNode) and not child.flow_style:
            colon = self._colon(name)
            rest = self._text[colon : self._line_start(start)]
            after = self._text[self._line_end(end) :].removeprefix(self._newline)
            return self._text[:colon] + " " + written(value) + rest + after
        new = written(value, style if isinstance(style, str) else None)
        if start == end:
            at = self._colon(name)
            return self._text[:at] + " " + new + self._text[at:]
        return self._text[:start] + new + self._text[end:]

    def _filled(self, node: Any, name: Any, child: Any, keys: Keys, value: Any) -> str:
        """Return the text with a value inside a group of a mapping that was empty."""
        start, end = self._span(child)
        if start == end and node.flow_style:
            start = end = self._colon(name)
            return f"{self._text[:start]} {_flow(keys, value)}{self._text[end:]}"
        if start < end:  # an explicit null
            return self._text[:start] + _flow(keys, value) + self._text[end:]
        column = name.start_mark.column
        at = self._line_end(self._at(name.end_mark))
        return self._inserted(at, self._block(keys, value, column + _STEP))

    def _added(self, node: Any, keys: Keys, value: Any) -> str:
        """Return the text with a new entry at the end of a mapping."""
        if node.flow_style:
            if not node.value:
                start = self._at(node.start_mark) + 1
                return self._text[:start] + _flow(keys, value)[1:-1] + self._text[start:]
            at = self._span(node.value[-1][1])[1]
            at = max(at, self._colon(node.value[-1][0]) if at <= self._at(node.value[-1][0].end_mark) else at)
            return self._text[:at] + ", " + _flow(keys, value)[1:-1] + self._text[at:]
        column = node.value[0][0].start_mark.column
        last_key, last = node.value[-1]
        end = self._span(last)[1]
        if end <= self._at(last_key.end_mark):
            end = self._colon(last_key)
        return self._inserted(self._line_end(end), self._block(keys, value, column))

    def _inserted(self, at: int, lines: str) -> str:
        """Return the text with lines inserted after the line that ends at a position."""
        if at >= len(self._text):
            return self._appended(lines)
        found = _BREAK.match(self._text, at)
        at = found.end() if found else at
        return self._text[:at] + lines + self._text[at:]

    def _appended(self, lines: str) -> str:
        gap = self._newline if self._text and not _BREAK.match(self._text[-1]) else ""
        return self._text + gap + lines

    def _block(self, keys: Keys, value: Any, column: int) -> str:
        """Return the lines of a new value, each key a level deeper."""
        lines = []
        for depth, key in enumerate(keys):
            last = f" {written(value)}" if depth == len(keys) - 1 else ""
            lines.append(" " * (column + _STEP * depth) + f"{written(str(key))}:{last}" + self._newline)
        return "".join(lines)

    def _span(self, node: Any) -> tuple[int, int]:
        """Return the start and end of a value, without the blanks and comments after it."""
        start, end = self._at(node.start_mark), self._at(node.end_mark)
        if isinstance(node, self._yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            key, child = last if isinstance(last, tuple) else (None, last)
            end = self._span(child)[1]
            if key is not None and end <= self._at(key.end_mark):
                end = self._colon(key)
        elif isinstance(node, self._yaml.ScalarNode) and node.style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip())
        return start, end

    def _is_nothing(self, node: Any) -> bool:
        return isinstance(node, self._yaml.ScalarNode) and node.tag.endswith(":null")

    def _colon(self, name: Any) -> int:
        """Return the position after the colon of a key."""
        found = _COLON.match(self._text, self._at(name.end_mark))
        if found is None:
            raise SourceError(self._path, "a key has no colon; edit it by hand", line=name.start_mark.line + 1)
        return found.end()

    def _at(self, mark: Any) -> int:
        return int(self._lines[mark.line]) + int(mark.column) if mark.line < len(self._lines) else len(self._text)

    def _line_start(self, at: int) -> int:
        return self._lines[bisect_right(self._lines, at) - 1]

    def _line_end(self, at: int) -> int:
        found = _BREAK.search(self._text, at)
        return found.start() if found else len(self._text)


def _flow(keys: Keys, value: Any) -> str:
    """Return a new value on one line, in braces."""
    inner = written(value)
    for key in reversed(keys):
        inner = f"{{{written(str(key))}: {inner}}}"
    return inner


def written(value: Any, style: str | None = None) -> str:
    """Return a value as YAML on one line; a string keeps the style of its quotes, or is quoted if it must be."""
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
    """Return whether a string needs no quotes in any position."""
    try:
        read = [parse(f"{{x: {text}}}\n", "").values, parse(f"x: {text} # c\n", "").values]
    except SourceError:
        return False
    return all(values == {"x": text} for values in read)
