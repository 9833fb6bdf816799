import pytest

from brim.truncate.shape import Shape
from truncate.cutting import CHAR, checked

LINES = [f"12:00:{second:02} all is well in step {second}" for second in range(60)]


def log_with(trouble, at):
    return "\n".join([*LINES[:at], trouble, *LINES[at:]]) + "\n"


def test_all_warnings_are_kept_if_there_is_room_for_them():
    lines = [*LINES[:20], "WARN disk is slow", *LINES[20:30], "WARN queue is long", *LINES[30:]]
    kept = Shape(kind="log").truncate("\n".join(lines), 300, CHAR).text.split("\n")
    assert {"WARN disk is slow", "WARN queue is long"} <= set(kept)


def test_one_huge_line_does_not_hide_the_others():
    text = log_with("ERROR " + "x" * 5000, 30) + "last words\n"
    assert "last words" in Shape(kind="log").truncate(text, 300, CHAR).text


@pytest.mark.parametrize("limit", [1_200, 2_000, 4_000])
def test_lines_of_three_hundred_characters_stay_whole(limit):
    """`[10,107 characters omitted]` in the middle of a line of 340 characters."""
    lines = [f"{i:03} " + f"worker {i} took the lock and held it for {i} ms, " * 7 for i in range(40)]
    cut = checked(Shape(), "\n".join(lines), limit, CHAR)
    shown = [line for line in cut.text.split("\n") if not line.startswith("[")]
    assert len(shown) >= limit // 400
    assert [line for line in shown if line not in lines] == []
