"""Changes or removes one value of a YAML text and keeps every other byte.

The parser's marks give the position of the value, and only that part is rewritten. The new text is parsed and compared
with the expected values, so an edit either is correct or raises an error.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from brim.errors import SourceError
from brim.files.source import Keys, Source, parse, place

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_COLON = re.compile(r"\s*:")
_STEP = 2
"""Columns by which a new block is indented."""


def with_value(text: str, path: str, keys: Keys, value: Any, most: int = 1_000_000) -> str:
    """Return the text with a new value at `keys`; missing mappings are added.

    Raises:
        SourceError: the text is not plain YAML, or the edit would change other values.
    """
    before = parse(text, path, most)
    wanted = _with(before.values, path, keys, value)
    return _edited(before, text, keys, wanted, "changed", lambda edit: edit.changed(keys, value), most)


def without_value(text: str, path: str, keys: Keys, kept: int = 0, most: int = 1_000_000) -> str:
    """Return the text without the value at `keys`, and without the mappings that become empty.

    The mappings of the first `kept` keys stay. A comment on a line of the value is removed with it.

    Raises:
        SourceError: there is no such value, or the edit would change other values.
    """
    before = parse(text, path, most)
    wanted = _without(before.values, keys, kept)
    if wanted == before.values:
        raise SourceError(path, f"{place(keys)} is not set here, so it cannot be removed")
    return _edited(before, text, keys, wanted, "removed", lambda edit: edit.removed(keys, kept), most)


def _edited(  # noqa: PLR0917 - the parts of one edit
    before: Source, text: str, keys: Keys, wanted: Any, verb: str, edit: Callable[[_Edit], str], most: int
) -> str:
    """Return the edited text, and check that it has the expected values."""
    marked = text.removeprefix("\ufeff")
    try:
        after = text[: len(text) - len(marked)] + edit(_Edit(marked, before.path))
        values = parse(after, before.path, most).values or {}
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
            return self._with_lines(len(self._text), self._block(keys, value, 0))
        for i, key in enumerate(keys):
            found = self._child(node, key)
            if found is None:
                return self._added(node, keys[i:], value)
            name, child = found
            if name is not None and self._at(child.start_mark) < self._at(name.end_mark):
                line = name.start_mark.line + 1
                raise SourceError(self._path, "the value is an alias; edit its anchor by hand", line=line)
            if i == len(keys) - 1 or self._is_nothing(child):
                return self._replaced(node, name, child, keys[i + 1 :], value)
            node = child
        raise SourceError(self._path, "the path of the value is empty")

    def removed(self, keys: Keys, kept: int) -> str:
        """Return the text without a value, and without mappings that would become empty."""
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
        at = next(i for i, (known, _) in enumerate(node.value) if known is name)
        before, after = node.value[:at], node.value[at + 1 :]
        start, end = self._at(name.start_mark), self._end(name, child)
        line = self._line_start(start)
        if not node.flow_style and not self._text[line:start].strip():
            end = self._line_end(end)
            found = _BREAK.match(self._text, end)
            return self._text[:line] + self._text[found.end() if found else end :]
        if after:  # In braces, or the first key of a list item: the next one moves up.
            following = self._at(after[0][0].start_mark)
            if not node.flow_style and "#" in self._text[end:following]:
                return self._refuse("the value shares its line with another one; edit the file by hand", name)
            end = following
        elif not node.flow_style:
            return self._refuse("the value shares its line with another one; edit the file by hand", name)
        elif before:
            start = self._end(*before[-1])
        return self._text[:start] + self._text[end:]

    def _child(self, node: Any, key: str | int) -> tuple[Any, Any] | None:
        """Return the key and the value of an entry, or the item of a list."""
        if isinstance(node, self._yaml.SequenceNode) and isinstance(key, int):
            return None, node.value[key]
        if not isinstance(node, self._yaml.MappingNode):
            return self._refuse("a parent of it is not a mapping", node)
        return next(((name, child) for name, child in node.value if name.value == key), None)

    def _replaced(self, node: Any, name: Any, child: Any, keys: Keys, value: Any) -> str:
        """Return the text with a new value of an existing key, below `keys` if there are any."""
        start, end = self._at(child.start_mark), self._end(None, child)
        is_block = isinstance(child, self._yaml.CollectionNode) and not child.flow_style
        style = child.style if isinstance(child, self._yaml.ScalarNode) and not keys else None
        new = _flow(keys, value) if keys else written(value, style)
        if is_block:
            colon = self._colon(name)
            rest = self._text[colon : self._line_start(start)]
            after = self._text[self._line_end(end) :].removeprefix(self._newline)
            return f"{self._text[:colon]} {new}{rest}{after}"
        if start < end:
            return self._text[:start] + new + self._text[end:]
        if keys and not node.flow_style:
            lines = self._block(keys, value, name.start_mark.column + _STEP)
            return self._with_lines(self._at(name.end_mark), lines)
        colon = self._colon(name)
        return f"{self._text[:colon]} {new}{self._text[colon:]}"

    def _added(self, node: Any, keys: Keys, value: Any) -> str:
        """Return the text with a new entry at the end of a mapping."""
        end = self._end(*node.value[-1]) if node.value else self._at(node.start_mark) + 1
        if not node.flow_style:
            return self._with_lines(end, self._block(keys, value, node.value[0][0].start_mark.column))
        comma = ", " if node.value else ""
        return self._text[:end] + comma + _flow(keys, value)[1:-1] + self._text[end:]

    def _with_lines(self, at: int, lines: str) -> str:
        """Return the text with lines inserted after the line of a position."""
        found = _BREAK.search(self._text, at)
        if found:
            return self._text[: found.end()] + lines + self._text[found.end() :]
        gap = self._newline if self._text and not _BREAK.match(self._text[-1]) else ""
        return self._text + gap + lines

    def _block(self, keys: Keys, value: Any, column: int) -> str:
        """Return the lines of a new value, with each key one level deeper."""
        lines = []
        for depth, key in enumerate(keys):
            last = f" {written(value)}" if depth == len(keys) - 1 else ""
            lines.append(" " * (column + _STEP * depth) + f"{written(str(key))}:{last}" + self._newline)
        return "".join(lines)

    def _end(self, name: Any, node: Any) -> int:
        """Return the end of an entry or a value, without trailing blanks and comments."""
        start, end = self._at(node.start_mark), self._at(node.end_mark)
        if isinstance(node, self._yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            end = self._end(*last) if isinstance(last, tuple) else self._end(None, last)
        elif isinstance(node, self._yaml.ScalarNode) and node.style in ("|", ">"):
            end = start + len(self._text[start:end].rstrip())
        return end if name is None or end > self._at(name.end_mark) else self._colon(name)

    def _is_nothing(self, node: Any) -> bool:
        return isinstance(node, self._yaml.ScalarNode) and node.tag.endswith(":null")

    def _colon(self, name: Any) -> int:
        """Return the position after the colon of a key."""
        found = _COLON.match(self._text, self._at(name.end_mark))
        return found.end() if found else self._refuse("a key has no colon; edit it by hand", name)

    def _refuse(self, problem: str, node: Any) -> NoReturn:
        raise SourceError(self._path, problem, line=node.start_mark.line + 1)

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
