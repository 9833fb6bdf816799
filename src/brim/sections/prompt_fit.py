"""One fit of sections to a prompt: measure, apply the stages, allocate, render, verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from brim.receipts.capture import Capture
from brim.receipts.receipt import Part, Receipt, losses
from brim.receipts.section import Section
from brim.sections import budget_section
from brim.sections.bidding import Bidding, Fit, Proposal, Proposals
from brim.sections.draft import Draft, SectionProposal, Summaries
from brim.sections.layout import Layout, layout
from brim.sections.stages import HARD, bordered, staged

_JOIN_SAVES = 16
"""Tokens that joining a text to the one before it may save; measured joins save up to three."""


@dataclass(frozen=True, slots=True, repr=False)
class Prompt:
    """A fitted prompt."""

    text: str
    receipt: Receipt
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of each section that is present, by name."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Prompt: {self.receipt.headline}>"


@dataclass(slots=True, kw_only=True)
class PromptFit(Fit):
    """One fit of sections to a budget."""

    sections: tuple[Section, ...]
    meter_name: str | None
    """The name by which the meter was chosen, for the receipt."""
    summaries: Summaries
    drafts: list[Draft] = field(init=False)
    page: Layout = field(init=False)
    longest: str | None = field(init=False, default=None)
    """The budget section with the longest numbers it can have, if it is shown."""
    stages_applied: list[str] = field(init=False, default_factory=list)
    """What the stages removed, in order, for the receipt."""

    def __post_init__(self) -> None:
        higher = self.options["direction"] == "higher"
        self.drafts = [
            Draft.of(section, self.meter, self.budget, self.summaries, higher=higher) for section in self.sections
        ]
        by_rank = self.options["order"] == "priority"
        names = [draft.name for draft in (sorted(self.drafts, key=lambda each: each.rank) if by_rank else self.drafts)]
        if self.options["show_budget"]:
            names.append(budget_section.NAME)
            shown = [draft for draft in self.drafts if draft.section.enabled]
            lines = [budget_section.BudgetLine(draft.name, limit := self._limit(draft), limit) for draft in shown]
            self.longest = budget_section.written(lines, self.budget, self.budget, self.meter.unit)
        self.page = layout(names, separator=self.options["separator"], template=self.options["template"])

    @property
    def live(self) -> list[Draft]:
        """The drafts that have content."""
        return [draft for draft in self.drafts if draft.size]

    def prompt(self) -> Prompt:
        """Return the prompt with its receipt.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """
        proposals, used = self.planned()
        texts = self._with_budget(kept_texts(proposals))
        text = self.page.text(texts)
        return Prompt(text, self._receipt(proposals, text, used), texts)

    def planned(self) -> tuple[Proposals, int]:
        """Return what each section keeps, and the tokens of the whole.

        Raises:
            DoesNotFit: the required parts exceed the budget.
        """
        whole = self._all_whole() or self._by_stages()
        if whole is not None:
            return whole, self.count(whole)
        bidding = Bidding(whole=self, bidders=self.live, toll=self._toll)
        used = bidding.run()
        return bidding.proposals, used

    @property
    def _toll(self) -> int:
        return self.meter.load(self.page.separator) if self.page.separator else 0

    def _all_whole(self) -> Proposals | None:
        """Return all sections whole, or `None` if one exceeds its ceiling or together they exceed the budget."""
        if any(draft.wanted < draft.size for draft in self.live) or far_over(self.live, 0, self.budget):
            return None
        proposals = {draft: replace(draft.whole(), grant=draft.size) for draft in self.live}
        return proposals if self._longest_count(kept_texts(proposals)) <= self.budget else None

    def _by_stages(self) -> Proposals | None:
        """Apply the stages one by one until the prompt fits; return what is left, or `None` if it never fits."""
        stages, marker = staged(self.options.get("stages", ())), self.options.get("hard_marker")
        if not stages and marker is None:
            return None
        proposals, over = self._at_ceilings()
        named = [stage.section for stage in stages]
        for stage, at in ((stage, at) for stage in stages for at in range(len(self.drafts))):
            draft = self.drafts[at]
            if over and draft.size and stage.concerns(draft.section, named):
                left = stage.left(draft.section, self.budget, over, self.meter)
                if left is not None:
                    self.drafts[at] = draft.with_content(*left)
                    self.stages_applied.append(f"{draft.name}: {left[1]}")
                    proposals, over = self._at_ceilings()
        if not over:
            return proposals
        self.stages_applied.append(HARD)
        if marker is not None:
            self.drafts = [
                draft.with_marker(bordered(marker, draft.section)) if draft.size else draft for draft in self.drafts
            ]
        return None

    def _at_ceilings(self) -> tuple[Proposals, int]:
        """Return every section whole or cut to its ceiling, and the tokens by which they exceed the budget."""
        proposals = dict[Draft, Proposal]()
        for draft in self.live:
            proposal = draft.propose(draft.wanted, {})
            if not proposal.load and draft.required:
                return proposals, draft.size
            proposals[draft] = replace(proposal, grant=draft.wanted)
        return proposals, max(0, self._longest_count(kept_texts(proposals)) - self.budget)

    def room(self) -> int:
        """Return the tokens that the sections share, including the separator of each."""
        fixed = self.meter.load(self.page.fixed) if self.page.fixed else 0
        shown = self._toll if self.longest is None else -self.meter.load(self.longest)
        return self.budget - self.meter.overhead - fixed + shown

    def count(self, proposals: Proposals) -> int:
        """Return the tokens of the prompt as it would be sent."""
        return self._count(self._with_budget(kept_texts(proposals)))

    def count_required(self) -> int:
        """Return the tokens of all required sections, uncut, and of nothing else."""
        return self._longest_count({draft.name: draft.text for draft in self.live if draft.required})

    def extras(self) -> dict[str, int]:
        """Return the tokens in addition to the required sections, by name."""
        rest = self._longest_count({draft.name: "" for draft in self.live if draft.required})
        alone = not self.longest and not self.page.fixed
        return {"separators" if alone else "separators, template and budget section": rest} if rest else {}

    def _longest_count(self, texts: Mapping[str, str]) -> int:
        """Return the count of the prompt with the longest possible budget section."""
        return self._count(texts if self.longest is None else {**texts, budget_section.NAME: self.longest})

    def _count(self, texts: Mapping[str, str]) -> int:
        text = self.page.text(texts)
        return self.meter.count(text) + (self.meter.overhead if text else 0)

    def _with_budget(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        """Return the texts, including that of the budget section if it is shown."""
        if self.longest is None:
            return texts
        counts = {name: self.meter.count(text) for name, text in texts.items()}
        lines = [
            budget_section.BudgetLine(draft.name, counts.get(draft.name, 0), self._limit(draft)) for draft in self.live
        ]

        def write(used: int) -> str:
            return budget_section.written(lines, used, self.budget, self.meter.unit)

        def count(text: str) -> int:
            return self._count({**texts, budget_section.NAME: text})

        text = budget_section.consistent(write, count, count(write(self.budget)))
        return {**texts, budget_section.NAME: text}

    def _limit(self, draft: Draft) -> int:
        return self.budget if draft.ceiling is None else draft.ceiling

    def _receipt(self, proposals: Proposals, text: str, used: int) -> Receipt:
        parts = tuple(draft.part(proposals.get(draft)) for draft in self.drafts)
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
            stages=tuple(self.stages_applied),
            capture=Capture(
                sections=self.sections,
                budget=self.budget,
                meter=self.meter_name,
                model=self.model,
                measure=self.meter,
                options=self.options,
                summaries=dict(self.summaries.texts),
            ),
            captured=self.captured,
        )

    def _stable_prefix(self, parts: Sequence[Part]) -> int:
        """Return the tokens of the leading sections that are stable and whole."""
        if self.page.fixed:
            return 0
        by_name = {part.name: (section, part) for section, part in zip(self.sections, parts, strict=True)}
        return stable_units([by_name[name] for name in self.page.names if name in by_name])


def kept_texts(proposals: Proposals) -> dict[str, str]:
    """Return the texts of the sections that are kept, by name."""
    kept = [(draft.name, each.text) for draft, each in proposals.items() if isinstance(each, SectionProposal)]
    return {name: text for name, text in kept if text}


def far_over(drafts: Sequence[Draft], taken: int, budget: int) -> bool:
    """Return whether the sections and `taken` other tokens certainly exceed the budget, however they are joined.

    If so, the joined text need not be counted, which takes as long as all other counts together.
    """
    return taken + sum([draft.size - _JOIN_SAVES for draft in drafts]) > budget


def stable_units(page: Sequence[tuple[Section, Part]]) -> int:
    """Return the tokens of the leading sections of a page that are stable and whole."""
    units = 0
    for section, part in page:
        if part.present and not (section.stable and part.state == "whole"):
            break
        units += part.used
    return units
