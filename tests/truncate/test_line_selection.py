import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate import line_selection
from brim.truncate.line_selection import LineSelection, between, each, from_both_ends, keep
from properties import examples
from truncate.cutting import CHAR

texts = st.lists(st.text("ab\r\u2028\x0c", max_size=6), max_size=12).map("\n".join)


@examples(120)
@given(text=texts)
def test_the_lines_of_a_page_are_the_whole_text(text):
    page = LineSelection.of(text, "#")
    lines = [page.lines(line, line + 1) for line in range(len(page))]
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])
    assert not any("\n" in line[:-1] for line in lines)


@examples(120)
@given(text=texts, piece=st.integers(1, 9))
def test_lines_are_the_same_wherever_a_piece_of_a_long_text_ends(text, piece):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_selection, "_PIECE", piece)
        starts = LineSelection.of(text, "#").starts
    ends = [at + 1 for at, letter in enumerate(text) if letter == "\n"]
    assert starts == [0, *ends, *([] if text.endswith("\n") else [len(text)])]


@examples(120)
@given(text=texts, picks=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=5))
def test_what_is_rendered_is_the_kept_lines_and_a_gap_for_each_run_between(text, picks):
    page = LineSelection.of(text, "#")
    spans = [(start, min(start + length, len(page))) for start, length in picks if start < len(page)]
    gaps = []

    def gap(start, stop):
        gaps.append((start, stop))
        return ""

    kept = sorted({line for start, stop in spans for line in range(start, stop)})
    assert page.render(spans, gap) == "".join(page.lines(line, line + 1) for line in kept)
    missing = sorted(set(range(len(page))) - set(kept))
    assert sorted(line for start, stop in gaps for line in range(start, stop)) == missing


@pytest.mark.parametrize(
    ("text", "marker", "start", "stop", "expected"),
    [
        pytest.param("aaaa\nbbbb\ncccc\n", "<{dropped}>", 0, 2, "<2>\n", id="the number of lines"),
        pytest.param("aaaa\nbbbb\ncccc", "<{dropped}>", 1, 3, "<2>", id="no line break where the text has none"),
        pytest.param("a\nb\ncccc\n", "<{dropped}>", 0, 2, "a\nb\n", id="lines shorter than the marker stay"),
        pytest.param("aaaa\nbbbb\n", "", 0, 1, "", id="an empty marker leaves nothing"),
        pytest.param("aaaa\nbbbb\n", "\n<\n{dropped}>", 0, 2, "< 2>\n", id="a marker of one line"),
    ],
)
def test_a_note_stands_for_the_lines_of_a_gap(text, marker, start, stop, expected):
    assert LineSelection.of(text, marker).note(start, stop) == expected


def test_a_line_that_fills_the_room_does_not_stand_in_the_way():
    page = LineSelection.of("x" * 500 + "\nsmall\n" + "y" * 500 + "\nlittle\n", "#")
    assert keep(page, each(range(4)), 40, CHAR).text == "#\nsmall\n#\nlittle\n"


def test_lines_come_from_both_ends_in_turn():
    assert list(from_both_ends([10, 20, 30, 40, 50])) == [50, 10, 40, 20, 30]
    assert list(from_both_ends([])) == []


def test_what_lies_between_spans():
    assert between([(1, 3), (3, 4), (6, 8)], 8) == [(0, 1), (4, 6)]
    assert between([], 3, 1) == [(1, 3)]
