"""How bidders share a budget: they claim tokens, the allocator grants them, and they propose what to keep.

Token counts do not add up exactly when texts are joined, so the whole is counted too, and any excess is taken back from
the least essential bidders.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from brim.errors import DoesNotFit
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Policy
from brim.sections.allocation import Claim, allocate, essential

_DOUBLINGS = 64
"""Limit of the search for a sufficient budget, as a multiple of the first guess: a ceiling may be a share of it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a bidder proposes to keep within a grant."""

    load: int = 0
    """Tokens planned for it; with 0 the bidder is dropped."""
    taken: int = 0
    """Tokens of the grant that are used up: the load, or more if others must not get the rest."""
    reason: str = ""
    grant: int = 0
    """Tokens that the allocator gave."""


class Bidder(Protocol):
    """Something that bids for a share of a budget: a section, or a request's history or tools."""

    @property
    def name(self) -> str:
        """Its name in errors."""

    @property
    def rank(self) -> int:
        """Its priority: lower is more essential."""

    @property
    def size(self) -> int:
        """Tokens of all of it."""

    @property
    def ceiling(self) -> int | None:
        """Its maximum tokens."""

    @property
    def required(self) -> bool:
        """Whether it must be present."""

    @property
    def cuttable(self) -> bool:
        """Whether it could be cut if it had a floor."""

    def claim(self, toll: int) -> Claim:
        """Return its claim on the budget."""

    def propose(self, grant: int, proposals: Proposals) -> Proposal:
        """Return what to keep within `grant` tokens, given the other proposals so far."""


Proposals = Mapping[Any, Proposal]
"""The proposal of each bidder."""


@dataclass(slots=True, kw_only=True)
class Fit(ABC):
    """One fit to a budget, of a prompt or of a request."""

    budget: int
    meter: BaseMeter
    model: str | None
    """The model of the meter, for the receipt and the body."""
    options: Mapping[str, Any]
    captured: bool
    advises: bool = True
    """Whether an error states a sufficient budget; finding it takes a few more fits."""

    @property
    def policy(self) -> Policy:
        """What happens if a part does not fit."""
        return self.options["policy"]  # type: ignore[no-any-return]

    @abstractmethod
    def planned(self) -> tuple[Proposals, int]:
        """Return what each bidder keeps, and the tokens of the whole.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """

    @abstractmethod
    def count(self, proposals: Proposals) -> int:
        """Return the tokens of the whole as it would be sent."""

    @abstractmethod
    def count_required(self) -> int:
        """Return the tokens of all required parts, uncut, and of nothing else."""

    @abstractmethod
    def extras(self) -> dict[str, int]:
        """Return the tokens in addition to the required parts, by name: separators, framing, tools."""

    @abstractmethod
    def room(self) -> int:
        """Return the tokens available to the bidders, including the toll of each."""

    def refused_at(self, budget: int) -> DoesNotFit | None:
        """Return the error of the same fit at another budget, or `None` if it fits."""
        try:
            self.at(budget).planned()
        except DoesNotFit as error:
            return error
        return None

    def at(self, budget: int) -> Self:
        """Return the same fit at another budget, without advice."""
        return replace(self, budget=budget, advises=False)


@dataclass(slots=True, eq=False, kw_only=True)
class Bidding:
    """The negotiation of one fit with its bidders."""

    whole: Fit
    bidders: Sequence[Bidder]
    toll: int
    """Tokens that are planned for a separator."""
    proposals: dict[Any, Proposal] = field(default_factory=dict)

    def run(self) -> int:
        """Choose what each bidder keeps, and return the tokens of the whole.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """
        self._serve()
        return self._settle()

    def _serve(self) -> None:
        """Allocate the budget, and let each bidder propose what it keeps within its grant."""
        claims = [bidder.claim(self.toll) for bidder in self.bidders]
        room = self._enough(claims)

        def spend(index: int, grant: int) -> int:
            bidder = self.bidders[index]
            self.proposals[bidder] = proposal = bidder.propose(grant, self.proposals)
            if not proposal.load and bidder.required:
                capped = bidder.ceiling is not None and grant >= min(bidder.ceiling, bidder.size)
                raise self._above_its_ceiling(bidder) if capped else self._refusal(claims)
            return proposal.taken

        grants = allocate(claims, room, fill=self.whole.options["fill"], policy=self.whole.policy, spend=spend)
        for bidder, claim, grant in zip(self.bidders, claims, grants, strict=True):
            proposal = self.proposals.get(bidder)
            if proposal is None or (proposal.load and not grant):
                proposal = Proposal(reason=self._why_nothing(bidder, claim))
            self.proposals[bidder] = replace(proposal, grant=grant) if grant else proposal

    def _enough(self, claims: Sequence[Claim]) -> int:
        """Return the tokens to allocate: all, or what the required parts need if they only fit once they are joined.

        Raises:
            DoesNotFit: the required parts alone exceed the budget.
        """
        required = [(bidder, claim) for bidder, claim in zip(self.bidders, claims, strict=True) if claim.required]
        for bidder, claim in required:
            if not claim.wanted:
                raise self._above_its_ceiling(bidder)
        needed, room = essential(claims), self.whole.room()
        if needed <= room:
            return room
        uncut = all(claim.least == claim.wanted == bidder.size for bidder, claim in required)
        if uncut and self.whole.count_required() <= self.whole.budget:
            return needed
        raise self._refusal(claims)

    def _settle(self) -> int:
        """Take back any excess, and return the tokens of the whole."""
        while (used := self.whole.count(self.proposals)) > self.whole.budget:
            if not self._take_back(used - self.whole.budget):
                raise self._refusal([bidder.claim(0) for bidder in self.bidders])
        return used

    def _take_back(self, over: int) -> bool:
        """Free `over` tokens, from the least essential bidders first; return whether any were freed."""
        freed = 0
        cuts = self.whole.policy.startswith("truncate")
        for bidder in sorted(self.bidders, key=lambda bidder: (not bidder.required, bidder.rank))[::-1]:
            proposal = self.proposals[bidder]
            if not proposal.load:
                continue
            claim, limit = bidder.claim(self.toll), proposal.load - (over - freed)
            less = Proposal()
            if (cuts or claim.required) and limit >= claim.least:
                less = bidder.propose(limit, self.proposals)
            if less.load:
                less = replace(less, reason=f"{less.reason}, and the joined prompt counted more than its parts")
                freed += proposal.load - less.load
            elif not bidder.required:
                less = Proposal(reason="the joined prompt counted more than its parts, and it was the least essential")
                freed += proposal.load + self.toll
            else:
                continue
            self.proposals[bidder] = replace(less, grant=proposal.grant)
            if freed >= over:
                break
        return freed > 0

    def _why_nothing(self, bidder: Bidder, claim: Claim) -> str:
        if not claim.wanted:
            return f"it has {bidder.size:,} {self.whole.meter.unit}, and its ceiling is {bidder.ceiling or 0:,}"
        if self.whole.policy in ("stop", "truncate_then_stop"):
            return f"the policy {self.whole.policy} ends the prompt at the first part that does not fit"
        if claim.least > 1:
            return f"it needs at least {claim.least:,} {self.whole.meter.unit}, and fewer were left"
        return "no room was left for it"

    def _above_its_ceiling(self, bidder: Bidder) -> DoesNotFit:
        """Return the error for a required bidder that cannot be made small enough."""
        name, ceiling, size = bidder.name, bidder.ceiling or 0, bidder.size
        found = self._least_budget(max(size, self.whole.budget + 1))
        enough = found if isinstance(found, int) else None
        advice = f"Raise its ceiling to {size:,}" + (f" or the budget to {enough:,}" if enough else "")
        return DoesNotFit(
            f"the prompt does not fit: the required section {name!r} has {size:,} {self.whole.meter.unit} and cannot be"
            f" cut to the ceiling of {ceiling:,}. {advice}, or shorten it.",
            needed=enough or size,
            available=self.whole.budget if enough else ceiling,
            parts={name: size},
        )

    def _refusal(self, claims: Sequence[Claim]) -> DoesNotFit:
        """Return the error with all numbers: the tokens needed, by part, and a remedy."""
        required = [(bidder, claim) for bidder, claim in zip(self.bidders, claims, strict=True) if claim.required]
        parts = {bidder.name: claim.least if claim.wanted else bidder.size for bidder, claim in required}
        parts |= self.whole.extras()
        needed = sum(parts.values())
        if all(claim.least >= bidder.size for bidder, claim in required):
            needed = self.whole.count_required()
        needed = max(needed, self.whole.budget + 1)
        enough = self._least_budget(needed)
        if isinstance(enough, DoesNotFit):
            return enough
        needed = enough or needed
        short = needed - self.whole.budget
        sums = ", ".join(f"{name} {size:,}" for name, size in parts.items())
        message = (
            f"the prompt does not fit: its required parts need {needed:,} {self.whole.meter.unit} and the budget is"
            f" {self.whole.budget:,}, which is {short:,} too few ({sums}). Raise the budget to {needed:,}"
        )
        able = [bidder.name for bidder, claim in required if claim.least > short and bidder.cuttable]
        if able:
            name = min(able, key=lambda name: parts[name])
            message += f", or let {name!r} be cut: give it a floor of {parts[name] - short:,} or less"
        return DoesNotFit(message + ".", needed=needed, available=self.whole.budget, parts=parts)

    def _least_budget(self, guess: int) -> int | DoesNotFit | None:
        """Return the smallest sufficient budget, or the error that no budget removes."""
        if not self.whole.advises:
            return None
        refused_at, low, high = self.whole.refused_at, self.whole.budget, guess
        while (refused := refused_at(high)) is not None:
            low, high = high, 2 * high
            if high > _DOUBLINGS * guess:
                return refused
        above = range(low + 1, high)
        return low + 1 + bisect_left(above, True, key=lambda budget: refused_at(budget) is None)
