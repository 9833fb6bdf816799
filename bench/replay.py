"""Replay one trimmer over recorded runs, call by call, and judge every prompt that it makes.

Before each answer of the model the trimmer gets all that was said so far. A call is *easy* if the history fits as it
is, *impossible* if the system message alone does not, *cramped* if there is no room for the calls and frames of the
newest turn beside it, *inside* if only cutting inside the newest turn can help, and *tight* otherwise.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench import peers, registry, trajectories
from bench.suite import Judge, Message, judge
from bench.trajectories import Trajectory
from bench.trimmers import Trimmer

KINDS = ("easy", "tight", "inside", "cramped", "impossible")
SEED = 11
"""The seed of the order in which runs are replayed, so that every trimmer that is stopped has seen the same ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """What came of one call."""

    run: int
    share: float
    length: int
    """How many messages the history has."""
    kind: str
    """One of `KINDS`."""
    budget: int
    whole: int
    """Units of the history."""
    size: int
    """Units of the prompt; 0 where there is none."""
    shared: int
    """Units of the leading messages that are the same as in the prompt before."""
    seconds: float
    """CPU seconds of the trimmer."""
    once: float
    """CPU seconds of tiktoken for the same history."""
    illegal: str | None
    newest: str | None
    """Whether the newest message is at the end, "whole" or "cut"."""
    system: bool
    """Whether the leading system messages are there whole."""
    task: str | None
    """Whether the first user message is there, "whole" or "cut"."""
    changed: bool
    error: str | None
    typed: bool = False
    """Whether the error is one of the trimmer's own."""

    @property
    def over(self) -> bool:
        """Whether the prompt is bigger than the budget."""
        return self.size > self.budget

    @property
    def served(self) -> bool:
        """Whether there is a prompt, within the budget and legal, with the system message and the newest message."""
        return not (self.error or self.illegal or self.over or self.newest is None or not self.system)

    @property
    def bad(self) -> bool:
        """Whether something is wrong: where no prompt can be right, only an error of the trimmer's own is not."""
        if self.kind == "impossible":
            return not self.typed
        return not (self.served or (self.kind == "cramped" and self.typed))


def job(
    *, peer: str, traces: str | None, count: int, shares: Sequence[float], allowance: float, most: int
) -> Iterator[dict[str, Any]]:
    """Yield every fit of a trimmer, and at the end of each run how many of how many are done.

    It ends when the trimmer has used up its CPU `allowance`, or `most` runs are done; 0 is no limit.
    """
    runs = trajectories.given(Path(traces) if traces else None, count)
    order = list(range(len(runs)))
    Random(SEED).shuffle(order)
    judged = Judge(count=peers.tiktoken_count())
    trimmer = registry.every()[peer].make()
    # The runs that wait for their turn are the benchmark's: no garbage collection in a fit should go through them.
    gc.collect()
    gc.freeze()
    yield {"runs": len(runs)}
    used = 0.0
    for done, i in enumerate(order[: most or None], start=1):
        timed = [_seconds(judged, message) for message in runs[i].messages]
        for share in shares:
            for fit in replay(trimmer, runs[i], share, judged, number=i, timed=timed):
                used += fit.seconds
                yield asdict(fit)
                if allowance and used > allowance:
                    return
        yield {"done": done}


def replay(
    trimmer: Trimmer,
    run: Trajectory,
    share: float,
    judged: Judge,
    *,
    number: int = 0,
    timed: Sequence[float] | None = None,
) -> Iterator[Fit]:
    """Yield what came of each call of one run, at a budget of `share` of its final size."""
    sizes = [judged.message(message) for message in run.messages]
    budget = int(sum(sizes) * share)
    last: list[Message] = []
    trimmer.begin()
    for length in run.calls():
        history = list(run.messages[:length])
        fit, after = _fitted(trimmer, history, budget, judged, last)
        whole = sum(sizes[:length])
        last = after or last
        yield Fit(
            run=number,
            share=share,
            length=length,
            kind=kind(history, budget, judged),
            budget=budget,
            whole=whole,
            once=sum(timed[:length]) if timed else 0.0,
            **fit,
        )


def kind(history: Sequence[Message], budget: int, judged: Judge) -> str:
    """Return what a call asks of a trimmer: one of `KINDS`."""
    if judged.size(history) <= budget:
        return "easy"
    head = judged.size(judge.leading(list(history)))
    start, end = judge.turns(history)[-1]
    newest = history[start:end]
    # One unit of a text is the least that can be left of it.
    least = sum(judged.message(message) - max(0, judged.text(judge.body(message)) - 1) for message in newest)
    if head > budget:
        return "impossible"
    if head + least > budget:
        return "cramped"
    return "inside" if head + judged.size(newest) > budget else "tight"


def _fitted(
    trimmer: Trimmer, history: list[Message], budget: int, judged: Judge, last: Sequence[Message]
) -> tuple[dict[str, Any], list[Message]]:
    """Return what the trimmer made of one history, judged, and the prompt itself."""
    taken = trimmer.take(history, budget)
    start = time.process_time()
    try:
        kept = trimmer.trim(taken, budget)
        seconds = time.process_time() - start
        after = list(trimmer.give(kept))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic of a tokenizer is no Exception, and is a result all the same.
        told = {
            "error": f"{type(error).__name__}: {' '.join(str(error).split())[:120]}",
            "typed": type(error).__module__ != "builtins" and isinstance(error, Exception),
            "seconds": time.process_time() - start,
        }
        nothing = {"size": 0, "shared": 0, "illegal": None, "newest": None, "system": False, "task": None}
        return {**nothing, **told, "changed": True}, []
    shared = 0
    for before, now in zip(last, after, strict=False):
        if before is not now and before != now:
            break
        shared += judged.message(now)
    first = judge.leading(after)
    return {
        "size": judged.size(after),
        "shared": shared,
        "seconds": seconds,
        "illegal": judge.illegal(after),
        "newest": judge.left(history[-1], after[-1:], history),
        "system": all(
            any(judge.standing(message, other) == "whole" for other in first) for message in judge.leading(history)
        ),
        "task": _task(history, after),
        "changed": after != history,
        "error": None,
    }, after


def _task(history: list[Message], after: Sequence[Message]) -> str | None:
    """Return what is left of the first user message; where there is none, nothing was lost."""
    goal = judge.task(history)
    return judge.left(goal, after, history) if goal else "whole"


def _seconds(judged: Judge, message: Message) -> float:
    """Return the CPU seconds that tiktoken takes for one message, the better of two."""
    found = []
    for _ in range(2):
        start = time.process_time()
        for text in judge.texts(message):
            judged.count(text)
        found.append(time.process_time() - start)
    return min(found)
