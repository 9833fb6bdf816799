"""Each line of the promise on generated histories; `make prove` runs 50,000 of them."""

import pytest

import traffic

_HISTORIES, _GROWING, _BLOCKS = 60, 60, 2
_NEW = 32
"""Histories of Gemini and Bedrock, of which each fourth grows too."""

_BROKEN = (54579, 58639, 60977, 63189, 62629, 120129)
"""Seeds of histories that once got less of a newer turn in a bigger budget, or were illegal."""

_BROKEN_NEW = (33750, 48802)
"""The same of Gemini and Bedrock: a long task that a bigger budget cut, a superseded result without a mark."""


@pytest.mark.parametrize("seed", _BROKEN_NEW)
def test_histories_of_gemini_and_bedrock_that_broke_the_promise_once(seed):
    traffic.check(traffic.Case.of(seed, traffic.NEW_FORMATS))


@pytest.mark.parametrize("seed", _BROKEN)
def test_histories_that_broke_the_promise_once(seed):
    traffic.check(traffic.Case.of(seed))


@pytest.mark.parametrize("block", range(_BLOCKS))
def test_generated_histories_keep_the_promise(block):
    for seed in range(block * _HISTORIES // _BLOCKS, (block + 1) * _HISTORIES // _BLOCKS):
        try:
            traffic.check(traffic.Case.of(seed))
        except Exception as error:
            raise AssertionError(f"run scripts/prove.py --only histories --seed {seed}") from error


@pytest.mark.slow
@pytest.mark.parametrize("block", range(_BLOCKS))
def test_histories_that_grow_keep_their_prefix(block):
    for seed in range(block * _GROWING // _BLOCKS, (block + 1) * _GROWING // _BLOCKS):
        try:
            traffic.check_stable(seed)
        except Exception as error:
            raise AssertionError(f"run scripts/prove.py --only 'growing histories' --seed {seed}") from error


@pytest.mark.parametrize("seed", [330, 423, 497])
def test_a_history_begins_with_the_user_though_a_program_spoke_first(seed):
    assert traffic.check_stable(seed, traffic.NEW_FORMATS) == "held"


def test_a_held_cut_beside_which_the_newest_turn_has_no_room_is_made_anew():
    assert traffic.check_stable(11, traffic.NEW_FORMATS) == "held"


@pytest.mark.parametrize("seed", [2373, 13285, 13874, 18524])
def test_a_cut_whose_line_leaves_no_room_for_turns_is_made_anew(seed):
    assert traffic.check_stable(seed) == "held"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_generated_histories_of_gemini_and_bedrock_keep_the_promise(block):
    for seed in range(block * _NEW // 4, (block + 1) * _NEW // 4):
        try:
            traffic.check(traffic.Case.of(seed, traffic.NEW_FORMATS))
            if seed % 4 == 0:
                traffic.check_stable(seed, traffic.NEW_FORMATS)
        except Exception as error:
            raise AssertionError(
                f"run scripts/prove.py --only 'histories of Gemini and Bedrock' --seed {seed}"
            ) from error


@pytest.mark.slow
def test_the_generator_provokes_cuts_refusals_repairs_and_every_shape():
    """A property is worth what its inputs can provoke."""
    ends, formats, actions, states, fates = set(), set(), set(), set(), set()
    for seed in (*range(400), 921):
        case = traffic.Case.of(seed)
        formats.add(case.format)
        try:
            fitted = case.fit()
        except traffic.brim.DoesNotFit:
            ends.add("refused")
            continue
        ends.add("cut" if fitted.receipt.truncated else "whole")
        receipt = fitted.receipt
        if not case.broken:
            fates.add(traffic.fate_of_task(case, fitted.messages))
        actions |= {repair["action"] for repair in receipt.history["repairs"]}
        states |= {part.state for part in receipt.parts}
    assert ends == {"whole", "cut", "refused"}
    assert formats == {"openai", "anthropic", "responses"}
    assert actions == {"dropped", "changed", "moved"}
    assert states == {"whole", "cut", "dropped"}
    assert fates == {"whole", "cut", "a mark", "gone"}
