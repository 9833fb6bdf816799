import math

import pytest
from hypothesis import given

from brim.errors import DoesNotFit, InvalidValue
from brim.testing import CharMeter
from brim.truncate.ends import Ends, Tail
from properties import examples
from strategies import long_texts
from truncate.cutting import BAR, CHAR, boundaries, checked, every_meter, limits, shares


@pytest.mark.parametrize(
    ("options", "limit", "expected"),
    [
        pytest.param({"marker": "..."}, 7, "01...89", id="half from each end"),
        pytest.param({"marker": "...", "head_share": 1}, 7, "0123...", id="all from the start"),
        pytest.param({"marker": "...", "head_share": 0}, 7, "...6789", id="all from the end"),
        pytest.param({"marker": "...", "head_share": 0.25}, 7, "0...789", id="a quarter from the start"),
        pytest.param({"marker": "<{dropped}>"}, 8, "01<6>89", id="the number of characters that went"),
        pytest.param({"marker": "{}{0}{x!r}"}, 12, "0123456789ab", id="a text that fits comes back as it is"),
    ],
)
def test_both_ends_of_a_text_are_kept(options, limit, expected):
    text = "0123456789ab" if limit == 12 else "0123456789"
    assert Ends(**options).truncate(text, limit, CHAR).text == expected


@pytest.mark.parametrize("marker", ["{}", "{dropped!r}", "{dropped:>9}", "{0}", "}{", "%s"])
def test_braces_in_a_marker_are_left_alone(marker):
    assert marker in Ends(marker=marker).truncate("x" * 60, 30, CHAR).text


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf])
def test_a_share_outside_of_zero_to_one_is_refused(share):
    with pytest.raises(InvalidValue, match="head_share must be a fraction from 0 to 1"):
        Ends(head_share=share)


def test_something_always_goes_when_a_marker_stands_there():
    class Dear(CharMeter):
        """Counts a whole text as more than its parts."""

        def measure(self, text):
            return 100 if text == "a" * 10 else len(text)

    assert Ends(marker="-{dropped}-").truncate("a" * 10, 14, Dear()).text == "aaaaa-1-aaaa"


@every_meter
@examples(60)
@given(text=long_texts, share=shares, head_share=shares)
def test_what_is_kept_are_two_ends_that_split_no_grapheme(meter, text, share, head_share):
    truncator = Ends(marker=BAR + "{dropped}" + BAR, head_share=head_share)
    cut = checked(truncator, text, limits(text, meter, share), meter)
    if cut and cut.text != text:
        head, dropped, tail = cut.text.split(BAR)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + int(dropped) + len(tail) == len(text)
        assert int(dropped) > 0
        assert {len(head), len(text) - len(tail)} <= boundaries(text)


def test_a_limit_that_holds_only_the_marker_is_refused_with_its_numbers():
    with pytest.raises(DoesNotFit) as caught:
        Tail(marker="...").truncate("abcdef", 3, CHAR)
    assert (caught.value.needed, caught.value.available) == (6, 3)
