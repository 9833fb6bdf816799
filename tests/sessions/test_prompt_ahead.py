"""A prompt that was made before it was asked for is the one that would have been made then, and so is its log."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.sessions import prompt_ahead
from brim.sessions.session import Session
from brim.testing import MemoryStore
from sessions.talking import turn

TOOL = {"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}}
BUDGETS = {"in less": 900, "in more": 2_000, "in a part": lambda estimate: max(900, estimate // 2)}
STEPS = st.lists(
    st.sampled_from(
        ["turn", "turns", "question", "call", "prompt", "prompt", "other system", "tool", "usage", *BUDGETS]
    ),
    min_size=4,
    max_size=14,
)


def run(steps, ahead, **options):
    """Return what a session that takes some steps sends and writes, and how many prompts were made ahead."""
    store, sent, taken = MemoryStore(clock=lambda: 1.0), [], []
    session = Session(brim.Window(1_500), meter="o200k_base", store=store, id="s", **options)
    take = session._ahead.take
    session._ahead.take = lambda *given: taken.append(take(*given)) or taken[-1]
    if not ahead:
        session._ahead.prepare = lambda *_: None
    tool = {**TOOL, "function": dict(TOOL["function"])}
    for number, step in enumerate(steps):
        if step == "turn":
            session.add(turn(number))
        elif step == "turns":
            session.add([message for each in range(8) for message in turn(100 * number + each)])
        elif step == "question":
            session.add({"role": "user", "content": f"And {number}?"})
        elif step == "call":
            session.add(turn(number)[:2])
            session.add(turn(number)[2:])
        elif step == "usage":
            session.record_usage(input_tokens=900 + number)
        elif step == "tool":
            tool["function"]["description"] += " More of it, in more words than before."
        else:
            system = f"Be brief, {number}." if step == "other system" else "Be brief."
            fitted = session.prompt(system=system, tools=[tool], budget=BUDGETS.get(step))
            sent.append((fitted.messages, fitted.used, fitted.receipt.to_dict(), session.status()))
    log = [(entry.kind, entry.body) for entry in store.entries("s")]
    return (sent, log, session.messages), sum(each is not None for each in taken)


@pytest.mark.parametrize("summarise", [None, "extract"])
@given(steps=STEPS)
@settings(max_examples=8, deadline=None)
def test_a_prompt_made_ahead_is_the_one_that_would_be_made(summarise, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompt_ahead, "_LARGE", 100)
        assert run(steps, True, summarise=summarise)[0] == run(steps, False, summarise=summarise)[0]


def test_what_a_prompt_made_ahead_leaves_out_is_kept_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(prompt_ahead, "_LARGE", 100)
    steps = [*["turn"] * 8, "prompt", "turn", "usage", "prompt"]
    assert run(steps, True)[0] == run(steps, False)[0]


@pytest.mark.parametrize(("summarise", "prompt"), [(None, "prompt"), ("extract", "prompt"), (None, "in more")])
def test_the_prompt_that_cuts_is_made_ahead(monkeypatch, summarise, prompt):
    monkeypatch.setattr(prompt_ahead, "_LARGE", 100)
    steps = ["turns", prompt] * 6
    made, ahead = run(steps, True, summarise=summarise)
    assert ahead > 0
    assert made == run(steps, False, summarise=summarise)[0]


def test_a_tool_that_was_changed_in_its_place_is_counted_again(monkeypatch):
    monkeypatch.setattr(prompt_ahead, "_LARGE", 100)
    steps = ["turns", "prompt", "turns", *["tool"] * 30, "prompt"]
    made, ahead = run(steps, True)
    assert ahead == 0
    assert made == run(steps, False)[0]


def test_a_prompt_with_another_system_prompt_is_made_again(monkeypatch):
    monkeypatch.setattr(prompt_ahead, "_LARGE", 100)
    session = Session(brim.Window(1_500), meter="o200k_base")
    session.add([message for number in range(8) for message in turn(number)])
    session.prompt(system="Be brief.")
    session.add([message for number in range(8, 16) for message in turn(number)])
    assert session.prompt(system="Be quick.").messages[0]["content"] == "Be quick."  # As many tokens as before.


def test_the_summariser_of_a_caller_is_asked_for_a_prompt_only(monkeypatch):
    monkeypatch.setattr(prompt_ahead, "_LARGE", 100)
    asked = []
    session = Session(brim.Window(1_500), meter="o200k_base", summarise=lambda text, limit: asked.append(1) or "short")
    for number in range(12):
        session.add(turn(number))
        if number == 0:
            session.prompt()
    assert asked == []
    session.prompt()
    assert asked == [1]
