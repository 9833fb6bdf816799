import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import BrimError, DoesNotFit, InvalidValue, Receipt, Section, fit, replay
from corruption import corrupted

SECTIONS = [
    Section("steps", ["one", "two"], keep="newest", forms=["1-2"], weight=0.5, required=True),
    Section("notes", "a gist " * 9, overflow="summarise", ceiling="40%"),
    Section("log", "a long log " * 20, priority="low", floor=4, most=90),
]


def stored(*, capture):
    made = fit(SECTIONS, 60, meter="chars", fill="fair", summarise=lambda text, limit: text[:limit], capture=capture)
    return made.receipt.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(("capture", "budget"), [(False, 500), (True, None)])
def test_a_receipt_with_any_value_wrong_is_refused_or_replayed(capture, budget):
    for values in corrupted(stored(capture=capture)):
        with suppress(BrimError):
            again = replay(json.dumps(values), budget=budget).receipt
            assert again.used <= again.budget
            assert Receipt.from_json(again.to_json()) == again


TEXTS = [json.dumps(stored(capture=capture)) for capture in (False, True)]


@given(text=st.sampled_from(TEXTS), at=st.integers(0, 4000), put=st.sampled_from(["", *'9-e"}],\0\\']))
def test_a_receipt_with_a_wrong_character_is_refused_or_replayed(text, at, put):
    with suppress(BrimError):
        replay(text[:at] + put + text[at + 1 :])


@pytest.mark.parametrize("capture", [False, True])
@pytest.mark.parametrize("digits", [301, 5_000])
def test_a_number_that_is_no_count_is_refused(digits, capture):
    text = json.dumps(stored(capture=capture))
    with pytest.raises(InvalidValue, match=f"JSON .a number of {digits:,} digits"):
        replay(text.replace('"size": 63', f'"size": {"9" * digits}'))


@pytest.mark.parametrize("place", ['"two"', '"size": 63', '"forms": ["1-2"]'])
@pytest.mark.parametrize("depth", [60, 400, 900, 950, 985, 995, 100_000])
def test_what_is_nested_deep_is_refused(place, depth):
    text = json.dumps(stored(capture=True))
    key = place.partition(":")[0] + ": " if ":" in place else ""
    with pytest.raises(InvalidValue):
        replay(text.replace(place, key + "[" * depth + "]" * depth))


def test_a_capture_is_replayed_and_a_wrong_one_is_refused_by_its_path():
    values = stored(capture=True)["capture"]
    assert replay(values).text == replay(json.dumps(stored(capture=True))).text
    with pytest.raises(InvalidValue, match="capture.budget must be a whole number, not 'x'"):
        replay({**values, "budget": "x"})


def sized(*sections, budget, **options):
    """Return a fit's receipt without its texts."""
    return Receipt.from_json(fit(list(sections), budget, meter="chars", **options).receipt.to_json())


def test_sizes_alone_give_a_bigger_budget_all_that_the_section_has():
    """What a section asked for at a small budget says nothing about a big one."""
    small = sized(Section("a", "x" * 100, stable=True, ceiling=50), Section("b", "y" * 100), budget=30)
    assert (small.part("a").wanted, small.part("b").wanted) == (0, 100)
    again = replay(small, budget=400).receipt
    assert [(part.wanted, part.granted) for part in again.parts] == [(50, 50), (100, 100)]


def test_sizes_alone_keep_a_ceiling_at_its_units():
    small = sized(Section("a", "x" * 100, ceiling="50%"), Section("b", "y" * 100), budget=60)
    assert small.part("a").ceiling == 30
    again = replay(small, budget=400).receipt
    assert (again.part("a").used, again.part("a").ceiling, again.part("a").state) == (30, 30, "cut")
    assert again.part("b").state == "whole"


@pytest.mark.parametrize(
    ("budget", "uses"), [(2, (0, 0)), (3, (1, 0)), (30, (28, 0)), (60, (30, 28)), (199, (30, 100)), (1000, (30, 100))]
)
def test_sizes_alone_fill_the_budget_and_are_never_over_it(budget, uses):
    small = sized(Section("a", "x" * 100, ceiling="50%"), Section("b", "y" * 100), budget=60)
    again = replay(small, budget=budget).receipt
    assert tuple(part.used for part in again.parts) == uses
    assert again.used == sum(uses) + 2 <= budget


def test_sizes_alone_need_room_for_the_separators():
    small = sized(Section("a", "x" * 20), Section("b", "y" * 100), budget=60)
    with pytest.raises(DoesNotFit) as refused:
        replay(small, budget=1)
    assert refused.value.available == -1
