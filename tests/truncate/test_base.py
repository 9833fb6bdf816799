import pytest

from brim.truncate import shortened
from truncate.cutting import CHAR


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
