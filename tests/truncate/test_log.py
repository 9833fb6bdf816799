from brim.truncate.shape import Shape
from truncate.cutting import CHAR

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
