"""Put one trimmer through one case and say what came of it."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .adapter import Adapter, Message, NotAsked
from .case import Case, Verdict
from .checks import ALWAYS, CHECKS, Trial
from .judge import Judge, turns

SECONDS = 10.0
"""Time that a trimmer has for one case, however big the case is."""


class OutOfTime(BaseException):
    """Ends a trimmer from outside; no Exception, because some trimmers catch those and return their input."""


def run(adapter: Adapter, case: Case, judge: Judge, seconds: float = SECONDS) -> Verdict:
    """Return what came of `case`. Whatever the trimmer raises is part of the verdict."""
    history = case.messages()
    budget = case.units(judge.size(history)) if isinstance(case.budget, float) else case.budget
    try:
        with _limited(seconds):
            problem = _problem(adapter, case, judge, history, budget)
    except NotAsked as error:
        return Verdict(state="not asked", detail=str(error))
    except OutOfTime:
        return Verdict(state="timeout", detail=f"no answer in {seconds:g} s")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # The panic of a tokenizer is no Exception, and is held against the trimmer too.
        return _raised(case, error)
    if problem is None and case.refusal == "must":
        problem = "there is no prompt that is right here, and one was returned"
    return Verdict(state="fail", detail=problem) if problem else Verdict(state="pass")


def _problem(adapter: Adapter, case: Case, judge: Judge, history: list[Message], budget: int) -> str | None:
    """Return what is wrong with the prompt, or with the first of the prompts, that the trimmer makes."""
    kept: list[Message] = []
    for step in _dealt(history, case.steps):
        before = [*kept, *step]
        given = copy.deepcopy(before)
        after = adapter.trim(given, budget)
        if given != before:
            return "the caller's own messages were changed"
        if not isinstance(after, list):
            return f"the result is a {type(after).__name__}, not a list"
        if not after:
            return "the prompt is empty"
        trial = Trial(adapter=adapter, case=case, judge=judge, budget=budget, before=before, after=after)
        for name in (*ALWAYS, *case.expects):
            problem = CHECKS[name](trial)
            if problem:
                return problem
        kept = after
    return None


def _dealt(history: list[Message], steps: int) -> Iterator[list[Message]]:
    """Yield the history in `steps` runs of whole turns, or all at once."""
    if not steps:
        yield history
        return
    runs = turns(history)
    size = -(-len(runs) // steps)
    for i in range(0, len(runs), size):
        yield history[runs[i][0] : runs[min(i + size, len(runs)) - 1][1]]


def _raised(case: Case, error: BaseException) -> Verdict:
    kind = type(error)
    told = f"{kind.__name__}: {' '.join(str(error).split())[:160]}"
    own = kind.__module__ != "builtins"
    return Verdict(state="refused" if own and case.refusal != "no" else "error", detail=told)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the block after `seconds`; outside the main thread, where there are no signals, never."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise OutOfTime

    kept = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)
