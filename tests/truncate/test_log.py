import pytest

from brim.truncate.shape import Shape
from truncate.cutting import CHAR

LINES = [f"12:00:{second:02} all is well in step {second}" for second in range(60)]


def log_with(trouble, at):
    return "\n".join([*LINES[:at], trouble, *LINES[at:]]) + "\n"


@pytest.mark.parametrize(
    "trouble",
    [
        "12:00 ERROR disk full",
        "ValueError: no such thing",
        "java.lang.NullPointerException: x",
        "Traceback (most recent call last):",
        "thread 'main' panicked at src/main.rs",
        "FATAL out of memory",
        "3 errors, 2 tests failed",
        "exceptions were seen",
        "a failure was seen",
        "Warning: deprecated",
        "[warn] slow",
    ],
)
def test_a_line_of_trouble_is_kept_from_the_middle(trouble):
    cut = Shape(kind="log").truncate(log_with(trouble, 30), 300, CHAR)
    assert trouble in cut.text.split("\n")
    assert cut.text.startswith(LINES[0])
    assert cut.text.endswith(LINES[-1] + "\n")


def test_all_warnings_are_kept_if_there_is_room_for_them():
    lines = [*LINES[:20], "WARN disk is slow", *LINES[20:30], "WARN queue is long", *LINES[30:]]
    kept = Shape(kind="log").truncate("\n".join(lines), 300, CHAR).text.split("\n")
    assert {"WARN disk is slow", "WARN queue is long"} <= set(kept)


@pytest.mark.parametrize("calm", ["a hall of mirrors", "failover is on", "forewarned", "errorless run", "panicle"])
def test_a_word_that_only_contains_trouble_is_none(calm):
    assert calm not in Shape(kind="log").truncate(log_with(calm, 30), 300, CHAR).text


def test_one_huge_line_does_not_hide_the_others():
    text = log_with("ERROR " + "x" * 5000, 30) + "last words\n"
    assert "last words" in Shape(kind="log").truncate(text, 300, CHAR).text
