"""Meters around another."""

import importlib
import pickle

import pytest

import brim
from brim.errors import InvalidValue, MeterError
from brim.meter.adapters import UpperBound
from brim.meter.base import BaseMeter, Meter

adapters = importlib.import_module("brim.meter.adapters")


@pytest.mark.parametrize(("waste", "told"), [(20, 0), (21, 1), (180, 1)])
def test_a_bound_that_wastes_room_says_once_how_to_get_an_exact_count(waste, told, caplog, monkeypatch):
    """A model of an unknown vocabulary used a third of its window, and nothing said why."""
    monkeypatch.setattr(adapters, "find_spec", lambda _name: None)  # As without the extra.

    class Estimate(BaseMeter):
        def measure(self, text):
            return len(text)

        def upper_load(self, text):
            return len(text) * (100 + waste) // 100

    bound = UpperBound(Estimate(f"llama {waste}"))
    for at in range(12):
        assert bound.count(f"{at:02}" + "x" * 98) == 100 + waste
    assert len(caplog.messages) == told
    assert all(f"{waste} %" in each and "pip install 'brim[open]'" in each for each in caplog.messages)


def fails(_text):
    raise ConnectionError("the tokenizer service is down")


class Counter:
    """A meter of a caller, as its protocol asks for."""

    name, exact = "ours", True

    def __init__(self, count):
        self.count = count
        self.head = self.tail = lambda text, _limit: text


@pytest.mark.parametrize(
    ("count", "problem"),
    [
        (fails, "it raised ConnectionError: the tokenizer service is down"),
        (lambda _: -1, "it returned -1 instead of a whole number of at least 0"),
        (lambda _: 2.5, "it returned 2.5 instead of a whole number of at least 0"),
        (lambda _: None, "it returned None instead of a whole number of at least 0"),
        (lambda _: True, "it returned True instead of a whole number of at least 0"),
    ],
    ids=["raises", "negative", "float", "none", "bool"],
)
def test_a_meter_that_fails_is_named_with_the_text_and_the_problem(count, problem):
    """A bare ConnectionError came out of `fit`, without a word of what was counted, or by what."""
    assert isinstance(Counter(count), Meter)
    first = []
    later = Counter(lambda text: count(text) if first else first.append(text) or 1)
    with pytest.raises(MeterError) as told:
        brim.fit([brim.Section("a", "x" * 1_234)], 100, meter=later)
    assert (told.value.meter, told.value.length, told.value.problem) == ("ours", 1_234, problem)
    assert str(told.value) == f"the meter 'ours' failed on a text of 1,234 characters: {problem}"
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)
    with pytest.raises(MeterError, match="failed on a text"):
        brim.meter(Counter(count))


def test_an_interrupt_is_not_taken_for_a_failure():
    def count(_text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brim.meter(count)


@pytest.mark.parametrize("source", [lambda _: 0, Counter(lambda _: 0)], ids=["function", "object"])
def test_a_meter_that_counts_nothing_is_refused(source):
    """With it, everything fits."""
    with pytest.raises(InvalidValue, match="meter must be a meter that counts text"):
        brim.meter(source)
    with pytest.raises(InvalidValue, match="counts text"):
        brim.fit([brim.Section("a", "x" * 1_000)], 10, meter=source)


def test_a_meter_of_another_unit_is_accepted():
    assert brim.meter(lambda text: text.count("\n")).count("a\nb\n") == 2
