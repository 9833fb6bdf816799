"""What an item of the past is worth to the next step, for each of its tokens.

Worth is measured in nats per 1,000 tokens: how much more likely an item makes what the agent does next. The table was
fitted on recorded runs, and `scripts/worth.py` fits the chances of names again on runs of your own. Two limits are not
measured but wanted: what people said outlives everything else, and what the agent has not read yet outlives whatever
it has read, except its own newest words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache


@dataclass(slots=True)
class NameUse:
    """How a name was used so far, and where it was used last."""

    form: float
    """The part of the sum for its chance that depends on the name alone."""
    messages: int = 0
    """Messages that have it."""
    agent: int = 0
    """Messages of the agent that have it."""
    results: int = 0
    """Results that have it."""
    first: int = 0
    """The position of the first message with it."""
    own: int = -1
    """The position of the agent's last message with it."""
    position: int = -1
    """The position of the last message with it."""
    piece: int = 0
    """The index of the text among the pieces of that message."""
    start: int = 0

    def add(self, position: int, *, own: bool, result: bool) -> None:
        """Count a use in a message of the agent, in a result, or in another message."""
        if self.position != position:
            self.messages += 1
            self.agent += own
            self.results += result
            self.own = position if own else self.own
        self.position = position


NAME = 45.0
"""Worth of a name that the next message needs."""
UNREAD = 0.15
"""Worth of the rest of what the agent has not read yet, behind its own words and calls."""
WEIGHTS: dict[str, tuple[float, float]] = {
    "task": (8.0, 0.0),
    "unread": (5.0, 0.0),
    "said": (4.0, 0.1),
    "question": (0.5, 0.3),
    "heard": (4.0, 0.1),
    "own": (0.6, 0.3),
    "call": (0.9, 0.1),
    "rest": (0.8, 0.5),
    "value": (0.45, 0.5),
    "unit": (0.2, 0.5),
    "thought": (0.1, 0.7),
    "end": (0.2, 0.4),
    "fails": (0.2, 0.5),
    "asked": (0.4, 0.2),
    "output": (0.06, 0.7),
    "reminder": (0.3, 0.5),
    "repeated": (0.001, 0.5),
}
"""By kind: the worth in the newest turn that was read, and the power of the number of turns since by which it falls."""

_CHANCE = {
    "one": 0.665,
    "agent": 1.095,
    "results": -0.356,
    "own": -0.505,
    "never": -1.249,
    "asked": 2.328,
    "slash": -0.423,
    "dot": -0.554,
    "first": -0.726,
    "rare": -2.095,
}
"""The weights of a logistic regression for the chance that the next message has a name: messages of the agent and
results that had it (logarithms), messages since the agent last wrote it (or that it never did) and since it first
stood, whether the last instruction has it, a slash and a dot in it, and one by the number of messages."""


def rate(kind: str, age: int) -> float:
    """Return the worth of a token of some kind, of a turn after which there were `age` others."""
    most, power = WEIGHTS[kind]
    return most * (1 + age) ** -power if power else most


_log = lru_cache(maxsize=1 << 14)(math.log)


def of_name(name: str) -> float:
    """Return the part of the sum for the chance of a name that depends on its form."""
    return _CHANCE["one"] + _CHANCE["slash"] * ("/" in name) + _CHANCE["dot"] * ("." in name)


def chance(use: NameUse, now: int, *, asked: bool = False) -> float:
    """Return the chance that the next message has a name, after `now` messages."""
    weights = _CHANCE
    sum_ = (
        use.form
        + weights["agent"] * _log(1 + use.agent)
        + weights["results"] * _log(1 + use.results)
        + (weights["never"] if use.own < 0 else weights["own"] * _log(max(1, now - use.own)))
        + weights["first"] * _log(max(1, now - use.first))
        + weights["rare"] / use.messages
        + weights["asked"] * asked
    )
    return 1 / (1 + math.exp(-sum_))
