"""brim and the cases that any context trimmer should pass; and the suite itself, which must see what is wrong."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

import brim
from bench import counting
from conformance.adapter import NotAsked
from conformance.case import Case
from conformance.cases import CASES
from conformance.judge import Judge, illegal
from conformance.runner import run
from conformance.script import loop, user


class Plain:
    name = "fit_messages"

    def trim(self, messages, budget):
        return brim.fit_messages(messages, budget=budget, meter="o200k_base").messages


class Stable:
    name = "fit_messages, stable"

    def trim(self, messages, budget):
        return brim.fit_messages(messages, budget=budget, meter="o200k_base", stable=True).messages


JUDGE = Judge(count=counting.tiktoken_count())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("adapter", [Plain(), pytest.param(Stable(), marks=pytest.mark.slow)], ids=["plain", "stable"])
def test_brim_passes(adapter, case):
    verdict = run(adapter, case, JUDGE, seconds=120)  # `make bench BENCH=peers` gives each ten seconds.
    assert verdict.right, verdict.detail


# The suite itself.


class Double:
    """A trimmer that does what it is told to."""

    name = "double"

    def __init__(self, answer):
        self.answer = answer

    def trim(self, messages, budget):
        return self.answer(messages, budget)


def judged(answer, **values):
    values = {"name": "a case", "why": "", "messages": lambda: loop(10), "budget": 400, **values}
    return run(Double(answer), Case(**values), JUDGE, seconds=0.5)


def last(messages, _):
    return [messages[0], messages[1], *messages[-2:]]


def raising(error):
    def answer(messages, budget):
        raise error

    return answer


class OwnError(Exception):
    pass


def mutating(messages, _):
    messages[0]["content"] = ""
    return last(messages, _)


def forever(messages, _):
    while True:
        try:
            while True:
                pass
        except Exception:
            return messages


@pytest.mark.parametrize(
    ("answer", "values", "state", "detail"),
    [
        (last, {}, "pass", ""),
        (last, {"expects": ("system", "newest whole", "task", "untouched", "deterministic", "idempotent")}, "pass", ""),
        (lambda messages, _: messages, {}, "fail", "units for a budget of 400"),
        (lambda messages, _: messages[-1:], {}, "fail", "which the message before it did not make"),
        (lambda messages, _: messages[:3], {}, "fail", "has no answer"),
        (lambda messages, _: [], {}, "fail", "the prompt is empty"),
        (lambda messages, _: tuple(last(messages, _)), {}, "fail", "a tuple, not a list"),
        (lambda messages, _: [messages[1], messages[0]], {}, "fail", "stands before what came before it"),
        (lambda messages, _: [messages[0], messages[0]], {}, "fail", "or twice"),
        (mutating, {}, "fail", "own messages were changed"),
        (lambda messages, _: messages[1:4], {"expects": ("system",)}, "fail", "the system message is not there whole"),
        (lambda messages, _: messages[:4], {"expects": ("newest",)}, "fail", "does not end with the newest message"),
        (lambda messages, _: [messages[0], *messages[-2:]], {"expects": ("task",)}, "fail", "the task"),
        (last, {"expects": ("unchanged",)}, "fail", "22 messages became 4"),
        (last, {"expects": ("full",), "budget": 4_000}, "fail", "of 4,000 units are used"),
        (last, {"refusal": "must"}, "fail", "there is no prompt that is right here"),
        (lambda messages, _: [user("\ufffd")], {"expects": ("clean",)}, "fail", "1 broken characters"),
        (raising(OwnError("too big")), {"refusal": "may"}, "refused", "OwnError: too big"),
        (raising(OwnError("too big")), {}, "error", "OwnError: too big"),
        (raising(ValueError("too big")), {"refusal": "must"}, "error", "ValueError: too big"),
        (raising(NotAsked("no images")), {}, "not asked", "no images"),
        (forever, {}, "timeout", "no answer in 0.5 s"),
    ],
)
def test_a_verdict_says_what_is_wrong(answer, values, state, detail):
    verdict = judged(answer, **values)
    assert (verdict.state, verdict.right) == (state, state in ("pass", "refused")), verdict.detail
    assert detail in verdict.detail


def test_a_case_in_steps_feeds_the_result_back_in_whole_turns():
    seen = []

    def answer(messages, _):
        seen.append(len(messages))
        return last(messages, _)

    assert judged(answer, steps=3, budget=500).state == "pass"
    assert seen == [6, 12, 12]


def test_only_the_cases_that_say_so_begin_with_an_illegal_history():
    assert {case.name for case in CASES if illegal(case.messages())} == {
        "a history that is already illegal",
        "illegal, and small enough to stay as it is",
    }
