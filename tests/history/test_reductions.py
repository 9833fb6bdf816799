"""Turns that are added up at once leave what they leave one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.history import arrangement
from brim.history.reductions import Reductions


def history(turns, repeated):
    """Return a history of turns with calls, some of which read the same file again."""
    made = brim.History(meter="o200k_base", stable=True)
    for number in range(turns):
        path = f"src/m{number % repeated}.py"
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{path}"}}'},
        }
        made.extend(
            [
                {"role": "user", "content": f"Question {number}: what does {path} do? " + "word " * (number % 40)},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {
                    "role": "tool",
                    "tool_call_id": f"c{number}",
                    "content": f"{path}: line {number}\n" * (number % 23 + 1),
                },
            ]
        )
    return made


@given(
    turns=st.integers(3, 60),
    repeated=st.integers(1, 60),
    budgets=st.lists(st.integers(150, 6_000), min_size=1, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_a_cut_leaves_the_same_whether_turns_are_added_up_at_once_or_one_by_one(turns, repeated, budgets):
    found = []
    for many in (1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrangement, "_MANY", many)
            one, sent = history(turns, repeated), []
            for budget in budgets:
                try:
                    fitted = one.fit(budget)
                    sent.append((fitted.messages, fitted.receipt.to_dict()))
                except brim.DoesNotFit as error:
                    sent.append(str(error))
                one.extend([{"role": "user", "content": "And now?"}])
            found.append(sent)
    assert found[0] == found[1]


@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30),
    st.sets(st.integers(0, 9)),
    st.integers(0, 80),
)
def test_the_sums_are_those_of_the_turns(complete, changes, others, room):
    known, weights, plain = Reductions(), list(range(5, 15)), {}
    for turn, saved in [(turn, turn % 4) for turn in range(10) if complete] + changes:
        known.discard(turn)
        plain[turn] = saved, {10 * turn: f"form {turn} {saved}"}
        known.add(turn, plain[turn])
    wanted = [turn for turn in range(10) if turn not in others]
    there = all(turn in plain for turn in wanted)
    units = known.units(weights, others)
    assert units == (sum(weights[turn] - plain[turn][0] for turn in wanted) if there else None)
    order = wanted[::-1]
    found = known.fitting(order, weights, room)
    if not there:
        assert found is None
        return
    kept, used = [], 0
    for turn in order:
        if used + weights[turn] - plain[turn][0] > room:
            break
        kept.append(turn)
        used += weights[turn] - plain[turn][0]
    shorter = {turn: weights[turn] - plain[turn][0] for turn in kept if plain[turn][0] > 0}
    forms = {at: form for turn in shorter for at, form in plain[turn][1].items()}
    assert (found.number, found.units, list(found.shorter.items())) == (len(kept), used, list(shorter.items()))
    assert (found.same, found.forms) == (set(kept) - shorter.keys(), forms)
