import pytest

from brim.testing import CharMeter
from brim.truncate import shortened
from truncate.cutting import CHAR, PIECE


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(40, "abcdefghijklmnopqrstuvwxyz (note)", id="whole"),
        pytest.param(29, "ab\n[remainder omitted] (note)", id="cut, with the note inside the limit"),
        pytest.param(26, "abcdefghijklmnopqrstuvwxyz", id="a bare prefix where marker and note do not fit"),
        pytest.param(4, "abcd", id="a short prefix"),
        pytest.param(-1, "", id="nothing below zero"),
    ],
)
def test_a_text_is_shortened_with_a_note(limit, expected):
    assert shortened("abcdefghijklmnopqrstuvwxyz", limit, CHAR, "head", " (note)") == expected


def test_a_note_that_counts_more_joined_than_apart_stays_inside_the_limit():
    class Dear(CharMeter):
        def measure(self, text):
            return len(text) + 5 * ("] (" in text)

    text = shortened("a" * 100, 40, Dear(), "head", " (note)")
    assert Dear().measure(text) == 40
    assert text.endswith("omitted] (note)")
    assert PIECE.count(shortened("a" * 100, 9, PIECE, "shape", " (note)")) <= 9
