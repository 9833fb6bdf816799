import pytest
from hypothesis import given

from brim.errors import DoesNotFit
from brim.truncate.tail import Tail
from strategies import long_texts
from truncate.cutting import BAR, CHAR, boundaries, checked, every_meter, examples, limits, shares


@pytest.mark.parametrize(
    ("text", "limit", "marker", "expected"),
    [
        pytest.param("abc", 3, "...", "abc", id="a text that fits comes back as it is"),
        pytest.param("abcdef", 5, "...", "...ef", id="the end stays and the marker is counted"),
        pytest.param("abcdef", 4, "", "cdef", id="an empty marker leaves the room to the text"),
        pytest.param("", 0, "...", "", id="nothing needs nothing"),
    ],
)
def test_the_end_of_a_text_is_kept(text, limit, marker, expected):
    assert Tail(marker=marker).truncate(text, limit, CHAR).text == expected


def test_the_marker_stands_first_on_a_line_of_its_own():
    assert Tail().truncate("one two three four five six", 25, CHAR).text == "[... truncated ...]\ne six"


def test_a_limit_that_holds_only_the_marker_is_refused_with_its_numbers():
    with pytest.raises(DoesNotFit) as caught:
        Tail(marker="...").truncate("abcdef", 3, CHAR)
    assert (caught.value.needed, caught.value.available) == (6, 3)


@every_meter
@examples(60)
@given(text=long_texts, share=shares)
def test_what_is_kept_is_a_suffix_that_splits_no_grapheme(meter, text, share):
    cut = checked(Tail(marker=BAR), text, limits(text, meter, share), meter)
    if cut and cut.text != text:
        kept = cut.text.removeprefix(BAR)
        assert text.endswith(kept)
        assert len(text) - len(kept) in boundaries(text)
