"""What the tests of all truncators share: the meters, the contract, and texts that must be cut."""

from __future__ import annotations

import pytest
import regex
from hypothesis import strategies as st

from brim.errors import DoesNotFit
from brim.meter import meter
from brim.meter.base import BaseMeter
from brim.testing import CharMeter, PieceMeter
from brim.truncate.base import Cut, Truncator

CHAR, PIECE, EXACT = CharMeter(), PieceMeter(), meter("o200k_base")
METERS = [pytest.param(CHAR, id="char"), pytest.param(PIECE, id="piece"), pytest.param(EXACT, id="o200k")]
every_meter = pytest.mark.parametrize("meter", METERS)

BAR = "\ue000"
"""A marker that no generated text holds, so that a test can take a result apart."""


def attempt(action):
    """Return what an action returns, or the error with which it refused."""
    try:
        return action()
    except DoesNotFit as error:
        return error


def checked(truncator: Truncator, text: str, limit: int, meter: BaseMeter) -> Cut | None:
    """Truncate, hold the result to what every truncator promises, and return it, or `None` when it refused."""
    cut = attempt(lambda: truncator.truncate(text, limit, meter))
    if isinstance(cut, DoesNotFit):
        assert cut.needed > limit == cut.available
        assert meter.count(text) > limit
        return None
    # `measure` counts afresh: a memo cannot agree with itself here.
    assert cut.before == meter.measure(text)
    assert cut.after == meter.measure(cut.text) <= limit
    assert (cut.text == text) == (cut.before <= limit)
    assert cut.text or not text
    assert truncator.truncate(text, limit, meter) == cut
    assert truncator.truncate(cut.text, limit, meter).text == cut.text
    return cut


def boundaries(text: str) -> set[int]:
    """Return every position at which a text may be cut without splitting a grapheme."""
    return {0, *(match.end() for match in regex.finditer(r"\X", text))}


def limits(text: str, meter: BaseMeter, share: float) -> int:
    """Return a limit below the count of a text, if there is one: `share` of the way up from zero."""
    return int(max(meter.count(text) - 1, 0) * share)


shares = st.floats(0, 1, allow_nan=False)
