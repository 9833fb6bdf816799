"""The course of one fit: bidders claim, the allocator grants, each bidder proposes what it keeps, the whole is counted.

Counts are not additive where texts meet, so the sum is a plan, and the count of the whole decides: any excess is taken
back from the least essential bidders, and what is left over is offered to those that were cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from brim.errors import DoesNotFit
from brim.receipts.receipt import Fill, Policy
from brim.sections.allocation import Claim, allocate, essential

_WORTH = 4
"""The fewest tokens that are offered again, beyond those of the first offer."""
_DOUBLINGS = 64
"""How many times the guess a budget may be that is tried: a ceiling that is a share of it grows with it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a bidder proposes to keep within a grant."""

    load: int = 0
    """Tokens that are planned for it; with 0 nothing of it is kept."""
    taken: int = 0
    """Tokens of the grant that it takes: its load, or more if others may not have the rest."""
    reason: str = ""
    grant: int = 0
    """Tokens that the allocator gave."""
    in_steps: bool = False
    """Whether some of the grant may be left unused: what is kept comes in steps."""


class Bidder(Protocol):
    """What bids for a share of a budget: a section, and in a request also its history and its tools."""

    @property
    def name(self) -> str:
        """What an error calls it."""

    @property
    def kind(self) -> str:
        """`section`, or what else it is."""

    @property
    def rank(self) -> int:
        """Its priority: lower is more essential."""

    @property
    def size(self) -> int:
        """Tokens of all of it."""

    @property
    def ceiling(self) -> int | None:
        """The most tokens of it."""

    @property
    def required(self) -> bool:
        """Whether it must be present."""

    @property
    def cuttable(self) -> bool:
        """Whether a floor would let it be cut."""

    def claim(self, toll: int) -> Claim:
        """Return its claim on the budget."""

    def propose(self, grant: int, proposals: Proposals) -> Proposal:
        """Return what it keeps within `grant` tokens, given what the others keep so far."""


Proposals = Mapping[Any, Proposal]
"""What each bidder keeps, by the bidder."""


class Whole(Protocol):
    """What the bidders are parts of: a prompt or a request."""

    def count(self, proposals: Proposals) -> int:
        """Return the tokens of what would be sent."""

    def count_required(self) -> int:
        """Return the tokens of all that is required, whole, and nothing else."""

    def beside(self) -> dict[str, int]:
        """Return the tokens besides what is required, by name: separators, framing, tools."""

    def room(self) -> int:
        """Return the tokens that the bidders share, the toll of each included."""


@dataclass(slots=True, eq=False, kw_only=True)
class Course:
    """One fit of bidders to a budget."""

    whole: Whole
    bidders: Sequence[Bidder]
    budget: int
    unit: str
    toll: int
    """Tokens that are planned for a separator."""
    fill: Fill
    policy: Policy
    refused_at: Callable[[int], DoesNotFit | None] | None
    """Returns the error of the same fit to another budget, to advise one that is enough; `None` gives no advice."""
    tops_up: bool = True
    """Whether what is left over is offered again. Beside turns and tools, which come in large steps, it is. Sections
    alone do without, so that their grants grow with the budget, class by class."""
    proposals: dict[Any, Proposal] = field(default_factory=dict)
    offered: dict[Any, int] = field(default_factory=dict)
    """The tokens that each bidder was last offered."""

    def run(self) -> int:
        """Choose what each bidder keeps, and return the tokens of the whole.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        self._serve()
        used = self._settle()
        return self._settle() if self._top_up(self.budget - used) else used

    def _serve(self) -> None:
        """Allocate the budget, and let each bidder propose what it keeps within its grant."""
        claims = [bidder.claim(self.toll) for bidder in self.bidders]
        room = self._enough(claims)

        def spend(index: int, grant: int) -> int:
            bidder = self.bidders[index]
            self.offered[bidder] = grant
            self.proposals[bidder] = proposal = bidder.propose(grant, self.proposals)
            if not proposal.load and bidder.required:
                capped = bidder.ceiling is not None and grant >= min(bidder.ceiling, bidder.size)
                raise self._above_its_ceiling(bidder) if capped else self._refusal(claims)
            return proposal.taken

        grants = allocate(claims, room, fill=self.fill, policy=self.policy, spend=spend)
        for bidder, claim, grant in zip(self.bidders, claims, grants, strict=True):
            proposal = self.proposals.get(bidder)
            if proposal is None or (proposal.load and not grant):
                proposal = Proposal(reason=self._why_nothing(bidder, claim))
            self.proposals[bidder] = replace(proposal, grant=grant) if grant else proposal

    def _enough(self, claims: Sequence[Claim]) -> int:
        """Return the room to allocate: all of it, or the sum of what is required if joined that still fits.

        Raises:
            DoesNotFit: what is required is alone bigger than the budget.
        """
        required = [(bidder, claim) for bidder, claim in zip(self.bidders, claims, strict=True) if claim.required]
        for bidder, claim in required:
            if not claim.wanted:
                raise self._above_its_ceiling(bidder)
        needed, room = essential(claims), self.whole.room()
        if needed <= room:
            return room
        uncut = all(claim.least == claim.wanted == bidder.size for bidder, claim in required)
        if uncut and self.whole.count_required() <= self.budget:
            return needed
        raise self._refusal(claims)

    def _settle(self) -> int:
        """Return the tokens of the whole, after taking back any excess."""
        while (used := self.whole.count(self.proposals)) > self.budget:
            if not self._take_back(used - self.budget):
                raise self._refusal([bidder.claim(0) for bidder in self.bidders])
        return used

    def _take_back(self, over: int) -> bool:
        """Free `over` tokens, the least essential first; return whether anything was freed."""
        freed = 0
        cuts = self.policy.startswith("truncate")
        for bidder in sorted(self.bidders, key=lambda bidder: (not bidder.required, bidder.rank))[::-1]:
            proposal = self.proposals[bidder]
            if not proposal.load:
                continue
            claim, limit = bidder.claim(self.toll), proposal.load - (over - freed)
            less = Proposal()
            if (cuts or claim.required) and limit >= claim.least:
                less = bidder.propose(limit, self.proposals)
            if less.load:
                less = replace(less, reason=f"{less.reason}, and texts count more joined than apart")
                freed += proposal.load - less.load
            elif not bidder.required:
                less = Proposal(reason="the sections count more joined than apart, and it was the least essential")
                freed += proposal.load + self.toll
            else:
                continue
            self.proposals[bidder] = replace(less, grant=proposal.grant)
            if freed >= over:
                break
        return freed > 0

    def _top_up(self, left: int) -> bool:
        """Offer what is left over to what was cut, and return whether anything took some of it.

        Entries, turns and tools come in steps, and leave tokens that the next in line may not need. They go to the
        first class that comes in steps and to those behind it: what is more essential has all that it may have.
        """
        if left < _WORTH or self.policy != "truncate_then_continue" or not self.tops_up:
            return False
        others = [bidder for bidder in self.bidders if not bidder.required]
        stepped = [bidder.rank for bidder in others if bidder.kind != "section" or self.proposals[bidder].in_steps]
        first, taken = min(stepped, default=None), False
        for bidder in sorted(others, key=lambda bidder: bidder.rank):
            proposal = self.proposals[bidder]
            offer = proposal.load + left - (0 if proposal.load else self.toll)
            # An offer is worth making if it is more than the last one, of which something was left.
            least = max(proposal.grant, self.offered.get(bidder, 0)) + _WORTH
            if left < _WORTH or first is None or bidder.rank < first or offer < least:
                continue
            claim = bidder.claim(self.toll)
            offer = min(claim.wanted, offer)
            if proposal.load >= claim.wanted or offer < max(least, claim.least):
                continue
            more = bidder.propose(offer, self.proposals)
            if more.taken > proposal.load:
                left -= more.load - proposal.load + (0 if proposal.load else self.toll)
                self.proposals[bidder] = replace(more, grant=max(proposal.grant, more.load))
                taken = True
        return taken

    def _why_nothing(self, bidder: Bidder, claim: Claim) -> str:
        if not claim.wanted:
            return f"it has {bidder.size:,} {self.unit}, and its ceiling is {bidder.ceiling or 0:,}"
        if self.policy in ("stop", "truncate_then_stop"):
            return f"the policy {self.policy} ends the prompt where something does not fit"
        if claim.least > 1:
            return f"fewer than the {claim.least:,} {self.unit} that it needs were left"
        return "nothing was left for it"

    def _above_its_ceiling(self, bidder: Bidder) -> DoesNotFit:
        """Return the error for a required bidder that cannot be made small enough."""
        name, ceiling, size = bidder.name, bidder.ceiling or 0, bidder.size
        found = self._least_budget(max(size, self.budget + 1))
        enough = found if isinstance(found, int) else None
        section = bidder.kind == "section"
        what = f"the required section {name!r} has" if section else f"the {name} have"
        advice = f"Raise its ceiling to {size:,}" if section else f"Raise history_ceiling by {size - ceiling:,}"
        advice += f" or the budget to {enough:,}" if enough else ""
        return DoesNotFit(
            f"the prompt does not fit: {what} {size:,} {self.unit} and cannot be cut to the ceiling of {ceiling:,}."
            f" {advice}, or shorten it.",
            needed=enough or size,
            available=self.budget if enough else ceiling,
            parts={name: size},
        )

    def _refusal(self, claims: Sequence[Claim]) -> DoesNotFit:
        """Return the error with every number: what is needed, by part, and what would help."""
        required = [(bidder, claim) for bidder, claim in zip(self.bidders, claims, strict=True) if claim.required]
        parts = {bidder.name: claim.least if claim.wanted else bidder.size for bidder, claim in required}
        parts |= self.whole.beside()
        needed = sum(parts.values())
        if all(claim.least >= bidder.size for bidder, claim in required):
            needed = self.whole.count_required()
        needed = max(needed, self.budget + 1)
        enough = self._least_budget(needed)
        if isinstance(enough, DoesNotFit):
            return enough
        needed = enough or needed
        short = needed - self.budget
        sums = ", ".join(f"{name} {size:,}" for name, size in parts.items())
        message = (
            f"the prompt does not fit: its essential parts need {needed:,} {self.unit} and the budget is"
            f" {self.budget:,}, {short:,} short ({sums}). Raise the budget to {needed:,}"
        )
        able = [bidder.name for bidder, claim in required if claim.least > short and bidder.cuttable]
        if able:
            name = min(able, key=lambda name: parts[name])
            message += f", or let {name!r} be cut by giving it a floor of {parts[name] - short:,} or less"
        return DoesNotFit(message + ".", needed=needed, available=self.budget, parts=parts)

    def _least_budget(self, guess: int) -> int | DoesNotFit | None:
        """Return a budget that is enough, where one token less is not; if none helps, the error that remains."""
        if self.refused_at is None:
            return None
        low, high = self.budget, guess
        while (refused := self.refused_at(high)) is not None:
            low, high = high, 2 * high
            if high > _DOUBLINGS * guess:
                return refused
        step = 1  # The guess is right or nearly so as a rule, so the search begins there.
        while high - step > low and self.refused_at(high - step) is None:
            high, step = high - step, 2 * step
        low = max(low, high - step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.refused_at(middle) is None else (middle, high)
        return high
