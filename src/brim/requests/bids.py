"""The history and the tools of a request as bidders: pinned turns, other turns, and tools.

The turns that always stay are required; the other turns have the priority of the history. Both are fitted together,
within the sum of their grants, by the rules of `fit_messages`. Tools bid only if some of them may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from brim.errors import DoesNotFit
from brim.history.history import History
from brim.history.history_fit import HistoryFit
from brim.history.options import Options
from brim.receipts.section import Priority
from brim.requests.tool_relevance import OfferedTools
from brim.sections.allocation import Claim
from brim.sections.bidding import Proposal, Proposals


@dataclass(frozen=True, slots=True)
class TurnsProposal(Proposal):
    """Turns that are kept, and the tools that they call."""

    fit: HistoryFit | None = None
    called: frozenset[int] = frozenset()
    offer: int = 0
    """Tokens that these turns could have used, without those of the turns that always stay."""


@dataclass(frozen=True, slots=True)
class ToolsProposal(Proposal):
    """Tools that were chosen by relevance."""

    chosen: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False, kw_only=True)
class Bids:
    """The history and the tools of a request: their sizes, their bidders, and the fits of the history."""

    history: History
    options: Options
    extra: Mapping[str, int]
    """Other tokens that are counted with the history: the tools, if all stay, and the framing of the reply."""
    rank: int
    """The priority of the turns that do not always stay."""
    tools: OfferedTools | None = None
    """The tools, if some may be left out."""
    fixed: int = field(init=False)
    """Tokens of the leading system messages and of `extra`."""
    total: int = field(init=False)
    """Tokens of all turns."""
    essential: int = field(init=False)
    """Tokens of the turns that always stay."""
    always: list[int] = field(init=False)
    """The turns that always stay."""
    tools_of_pinned: frozenset[int] = field(init=False, default=frozenset())
    """The tools that are called by the turns that always stay."""
    pinned: PinnedTurns = field(init=False)
    others: OtherTurns = field(init=False)
    offered: ToolsBidder = field(init=False)
    fits: dict[int, TurnsProposal] = field(init=False, default_factory=dict)
    """The fits so far, by room."""

    def __post_init__(self) -> None:
        system = self.history.turns.fixed
        self.fixed = sum(self.extra.values()) + system
        self.total, self.essential, self.always = self.history.demand(self.options)
        self.tools_of_pinned = self._called(self.always)
        self.pinned, self.others = PinnedTurns(self), OtherTurns(self, self.rank)
        self.offered = ToolsBidder(self, max(Priority.LOW, self.rank + 1))

    @property
    def pinned_tools(self) -> int:
        """Tokens of the tools that are called by the turns that always stay."""
        return 0 if self.tools is None else self.tools.cost(self.tools_of_pinned)

    @property
    def calls(self) -> int:
        """Tokens of the tools that only the other turns call."""
        return self._cost(self._called(range(len(self.history.turns.starts))))

    def least(self) -> int:
        """Return the minimum size of the turns that always stay when they are cut as far as possible."""
        try:
            self._plan(self.fixed)
        except DoesNotFit as error:
            return max(1, min(self.essential, error.needed - self.fixed))
        return 1

    def room(self, proposals: Proposals) -> int:
        """Return the tokens granted to the turns that always stay, without the tools that they call."""
        return proposals[self.pinned].load - self.pinned_tools if self.pinned in proposals else 0

    def kept(self, proposals: Proposals) -> TurnsProposal:
        """Return the turns to send: those in the proposal of the other turns, or only those that always stay.

        Raises:
            DoesNotFit: the turns that always stay exceed their grant.
        """
        for bidder in (self.others, self.pinned):
            proposal = proposals.get(bidder)
            if isinstance(proposal, TurnsProposal) and proposal.fit is not None:
                return proposal
        return self.within(self.room(proposals))

    def whole(self, budget: int) -> TurnsProposal:
        """Return the proposal that keeps the whole history, which must fit the budget."""
        fit = self.history.plan(budget, self.extra, self.options, self.history.stable)
        return TurnsProposal(self.total, self.total, fit=fit, offer=self.total)

    def granted(self, proposals: Proposals) -> int:
        """Return the tokens that the turns could have used."""
        others = proposals.get(self.others)
        return self.room(proposals) + (others.offer if isinstance(others, TurnsProposal) else 0)

    def chosen(self, proposals: Proposals) -> frozenset[int]:
        """Return the tools that were chosen by relevance."""
        proposal = proposals.get(self.offered)
        return proposal.chosen if isinstance(proposal, ToolsProposal) else frozenset()

    def kept_tools(self, proposals: Proposals) -> frozenset[int]:
        """Return the tools that are offered."""
        return self.tools_of_pinned | self.kept(proposals).called | self.chosen(proposals)

    def within(self, room: int) -> TurnsProposal:
        """Return the turns that fit into `room` tokens together with the tools that they call.

        Raises:
            DoesNotFit: the turns that always stay are bigger.
        """
        if room not in self.fits:
            self.fits[room] = self._within(room)
        return self.fits[room]

    def _plan(self, budget: int) -> HistoryFit:
        return self.history.plan(budget, self.extra, self.options, self.history.stable)

    def _within(self, room: int) -> TurnsProposal:
        reserved = frozenset[int]()
        while True:
            fit = self._plan(self.fixed + max(0, room - self._cost(reserved)))
            called = self._called(fit.kept_turns())
            used = fit.used - self.fixed + self._cost(called)
            if used <= room:
                return TurnsProposal(used, used, fit=fit, called=called)
            if called <= reserved:
                raise DoesNotFit("the tools that the history calls do not fit", needed=used, available=room)
            reserved |= called  # Fewer turns may call other tools, so those of all fits so far are paid for.

    def _called(self, turns: Iterable[int]) -> frozenset[int]:
        """Return the tools that some turns call."""
        return frozenset() if self.tools is None else self.tools.indexes(self.history.called(turns))

    def _cost(self, tools: frozenset[int]) -> int:
        """Return the tokens of some tools, without those that the turns that always stay call."""
        return 0 if self.tools is None else self.tools.cost(tools - self.tools_of_pinned)


@dataclass(slots=True, eq=False)
class RequestBidder:
    """A part of a request that bids, and can be made smaller without being cut as a text."""

    bids: Bids
    rank: int = 0
    name: str = "messages"
    required: bool = False
    cuttable: bool = False
    ceiling: int | None = None


@dataclass(slots=True, eq=False)
class PinnedTurns(RequestBidder):
    """The turns that always stay, and the tools that they call."""

    name: str = "messages that always stay"
    required: bool = True
    tight: bool = True
    """Whether these turns may have to be cut; if not, their minimum size need not be computed."""

    @property
    def size(self) -> int:
        """Tokens of all of it."""
        return self.bids.essential + self.bids.pinned_tools

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - messages have no separator
        """Return the claim on the budget; these turns can be cut, but not dropped."""
        bids, paid = self.bids, self.bids.pinned_tools
        least = paid + (bids.least() if self.tight else bids.essential)
        return Claim(self.size, least, least, self.rank, True)

    def propose(self, grant: int, proposals: Proposals) -> TurnsProposal:  # noqa: ARG002 - these turns come first
        """Return what to keep within `grant` tokens; turns that stay whole are not fitted here."""
        bids = self.bids
        turns = grant - bids.pinned_tools
        if turns >= bids.essential:
            return TurnsProposal(grant, grant)
        try:
            kept = bids.within(turns)
        except DoesNotFit:
            return TurnsProposal()
        return TurnsProposal(grant, grant, fit=kept.fit, called=kept.called)


class OtherTurns(RequestBidder):
    """The turns that stay if there is room, with the priority of the history."""

    @property
    def size(self) -> int:
        """Tokens of all of it."""
        return self.bids.total - self.bids.essential

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - messages have no separator
        """Return the claim on the budget, including the tools that these turns may call."""
        wanted = self.size + (self.bids.calls if self.size else 0)
        return Claim(wanted, 1, 0, self.rank, elastic=True)

    def propose(self, grant: int, proposals: Proposals) -> TurnsProposal:
        """Return what to keep within `grant` tokens, together with the turns that always stay."""
        bids, pinned = self.bids, self.bids.room(proposals)
        try:
            kept = bids.within(pinned + grant)
        except DoesNotFit:
            return TurnsProposal()
        assert kept.fit is not None
        load = max(0, kept.load - pinned)
        if not load and (kept.fit.note or len(kept.fit.kept_turns()) > len(bids.always)):
            load = 1  # These turns can take less than the thinking that they make unusable.
        return TurnsProposal(load, load, offer=grant, fit=kept.fit, called=kept.called) if load else TurnsProposal()


@dataclass(slots=True, eq=False)
class ToolsBidder(RequestBidder):
    """The tools, except those called by turns that always stay."""

    name: str = "tools"

    @property
    def size(self) -> int:
        """Tokens of all of them."""
        return 0 if self.bids.tools is None else self.bids.tools.counts.total

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - tools have no separator
        """Return the claim on the budget, without the tools that are called by turns that always stay."""
        tools, pinned = self.bids.tools, self.bids.tools_of_pinned
        if tools is None:
            return Claim(0)
        rest = [units for index, units in enumerate(tools.counts.each) if index not in pinned]
        taken = tools.counts.once + tools.cost(pinned)
        wanted = sum(rest)
        reserved = min(max(tools.floor - taken, 0), wanted)
        return Claim(wanted, max(1, min([wanted, *rest])), reserved, self.rank, elastic=True)

    def propose(self, grant: int, proposals: Proposals) -> ToolsProposal:
        """Return the most relevant tools within `grant` tokens."""
        bids, tools = self.bids, self.bids.tools
        if tools is None:
            return ToolsProposal()
        chosen = tools.best(grant, bids.tools_of_pinned | bids.kept(proposals).called)
        load = tools.cost(chosen)
        return ToolsProposal(load, load, chosen=chosen)
