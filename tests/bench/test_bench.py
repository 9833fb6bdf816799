"""The benchmarks' own parts: texts that are the same everywhere, and a report that says what was found.

Nothing here measures time.
"""

import hashlib
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from bench import corpus, fitting, outcome, record  # noqa: E402 - the checkout is no installed package


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def test_a_seed_gives_the_same_bytes_on_every_machine():
    assert digest(corpus.mixed(50_000)) == "5e9d2e9e842e1b87"
    assert digest(corpus.mixed(50_000, 2)) != digest(corpus.mixed(50_000))


def test_a_mixed_text_holds_every_kind():
    text = corpus.mixed(300_000)
    for sign in ("would ", "def ", "const ", '"tags"', "trace=", "問題", "데이터", "الوقت", "😀", "\n2026-"):
        assert sign in text


def test_the_plain_loop_keeps_the_most_essential_within_the_budget():
    pieces = [fitting.Piece(name=str(i), text="x" * 10, rank=i % 2) for i in range(4)]
    text = fitting.plain_loop(len)(fitting.Case(pieces=pieces, budget=24))
    assert text == "\n\n".join(["x" * 10] * 2)


@pytest.mark.parametrize("power", [1, 2])
def test_the_exponent_is_the_slope_on_logarithmic_axes(power):
    assert outcome.exponent([(x, 3 * x**power) for x in (1, 10, 50, 400)]) == pytest.approx(power)


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "passed"),
    [
        *((4, 3.5, True, True), (3, 3.5, True, False), (2, 2, False, True), (2.1, 2, False, False)),
        *((math.nan, 2, False, False), (math.nan, 2, True, False)),  # It was not measured.
    ],
)
def test_a_gate_tells_on_which_side_of_its_limit_the_value_is(value, limit, at_least, passed):
    gate = outcome.Gate(name="speed", value=value, limit=limit, unit="x", at_least=at_least)
    found = record.recorded(outcome.Outcome(name="some", tables=[], gates=[gate]), outcome.Setting(), 1)
    assert gate.passed is passed
    assert f"| {'pass' if passed else '**fail**'} |" in list(record.gates(found))[-1]


def test_a_page_shows_numbers_with_three_digits_and_texts_as_they_are():
    table = outcome.Table(
        title="Speed",
        columns=["what", "ms", "n"],
        rows=[["a | b", 1234.567, 12345], ["c", 0.00123456, None], ["d", math.nan, 0]],
        notes=["One was left out."],
    )
    found = record.recorded(outcome.Outcome(name="some", tables=[table]), outcome.Setting(), 1)
    lines = list(record.page(found))
    assert lines[0].startswith("Measured on 20")
    assert lines[1:] == [
        "",
        "**Speed**",
        "",
        "| what | ms | n |",
        "|---|---:|---:|",
        "| a \\| b | 1,235 | 12,345 |",
        "| c | 0.00123 | - |",
        "| d | - | 0 |",
        "",
        "One was left out.",
    ]


def test_an_unknown_benchmark_is_refused_with_the_names(capsys):
    from bench.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main(["cuonting"])
    assert stopped.value.code == 2
    assert "no benchmark is called cuonting; there are counting, fitting" in capsys.readouterr().err
