"""What one section puts into the prompt, within the tokens that it is granted.

A draft tries, in this order: the whole content, the largest form that fits, a summary if its overflow is `summarise`,
a cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from brim.amounts import of_budget, units_or_share
from brim.errors import DoesNotFit
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Part, State, handle
from brim.receipts.section import Section
from brim.sections.allocation import Claim
from brim.truncate import truncator
from brim.truncate.base import shrink
from brim.truncate.marker import filled

if TYPE_CHECKING:
    from brim.truncate.records import Records, Selection

Summarise = Callable[[str, int], str]
"""Gets a text and a limit in tokens, and returns a shorter text. A summary that does not fit is not used."""

_DROPPED = 99
"""The number in a marker whose tokens are estimated."""
SMOOTH = ("head", "tail", "ends")
"""Ways to cut that use all of their grant but for a token or two."""


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


@dataclass(slots=True, eq=False)
class Draft:
    """One section while a prompt is fitted."""

    section: Section
    rank: int
    meter: BaseMeter
    budget: int
    summarise: Summarise | None = None
    text: str = ""
    """The whole content; empty if the section is not enabled."""
    count: int = 0
    """Tokens of the whole content."""
    size: int = 0
    """Tokens that are planned for the whole content: its load."""
    ceiling: int | None = None
    wanted: int = 0
    """Its size, its ceiling if that is less, or 0 if it cannot be cut to its ceiling."""
    grant: int = 0
    kept: str = ""
    """Its text in the prompt; empty if it is not present."""
    load: int = 0
    """Tokens that are planned for the kept text."""
    state: State = "dropped"
    reason: str = ""
    summary: str | None = None
    lessened: str = ""
    """What the stages left of it, as the reason in the receipt."""
    before: tuple[int, str] | None = None
    """The count and the text of the whole content, if a stage took some of it."""
    selected: Selection | None = None
    """The entries that the last cut kept."""
    places: Sequence[int] | None = None
    """If a stage took some entries, the index of each that it left in the whole content; -1 for a marker."""
    given: Section | None = None
    """The section before any stage."""

    @property
    def name(self) -> str:
        """The name of its section."""
        return self.section.name

    @property
    def required(self) -> bool:
        """Whether it must be present."""
        return self.section.required

    def measure(self) -> None:
        """Count the content, and set how much of it is wanted."""
        self.count = self.meter.count(self.text)
        self.wanted = self.size = self._load(self.text)
        if self.section.ceiling is None:
            return
        self.ceiling = int(of_budget(units_or_share("ceiling", self.section.ceiling), self.budget))
        if self.size > self.ceiling:
            usable = (not self.section.stable and self.ceiling >= self.marked) or self._sizes(self.ceiling)
            self.wanted = self.ceiling if usable else 0

    def report_choice(self) -> None:
        """Report what `most` leaves out of a text as a loss."""
        content = self.section.content
        if self.text and isinstance(content, str) and len(self.text) < len(content):
            self.before = (self.meter.count(content), content)
            side = "last" if self.section.keeps_end else "first"
            self.lessened = f"its {side} {self.section.most:,} entries"

    def lessen(self, content: str | Sequence[str], reason: str, left: Sequence[int] = ()) -> None:
        """Use less content from now on; `left` are the indexes of entries among those chosen, -1 for a marker."""
        self.before = self.before or (self.count, self.text)
        self.lessened = f"{self.lessened}, then {reason}" if self.lessened else reason
        self.given = self.given or self.section
        section, labels = self.section, dict[str, Any]()
        if not isinstance(content, str):
            chosen = section.chosen_indexes
            own = [chosen[index] if index >= 0 else -1 for index in left]
            self.places = own if self.places is None else [self.places[i] if i >= 0 else -1 for i in own]
            if section.scores is not None:
                lowest = min(section.scores, default=0)
                labels["scores"] = [section.scores[i] if i >= 0 else lowest for i in own]
        self.section = replace(section, content=content, most=None, **{"scores": None, "ids": None, **labels})
        self.text = self.section.text
        self.measure()

    def mark(self, marker: str) -> None:
        """Use another marker from now on, unless the section has a truncator of its own."""
        if isinstance(self.section.keep, str):
            self.section = replace(self.section, marker=marker)
            self.measure()

    @property
    def cuttable(self) -> bool:
        """Whether its content may be cut or summarised to any grant; one that is dropped is only cut to its ceiling."""
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

    def take(self, grant: int) -> int:
        """Use at most `grant` tokens, and return how many of them it takes; with zero it is not in the prompt.

        A cut inside the text takes its whole grant, which it misses by a token or two at most, so that grants grow
        with the budget. A form, entries, lines or a shape take what they use.
        """
        self.kept, self.load, self.selected = "", 0, None
        if grant >= self.size:
            self._keep(self.text, *(("cut", self.lessened) if self.lessened else ("whole", "it fits whole")))
        elif not self._take_form(grant) and (self.cuttable or (grant >= self.wanted and not self.section.stable)):
            self._take_less(grant)
        if not self.kept:
            self.drop(f"{self._cause(grant)}, too few for it")
            return 0
        if self.state == "cut" and self.section.keep in SMOOTH and isinstance(self.section.content, str):
            return grant
        return max(self.load, min(int(self._floor), grant) if self.section.floor else 0)

    def used(self) -> int:
        """Return the tokens of its text in the prompt."""
        return self.meter.count(self.kept) if self.kept else 0

    def drop(self, reason: str) -> None:
        """Leave it out of the prompt."""
        self.kept, self.load, self.state, self.reason = "", 0, "dropped", reason

    def part(self) -> Part:
        """Return its part of the receipt."""
        used = self.count if self.state == "whole" else self.used()
        section, given = self.section, self.given or self.section
        size, text = self.before or (self.count, self.text)
        return Part(
            section.name,
            self.state,
            self.rank,
            section.required,
            size,
            self.wanted,
            self.grant,
            used,
            self.reason,
            handle(text or section.text),
            self.ceiling,
            () if isinstance(given.content, str) else self._entries(given.content),
            tuple(given.ids) if given.ids else (),
        )

    def _entries(self, given: Sequence[str]) -> tuple[str, ...]:
        """Return what happened to each entry of the whole content."""
        states = ["dropped"] * len(given)
        if self.kept and self.state in ("whole", "cut"):
            chosen, indexes = self.section.chosen, self.section.chosen_indexes
            kept: Iterable[tuple[int, str]] = enumerate(chosen)
            if self.selected is not None:
                kept = zip(self.selected.kept, self.selected.entries, strict=True)
            for i, text in kept:
                index = indexes[i] if self.places is None else self.places[indexes[i]]
                if index >= 0:
                    states[index] = "whole" if text == given[index] else "shortened"
        return tuple(states)

    @property
    def marked(self) -> int:
        """The fewest tokens that a cut of it can have: its marker and one more."""
        marker = getattr(truncator(self.section.keep, self.section.marker), "marker", None)
        return self.meter.count(filled(marker or "", _DROPPED)) + 1

    @property
    def _floor(self) -> int | Fraction:
        return min(of_budget(units_or_share("floor", self.section.floor), self.budget), self.wanted)

    def _keep(self, text: str, state: State, reason: str) -> None:
        self.kept, self.state, self.reason = text, state, reason
        self.load = self.size if text is self.text else self._load(text)

    def _take_form(self, grant: int) -> bool:
        fitting = [(size, form) for form in self.section.forms if 0 < (size := self._load(form)) <= grant]
        if not fitting:
            return False
        _, form = max(fitting, key=lambda pair: pair[0])
        self._keep(form, "form", f"a shorter form was used: {self._cause(grant)}")
        return True

    def _take_less(self, grant: int) -> None:
        """Summarise or cut the content to the grant."""
        if self.section.overflow == "summarise" and self.summarise is not None:
            self.summary = self.summarise(self.text, grant) if self.summary is None else self.summary
            size = self._load(self.summary)
            if 0 < size <= grant and size < self.size:
                self._keep(self.summary, "summarised", f"a summary was used: {self._cause(grant)}")
                return
        try:
            # Loads can be bigger than the counts that a truncator keeps to.
            cut = shrink(self.text, grant, self.meter, self._cut, self._load)
        except DoesNotFit:
            return
        self._keep(cut.text, "cut", self._cause(grant))

    def _cut(self, limit: int) -> str:
        section, chosen = self.section, self.section.chosen
        if isinstance(chosen, str):
            return truncator(section.keep, section.marker).truncate(self.text, limit, self.meter).text
        self.selected = records(section, section.marker).select(chosen, limit, self.meter)
        return self.selected.text

    def _cause(self, grant: int) -> str:
        unit = self.meter.unit
        if self.ceiling is not None and grant >= self.wanted:
            return f"its ceiling is {self.ceiling:,} {unit} and it has {self.size:,}"
        return f"{grant:,} {unit} were left for its {self.size:,}"

    def _sizes(self, limit: int) -> list[int]:
        """Return the sizes of its content and forms that are within `limit`."""
        return [size for size in (self.size, *map(self._load, self.section.forms)) if 0 < size <= limit]

    def _load(self, text: str) -> int:
        return max(1, self.meter.load(text)) if text else 0
