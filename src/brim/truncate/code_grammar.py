"""Where functions begin and end in source code, by the grammar of its language."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from brim.truncate.parts import TextParts

_CONTAINER_NODES = ("class", "interface", "struct", "enum", "namespace", "module", "mod_", "impl", "trait", "object")
_FUNCTION_NODES = ("function", "method", "constructor", "closure", "lambda", "func_literal")
_SECONDS, _SECONDS_A_BYTE = 0.02, 1e-6
"""Processor time that a grammar may take; code of its language takes less than a fifth of it."""
_PIECE = 512
"""Bytes between two looks at the time."""


class Definition(NamedTuple):
    """What is defined: its head, and its body, which is empty for a class or the like."""

    head: int
    """The first line of its head."""
    start: int
    """The first line of its body."""
    stop: int
    """The line after its body."""


def by_grammar(parts: TextParts, language: str) -> list[Definition] | None:
    """Return the functions of a source by the grammar of its language.

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
    tree = _parsed(parser, parts.text.encode("utf-8", "surrogatepass"))
    if tree is None:
        return None
    apart: list[Definition] = []
    for each in sorted(_functions(parts, tree.root_node)):
        if not apart or each.start >= apart[-1].stop:
            apart.append(each)
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


def _functions(parts: TextParts, root: Any) -> Iterator[Definition]:
    """Yield the functions that are not inside another function and have inner lines."""
    stack = [root]
    while stack:
        node = stack.pop()
        body = node.child_by_field_name("body")
        is_function = any(word in node.type for word in _FUNCTION_NODES)
        if body is None or not is_function or any(word in node.type for word in _CONTAINER_NODES):
            stack += node.children
            continue
        start, stop = body.start_point[0], body.end_point[0] + 1
        if parts.part(stop - 1).lstrip().startswith(("}", "end", ")")):
            stop -= 1
        if body.start_point[0] == node.start_point[0] or parts.part(start).rstrip().endswith("{"):
            start += 1
        if start < stop:
            yield Definition(node.start_point[0], start, stop)
