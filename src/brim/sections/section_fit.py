"""The course of one fit of sections: measure, allocate, truncate, render, verify.

Counts are not additive where texts meet, so the sum is a plan, and the count of the whole decides: any excess is taken
back from the least essential sections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from brim.errors import DoesNotFit
from brim.meter.base import BaseMeter
from brim.receipts.capture import Capture
from brim.receipts.receipt import Part, Receipt, losses
from brim.receipts.section import Section
from brim.sections import budget_section
from brim.sections.allocation import Claim, allocate, essential
from brim.sections.draft import Draft, Summarise
from brim.sections.layout import Layout, layout
from brim.sections.stages import HARD, bordered, staged

_DOUBLINGS = 64
"""How many times the guess a budget may be that is tried: a ceiling that is a share of it grows with it."""
_JOIN_SAVES = 16
"""Tokens by which a text may count less joined to the one before it than apart; measured joins save up to three."""


class Bidder(Protocol):
    """What takes a share of a budget: a section, and in a request also its history and its tools."""

    rank: int
    size: int
    """Tokens of all of it."""
    ceiling: int | None
    grant: int
    load: int
    """Tokens that are planned for what it keeps."""
    reason: str

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    @property
    def required(self) -> bool:
        """Whether it must be present."""

    def claim(self, toll: int) -> Claim:
        """Return its claim on the budget."""

    def take(self, grant: int) -> int:
        """Use at most `grant` tokens, and return how many of them it takes."""

    def drop(self, reason: str) -> None:
        """Use nothing."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A fitted prompt."""

    text: str
    receipt: Receipt
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The text of each section that is present, by name."""

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, kw_only=True)
class SectionFit:
    """One fit of sections to a budget."""

    sections: tuple[Section, ...]
    budget: int
    meter: BaseMeter
    named: Mapping[str, str | None]
    """The names of the meter and the model, for the capture."""
    options: Mapping[str, Any]
    summarise: Summarise | None
    captured: bool
    advises: bool = True
    """Whether a refusal says which budget would be enough, which takes some more fits."""
    drafts: list[Draft] = field(init=False)
    live: list[Draft] = field(init=False)
    """The drafts with any content."""
    page: Layout = field(init=False)
    toll: int = field(init=False)
    """Tokens that are planned for a separator."""
    longest: str | None = field(init=False, default=None)
    """The longest text that the budget section can have, if it is shown."""
    offered: dict[int, int] = field(init=False, default_factory=dict)
    """The tokens that each bidder was last offered, by its id."""
    given_up: list[str] = field(init=False, default_factory=list)
    """What the stages took, in their order."""

    def __post_init__(self) -> None:
        self.drafts = self._drafts()
        self.live = [draft for draft in self.drafts if draft.size]
        self.page = self._layout()
        self.toll = self.meter.load(self.page.separator) if self.page.separator else 0
        if self.options["show_budget"]:
            shown = [draft for draft in self.drafts if draft.section.enabled]
            names, limits = [draft.section.name for draft in shown], [self._limit(draft) for draft in shown]
            self.longest = budget_section.longest(names, limits, self.budget, self.meter.unit)

    def prompt(self) -> Prompt:
        """Return the prompt with its receipt.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        texts, used = self.planned()
        text = self.page.text(texts)
        return Prompt(text, self._receipt(text, used), texts)

    def planned(self) -> tuple[dict[str, str], int]:
        """Return the texts of the sections, and the tokens of the whole.

        Raises:
            DoesNotFit: what is required is bigger than the budget.
        """
        if not (self._all_whole() or self._by_stages()):
            self._serve()
        return self._settle()

    def _drafts(self) -> list[Draft]:
        """Return the sections, each counted."""
        higher = self.options["direction"] == "higher"
        drafts = [
            Draft(section, _rank(section, higher=higher), self.meter, self.budget, self.summarise, section.text)
            for section in self.sections
        ]
        for draft in drafts:
            if not draft.section.enabled:
                draft.text, draft.state, draft.reason = "", "disabled", "it is not enabled"
            elif not draft.text:
                draft.state, draft.reason = "empty", "it has no content"
            draft.measure()
            if draft.section.most is not None:
                draft.report_choice()
        return drafts

    def _layout(self) -> Layout:
        by_rank = self.options["order"] == "priority"
        line = sorted(self.drafts, key=lambda draft: draft.rank) if by_rank else self.drafts
        names = [draft.section.name for draft in line]
        if self.options["show_budget"]:
            names.append(budget_section.NAME)
        return layout(names, separator=self.options["separator"], template=self.options["template"])

    def _all_whole(self) -> bool:
        """Keep everything whole if no ceiling is exceeded and the whole counts at most the budget."""
        if any(draft.wanted < draft.size for draft in self.live) or self._is_far_over(0):
            return False
        texts = {draft.section.name: draft.text for draft in self.live}
        if self._count(texts, self.longest) > self.budget:
            return False
        for draft in self.live:
            draft.grant = draft.size
            draft.take(draft.size)
        return True

    def _is_far_over(self, taken: int) -> bool:
        """Return whether the sections with so many tokens beside them cannot fit whole, however they are joined.

        It spares a prompt of which most must be cut the count of its whole text, which is as dear as all other counts.
        """
        least = sum([draft.size - _JOIN_SAVES for draft in self.live])
        return taken + least > self.budget

    def _by_stages(self) -> bool:
        """Apply one stage after the other until the prompt fits, and return whether it does."""
        stages, marker = staged(self.options.get("stages", ())), self.options.get("hard_marker")
        if not stages and marker is None:
            return False
        over, named = self._over(), [stage.section for stage in stages]
        for stage, draft in ((stage, draft) for stage in stages for draft in self.live):
            if over and stage.concerns(draft.section, named):
                left = stage.left(draft.section, self.budget, over, self.meter)
                if left is not None:
                    draft.lessen(*left)
                    self.given_up.append(f"{draft.section.name}: {left[1]}")
                    over = self._over()
        if not over:
            return True
        self.given_up.append(HARD)
        for draft in self.live:
            if marker is not None:
                draft.mark(bordered(marker, draft.section))
        return False

    def _over(self) -> int:
        """Keep every section as it is, or cut to its ceiling, and return by how much they are over the budget."""
        for draft in self.live:
            draft.grant = draft.wanted
            if not draft.take(draft.wanted) and draft.section.required:
                return draft.size
        return max(0, self._count(self._kept(), self.longest) - self.budget)

    def bidders(self) -> Sequence[Bidder]:
        """Return what shares the budget, in the order given."""
        return self.live

    def room(self) -> int:
        """Return the tokens that the bidders share, the separator of each included."""
        fixed = self.meter.load(self.page.fixed) if self.page.fixed else 0
        shown = self.toll if self.longest is None else -self.meter.load(self.longest)
        return self.budget - self.meter.overhead - fixed + shown

    def _serve(self) -> None:
        """Allocate the budget and cut each bidder to its grant."""
        bidders = self.bidders()
        claims = [bidder.claim(self.toll) for bidder in bidders]
        room = self._enough(bidders, claims)

        def spend(index: int, grant: int) -> int:
            bidder = bidders[index]
            self.offered[id(bidder)] = grant
            used = bidder.take(grant)
            if not used and bidder.required:
                capped = bidder.ceiling is not None and grant >= min(bidder.ceiling, bidder.size)
                raise self._above_its_ceiling(bidder) if capped else self._does_not_fit(bidders, claims)
            return used

        grants = allocate(claims, room, fill=self.options["fill"], policy=self.options["policy"], spend=spend)
        for bidder, claim, grant in zip(bidders, claims, grants, strict=True):
            bidder.grant = grant
            if not grant and (bidder.load or not bidder.reason):
                bidder.drop(self._why_nothing(bidder, claim))

    def _enough(self, bidders: Sequence[Bidder], claims: Sequence[Claim]) -> int:
        """Return the room to allocate: all of it, or the sum of what is required if joined that still fits.

        Raises:
            DoesNotFit: what is required is alone bigger than the budget.
        """
        required = [(bidder, claim) for bidder, claim in zip(bidders, claims, strict=True) if claim.required]
        for bidder, claim in required:
            if not claim.wanted:
                raise self._above_its_ceiling(bidder)
        needed, room = essential(claims), self.room()
        if needed <= room:
            return room
        texts = {draft.name: draft.text for draft in self.live if draft.required}
        whole = all(claim.least == claim.wanted == bidder.size for bidder, claim in required)
        if whole and self._count(texts, self.longest) <= self.budget:
            return needed
        raise self._does_not_fit(bidders, claims)

    def _settle(self) -> tuple[dict[str, str], int]:
        """Return the texts of the prompt and their count as a whole, after taking back any excess."""
        while True:
            texts = self._kept()
            if self.longest is not None:
                texts[budget_section.NAME] = self._budget_text(texts)
            used = self._count(texts)
            if used <= self.budget:
                return texts, used
            if not self._take_back(used - self.budget):
                bidders = self.bidders()
                raise self._does_not_fit(bidders, [bidder.claim(0) for bidder in bidders])

    def _take_back(self, over: int) -> bool:
        """Free `over` tokens, the least essential first; return whether anything was freed."""
        freed = 0
        cuts = self.options["policy"].startswith("truncate")
        for bidder in sorted(self.bidders(), key=lambda bidder: (not bidder.required, bidder.rank))[::-1]:
            if not bidder.load:
                continue
            before, claim = bidder.load, bidder.claim(self.toll)
            limit = before - (over - freed)
            if (cuts or claim.required) and limit >= claim.least and bidder.take(limit):
                bidder.reason += ", and texts count more joined than apart"
                freed += before - bidder.load
            elif not bidder.required:
                bidder.drop("the sections count more joined than apart, and it was the least essential")
                freed += before + self.toll
            else:
                bidder.take(before)
            if freed >= over:
                break
        return freed > 0

    def _kept(self) -> dict[str, str]:
        return {draft.section.name: draft.kept for draft in self.live if draft.kept}

    def _count(self, texts: Mapping[str, str], budget_text: str | None = None) -> int:
        """Return the count of the whole prompt of these texts."""
        if budget_text is not None:
            texts = {**texts, budget_section.NAME: budget_text}
        text = self.page.text(texts)
        return self.meter.count(text) + (self.meter.overhead if text else 0)

    def _budget_text(self, texts: Mapping[str, str]) -> str:
        lines = [budget_section.BudgetLine(draft.section.name, draft.used(), self._limit(draft)) for draft in self.live]

        def write(used: int) -> str:
            return budget_section.written(lines, used, self.budget, self.meter.unit)

        def count(text: str) -> int:
            return self._count(texts, text)

        return budget_section.settled(write, count, count(write(self.budget)))

    def _limit(self, draft: Draft) -> int:
        return self.budget if draft.ceiling is None else draft.ceiling

    def _why_nothing(self, bidder: Bidder, claim: Claim) -> str:
        unit = self.meter.unit
        if not claim.wanted:
            return f"it has {bidder.size:,} {unit}, and its ceiling is {bidder.ceiling or 0:,}"
        if self.options["policy"] in ("stop", "truncate_then_stop"):
            return f"the policy {self.options['policy']} ends the prompt where something does not fit"
        if claim.least > 1:
            return f"fewer than the {claim.least:,} {unit} that it needs were left"
        return "nothing was left for it"

    def _above_its_ceiling(self, bidder: Bidder) -> DoesNotFit:
        """Return the error for a required section that cannot be made small enough."""
        name, ceiling, size, unit = bidder.name, bidder.ceiling or 0, bidder.size, self.meter.unit
        found = self._least_budget(max(size, self.budget + 1)) if self.advises else None
        enough = found if isinstance(found, int) else None
        section = isinstance(bidder, Draft)
        what = f"the required section {name!r} has" if section else f"the {name} have"
        advice = f"Raise its ceiling to {size:,}" if section else f"Raise history_ceiling by {size - ceiling:,}"
        advice += f" or the budget to {enough:,}" if enough else ""
        return DoesNotFit(
            f"the prompt does not fit: {what} {size:,} {unit} and cannot be cut to the ceiling of {ceiling:,}."
            f" {advice}, or shorten it.",
            needed=enough or size,
            available=self.budget if enough else ceiling,
            parts={name: size},
        )

    def _beside(self, texts: Mapping[str, str]) -> dict[str, int]:
        """Return the tokens besides the texts of these sections, by name."""
        rest = self._count(dict.fromkeys(texts, ""), self.longest)
        alone = not self.longest and not self.page.fixed
        return {"separators" if alone else "separators, template and budget section": rest} if rest else {}

    def _does_not_fit(self, bidders: Sequence[Bidder], claims: Sequence[Claim]) -> DoesNotFit:
        """Return the error with every number: what is needed, by part, and what would help."""
        required = [(bidder, claim) for bidder, claim in zip(bidders, claims, strict=True) if claim.required]
        texts = {draft.name: draft.text for draft in self.live if draft.required}
        parts = {bidder.name: claim.least if claim.wanted else bidder.size for bidder, claim in required}
        parts |= self._beside(texts)
        needed = sum(parts.values())
        if all(claim.least >= bidder.size for bidder, claim in required):
            needed = self._count(texts, self.longest)
        needed = max(needed, self.budget + 1)
        enough = self._least_budget(needed) if self.advises else needed
        if isinstance(enough, DoesNotFit):
            return enough
        needed = enough
        short = needed - self.budget
        sums = ", ".join(f"{name} {size:,}" for name, size in parts.items())
        message = (
            f"the prompt does not fit: its essential parts need {needed:,} {self.meter.unit} and the budget is"
            f" {self.budget:,}, {short:,} short ({sums}). Raise the budget to {needed:,}"
        )
        cuttable = {draft.name for draft in self.live if draft.cuttable}
        able = [bidder.name for bidder, claim in required if claim.least > short and bidder.name in cuttable]
        if able:
            name = min(able, key=lambda name: parts[name])
            message += f", or let {name!r} be cut by giving it a floor of {parts[name] - short:,} or less"
        return DoesNotFit(message + ".", needed=needed, available=self.budget, parts=parts)

    def _least_budget(self, guess: int) -> int | DoesNotFit:
        """Return a budget that is enough, where one token less is not; if none helps, the error that remains."""
        known = {draft.text: draft.summary for draft in self.drafts if draft.summary is not None}

        def summarised(text: str, limit: int) -> str:
            if text not in known and self.summarise is not None:  # It may be a model: a text is summarised once.
                known[text] = self.summarise(text, limit)
            return known.get(text, "")

        def refusal(budget: int) -> DoesNotFit | None:
            known = self.summarise and summarised
            try:
                replace(self, budget=budget, summarise=known, advises=False).planned()
            except DoesNotFit as error:
                return error
            return None

        low, high = self.budget, guess
        while (refused := refusal(high)) is not None:
            low, high = high, 2 * high
            if high > _DOUBLINGS * guess:
                return refused
        step = 1  # The guess is right or nearly so as a rule, so the search begins there.
        while high - step > low and refusal(high - step) is None:
            high, step = high - step, 2 * step
        low = max(low, high - step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if refusal(middle) is None else (middle, high)
        return high

    def _receipt(self, text: str, used: int) -> Receipt:
        parts = tuple(draft.part() for draft in self.drafts)
        summaries = {draft.text: draft.summary for draft in self.drafts if draft.summary is not None}
        return Receipt(
            budget=self.budget,
            used=used,
            unit=self.meter.unit,
            meter=self.meter.name,
            exact=self.meter.exact,
            upper=used if self.meter.exact else self.meter.upper(text),
            joins=used - sum(part.used for part in parts),
            parts=parts,
            losses=losses(parts),
            policy=self.options["policy"],
            fill=self.options["fill"],
            order=self.options["order"],
            stable_prefix=self._stable_prefix(parts),
            stages=tuple(self.given_up),
            capture=Capture(
                sections=self.sections,
                budget=self.budget,
                **self.named,
                measure=self.meter,
                options=self.options,
                summaries=summaries,
            ),
            captured=self.captured,
        )

    def _stable_prefix(self, parts: Sequence[Part]) -> int:
        """Return the tokens of the leading sections that are stable and whole."""
        if self.page.fixed or not any(section.stable for section in self.sections):
            return 0
        by_name = {part.name: (section, part) for section, part in zip(self.sections, parts, strict=True)}
        prefix = 0
        for name in self.page.names:
            section, part = by_name.get(name, (None, None))
            if section is None or part is None or (part.present and not (section.stable and part.state == "whole")):
                break
            prefix += part.used
        return prefix


def _rank(section: Section, *, higher: bool) -> int:
    return -section.rank if higher and not isinstance(section.priority, str) else section.rank
