"""The time of everything that reads a stranger's text grows with the text, and not with a power of it.

The quick part reads short texts, in which a quadratic reader shows already. The long one doubles them up to a megabyte
or a second, and prints the largest exponent of each reader.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import brim
from hostile import seeds
from hostile.growth import FULL, LIMIT, QUICK, Bounds, settled
from hostile.readers import BOUNDED, READERS, fitted, patterns, reading, shapes

LEAST = 60
"""Seeds of each reader."""
_INLINE = {"truncate.markdown", "meter.engines", "audit.formats.otel", "receipts.schema"}
_INLINE |= {"meter.grapheme", "settings.resolved", "meter.media", "wire.overflow", "studio.views.export"}
_INLINE |= {"history.compact.sentence_kind", "history.names"}
"""Modules that use an expression inside of a function; each is part of a reader that is listed, or reads own text."""
_SEEDS: dict[str, list[seeds.Seed]] = {}


def seeds_of(name):
    if name not in _SEEDS:
        found = patterns().get(name)
        made = seeds.of_pattern(found[0]) if found else seeds.of_words(seeds.literals(READERS[name]))
        _SEEDS[name] = [*made, *seeds.by_hand()]
    return _SEEDS[name]


def chosen_of(name):
    """Return seeds for the long part: two thirds from the generator, one by hand, spread over each."""
    hand = seeds.by_hand()
    made = seeds_of(name)[: -len(hand)]
    return [*made[:: max(1, len(made) // 44)][:44], *hand[:: len(hand) // 60]][:110]


def read_by(name):
    return patterns()[name][1] if name in patterns() else reading(name)


def worst(read, chosen, bounds):
    found = [(settled(read, seed, bounds), seed) for seed in chosen]
    return max(found, key=lambda pair: pair[0].exponent)


def shown(name, count, found, seed):
    size, taken = found.times[-1]
    return f"{found.exponent:5.2f}  {name}: {count} seeds; {size:,} characters in {taken * 1000:.1f} ms: {seed}"


# --- what is read at all


def test_every_reader_has_seeds_that_a_generator_found():
    few = {name: len(seeds_of(name)) for name in (*patterns(), *READERS) if len(seeds_of(name)) < LEAST}
    assert few == {}
    assert len(shapes()) >= LEAST
    assert not [start for start in BOUNDED if not any(place.startswith(start) for place in patterns())]
    print(f"growth: {len(patterns())} expressions, {len(READERS)} functions, {len(shapes())} shapes of histories")


def test_an_expression_is_compiled_where_the_growth_test_finds_it():
    """Only at the top level of a module is it found."""
    inline = set()
    for path, tree in _sources():
        outer = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef)]
        functions = [
            each for node in outer for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for call in (node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)):
            match call.func:
                case ast.Attribute(value=ast.Name(id="re" | "regex"), attr=method) if method != "escape":
                    inline.add(path)
    assert inline - _INLINE == set(), "compile it at the top level of its module"


@cache
def _sources():
    root = Path(brim.__file__).parent
    paths = sorted(root.rglob("*.py"))
    return [
        (".".join(path.relative_to(root).with_suffix("").parts), ast.parse(path.read_text(encoding="utf-8")))
        for path in paths
    ]


# --- what the measurement tells apart, with times that are computed


def test_an_expression_that_backtracks_is_found():
    """In one of a few trials: what else runs on the machine may hide a power, and makes none of a line five times."""
    read, bounds = re.compile("a*b").search, Bounds(1 << 12, 0.1, 0.001)
    assert any(settled(read, seeds.Seed("", "a"), bounds).exponent > LIMIT for _ in range(5))


# --- how it grows


@pytest.mark.parametrize("part", range(4))
def test_no_expression_takes_a_power_of_its_text(part):
    slow = []
    for name in [*patterns()][part::4]:
        found, seed = worst(read_by(name), [*seeds_of(name)[:-271:11], *seeds_of(name)[-271::17]], QUICK)
        if found.exponent > LIMIT:
            slow.append(shown(name, len(seeds_of(name)), found, seed))
    assert slow == []


def test_no_function_takes_a_power_of_its_text():
    slow = []
    for name in READERS:
        found, seed = worst(read_by(name), seeds_of(name)[::67], Bounds(size=1 << 13, seconds=0.1, floor=0.01))
        if found.exponent > LIMIT:
            slow.append(shown(name, len(seeds_of(name)), found, seed))
    assert slow == []


def test_no_history_takes_a_power_of_its_length():
    slow = []
    for shape in shapes()[::9]:
        found = settled(
            lambda messages, shape=shape: fitted(messages, shape.format),
            shape,
            Bounds(size=1 << 15, seconds=0.2, floor=0.02),
        )
        if found.exponent > LIMIT:
            slow.append(shown("history", len(shapes()), found, shape))
    assert slow == []


@pytest.mark.hostile
@pytest.mark.parametrize("name", [*patterns(), *READERS])
def test_growth(name):
    chosen = chosen_of(name)
    assert len(chosen) >= LEAST
    found, seed = worst(read_by(name), chosen, FULL)
    print(shown(name, len(chosen), found, seed))
    assert found.exponent <= LIMIT


@pytest.mark.hostile
@pytest.mark.parametrize("format", ["openai", "anthropic", "responses"])
def test_growth_of_histories(format):
    chosen = [each for each in shapes() if each.format == format]
    found, seed = worst(lambda messages: fitted(messages, format), chosen, FULL)
    print(shown(f"history:{format}", len(chosen), found, seed))
    assert found.exponent <= LIMIT
