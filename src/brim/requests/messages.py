"""The messages and the tools of a request as bidders: what must stay, the other turns, and more tools.

The turns that must stay are required, with the tools that they call. The other turns bid with the priority of the
history, together with some of the tools; more tools bid after them. What stays is chosen in one pass, within the sum of
the grants so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from brim.errors import DoesNotFit
from brim.history.history import History
from brim.history.history_fit import HistoryFit
from brim.history.options import Options
from brim.history.tools import OfferedTools
from brim.receipts.section import Priority
from brim.sections.allocation import Claim
from brim.sections.bidding import Proposal, Proposals


@dataclass(frozen=True, slots=True)
class MessagesProposal(Proposal):
    """Messages and tools that are kept."""

    fit: HistoryFit | None = None
    offer: int = 0
    """Tokens that they could have used."""


@dataclass(slots=True, eq=False, kw_only=True)
class Messages:
    """The messages and the tools of a request."""

    history: History
    options: Options
    extra: Mapping[str, int]
    """Other tokens that are counted with the history: the framing of the reply, and tools that always stay."""
    rank: int
    """The priority of the turns that do not always stay."""
    tools: OfferedTools
    """The tools that may be left out."""
    fixed: int = field(init=False)
    """Tokens of the leading system messages and of `extra`."""
    size: int = field(init=False)
    """Tokens of all turns and tools."""
    essential: list[int] = field(init=False)
    """The turns that always stay."""
    rank_of_tools: int = field(init=False)
    """The priority of tools that the turns leave room for."""
    must: MessagesBidder = field(init=False)
    bidders: list[MessagesBidder] = field(init=False)
    """Those that have anything to bid for, the most essential first."""

    def __post_init__(self) -> None:
        turns, tools = self.history.turns, self.tools
        self.fixed = sum(self.extra.values()) + turns.fixed
        total, least, self.essential = self.history.demand(self.options)
        every = tools.cost(tools.sizes)
        paid = tools.cost(tools.called(turns, self.essential))
        called = tools.cost(tools.called(turns, range(len(turns.starts)))) - paid
        share = max(0, min(every, tools.share) - paid)
        some = max(called, share)
        self.rank_of_tools = max(Priority.LOW, self.rank + 1)
        self.size = total + every
        self.must = MessagesBidder(self, "messages that always stay", 0, least + paid, required=True)
        others = MessagesBidder(self, "messages", self.rank, total - least + some, reserved=share)
        more = MessagesBidder(self, "tools", self.rank_of_tools, every - paid - some)
        self.bidders = [bidder for bidder in (self.must, others, more) if bidder.size]

    def within(self, room: int) -> HistoryFit:
        """Return what fits into `room` tokens.

        Raises:
            DoesNotFit: what must stay is bigger.
        """
        return self.history.plan(self.fixed + room, self.extra, self.options, self.history.stable, self.tools)

    def whole(self, budget: int) -> Proposals:
        """Return the proposal to keep everything, which must fit the budget."""
        fit = self.within(budget - self.fixed)
        return {bidder: MessagesProposal(fit=fit, offer=self.size) for bidder in self.bidders[-1:]}

    def kept(self, proposals: Proposals) -> HistoryFit:
        """Return what is kept: what the last bidder proposed, or only what must stay."""
        known = self._known(proposals, self.bidders)
        return next((each.fit for each in reversed(known) if each.fit), None) or self.within(_load(known))

    def granted(self, proposals: Proposals) -> int:
        """Return the tokens that messages and tools could have used."""
        return sum([each.offer for each in self._known(proposals, self.bidders)])

    def before(self, bidder: MessagesBidder, proposals: Proposals) -> int:
        """Return the tokens that more essential bidders of these took."""
        return _load(self._known(proposals, self.bidders[: self.bidders.index(bidder)]))

    @staticmethod
    def _known(proposals: Proposals, bidders: list[MessagesBidder]) -> list[MessagesProposal]:
        known = (proposals.get(bidder) for bidder in bidders)
        return [each for each in known if isinstance(each, MessagesProposal)]


@dataclass(slots=True, eq=False)
class MessagesBidder:
    """Messages and tools that bid for a share of the budget."""

    messages: Messages
    name: str
    rank: int
    size: int
    """Tokens that they could use."""
    required: bool = False
    reserved: int = 0
    """Tokens that are reserved for them before more essential parts are served."""
    tight: bool = True
    """Whether they may have to be cut, if they are required; if not, their minimum size need not be computed."""
    cuttable: bool = False
    ceiling: int | None = None

    def claim(self, toll: int) -> Claim:  # noqa: ARG002 - messages have no separator
        """Return the claim on the budget; what is required can be cut, but not dropped."""
        if not self.required:
            return Claim(self.size, 1, self.reserved, self.rank, elastic=True)
        least = self._least() if self.tight else self.size
        return Claim(self.size, least, least, self.rank, True)

    def propose(self, grant: int, proposals: Proposals) -> MessagesProposal:
        """Return what to keep within `grant` tokens and those of more essential bidders."""
        messages, before = self.messages, self.messages.before(self, proposals)
        if self.required:
            return MessagesProposal(grant, grant, offer=grant)
        try:
            fit = messages.within(before + grant)
        except DoesNotFit:
            return MessagesProposal()
        load = max(0, fit.used - messages.fixed - before)
        if not load and (fit.note or len(fit.kept_turns()) > len(messages.essential)):
            load = 1  # These turns can take less than the thinking that they make unusable.
        return MessagesProposal(load, load, fit=fit, offer=grant) if load else MessagesProposal()

    def _least(self) -> int:
        """Return the minimum size when they are cut as far as possible."""
        try:
            self.messages.within(0)
        except DoesNotFit as error:
            return max(1, min(self.size, error.needed - self.messages.fixed))
        return 1


def _load(proposals: list[MessagesProposal]) -> int:
    return sum([each.load for each in proposals])
