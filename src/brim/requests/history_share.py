"""The history of a request as two bidders for its budget: what always stays, and the other turns.

The first is required, the second has the priority of the history. Both end in one fit of the history, within the sum of
their grants, so the rules of a history are those of `fit_messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from brim.amounts import of_budget, units_or_share
from brim.errors import DoesNotFit
from brim.history.history import History
from brim.history.history_fit import HistoryFit
from brim.requests.terms import RequestTerms
from brim.requests.tool_share import ToolShare
from brim.sections.allocation import Claim

_TRIES = 3
"""Fits of the history before all tools that it ever calls are paid for."""


@dataclass(slots=True, eq=False, kw_only=True)
class HistoryShare:
    """The history, its fit so far, and its two bidders."""

    history: History
    options: Mapping[str, Any]
    extra: Mapping[str, int]
    """Tokens besides the messages that count as the history's: tools that all stay, the framing of the reply."""
    terms: RequestTerms
    budget: int
    tools: ToolShare | None = None
    """The tools, if not all of them stay."""
    alone: bool = False
    """Whether there is nothing else that shares the budget: then it is a fit of messages."""
    fit: HistoryFit | None = None
    pinned: PinnedTurns = field(init=False)
    others: OtherTurns = field(init=False)
    fixed: int = field(init=False)
    """Tokens of the leading system messages and of `extra`."""
    total: int = field(init=False)
    """Tokens of all turns."""
    essential: int = field(init=False)
    """Tokens of the turns that always stay."""
    always: int = field(init=False)
    """How many turns these are."""
    ceiling: int | None = field(init=False, default=None)
    """The most tokens of the turns."""
    tight: bool = True
    """Whether what always stays may have to be cut."""

    def __post_init__(self) -> None:
        system = self.history.turns.fixed
        self.fixed = sum(self.extra.values()) + system
        self.total, self.essential, essential = self.history.demand(self.options)
        self.always = len(essential)
        if self.terms.history_ceiling is not None:
            ceiling = of_budget(units_or_share("history_ceiling", self.terms.history_ceiling), self.budget)
            self.ceiling = max(0, int(ceiling) - system)
        if self.tools is not None:
            self.tools.pinned = self.tools.indexes(self.history.called(essential))
        self.pinned, self.others = PinnedTurns(self), OtherTurns(self, self.terms.history_rank)

    @property
    def wanted(self) -> int:
        """Tokens of all turns, or the ceiling if that is less."""
        return self.total if self.ceiling is None else min(self.total, self.ceiling)

    @property
    def floor(self) -> int | Fraction:
        """Tokens of turns that are reserved besides those that always stay."""
        if not self.terms.history_floor:
            return 0
        floor = of_budget(units_or_share("history_floor", self.terms.history_floor), self.budget)
        return max(floor - self.history.turns.fixed - self.essential, 0)

    @property
    def used(self) -> int:
        """Tokens of the messages, and of what counts as theirs."""
        return self.fixed + min(self.essential, self.wanted) if self.fit is None else self.fit.used

    @property
    def pinned_tools(self) -> int:
        """Tokens of the tools that are called by what always stays."""
        return 0 if self.tools is None else self.tools.cost(self.tools.pinned)

    @property
    def calls(self) -> int:
        """Tokens of the tools that only the other turns call."""
        if self.tools is None:
            return 0
        called = self.tools.indexes(self.history.called(range(len(self.history.turns.starts))))
        return self.tools.cost(called - self.tools.pinned)

    @property
    def granted(self) -> int:
        """Tokens that the turns could have used."""
        return self.pinned.load - self.pinned_tools + self.others.offer

    def least(self) -> int:
        """Return the fewest tokens that what always stays can be cut to."""
        try:
            self.history.plan(self.fixed, self.extra, self.options, shares=self.alone)
        except DoesNotFit as error:
            return max(1, min(self.essential, error.needed - self.fixed))
        return 1

    def within(self, room: int) -> int | None:
        """Fit the turns and the tools that they call to `room` tokens, and return how many they have.

        Returns `None` if that is not possible; the last fit stays then.
        """
        cost = 0
        for attempt in range(_TRIES + 1):
            try:
                room_of_turns = self.fixed + max(0, room - cost)
                fit = self.history.plan(room_of_turns, self.extra, self.options, shares=self.alone)
            except DoesNotFit:
                return None
            called, units = self._called(fit.kept_turns())
            if fit.used - self.fixed + units <= room:
                self.fit = fit
                if self.tools is not None:
                    self.tools.called = called
                return fit.used - self.fixed + units
            cost = units if attempt < _TRIES - 1 else self._called(range(len(fit.weights)))[1]
        return None

    def keeps_more(self) -> bool:
        """Return whether more stays than what always does: another turn, or the note."""
        return self.fit is not None and (bool(self.fit.note) or len(self.fit.kept_turns()) > self.always)

    def _called(self, turns: Any) -> tuple[frozenset[int], int]:
        """Return the tools that some turns call, and the tokens of those that nobody else pays for."""
        tools = self.tools
        if tools is None:
            return frozenset(), 0
        called = tools.indexes(self.history.called(turns))
        return called, tools.cost(called - tools.pinned - (tools.chosen if tools.first else frozenset()))


@dataclass(slots=True, eq=False)
class PinnedTurns:
    """The turns that always stay, and the tools that they call."""

    share: HistoryShare
    rank: int = 0
    grant: int = 0
    load: int = 0
    reason: str = ""
    name: str = "messages that always stay"
    required: bool = True

    @property
    def size(self) -> int:
        """Tokens of all of it."""
        return self.share.essential + self.share.pinned_tools

    @property
    def ceiling(self) -> int | None:
        """The most tokens of it."""
        return self.share.ceiling

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - messages have no separator
        """Return its claim on the budget; what always stays can be cut."""
        share, paid = self.share, self.share.pinned_tools
        wanted = min(share.essential, share.wanted)
        least = share.least() if share.tight or wanted < share.essential else wanted
        if wanted < least:
            return Claim(0, 1, 0, self.rank, True)
        return Claim(wanted + paid, least + paid, least + paid, self.rank, True)

    def take(self, grant: int) -> int:
        """Use at most `grant` tokens, and return how many of them it takes."""
        share = self.share
        turns = grant - share.pinned_tools
        self.load = grant
        if turns < min(share.essential, share.wanted) and share.within(turns) is None:
            self.load = 0
        return self.load

    def drop(self, reason: str) -> None:
        """Do nothing: it is never dropped."""


@dataclass(slots=True, eq=False)
class OtherTurns:
    """The turns that stay if there is room."""

    share: HistoryShare
    rank: int
    """The priority of the history."""
    grant: int = 0
    load: int = 0
    offer: int = 0
    """Tokens that it could have used."""
    reason: str = ""
    name: str = "messages"
    required: bool = False

    @property
    def size(self) -> int:
        """Tokens of all of it."""
        return self.share.total - self.share.essential

    @property
    def ceiling(self) -> int | None:
        """The most tokens of it."""
        return self.share.ceiling

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - messages have no separator
        """Return its claim on the budget, with the tools that it may call."""
        share = self.share
        wanted = max(0, share.wanted - share.essential)
        wanted += share.calls if wanted else 0
        return Claim(wanted, 1, min(share.floor, wanted), self.rank, elastic=True)

    def take(self, grant: int) -> int:
        """Use at most `grant` tokens, and return how many of them it takes."""
        share = self.share
        pinned = share.pinned.load - share.pinned_tools
        used = share.within(pinned + grant)
        self.load = 0 if used is None else max(0, used - pinned)
        if used is not None and not self.load and share.keeps_more():
            self.load = 1  # Thinking that other turns make unusable can be more than these turns.
        self.offer = grant if self.load else 0
        return self.load

    def drop(self, reason: str) -> None:
        """Keep only what always stays."""
        self.load, self.offer, self.reason = 0, 0, reason
        self.share.within(self.share.pinned.load - self.share.pinned_tools)
