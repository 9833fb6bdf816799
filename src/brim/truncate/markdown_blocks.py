"""Markdown as blocks: headings, fenced code, lists, and the paragraphs between them.

Only as much of CommonMark is parsed as decides where a document can be cut: the content of a fence is never parsed, and
a list continues over blank lines as long as the next line is indented or another item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
_INNER_FENCE = re.compile(r"[ \t]*+(?:(?:[-*+>]|[0-9]{1,9}[.)])[ \t]*+)*+(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
"""A fence that may be inside a list or a quote."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\r]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t\r]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t\r]|$)")
_RAW = re.compile(r" {0,3}<(!--|pre\b|script\b|style\b|textarea\b)", re.IGNORECASE)
_INTERRUPTS = frozenset("#`~<-*+0123456789")
"""The first characters of lines that can end a paragraph."""


class Block(NamedTuple):
    """One block and the blank lines after it."""

    kind: str
    """`heading`, `fence`, `list`, `raw` (HTML that runs over blank lines) or `text`."""
    start: int
    stop: int
    """The line after its last."""
    level: int = 0
    """Of a heading, from one to six."""
    close: int | None = None
    """The line that closes a fence; `None` if there is none."""
    items: tuple[int, ...] = ()
    """Where the outer items of a list start."""


def blocks(lines: Sequence[str]) -> list[Block]:
    """Return the blocks of a document, which together contain each of its lines once."""
    found: list[Block] = []
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) and not lines[at].strip():
            at += 1
        if at == len(lines):
            break
        block = _block(lines, at)
        at = block.stop
        while at < len(lines) and not lines[at].strip():
            at += 1
        found.append(block._replace(start=block.start if found else start, stop=at))
    return found


def fence_of(line: str) -> str:
    """Return the backticks or tildes that open a fence on this line, or an empty text."""
    match = _FENCE.match(line)
    return (match[1] or match[2]) if match else ""


def holds_fence(line: str) -> bool:
    """Return whether the line opens or closes a fence, inside a list or a quote too."""
    return bool(_INNER_FENCE.match(line))


def _block(lines: Sequence[str], at: int) -> Block:
    """Return the block that starts on a line that is not blank, without the blank lines after it."""
    line = lines[at]
    if heading := _HEADING.match(line):
        return Block("heading", at, at + 1, len(heading[1]))
    if fence := fence_of(line):
        close = _first(lines, at + 1, _closing(fence, " {0,3}").match)
        return Block("fence", at, len(lines) if close is None else close + 1, close=close)
    if raw := _RAW.match(line):
        ending = "-->" if raw[1] == "!--" else f"</{raw[1].lower()}>"
        last = _first(lines, at, lambda line: ending in line.lower())
        return Block("raw", at, len(lines) if last is None else last + 1)
    if _ITEM.match(line) and not _UNDERLINE.match(line):
        return _list(lines, at)
    return _text(lines, at)


def _first(lines: Sequence[str], start: int, matches: Callable[[str], object]) -> int | None:
    """Return the first line from `start` on that matches, or `None`."""
    return next((index for index in range(start, len(lines)) if matches(lines[index])), None)


def _closing(fence: str, indent: str) -> re.Pattern[str]:
    """Return the pattern of a line that closes `fence`."""
    return re.compile(rf"{indent}{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*$")


def _list(lines: Sequence[str], at: int) -> Block:
    """Return the block of a list: its items, the lines indented under them, and continuation lines."""
    margin = _indent(lines[at])
    items = [at]
    unclosed: dict[str, int] = {}
    index, end = at, at + 1
    while index < len(lines):
        line = lines[index]
        blank = index > end
        if not line.strip():
            index += 1
            continue
        if index > at:
            if _ITEM.match(line):
                if _indent(line) <= margin:
                    items.append(index)
            elif line.startswith(("  ", "\t") if blank else (" ", "\t")):
                pass
            elif blank or _HEADING.match(line) or fence_of(line) or _RAW.match(line):
                break
        index = end = _past_fence(lines, index, unclosed)
    return Block("list", at, end, items=tuple(items))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _past_fence(lines: Sequence[str], at: int, unclosed: dict[str, int]) -> int:
    """Return the line after this one, or after the fence that it opens inside a list.

    `unclosed` has the shortest fence of each kind that is never closed, so that no text is searched twice.
    """
    match = _INNER_FENCE.match(lines[at])
    if not match:
        return at + 1
    fence = match[1] or match[2]
    if len(fence) < unclosed.get(fence[0], len(fence) + 1):
        close = _first(lines, at + 1, _closing(fence, r"[ \t]*").match)
        if close is not None:
            return close + 1
        unclosed[fence[0]] = len(fence)
    return at + 1


def _text(lines: Sequence[str], at: int) -> Block:
    """Return the block of a paragraph, or of a heading with an underline."""
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if not line.strip():
            return Block("text", at, index)
        underline = _UNDERLINE.match(line)
        if underline and not lines[at].startswith((">", "    ", "\t")):
            return Block("heading", at, index + 1, 1 if underline[1][0] == "=" else 2)
        if line.lstrip(" ")[0] in _INTERRUPTS and _interrupts(line):
            return Block("text", at, index)
    return Block("text", at, len(lines))


def _interrupts(line: str) -> bool:
    return bool(_HEADING.match(line) or fence_of(line) or _ITEM.match(line) or _RAW.match(line))
