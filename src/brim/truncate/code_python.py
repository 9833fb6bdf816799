"""What can be left out of Python code so that the rest still parses.

That is the body of a function, which an ellipsis can replace, and a whole statement of a module or a class. Both are
lines of the source, so that the rest is the author's own text.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple

from brim.truncate.line_selection import Span, between

_MOST = 1_000_000
"""Characters. For longer code a syntax tree takes seconds and gigabytes, so the generic outline is used."""
_LONGEST_SUMMARY = 120
_LONE_RETURN = re.compile("\r(?!\n)")
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Import = ast.Import | ast.ImportFrom

_one_at_a_time = Lock()


class FunctionBody(NamedTuple):
    """The lines of a function that an ellipsis can replace."""

    start: int
    stop: int
    indent: str
    summary: str
    """The first line of a docstring in the body, as a docstring of its own, or empty."""


class Outline(NamedTuple):
    """What can be left out of a Python source."""

    bodies: Sequence[FunctionBody]
    """In order."""
    statements: Sequence[Sequence[Span]]
    """Each statement of the module and its classes without bodies, with the heads of its classes; imports first."""


def outline(text: str) -> Outline | None:
    """Return what can be left out of a Python source, or `None` if `text` is not one."""
    # A lone carriage return ends a line for Python and for nobody else: the numbers would not agree.
    tree = parse(text) if len(text) <= _MOST and not _LONE_RETURN.search(text) else None
    if tree is None:
        return None
    lines = text.split("\n")
    if not tree.body:
        count = len(lines) - text.endswith("\n")
        return Outline([], [[(line, line + 1)] for line in range(count)])
    found = (_body(node, lines) for node in _functions(tree))
    bodies = sorted((body for body in found if body), key=lambda body: body.start)
    statements = sorted(_spans(tree, lines, bodies), key=lambda pair: not isinstance(pair[0], _Import))
    return Outline(bodies, [spans for _, spans in statements])


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of Python code, or `None` if it is invalid."""
    # The filter of warnings is global: two threads that restore it in the wrong order would silence it for good.
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # A null or a lone surrogate is a ValueError; deep nesting is one of the last two.
            return None


def _functions(tree: ast.Module) -> Iterator[_Function]:
    """Yield the functions that are not inside another function."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _Function):
            yield node
        else:
            stack += (child for name in _BLOCKS for child in getattr(node, name, ()))


def _body(node: _Function, lines: Sequence[str]) -> FunctionBody | None:
    """Return the lines of a function that can be left out, or `None`."""
    first, last = node.body[0], node.body[-1]
    if not _starts_line(first, lines):
        return None
    line = lines[_top(first)]
    indent = line[: len(line) - len(line.lstrip())]
    start, least, summary = _top(first), _head_end(node), ""
    while start > least and lines[start - 1].lstrip()[:1] in ("", "#"):  # Blank lines and comments above it go too.
        start -= 1
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        alone = len(node.body) > 1 and _starts_line(node.body[1], lines)
        if first.lineno == first.end_lineno and alone:
            start = first.lineno
        else:
            summary = _summary(first.value.value, indent)
    stop = last.end_lineno or last.lineno
    return FunctionBody(start, stop, indent, summary) if start < stop else None


def _top(node: ast.stmt) -> int:
    """Return the first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _starts_line(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Return whether a statement is the first on its line, and the line before does not continue on it."""
    top = _top(node)
    column = node.col_offset if node.lineno == top + 1 else len(lines[top]) - len(lines[top].lstrip())
    before = lines[top].encode("utf-8", "replace")[:column]
    return not before.strip() and not (top and lines[top - 1].rstrip("\r").endswith("\\"))


def _head_end(node: _Function) -> int:
    """Return the line after the last one of the parameters, defaults and annotations."""
    args = node.args
    parts: list[ast.AST | None] = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    parts += [*args.defaults, *args.kw_defaults, node.returns, *getattr(node, "type_params", ())]
    return max(node.lineno, *(getattr(part, "end_lineno", 0) for part in parts if part is not None), 0)


def _summary(docstring: str, indent: str) -> str:
    line = docstring.strip().split("\n")[0].strip()
    plain = line.isprintable() and '"' not in line and "\\" not in line
    return f'{indent}"""{line}"""\n' if line and plain and len(line) <= _LONGEST_SUMMARY else ""


def _spans(
    tree: ast.Module, lines: Sequence[str], bodies: Sequence[FunctionBody]
) -> Iterator[tuple[ast.stmt, list[Span]]]:
    """Yield the statements of the module and of its classes in order, each with its lines outside of bodies."""
    starts = [body.start for body in bodies]
    scopes: list[tuple[Iterator[tuple[Span, ast.stmt]], tuple[Span, ...]]] = [(_statements(tree.body, 0, lines), ())]
    while scopes:
        statements, heads = scopes[-1]
        for (start, stop), node in statements:
            if isinstance(node, ast.ClassDef) and _starts_line(node.body[0], lines):
                inside = _top(node.body[0])
                scopes.append((_statements(node.body, inside, lines), (*heads, (start, inside))))
                break
            inner = bodies[bisect_left(starts, start) : bisect_left(starts, stop)]
            kept = between(((body.start, body.stop) for body in inner), stop, start)
            yield node, [*kept, *heads]
        else:
            scopes.pop()


def _statements(nodes: Sequence[ast.stmt], start: int, lines: Sequence[str]) -> Iterator[tuple[Span, ast.stmt]]:
    """Yield the lines of each statement with the comments above it; statements that share a line are one."""
    for index, node in enumerate(nodes):
        stop = node.end_lineno or node.lineno
        if index + 1 < len(nodes) and not (_top(nodes[index + 1]) >= stop and _starts_line(nodes[index + 1], lines)):
            continue
        yield (start, stop), node
        start = stop
