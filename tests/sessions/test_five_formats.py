"""Whatever is kept in one format is kept in all: hand-overs, loops with kills and resumes, summaries, sessions."""

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import StoreError
from brim.history.compact.continuation import continuation
from brim.sessions.loop import Loop, Step
from brim.testing import MemoryStore
from faulty import AFTER, BEFORE, FaultyStore
from properties import examples
from sessions.five_formats import FORMATS, strings, written

SUBJECTS = (
    *("harbour of Lisbon", "ledger of Oslo", "parser in Krakow", "Büro in Köln", "склад в Риге", "東京の倉庫"),
    *("invoice of Teresa", "scheduler of Amara"),
)
PLANS = ("opens at seven", "keeps nine tokens", "ships on Tuesday", "is older than the contract", "was never signed")


@st.composite
def events(draw, most=8, step=0):
    """Draw a talk: what the user and the model say, and calls with their results; no two statements are alike."""
    made = []
    for number in range(draw(st.integers(1, most))):
        subject, plan = draw(st.sampled_from(SUBJECTS)), draw(st.sampled_from(PLANS))
        said = f"The {subject} {plan}, says note {number} of day {step}."
        kind = draw(st.sampled_from(["user", "says", "says", "call", "silent call"]))
        if "call" in kind:
            ended = draw(st.sampled_from(["ok", "Error: it is locked by worker 7"]))
            path = {"path": f"/srv/day{step}/m{number}.py"}
            made.append(("call", "" if kind == "silent call" else said, path, ended))
        else:
            made.append((kind, said))
    return made


@st.composite
def steps_of_loops(draw):
    """Draw the steps of a loop."""
    return [draw(events(3, step)) for step in range(draw(st.integers(10, 16)))]


def statements(talk):
    return [text for _, text, *_ in talk if text]


def bare(line):
    """Return the parts of a line that do not depend on the format: JSON may be written with blanks or without."""
    return line.role, line.kind, line.text.replace('": ', '":'), line.outcome


@examples(100)
@given(talk=events(), more=events())
def test_a_continuation_has_the_same_lines_in_five_formats(talk, more):
    """In Anthropic's format, what the model said first was lost, which after a hand-over is what it said last."""
    found = []
    for format in FORMATS:
        first = continuation(written(format, talk), goal="Port every module.")
        second = continuation(written(format, more), goal="Port every module.", previous=first)
        found.append([[*map(bare, each.lines)] for each in (first, second)])
        assert {line.text for line in first.lines} >= set(statements(talk))
    assert [each == found[0] for each in found] == [True] * len(FORMATS)


def run_with_kills(format, steps, chance):
    """Run a loop that makes these steps, killed and resumed at random; return it and what it knew before each step."""
    store, seen, running = FaultyStore(MemoryStore()), [], []

    def act(tick):
        number = tick.state.get("number", 0)
        seen.append((number, running[-1].session.messages, tick.continuation))
        end = "goal" if number == len(steps) - 1 else "iteration" if number % 7 == 6 else "continue"
        return Step(messages=steps[number], end=end, state={"number": number + 1})

    options = {"window": brim.Window(2_000), "meter": "chars", "tick_cap": 0.25, "handoff_share": 0.6}
    options |= {"max_sub_ticks": 1_000, "max_iterations": 1_000, "format": format}
    running.append(Loop("Port every module.", act, store=store, id="loop", **options))
    for _ in range(400):
        store.fail_next(chance.choice([BEFORE, AFTER]), calls=chance.randint(1, 3), skip=chance.randint(2, 25))
        with suppress(StoreError):
            if running[-1].run(ticks=chance.choice([1, None])).ended == "goal":
                return running[-1], seen
        store.faults = {}
        if chance.random() < 0.5:  # The process is killed: all that it had in memory is gone.
            running.append(Loop.resume("loop", act=act, store=store))
    raise AssertionError("it does not end")


@pytest.mark.parametrize("format", FORMATS)
@examples(12)
@given(talks=steps_of_loops(), seed=st.integers(0, 2**20))
def test_a_loop_with_kills_and_resumes_loses_no_statement(format, talks, seed):
    """In Anthropic's format, each sub-tick lost what the agent had said last before the one before."""
    steps = [written(format, talk, f"day{step}n") for step, talk in enumerate(talks)]
    loop, seen = run_with_kills(format, steps, random.Random(seed))
    assert loop.progress.steps == len(steps)
    assert loop.progress.sub_ticks > 0
    for number, messages, handed in seen:
        known = "\n".join([*strings(messages), *([] if handed is None else [line.text for line in handed.lines])])
        assert [said for talk in talks[:number] for said in statements(talk) if said not in known] == []


@examples(60)
@given(talks=steps_of_loops(), keep=st.integers(1, 3))
def test_a_summary_or_the_messages_that_stay_have_every_statement_in_five_formats(talks, keep):
    for format in FORMATS:
        session = brim.Session(window=brim.Window(1_200), meter="chars", keep_turns=keep, format=format)
        session.add(written(format, [("user", "Port every module.")]))
        for step, talk in enumerate(talks):
            session.add(written(format, talk, f"day{step}n"))
        plan = session.plan_compaction()
        replaced = [] if plan is None else [said.text for said in plan.said]
        assert session.compact() == (plan is not None)
        known = "\n".join([*strings(session.messages), *replaced])
        assert [said for talk in talks for said in statements(talk) if said not in known] == []
