"""The budget lab agrees with the library to the unit, and what it says comes back does come back."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.errors import DoesNotFit
from brim.studio import lab, sample
from brim.studio.desk import Desk

NAME, STATE, USED = 0, 1, 5


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    from brim.studio import demo

    made = demo.desk(str(tmp_path_factory.mktemp("demo")))
    yield made
    made.close()


def fresh(source, budget, desk):
    """Fit the same input with the library itself."""
    if source == lab.SAMPLE:
        given = sample.receipt().capture
        options = {key: value for key, value in given.options.items() if value is not None}
        return brim.fit(list(given.sections), budget, model=given.model, meter=given.meter, **options).receipt
    session = brim.Session.open(source.partition(":")[2], store=desk.needed())
    told = {"meter": session.meter, "shape": session.shape}
    summary = [i for i, each in enumerate(session.messages) if "CONTEXT_SUMMARY" in str(each["content"])]
    assert len(summary) == 1
    try:
        return brim.fit_messages(session.messages, budget, pin=summary, **told).receipt
    except DoesNotFit:
        return brim.fit_messages(session.messages, budget, **told).receipt


@settings(max_examples=25, deadline=None)
@given(budget=st.integers(0, 9_000), source=st.sampled_from([lab.SAMPLE, "session:orders-incident"]))
def test_every_budget_gives_what_the_library_gives(desk, budget, source):
    told = lab.fitted(desk, source, budget, None)
    if not told["fits"]:
        with pytest.raises(DoesNotFit) as caught:
            fresh(source, budget, desk)
        assert told["needed"] == caught.value.needed
        return
    receipt = fresh(source, budget, desk)
    assert told["used"] == receipt.used <= budget
    assert [(row[NAME], row[STATE], row[USED]) for row in told["rows"]] == [
        (part.name, part.state, part.used) for part in receipt.parts
    ]


@pytest.mark.parametrize("budget", [1_700, 2_400, 3_100])
@pytest.mark.parametrize("source", [lab.SAMPLE, "session:orders-incident"])
def test_a_dropped_piece_is_back_at_the_budget_that_was_told_and_not_one_unit_below(desk, source, budget):
    rows = lab.fitted(desk, source, budget, None)["rows"]
    dropped = {row[NAME] for row in rows if row[STATE] == "dropped"}
    back = lab.returns(desk, source, budget, None)["returns"]
    assert dropped == set(back)
    for name, (units, exact) in back.items():
        there = {row[NAME]: row[STATE] for row in lab.fitted(desk, source, units, None)["rows"]}
        assert there[name] not in ("dropped", "disabled")
        if exact:
            before = {row[NAME]: row[STATE] for row in lab.fitted(desk, source, units - 1, None)["rows"]}
            assert before[name] == "dropped"


def test_another_policy_can_be_laid_beside_the_first(desk):
    usual = lab.fitted(desk, lab.SAMPLE, 2_600, None)
    strict = lab.fitted(desk, lab.SAMPLE, 2_600, {"policy": "stop"})
    assert usual["rows"] != strict["rows"]


@pytest.mark.parametrize(
    ("budget", "choices"), [(-1, None), (True, None), ("7", None), (10**12, None), (900, {"nothing": "x"}), (900, [])]
)
def test_a_budget_or_a_choice_that_cannot_be_is_refused(desk, budget, choices):
    with pytest.raises(brim.InvalidValue):
        lab.fitted(desk, lab.SAMPLE, budget, choices)


def test_a_saved_case_is_a_receipt_that_replays_to_the_same(desk):
    values = lab.fixture(desk, lab.SAMPLE, 2_600, None)
    again = brim.replay(values)
    assert again.receipt.used == values["used"]
    messages = lab.fixture(desk, "session:orders-incident", 2_600, None)
    assert brim.replay(messages).receipt.used == messages["used"]


def test_two_thousand_pieces_are_fitted_anew_in_a_tenth_of_a_second(tmp_path):
    sections = [
        brim.Section(f"s{i}", f"piece {i} " + "some words " * (3 + i % 20), priority=("high", "medium", "low")[i % 3])
        for i in range(2_000)
    ]
    receipt = brim.fit(sections, 20_000, model="gpt-5", capture=True).receipt
    desk = Desk(name="mine", url=f"sqlite:///{tmp_path}/none.db")
    desk.keep("receipt:big", lab._captured("receipt:big", "big", receipt))
    lab.fitted(desk, "receipt:big", 15_000, None)
    took = []
    for budget in range(10_000, 30_000, 1_000):
        began = time.perf_counter()
        told = lab.fitted(desk, "receipt:big", budget, None)
        took.append(time.perf_counter() - began)
        assert len(told["rows"]) == 2_000
    assert sorted(took)[len(took) // 2] < 0.1
