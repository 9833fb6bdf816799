"""The doubles of `brim.testing` are as unruly as they claim to be."""

from brim.meter.base import Meter
from brim.testing import CharMeter, PieceMeter


def test_both_are_meters():
    assert isinstance(CharMeter(), Meter)
    assert isinstance(PieceMeter(), Meter)
    assert (CharMeter().unit, CharMeter().exact) == ("chars", True)


def test_characters_are_counted():
    assert CharMeter().count("naïve 🏳️") == 8


def test_a_longer_text_can_count_less_than_its_start():
    meter = PieceMeter()
    assert [meter.count("a" * length) for length in (13, 14, 15)] == [3, 2, 3]


def test_a_join_can_cost_less_or_more_than_its_sides():
    meter = PieceMeter()
    assert meter.count("ab" + "cd") < meter.count("ab") + meter.count("cd")
    assert meter.count("a" * 21 + "b" * 4) > meter.count("a" * 21) + meter.count("b" * 4)


def test_nothing_counts_nothing():
    assert (CharMeter().count(""), PieceMeter().count("")) == (0, 0)
