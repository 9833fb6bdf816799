"""Where the function bodies are in source code of any language.

An installed grammar gives them. Without one the layout does: the lines indented under a line are its body, unless that
line opens a class or the like, whose members are signatures too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, cast

from brim.truncate.line_selection import LineSelection, Span

_CONTAINER = re.compile(
    r"\b(?:class|interface|struct|enum|union|record|namespace|module|mod|package|impl|trait|object|protocol|extension"
    r"|extern)\b"
)
_CONTAINER_NODES = ("class", "interface", "struct", "enum", "namespace", "module", "mod_", "impl", "trait", "object")
_FUNCTION_NODES = ("function", "method", "constructor", "closure", "lambda", "func_literal")
_SECONDS, _SECONDS_A_BYTE = 0.02, 1e-6
"""Processor time that a grammar may take; code of its language takes less than a fifth of it."""
_PIECE = 512
"""Bytes between two looks at the time."""
_HEAD = 200
"""Characters of a line that are searched for what it opens."""


def indents(page: LineSelection) -> list[int | None]:
    """Return the indentation of each line; `None` for a blank one."""
    found: list[int | None] = []
    for line in range(len(page)):
        text = page.lines(line, line + 1)
        bare = text.lstrip()
        found.append(len(text[: len(text) - len(bare)].expandtabs(4)) if bare else None)
    return found


def by_layout(page: LineSelection, margins: list[int | None]) -> Iterator[Span]:
    """Yield the lines that are indented under a line that opens no container."""
    filled = [line for line, margin in enumerate(margins) if margin is not None]
    at = 0
    while at < len(filled) - 1:
        head = filled[at]
        margin = margins[head] or 0
        at += 1
        if (margins[filled[at]] or 0) <= margin:
            continue
        start = page.starts[head]
        if _CONTAINER.search(page.text, start, min(start + _HEAD, page.starts[head + 1])):
            continue
        while at < len(filled) and (margins[filled[at]] or 0) > margin:
            at += 1
        yield head + 1, filled[at - 1] + 1


def by_grammar(page: LineSelection, language: str) -> list[Span] | None:
    """Return the bodies of functions by the grammar of a language.

    `None` if it is not installed, or if it takes too long: text that is not of the language can cost any time.
    """
    try:
        import tree_sitter_language_pack as pack
    except ImportError:
        return None
    if hasattr(pack, "download"):
        # From 1.0 on a grammar is downloaded on first use, and nothing here may use the network.
        return None
    try:
        parser = pack.get_parser(cast(Any, language))
    except LookupError:
        return None
    tree = _parsed(parser, page.text.encode("utf-8", "surrogatepass"))
    if tree is None:
        return None
    apart: list[Span] = []
    for start, stop in sorted(_bodies(page, tree.root_node)):
        if not apart or start >= apart[-1][1]:
            apart.append((start, stop))
    return apart


def _parsed(parser: Any, source: bytes) -> Any | None:
    """Return the tree of a source, or `None` if it takes too long: the source is handed over piece by piece."""
    latest = time.thread_time() + _SECONDS + len(source) * _SECONDS_A_BYTE

    late = False

    def read(at: int, _: object) -> bytes:
        nonlocal late
        late = late or time.thread_time() > latest
        return b"" if late else source[at : at + _PIECE]  # Nothing is the end of the source; an error would crash.

    tree = parser.parse(read)
    return None if late else tree


def _bodies(page: LineSelection, root: Any) -> Iterator[Span]:
    """Yield the inner lines of each function that is not inside another function."""
    stack = [root]
    while stack:
        node = stack.pop()
        body = node.child_by_field_name("body")
        is_function = any(word in node.type for word in _FUNCTION_NODES)
        if body is None or not is_function or any(word in node.type for word in _CONTAINER_NODES):
            stack += node.children
            continue
        start, stop = body.start_point[0], body.end_point[0] + 1
        if page.lines(stop - 1, stop).lstrip().startswith(("}", "end", ")")):
            stop -= 1
        if body.start_point[0] == node.start_point[0] or page.lines(start, start + 1).rstrip().endswith("{"):
            start += 1
        if start < stop:
            yield start, stop
