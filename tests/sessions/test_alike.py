"""In memory, and with a store that is opened again after every call: the same prompts, states, results and errors."""

import copy
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import BrimError, InvalidValue
from brim.sessions import Session
from brim.sessions.loop import Loop, Step
from brim.testing import MemoryStore
from properties import examples
from sessions.five_formats import FORMATS, says, user, written
from talk import Dumped

SETTINGS = {"window": brim.Window(1_500, cap=0.6), "meter": "chars"}

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3) | st.just(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2) | st.integers() | st.none(), inner, max_size=2)
    ),
    max_leaves=6,
)  # fmt: skip
"""Values of programs, of which some are not JSON."""


def outcome(function, *arguments):
    """Return what a call returns or raises, so that two can be compared."""
    try:
        return function(*arguments)
    except BrimError as error:
        return type(error), getattr(error, "place", "")


def spoiled(value, chance):
    """Change JSON values in place, as a program does that marks a message for a cache."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        spoiled(each, chance)
    if isinstance(value, dict):
        value["cache_control"] = {"type": "ephemeral"}
    elif isinstance(value, list) and chance.random() < 0.2:
        value.clear()


@st.composite
def messages(draw, format):
    """Draw messages to add, with values of every kind in a field that brim does not know."""
    text = draw(st.text("abc .", min_size=1, max_size=200)) + "."
    message = draw(st.sampled_from([user, says]))(format, text)
    kind = draw(st.sampled_from(["plain", "plain", "call", "object", "odd"]))
    if kind == "call":
        return written(format, [("call", text, {"path": "/srv/a.py"}, "ok " * draw(st.integers(1, 90)))])
    if kind == "object":
        return [Dumped(**message, unset=None)]
    return [{**message, "metadata": draw(ODD)}] if kind == "odd" else [message]


@st.composite
def talks(draw):
    format = draw(st.sampled_from(FORMATS))
    actions = st.sampled_from(["prompt", "prompt", "compact", "usage", "restart"])
    steps = draw(st.lists(messages(format) | actions, min_size=1, max_size=12))
    return format, [("add", step) if isinstance(step, list) else (step, None) for step in steps]


def call(session, action, added, chance):
    """Make one call of a session; change all that it takes and returns afterwards."""
    if action == "add":
        session.add(added)
        for each in added:
            spoiled(each if isinstance(each, dict) else vars(each), chance)
        return None
    if action == "prompt":
        fitted = session.prompt(system="Be brief.")
        sent = copy.deepcopy(fitted.messages)
        spoiled(fitted.messages, chance)
        return sent, fitted.used
    if action == "usage":
        return session.record_usage(input_tokens=session.status().used + 3)
    if action == "restart":
        return session.restart(session.messages[:1])
    return session.compact()


@examples(200)
@given(talk=talks(), seed=st.integers(0, 9))
def test_a_session_is_the_same_in_memory_and_opened_again_after_every_call(talk, seed):
    format, steps = talk
    store = MemoryStore()
    memory, opened = Session(format=format, **SETTINGS), Session(format=format, store=store, id="s", **SETTINGS)
    for i, (action, added) in enumerate(steps):
        found = [
            outcome(call, session, action, copy.deepcopy(added), random.Random(seed + i))
            for session in (memory, opened)
        ]
        assert found[0] == found[1]
        shown = memory.messages
        spoiled(memory.messages, random.Random(seed))
        opened = Session.open("s", store=store)
        assert shown == memory.messages == opened.messages
        assert {**memory.status().to_dict(), "session": "s"} == opened.status().to_dict()


@pytest.mark.parametrize("mark", [True, False], ids=["of the prompt", "of the messages"])
def test_cache_marks_that_a_program_sets_on_each_prompt_do_not_add_up(mark):
    """ "A maximum of 4 blocks with cache_control may be provided. Found 6."."""
    session = Session(window=brim.Window(9_000), model="claude-sonnet-4-5")
    for i in range(6):
        session.add({"role": "user", "content": [{"type": "text", "text": f"Question {i}"}]})
        sent = session.prompt().messages if mark else session.messages
        sent[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        session.add({"role": "assistant", "content": [{"type": "text", "text": f"Answer {i}"}]})
    assert "cache_control" not in str(session.messages)
    assert str(sent).count("cache_control") == 1


def loops_of(steps, store):
    """Return what each run of a loop for one step gives, in memory or with a store and a new process for each."""
    ticks = []

    def act(tick):
        number = len(ticks)
        ticks.append(copy.deepcopy((tick.messages, tick.state, tick.results, tick.system, tick.tools)))
        said, state, result = copy.deepcopy(steps[number])
        for each in (tick.messages, tick.tools, *tick.results):
            spoiled(each, random.Random(number))
        if isinstance(state, dict):
            tick.state.clear()
            tick.state.update(state)
        return Step(messages=[{"role": "assistant", "content": said}], end="iteration", result=result,
                    state=None if isinstance(state, dict) else state)  # fmt: skip

    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "required": ("a",)}}}]
    more = {"window": 9_000, "tick_cap": 0.1, "meter": "chars", "max_iterations": 99, "max_sub_ticks": 99}
    more |= {"system": "Be brief.", "tools": tools, "store": store}
    loop, found = Loop("Port it.", act, id="loop", **more), []
    spoiled(tools, random.Random(0))
    for _ in steps:
        found.append(outcome(run_once, loop))
        if store is not None:
            loop = Loop.resume("loop", act=act, store=store)
    return found, ticks, vars_of(loop.outcome())


def run_once(loop):
    return vars_of(loop.run(ticks=1))


def vars_of(made):
    """Return an outcome without the time, which differs."""
    return {**made.to_dict(), "seconds": 0, "ended": ""}


STATES = (
    st.none()
    | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), ODD, max_size=3)
    | st.lists(st.integers(), max_size=2)
)


@examples(150)
@given(steps=st.lists(st.tuples(st.text("abc .", min_size=1, max_size=120), STATES, ODD), min_size=1, max_size=8))
def test_a_loop_is_the_same_in_memory_and_resumed_after_every_step(steps):
    memory, stored = loops_of(steps, None), loops_of(steps, MemoryStore())
    assert len(memory[1]) == len(steps)
    assert memory[0] == stored[0]
    assert memory[1] == stored[1]
    assert memory[2] == stored[2]


@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "in memory"])
def test_a_state_that_is_not_json_is_refused_before_the_next_call_and_the_step_stays(kept):
    """A state passed in memory, and with a store it failed after the paid call, again at each retry."""
    store, calls = MemoryStore() if kept else None, []

    def act(tick):
        calls.append(dict(tick.state))
        number = len(calls)
        state = {"number": number, "rows": [{"worker": object()}]} if number == 2 else {"number": number}
        said = {"role": "assistant", "content": f"Part {number} is ported."}
        return Step(messages=[said], end="goal" if number == 4 else "continue", state=state)

    loop = Loop("Port it.", act, window=9_000, meter="chars", store=store, id="loop")
    with pytest.raises(InvalidValue, match=r"Step state\['rows'\]\[0\]\['worker'\] must be JSON values"):
        loop.run()
    assert len(calls) == 2
    assert "Part 2 is ported." in str(loop.session.messages)
    if kept:
        loop = Loop.resume("loop", act=act, store=store)
    assert loop.run().ended == "goal"
    assert calls == [{}, {"number": 1}, {"number": 1}, {"number": 3}]
    assert loop.outcome().steps == 4


@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "in memory"])
def test_a_result_that_is_not_json_is_refused_and_the_step_with_its_state_stays(kept):
    def act(tick):
        number = tick.state["number"] = tick.state.get("number", 0) + 1
        return Step(messages=[says("openai", "Done.")], end="iteration", result={1: "one"} if number == 1 else "two")

    loop = Loop("Port it.", act, window=9_000, meter="chars", store=MemoryStore() if kept else None, max_iterations=2)
    with pytest.raises(InvalidValue, match="each key of Step result must be a string"):
        loop.run()
    made = loop.run()
    assert (made.ended, made.results, made.state, made.iterations) == ("max_iterations", ["two"], {"number": 2}, 2)


@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "in memory"])
def test_a_setting_that_cannot_be_stored_is_refused_in_memory_too(kept):
    with pytest.raises(InvalidValue, match=r"\['cap'\] must be JSON values"):
        Session(brim.Window(9_000, cap=Fraction(1, 3)), meter="chars", store=MemoryStore() if kept else None)
