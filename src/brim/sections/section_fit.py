"""One fit at work: measure, allocate, truncate, render, verify.

Counts are not additive where texts meet, so the sum is a plan and the count of the whole is the truth: what it
is over by is taken back from the least essential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import DoesNotFit
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Capture, Part, Receipt, losses
from brim.receipts.section import Section
from brim.sections import budget_section as visibility
from brim.sections.allocation import allocate, essential
from brim.sections.claim import Claim
from brim.sections.draft import Draft, Summarise, marked
from brim.sections.layout import Layout, layout
from brim.sections.stages import HARD, bordered, staged


@dataclass(frozen=True, slots=True)
class Prompt:
    """A fitted prompt."""

    text: str
    receipt: Receipt
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What stands in the prompt of each section that is present, by name."""

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True, kw_only=True)
class SectionFit:
    """One fit at work."""

    sections: tuple[Section, ...]
    budget: int
    meter: BaseMeter
    named: Mapping[str, str | None]
    """The names by which the meter and the model were given, for the capture."""
    options: Mapping[str, Any]
    summarise: Summarise | None
    captured: bool
    counts: dict[str, int] = field(default_factory=dict)
    """The counts of the whole sections, so that a big prompt outlives the memo."""
    given_up: list[str] = field(default_factory=list)
    """What the stages took, in their order."""

    def prompt(self) -> Prompt:
        """Run the fit."""
        higher = self.options["direction"] == "higher"
        drafts = self._drafts(higher=higher)
        page = self._layout(drafts)
        live = [draft for draft in drafts if draft.size]
        shown = self._shown(drafts) if self.options["show_budget"] else None
        if not (self._all_whole(live, page, shown) or self._by_stages(live, page, shown)):
            self._serve(live, page, shown)
        texts, used = self._settle(live, page, shown)
        text = "".join(page.pieces(texts))
        return Prompt(text, self._receipt(drafts, page, text, used), texts)

    def _drafts(self, *, higher: bool) -> list[Draft]:
        """Return the sections, each counted once, those not seen before together."""
        marks: dict[Any, int] = {}
        drafts = []
        for section in self.sections:
            look = (section.keep if isinstance(section.keep, str) else id(section.keep), section.marker)
            if look not in marks:
                marks[look] = marked(section, self.meter)
            rank = _rank(section, higher=higher)
            drafts.append(Draft(section, rank, self.meter, self.budget, self.summarise, marks[look], section.text))
        for draft in drafts:
            if not draft.section.enabled:
                draft.text, draft.state, draft.reason = "", "disabled", "it is not enabled"
            elif not draft.text:
                draft.state, draft.reason = "empty", "it has no content"
        for draft, count in zip(drafts, self.meter.count_many([draft.text for draft in drafts]), strict=True):
            draft.measure(count)
            self.counts[draft.text] = count
        return drafts

    def _layout(self, drafts: Sequence[Draft]) -> Layout:
        line = sorted(drafts, key=lambda draft: draft.rank) if self.options["order"] == "priority" else drafts
        names = [draft.section.name for draft in line]
        if self.options["show_budget"]:
            names.append(visibility.NAME)
        return layout(names, separator=self.options["separator"], template=self.options["template"])

    def _all_whole(self, live: Sequence[Draft], page: Layout, shown: str | None) -> bool:
        """Keep everything whole if no ceiling is passed and the whole counts at most the budget."""
        if any(draft.wanted < draft.size for draft in live):
            return False
        texts = {draft.section.name: draft.text for draft in live}
        if self._count(page, texts, shown, enough=self.budget) > self.budget:
            return False
        for draft in live:
            draft.grant = draft.size
            draft.take(draft.size)
        return True

    def _by_stages(self, live: Sequence[Draft], page: Layout, shown: str | None) -> bool:
        """Give up one stage after the other until what is left fits, and return whether it does."""
        stages, marker = staged(self.options.get("stages", ())), self.options.get("hard_marker")
        if not stages and marker is None:
            return False
        over, named = self._over(live, page, shown), [stage.section for stage in stages]
        for stage, draft in ((stage, draft) for stage in stages for draft in live):
            if over and stage.concerns(draft.section, named):
                left = stage.left(draft.section, self.budget, over, self.meter)
                if left is not None:
                    draft.lessen(*left)
                    self.given_up.append(f"{draft.section.name}: {left[1]}")
                    over = self._over(live, page, shown)
        if not over:
            return True
        self.given_up.append(HARD)
        for draft in live:
            if marker is not None:
                draft.mark(bordered(marker, draft.section))
        return False

    def _over(self, live: Sequence[Draft], page: Layout, shown: str | None) -> int:
        """Keep every section as it is, or cut to its ceiling, and return by how much they are over the budget."""
        for draft in live:
            draft.grant = draft.wanted
            if not draft.take(draft.wanted) and draft.section.required:
                return draft.size
        texts = {draft.section.name: draft.kept for draft in live if draft.present}
        return max(0, self._count(page, texts, shown) - self.budget)

    def _serve(self, live: Sequence[Draft], page: Layout, shown: str | None) -> None:
        """Allocate the budget and cut each section to its grant."""
        toll = self.meter.load(page.separator) if page.separator else 0
        claims = [draft.claim(toll) for draft in live]
        room = self.budget - (self.meter.load(page.fixed) if page.fixed else 0)
        room += toll if shown is None else -self.meter.load(shown)
        room = self._enough(live, claims, page, shown, room)

        def spend(index: int, grant: int) -> int:
            draft = live[index]
            used = draft.take(grant)
            if not used and draft.section.required:
                raise self._uncut(draft, grant, f"cannot be cut to the {grant:,} {self.meter.unit} left for it")
            return used

        grants = allocate(claims, room, fill=self.options["fill"], policy=self.options["policy"], spend=spend)
        for draft, claim, grant in zip(live, claims, grants, strict=True):
            draft.grant = grant
            if not grant and (draft.present or not draft.reason):
                draft.drop(self._why_nothing(draft, claim))

    def _enough(
        self, live: Sequence[Draft], claims: Sequence[Claim], page: Layout, shown: str | None, room: int
    ) -> int:
        """Return the room to allocate: what there is, or what the essentials add up to where joined they still fit.

        Raises:
            DoesNotFit: the essentials alone are bigger than the budget.
        """
        for draft, claim in zip(live, claims, strict=True):
            if claim.required and not claim.wanted:
                ceiling = draft.ceiling or 0
                raise self._uncut(draft, ceiling, f"cannot be cut to its ceiling of {ceiling:,} {self.meter.unit}")
        needed = essential(claims)
        if needed <= room:
            return room
        required = [draft for draft in live if draft.section.required]
        texts = {draft.section.name: draft.text for draft in required}
        whole = all(
            claim.least == claim.wanted == draft.size
            for draft, claim in zip(live, claims, strict=True)
            if claim.required
        )
        if whole and self._count(page, texts, shown) <= self.budget:
            return needed
        raise self._does_not_fit(live, claims, page, shown)

    def _settle(self, live: Sequence[Draft], page: Layout, shown: str | None) -> tuple[dict[str, str], int]:
        """Return the texts of the prompt and their count as a whole, after taking back what that is over by."""
        while True:
            texts = {draft.section.name: draft.kept for draft in live if draft.present}
            if shown is not None:
                texts[visibility.NAME] = self._told(live, page, texts)
            used = self._count(page, texts)
            if used <= self.budget:
                return texts, used
            if not self._take_back(live, used - self.budget, page):
                raise self._does_not_fit(live, [draft.claim(0) for draft in live], page, shown)

    def _take_back(self, live: Sequence[Draft], over: int, page: Layout) -> bool:
        """Free `over` units, the least essential first; return whether anything could be freed."""
        toll = self.meter.load(page.separator) if page.separator else 0
        freed = 0
        cuts = self.options["policy"].startswith("truncate")
        for draft in sorted(live, key=lambda draft: (not draft.section.required, draft.rank))[::-1]:
            if not draft.present:
                continue
            before, claim = draft.load, draft.claim(toll)
            limit = before - (over - freed)
            if (cuts or claim.required) and limit >= claim.least and draft.take(limit):
                draft.reason += ", and texts count more joined than apart"
                freed += before - draft.load
            elif not draft.section.required:
                draft.drop("the sections count more joined than apart, and it was the least essential")
                freed += before + toll
            else:
                draft.take(before)
            if freed >= over:
                break
        return freed > 0

    def _count(
        self, page: Layout, texts: Mapping[str, str], shown: str | None = None, enough: int | None = None
    ) -> int:
        if shown is not None:
            texts = {**texts, visibility.NAME: shown}
        return self.meter.count_joined(page.pieces(texts), enough, self.counts)

    def _shown(self, drafts: Sequence[Draft]) -> str:
        """Return the longest text that the budget section can have."""
        lines = [draft for draft in drafts if draft.section.enabled]
        limits = [self._limit(draft) for draft in lines]
        return visibility.widest([draft.section.name for draft in lines], limits, self.budget, self.meter.unit)

    def _told(self, live: Sequence[Draft], page: Layout, texts: Mapping[str, str]) -> str:
        lines = [
            visibility.BudgetLine(draft.section.name, self.meter.count(draft.kept), self._limit(draft))
            for draft in live
        ]

        def write(used: int) -> str:
            return visibility.told(lines, used, self.budget, self.meter.unit)

        def count(text: str) -> int:
            return self._count(page, texts, text)

        return visibility.settled(write, count, count(write(self.budget)))[0]

    def _limit(self, draft: Draft) -> int:
        return self.budget if draft.ceiling is None else draft.ceiling

    def _why_nothing(self, draft: Draft, claim: Claim) -> str:
        unit = self.meter.unit
        if not claim.wanted:
            return f"it has {draft.size:,} {unit}, and its ceiling is {draft.ceiling:,}"
        if self.options["policy"] in ("stop", "truncate_then_stop"):
            return f"the policy {self.options['policy']} ends the prompt where something does not fit"
        if claim.least > 1:
            return f"fewer than the {claim.least:,} {unit} that it needs at the least were left"
        return "nothing was left for it"

    def _uncut(self, draft: Draft, limit: int, problem: str) -> DoesNotFit:
        """Return the error for a required section that cannot be made small enough."""
        name, short = draft.section.name, draft.size - limit
        return DoesNotFit(
            f"the prompt does not fit: the required section {name!r} has {draft.size:,} {self.meter.unit}"
            f" and {problem}."
            f" Give it {short:,} more, or a shorter form.",
            needed=draft.size,
            available=limit,
            parts={name: draft.size},
        )

    def _does_not_fit(
        self, live: Sequence[Draft], claims: Sequence[Claim], page: Layout, shown: str | None
    ) -> DoesNotFit:
        """Return the error with every number: what is needed, by part, and what would help."""
        unit = self.meter.unit
        required = [(draft, claim) for draft, claim in zip(live, claims, strict=True) if claim.required]
        texts = {draft.section.name: draft.text for draft, _ in required}
        parts = {draft.section.name: claim.least if claim.wanted else draft.size for draft, claim in required}
        rest = self._count(page, dict.fromkeys(texts, ""), shown)
        if rest:
            parts["separators, template and budget section" if shown or page.fixed else "separators"] = rest
        needed = sum(parts.values())
        if all(claim.least >= draft.size for draft, claim in required):
            needed = self._count(page, texts, shown)
        needed = max(needed, self.budget + 1)
        short = needed - self.budget
        told = ", ".join(f"{name} {size:,}" for name, size in parts.items())
        message = (
            f"the prompt does not fit: its essential parts need {needed:,} {unit} and the budget is"
            f" {self.budget:,}, {short:,} short ({told}). Raise the budget to {needed:,}"
        )
        able = [draft.section.name for draft, claim in required if claim.least > short and draft.cuttable]
        if able:
            name = min(able, key=lambda name: parts[name])
            message += f", or let {name!r} be cut by giving it a floor of {parts[name] - short:,} or less"
        return DoesNotFit(message + ".", needed=needed, available=self.budget, parts=parts)

    def _receipt(self, drafts: Sequence[Draft], page: Layout, text: str, used: int) -> Receipt:
        parts = tuple(draft.part() for draft in drafts)
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
            stable_prefix=_stable_prefix(drafts, parts, page),
            stages=tuple(self.given_up),
            capture=Capture(
                sections=self.sections,
                budget=self.budget,
                meter=self.named["meter"],
                model=self.named["model"],
                measure=self.meter,
                options=self.options,
                summaries={draft.text: draft.summary for draft in drafts if draft.summary is not None},
            ),
            captured=self.captured,
        )


def _stable_prefix(drafts: Sequence[Draft], parts: Sequence[Part], page: Layout) -> int:
    """Return the units of the leading sections that are stable and whole."""
    if page.fixed or not any(draft.section.stable for draft in drafts):
        return 0
    by_name = {draft.section.name: (draft, part) for draft, part in zip(drafts, parts, strict=True)}
    units_ = 0
    for name in page.names:
        draft, part = by_name.get(name, (None, None))
        if draft is None or part is None or (part.present and not (draft.section.stable and part.state == "whole")):
            break
        units_ += part.used
    return units_


def _rank(section: Section, *, higher: bool) -> int:
    return -section.rank if higher and not isinstance(section.priority, str) else section.rank
