"""The time of everything that reads a stranger's text grows with the text, and not with a power of it.

The texts are short: a quadratic reader shows already.
"""

import ast
import re
from pathlib import Path

import pytest

import brim
from hostile import seeds
from hostile.growth import LIMIT, power
from hostile.readers import BOUNDED, READERS, fitted, patterns, reading, shapes

HAND = seeds.by_hand()
_INLINE = {"truncate.markdown", "meter.engines", "audit.formats.otel", "receipts.schema"}
_INLINE |= {"meter.grapheme", "settings.resolved", "meter.media", "wire.overflow", "studio.views.export"}
_INLINE |= {"history.names"}
"""Modules that use an expression inside of a function; each is part of a reader that is listed, or reads own text."""


def slow(name, read, chosen, size, floor=0.004):
    """Return which seeds a reader takes too long for."""
    powers = [(power(read, seed, size, floor), seed) for seed in chosen]
    return [f"{name}: {found:.2f} for {seed}" for found, seed in powers if found > LIMIT]


def test_an_expression_is_compiled_where_the_growth_test_finds_it():
    """Only at the top level of a module is it found."""
    inline, root = set(), Path(brim.__file__).parent
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        outer = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef)]
        functions = [
            each for node in outer for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for call in (node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(value=ast.Name(id="re" | "regex"), attr=method) if method != "escape":
                    inline.add(".".join(path.relative_to(root).with_suffix("").parts))
    assert inline - _INLINE == set(), "compile it at the top level of its module"
    assert not [start for start in BOUNDED if not any(place.startswith(start) for place in patterns())]


def test_an_expression_that_backtracks_is_found():
    """In one of a few trials: what else runs on the machine may hide a power, and makes none of a line five times."""
    read = re.compile("a*b").search
    assert any(power(read, seeds.Seed("", "a"), 1 << 12, 0.001) > LIMIT for _ in range(5))


@pytest.mark.parametrize("part", range(4))
def test_no_expression_takes_a_power_of_its_text(part):
    for name, (pattern, read) in [*patterns().items()][part::4]:
        found = seeds.of_pattern(pattern)
        assert found, name
        assert slow(name, read, [*found[::11], *HAND[::17]], 1 << 13) == []


def test_no_function_takes_a_power_of_its_text():
    for name in READERS:
        chosen = [*seeds.of_words(seeds.literals(READERS[name])), *HAND]
        assert slow(name, reading(name), chosen[::67], 1 << 13, 0.01) == []


def test_no_history_takes_a_power_of_its_length():
    for shape in shapes()[::9]:
        assert (
            slow("history", lambda messages, shape=shape: fitted(messages, shape.format), [shape], 1 << 15, 0.02) == []
        )
