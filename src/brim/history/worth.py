"""What an item of the past is worth to the next step, for each of its tokens.

Worth is measured in nats per 1,000 tokens: how much more likely an item makes what the agent does next. The table was
fitted on recorded runs, and `scripts/worth.py` fits the chances of names again on runs of your own. Two limits are not
measured but wanted: what people said outlives everything else, and what the agent has not read yet outlives whatever
it has read, except its own newest words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)
class NameUse:
    """How a name was used so far, and where it was used last."""

    first: int
    """The position of the first message with it."""
    sum: float = 0.0
    """The sum for its chance, without the ages."""
    uses: int = 0
    agent: int = 0
    """Uses by the agent."""
    task: bool = False
    """Whether the task has it."""
    own: int = -1
    """The position of the agent's last message with it."""
    position: int = -1
    """The position of the last message with it."""
    piece: int = 0
    """The index of the text among the pieces of that message."""
    start: int = 0
    """The offset in that text."""

    def add(self, place: tuple[int, int, int], uses: int, crowd: int, *, own: bool, task: bool) -> None:
        """Count the uses in a message with `crowd` names, the last of them at a place."""
        self.position, self.piece, self.start = place
        self.uses += uses
        self.agent += uses * own
        self.task |= task
        self.own = self.position if own else self.own
        self.sum = (
            _CHANCE["one"]
            + _CHANCE["task"] * self.task
            + _CHANCE["agent"] * math.log(1 + self.agent)
            + _CHANCE["rare"] / self.uses
            + _CHANCE["crowd"] * math.log(crowd)
        )

    def chance(self, now: int) -> float:
        """Return the chance that the next message has the name, after `now` messages."""
        seen = _CHANCE["seen"] * math.log(max(1, now - self.position))
        own = _CHANCE["never"] if self.own < 0 else _CHANCE["own"] * math.log(max(1, now - self.own))
        first = _CHANCE["first"] * math.log(max(1, now - self.first))
        return 1 / (1 + math.exp(-(self.sum + seen + own + first)))


NAME = 250.0
"""Worth of a name that the next message needs."""
_TOOL = (1_000.0, 1.5)
"""Worth of the definition of the most relevant tool, and the power of its place by which others have less.

With this power, the tool of the next call is among the first 16 in 0.85 of the steps and among the first 40 in 0.92, as
was measured (requests/tool_relevance.py). Over generated requests with 10 to 200 tools (tests/tool_requests.py), tools
take 0.35 of the budget; with half the worth 0.33, with double 0.37.
"""
WEIGHTS: dict[str, tuple[float, float]] = {
    "task": (8.0, 0.0),
    "unread": (5.0, 0.0),
    "said": (4.0, 0.1),
    "question": (0.5, 0.3),
    "heard": (4.0, 0.1),
    "own": (0.6, 0.3),
    "call": (0.9, 0.1),
    "rest": (0.2, 0.5),
    "pasted": (0.015, 0.7),
    "left": (0.15, 0.0),
    "value": (0.45, 0.5),
    "unit": (0.2, 0.5),
    "thought": (0.1, 0.7),
    "end": (0.3, 0.4),
    "fails": (0.3, 0.5),
    "asked": (0.4, 0.2),
    "output": (0.06, 0.7),
    "reminder": (0.3, 0.5),
    "repeated": (0.001, 0.5),
}
"""By kind: the worth in the newest turn that was read, and the power of the number of turns since by which it falls."""

FIRST: dict[str, tuple[int, float]] = {
    "task": (400, 0.25),
    "unread": (0, 0.4),
    "said": (400, 0.0),
    "question": (400, 0.0),
    "own": (150, 0.0),
    "output": (0, 0.1),
    "value": (0, 0.1),
}
"""By kind, how much of one item is worth so much: tokens, or more by a share of the room; all of a missing kind."""
_THEN = {"task": "said", "said": "pasted", "question": "pasted", "own": "rest", "output": "pasted", "value": "pasted"}
"""By kind, what the rest of an item is worth as much as; what is unread is worth as much as `left` then."""

_CHANCE = {
    "one": -0.029,
    "task": 0.296,
    "agent": 0.495,
    "seen": -0.482,
    "own": -0.329,
    "never": -2.094,
    "first": -0.267,
    "rare": -0.767,
    "crowd": -0.229,
}
"""The weights of a logistic regression for the chance that the next message has a name: whether the task has it, uses
by the agent (a logarithm), messages since its last use, since the agent used it (or that it never did) and since its
first use, one by the number of uses, and how many names the message had that used it last."""


def rate(kind: str, age: int) -> float:
    """Return the worth of a token of some kind, of a turn after which there were `age` others."""
    most, power = WEIGHTS[kind]
    return most * (1 + age) ** -power if power else most


class Tier(NamedTuple):
    """What the tokens of an item are worth, up to some number of them."""

    worth: float
    most: int | None
    """The number; `None` for all tokens."""


def tiers(kind: str, age: int, room: int, token: int, *, unread: bool) -> list[Tier]:
    """Return what the tokens of an item are worth, the first ones most.

    Args:
        kind: the kind of the item.
        age: the number of turns after its turn.
        room: tokens for all turns.
        token: the units of a token.
        unread: whether it is in the newest turn.
    """
    tokens, share = FIRST.get(kind, (0, 0.0))
    most = int(max(tokens * token, share * room)) or None
    first = Tier(rate(kind, age), most)
    if most is None:
        return [first]
    then = "left" if unread and kind != "task" else _THEN[kind]
    return [first, *tiers(then, age, room, token, unread=unread)]


def of_tool(place: int, tokens: int) -> float:
    """Return the worth of a token of a tool's definition, by its place in the order of relevance.

    However short it is, it is worth no more than what a person has just said.
    """
    most, power = _TOOL
    return float(min(WEIGHTS["said"][0], most * (1 + place) ** -power / max(1, tokens)))
