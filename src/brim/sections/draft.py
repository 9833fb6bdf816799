"""What one section puts into the prompt, within its grant.

A draft tries, in this order: the whole content, the largest form that fits, a summary if its overflow is `summarise`,
a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from brim.amounts import counted, of_budget, units_or_share
from brim.errors import DoesNotFit
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Part, State, handle
from brim.receipts.section import Section, Summarise
from brim.sections.allocation import Claim
from brim.sections.bidding import Proposal, Proposals
from brim.truncate import truncator
from brim.truncate.base import filled, shrink

if TYPE_CHECKING:
    from brim.truncate.records import Records, Selection


@dataclass(slots=True, eq=False)
class Summaries:
    """A function that summarises, and its results so far."""

    summarise: Summarise | None
    texts: dict[str, str] = field(default_factory=dict)
    """The summaries, by their source text."""

    def of(self, text: str, limit: int) -> str:
        """Return a summary of at most `limit` tokens; empty if there is no function."""
        if text not in self.texts and self.summarise is not None:
            self.texts[text] = self.summarise(text, limit)
        return self.texts.get(text, "")


_DROPPED = 99
"""A number for a marker when only the marker's size matters."""
_SMOOTH = ("head", "tail", "ends")
"""Cuts that use their whole grant, except for a token or two."""
_EMPTY: tuple[State, State] = ("disabled", "empty")
"""The state of a section without content, by whether it is enabled."""


def records(section: Section, marker: str | None) -> Records:
    """Return the truncator of a section's entries."""
    from brim.truncate.records import Records

    marker = None if marker is None else marker.strip("\n")  # Each entry and the marker have a line of their own.
    order, newest = None, section.keeps_end
    if section.scores is not None and not newest:
        order = tuple(section.entry_order)
        if section.most is not None:
            at = {index: i for i, index in enumerate(section.chosen_indexes)}
            order = tuple([at[index] for index in order if index in at])
    return Records(marker=marker, keep="newest" if newest else "best", separator=section.joiner, order=order)


@dataclass(frozen=True, slots=True)
class SectionProposal(Proposal):
    """What a section puts into the prompt."""

    text: str = ""
    state: State = "dropped"
    selected: Selection | None = None
    """The entries that were kept by a cut."""


@dataclass(slots=True, eq=False, kw_only=True)
class Draft:
    """One section while a prompt is fitted."""

    section: Section
    rank: int
    meter: BaseMeter
    budget: int
    summaries: Summaries
    text: str
    """The whole content; empty if the section is not enabled."""
    shortened: str = ""
    """How stages or `most` shortened it, for the receipt."""
    before: tuple[int, str] | None = None
    """The count and the text of the whole content, if it was shortened."""
    places: Sequence[int] | None = None
    """If a stage removed entries, the original index of each remaining one; -1 for a marker."""
    original: Section | None = None
    """The section before any stage."""
    count: int = field(init=False)
    """Tokens of the whole content."""
    size: int = field(init=False)
    """Tokens planned for the whole content."""
    ceiling: int | None = field(init=False, default=None)
    wanted: int = field(init=False)
    """Its size, its ceiling if that is less, or 0 if it cannot be cut to its ceiling."""

    def __post_init__(self) -> None:
        self.count = self.meter.count(self.text)
        self.wanted = self.size = self._load(self.text)
        if self.section.ceiling is None:
            return
        self.ceiling = int(of_budget(units_or_share("ceiling", self.section.ceiling), self.budget))
        if self.size > self.ceiling:
            usable = (not self.section.stable and self.ceiling >= self.marked) or self._sizes(self.ceiling)
            self.wanted = self.ceiling if usable else 0

    @classmethod
    def of(cls, section: Section, meter: BaseMeter, budget: int, summaries: Summaries, *, higher: bool) -> Draft:
        """Return the draft of a section; `higher` says whether a higher number is the more essential priority."""
        rank = -section.rank if higher and not isinstance(section.priority, str) else section.rank
        text = section.text if section.enabled else ""
        draft = cls(section=section, rank=rank, meter=meter, budget=budget, summaries=summaries, text=text)
        content = section.content
        if section.most is not None and text and isinstance(content, str) and len(text) < len(content):
            # Text that `most` leaves out is a loss.
            draft.before = (meter.count(content), content)
            draft.shortened = f"its {'last' if section.keeps_end else 'first'} {section.most:,} entries"
        return draft

    @property
    def name(self) -> str:
        """The name of its section."""
        return self.section.name

    @property
    def required(self) -> bool:
        """Whether it must be present."""
        return self.section.required

    def with_content(self, content: str | Sequence[str], reason: str, left: Sequence[int] = ()) -> Draft:
        """Return the draft with less content; `left` has the indexes of the remaining entries, and -1 for a marker."""
        section, scores, places = self.section, None, self.places
        if not isinstance(content, str):
            chosen = section.chosen_indexes
            indexes = [chosen[index] if index >= 0 else -1 for index in left]
            places = indexes if places is None else [places[i] if i >= 0 else -1 for i in indexes]
            if section.scores is not None:
                lowest = min(section.scores, default=0)
                scores = [section.scores[i] if i >= 0 else lowest for i in indexes]
        fewer = replace(section, content=content, most=None, scores=scores, ids=None)
        return replace(
            self,
            section=fewer,
            text=fewer.text,
            before=self.before or (self.count, self.text),
            shortened=f"{self.shortened}, then {reason}" if self.shortened else reason,
            original=self.original or section,
            places=places,
        )

    def with_marker(self, marker: str) -> Draft:
        """Return the draft with another marker, unless the section has a custom truncator."""
        if not isinstance(self.section.keep, str):
            return self
        return replace(self, section=replace(self.section, marker=marker))

    @property
    def cuttable(self) -> bool:
        """Whether its content may be cut or summarised to any grant; with `drop`, it is cut only to its ceiling."""
        return self.section.overflow != "drop" and not self.section.stable

    def claim(self, toll: int) -> Claim:
        """Return its claim on the budget."""
        section, wanted, cuttable = self.section, self.wanted, self.cuttable
        weight = section.weight if isinstance(section.weight, int) else Fraction(str(section.weight))
        floor = self._floor if section.floor else 0
        sizes = self._sizes(wanted) if section.forms else ()
        if not cuttable or (section.required and not floor):
            least = min(sizes, default=wanted)
        else:
            least = min(self.marked, wanted, *sizes)
        least = max(least, int(floor), 1)
        reserved = max(floor, least) if section.required or (floor and not cuttable) else floor
        return Claim(wanted, least, reserved, self.rank, section.required, weight, toll)

    def propose(self, grant: int, proposals: Proposals) -> SectionProposal:  # noqa: ARG002 - others do not matter
        """Return what to keep within `grant` tokens.

        A cut inside a text is charged its whole grant, even if it uses a token or two less, so that grants grow with
        the budget. Forms, entries, lines and shapes are charged what they use.
        """
        proposal = None
        if grant >= self.size:
            proposal = self.whole()
        elif (proposal := self._form(grant)) is None and (
            self.cuttable or (grant >= self.wanted and not self.section.stable)
        ):
            proposal = self._summary(grant) or self._cut(grant)
        if proposal is None or not proposal.text:
            return SectionProposal(reason=f"{self._cause(grant)}, which is too few")
        if proposal.state == "cut" and self.section.keep in _SMOOTH and isinstance(self.section.content, str):
            return replace(proposal, taken=grant)
        reserved = min(int(self._floor), grant) if self.section.floor else 0
        return proposal if reserved <= proposal.load else replace(proposal, taken=reserved)

    def whole(self) -> SectionProposal:
        """Return the proposal to keep the whole content."""
        state: State = "cut" if self.shortened else "whole"
        return self._kept(self.text, state, self.shortened or "it fits whole")

    def part(self, proposal: Proposal | None) -> Part:
        """Return its part of the receipt."""
        if proposal is None:
            on = self.section.enabled
            proposal = SectionProposal(reason="it has no content" if on else "it is not enabled", state=_EMPTY[on])
        elif not isinstance(proposal, SectionProposal):
            proposal = SectionProposal(reason=proposal.reason, grant=proposal.grant)
        used = self.count if proposal.state == "whole" else self.meter.count(proposal.text) if proposal.text else 0
        original = self.original or self.section
        size, text = self.before or (self.count, self.text)
        return Part(
            original.name,
            proposal.state,
            self.rank,
            original.required,
            size,
            self.wanted,
            proposal.grant,
            used,
            proposal.reason,
            handle(text or self.section.text),
            self.ceiling,
            () if isinstance(original.content, str) else self._entries(original.content, proposal),
            tuple(original.ids) if original.ids else (),
        )

    def _entries(self, entries: Sequence[str], proposal: SectionProposal) -> tuple[str, ...]:
        """Return the state of each entry of the whole content."""
        states = ["dropped"] * len(entries)
        if proposal.text and proposal.state in ("whole", "cut"):
            chosen, indexes = self.section.chosen, self.section.chosen_indexes
            kept: Iterable[tuple[int, str]] = enumerate(chosen)
            if proposal.selected is not None:
                kept = zip(proposal.selected.kept, proposal.selected.entries, strict=True)
            for i, text in kept:
                index = indexes[i] if self.places is None else self.places[indexes[i]]
                if index >= 0:
                    states[index] = "whole" if text == entries[index] else "shortened"
        return tuple(states)

    @property
    def marked(self) -> int:
        """The minimum tokens of a cut: those of its marker, and one more."""
        marker = getattr(truncator(self.section.keep, self.section.marker), "marker", None)
        return self.meter.count(filled(marker or "", _DROPPED)) + 1

    @property
    def _floor(self) -> int | Fraction:
        return min(of_budget(units_or_share("floor", self.section.floor), self.budget), self.wanted)

    def _form(self, grant: int) -> SectionProposal | None:
        fitting = [(size, form) for form in self.section.forms if 0 < (size := self._load(form)) <= grant]
        if not fitting:
            return None
        _, form = max(fitting, key=lambda pair: pair[0])
        return self._kept(form, "form", f"a shorter form was used: {self._cause(grant)}")

    def _summary(self, grant: int) -> SectionProposal | None:
        if self.section.overflow != "summarise":
            return None
        summary = self.summaries.of(self.text, grant)
        size = self._load(summary)
        if not 0 < size <= grant or size >= self.size:
            return None
        return self._kept(summary, "summarised", f"a summary was used: {self._cause(grant)}")

    def _cut(self, grant: int) -> SectionProposal | None:
        section, chosen = self.section, self.section.chosen
        selected: Selection | None = None

        def cut(limit: int) -> str:
            nonlocal selected
            if isinstance(chosen, str):
                return truncator(section.keep, section.marker).truncate(self.text, limit, self.meter).text
            selected = records(section, section.marker).select(chosen, limit, self.meter)
            return selected.text

        try:
            # A truncator keeps to the count, and the load can be bigger.
            text = shrink(self.text, grant, self.meter, cut, self._load).text
        except DoesNotFit:
            return None
        return self._kept(text, "cut", self._cause(grant), selected)

    def _kept(self, text: str, state: State, reason: str, selected: Selection | None = None) -> SectionProposal:
        load = self.size if text is self.text else self._load(text)
        return SectionProposal(load, load, reason, text=text, state=state, selected=selected)

    def _cause(self, grant: int) -> str:
        unit = self.meter.unit
        if self.ceiling is not None and grant >= self.wanted:
            return f"its ceiling is {self.ceiling:,} {unit} and it has {self.size:,}"
        left = f"{counted(grant, unit.removesuffix('s'))} {'was' if grant == 1 else 'were'}"
        return f"{left} left for its {self.size:,}"

    def _sizes(self, limit: int) -> list[int]:
        """Return the sizes of its content and of its forms that are at most `limit`."""
        return [size for size in (self.size, *map(self._load, self.section.forms)) if 0 < size <= limit]

    def _load(self, text: str) -> int:
        return max(1, self.meter.load(text)) if text else 0
