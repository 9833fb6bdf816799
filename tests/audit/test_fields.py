import math

import pytest

from brim.audit.fields import seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-09-21T13:33:20Z", 1_789_997_600),
        ("2026-09-21T15:33:20+02:00", 1_789_997_600),
        ("2026-09-21T13:33:20", 1_789_997_600),
        *((1_789_997_600 * 10**digits, 1_789_997_600) for digits in (0, 3, 6, 9)),
        ("1789997600000000000", 1_789_997_600),
        (1_789_997_600.5, 1_789_997_600.5),
        *((wrong, None) for wrong in (10**9, -5, True, None, [], "yesterday", "", math.nan, math.inf)),
    ],
    ids=str,
)
def test_a_time_is_read_from_a_date_and_from_a_number_of_any_unit(written, expected):
    assert seconds(written) == (expected if expected is None else pytest.approx(expected))
