"""Meters around another."""

import pytest

from brim.meter.adapters import Upper
from brim.meter.base import BaseMeter


@pytest.mark.parametrize(("waste", "told"), [(20, 0), (21, 1), (180, 1)])
def test_a_bound_that_wastes_room_says_once_how_to_get_an_exact_count(waste, told, caplog):
    """A model of an unknown vocabulary used a third of its window, and nothing said why."""

    class Estimate(BaseMeter):
        def measure(self, text):
            return len(text)

        def upper(self, text):
            return len(text) * (100 + waste) // 100

    bound = Upper(Estimate("llama"))
    for at in range(12):
        assert bound.count(f"{at:02}" + "x" * 98) == 100 + waste
    assert len(caplog.messages) == told
    assert all(f"{waste} %" in each and "pip install 'brim[open]'" in each for each in caplog.messages)
