"""The lines of a summary: within the limit, in their order, what is rare and new before what is said again."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.history.compact.lines import HEADINGS, Line
from brim.history.compact.summary import extract, ranked
from brim.testing import CharMeter, PieceMeter
from properties import examples

CHARS, PIECES = CharMeter(), PieceMeter()


def line(text, role="user", kind="said", at=0, outcome=""):
    return Line(role=role, kind=kind, text=text, at=at, outcome=outcome)


def said(text, at=0):
    return line(text, "assistant", "own", at)


def called(path, outcome, at=0):
    return line(f'read {{"path": "{path}"}}', "assistant", "call", at, outcome)


def rows(lines):
    return "\n".join(each.whole for each in lines)


@pytest.mark.parametrize("meter", [CHARS, PIECES, brim.meter("o200k_base")], ids=lambda meter: meter.name)
@examples(60)
@given(
    lines=st.lists(
        st.builds(line, st.text(min_size=1, max_size=60), st.sampled_from(["user", "assistant", "tool"]),
                  st.sampled_from([*HEADINGS]), st.integers(0, 9), st.text(max_size=200)), max_size=20),
    limit=st.integers(0, 400),
)  # fmt: skip
def test_the_text_is_within_the_limit_and_has_whole_lines_in_their_order(meter, lines, limit):
    written = {"": []}

    def write(chosen):
        text = rows(chosen)
        written[text] = [*chosen]
        return text

    text = extract(lines, limit, meter, write)
    assert meter.load(text) <= limit
    left = iter(lines)
    assert all(any(each.text == one.text for one in left) for each in written[text]), "in their order, each once"


def best(lines):
    """Return lines in the order of their worth for each character."""
    return [lines[at] for at in ranked(lines, [len(each.whole) for each in lines])]


def test_what_a_person_said_once_comes_before_what_is_said_again_and_again():
    lines = [said(f"House {i} in the old town has a view of the river.", i) for i in range(40)]
    lines[7] = line("No Lima, ever.", at=7)
    lines[20] = said("The ferry to Amara is cancelled.", 20)
    text = extract(lines, 120, CHARS, rows)
    assert "No Lima, ever." in text
    assert "The ferry to Amara is cancelled." in text


def test_sentences_of_rare_words_come_first():
    lines = [said("A lantern hangs there.", 0), *(said("A cottage stands near.", at) for at in range(1, 9))]
    assert best(lines)[0] is lines[0]


def test_a_side_that_has_told_much_lets_the_other_have_a_word():
    """Of a talk of two, 4,000 tokens had two thirds of what one side said and a hundredth of the other's."""
    rng = random.Random(5)
    talk = ["".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(4_000)]
    lines = [
        line(" ".join(talk[8 * i : 8 * i + 8]), ("user", "assistant")[i % 2], ("said", "own")[i % 2], i)
        for i in range(400)
    ]
    for limit in (6_000, 12_000):
        text = extract(lines, limit, CHARS, rows)
        mine = sum(len(each.text) for each in lines if each.role == "user" and each.text in text)
        assert 0.15 <= 1 - mine / len(text) <= 0.4, "what people said has more room, not all of it"


def test_nothing_is_returned_where_not_even_the_head_fits():
    assert extract([said("The clock is wrong.")], 5, CHARS, lambda chosen: f"[a head]\n{rows(chosen)}") == ""


def test_a_name_is_worth_something_once():
    lines = [said(f"It was in lib/store_{i % 2}.py that the lock stayed open.", i) for i in range(8)]
    text = extract(lines, 130, CHARS, rows)
    assert "store_0.py" in text
    assert "store_1.py" in text


def test_an_outcome_is_shown_whole_where_nothing_else_needs_the_room():
    outcome = " ".join(f"line{i}" for i in range(60)) + " 3 failed"
    lines = [called("a.py", outcome), said("The parser ignores the last token.", 1)]
    assert rows(lines) == extract(lines, 1_000, CHARS, rows)
    short = extract(lines, 200, CHARS, rows).split("\n")
    assert short[1] == "The parser ignores the last token."
    start, end = short[0].partition(" → ")[2].split(" … ")
    assert outcome.startswith(f"{start} ")
    assert outcome.endswith(f" {end}")
    assert end.endswith("3 failed")


def test_what_stands_above_is_not_said_again_but_a_call_is():
    lines = [line("Never lose an order."), called("a.py", "ok", 1)]
    assert extract(lines, 500, CHARS, rows, "Goal: Never lose an order.") == 'read {"path": "a.py"} → ok'


def test_people_come_first_and_what_was_printed_last():
    lines = [
        line("The clock ran.", "tool", "end"),
        said("The clock is wrong by an hour."),
        line("Use the tower clock."),
    ]
    assert best(lines) == lines[::-1]
