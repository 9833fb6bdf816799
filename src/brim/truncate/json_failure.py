"""Where a JSON document reports a failure, so that these values stay when others go."""

from __future__ import annotations

from brim.truncate.failure import failure_lines
from brim.truncate.json_tree import JsonTree, Node
from brim.truncate.line_selection import LineSelection

_DEEPEST = 64
"""No value below this is looked at, since none is written."""
_MOST = 4
"""Failures from the start of a document that stay, and as many from its end."""

Failing = dict[int, set[int]]
"""The items of each container that report a failure, or hold one that does, by the container's id."""


def failing(tree: JsonTree) -> Failing:
    """Return where a document reports a failure."""
    places: list[tuple[int, Node, int]] = []
    """Each value with its container, and the place of that container."""
    lines: list[str] = []
    open_: list[tuple[int, Node, int]] = [(-1, tree.root, 0)]
    while open_:
        above, node, depth = open_.pop()
        if isinstance(node, str) or depth >= _DEEPEST:
            continue
        for index, item in enumerate(node):
            key, value = item if isinstance(item, tuple) else ("", item)
            if not isinstance(value, str):
                open_.append((len(places), value, depth + 1))
            lines.append(f"{key}: {value if isinstance(value, str) else 'x' if value else 'null'}")
            places.append((above, node, index))
    found = failure_lines(LineSelection.of("\n".join(lines), ""))
    marked: Failing = {}
    for place in {*found[:_MOST], *found[-_MOST:]}:
        at = place
        while at >= 0:
            at, node, index = places[at]
            marked.setdefault(id(node), set()).add(index)
    return marked
