import pytest

from brim.errors import DoesNotFit
from brim.testing import CharMeter
from brim.truncate import shortened
from brim.truncate.base import refusal, shrink
from truncate.cutting import CHAR, PIECE


def test_a_refusal_needs_more_than_the_limit():
    error = refusal("a" * 40, 3, 10, CHAR)
    assert (error.needed, error.available) == (11, 10)
    assert str(error) == "a text of 40 chars cannot be cut to 10: its smallest form needs 11"


def test_the_room_shrinks_by_what_a_result_is_over():
    rooms = []

    def build(room):
        rooms.append(room)
        return "x" * (room + 4)

    cut = shrink("y" * 30, 10, CHAR, build)
    assert (cut.text, cut.before, cut.after) == ("x" * 10, 30, 10)
    assert rooms == [10, 6]


def test_another_count_than_the_meter_s_decides():
    cut = shrink("y" * 30, 10, CHAR, lambda room: "x" * room, count=lambda text: 3 + len(text))
    assert (cut.text, cut.before, cut.after) == ("x" * 7, 30, 10)


@pytest.mark.parametrize("built", ["", "x" * 20], ids=["nothing is built", "all results are over"])
def test_a_text_of_which_nothing_fits_is_refused(built):
    with pytest.raises(DoesNotFit) as caught:
        shrink("y" * 30, 10, CHAR, lambda _: built)
    assert (caught.value.needed, caught.value.available) == (len(built) or 30, 10)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(40, "abcdefghijklmnopqrstuvwxyz (note)", id="whole"),
        pytest.param(32, "a\n[25 characters omitted] (note)", id="cut, with the note inside the limit"),
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
