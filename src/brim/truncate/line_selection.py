"""A text as lines, some of which are left out.

Logs, diffs, code and Markdown differ in which lines matter. How a gap is marked, how the rest is joined and how many
lines fit is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from brim.meter.base import Meter
from brim.truncate.base import Cut
from brim.truncate.ends import Ends
from brim.truncate.marker import filled, one_line
from brim.truncate.search import Parts, most

Span = tuple[int, int]
"""The lines from the first number up to, not including, the second."""
Gap = Callable[[int, int], str]
"""Returns the text in place of a span that was left out, by its two line numbers."""

GAP_MARKER = "[{dropped:,} lines omitted]"
_PIECE = 1_000_000
"""Characters that are divided into lines at a time."""
_UNEVEN = 4
"""How much thinner than the whole text the kept lines may be before a search stops short of the limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LineSelection:
    """A text, the positions of its lines, and the marker of a gap."""

    text: str
    starts: Sequence[int]
    """The position of each line, and last the end of the text."""
    marker: str
    """One line that stands in each gap; `{dropped}` is the number of lines."""

    @classmethod
    def of(cls, text: str, marker: str) -> LineSelection:
        """Return `text` as lines. A line ends with its line feed."""
        starts = [0]
        for at in range(0, len(text), _PIECE):  # In pieces, so that other threads get their turn.
            lengths = accumulate(map(len, text[at : at + _PIECE].split("\n")[:-1]))
            starts += [at + index + length for index, length in enumerate(lengths, 1)]
        if not text.endswith("\n"):
            starts.append(len(text))
        return cls(text=text, starts=starts, marker=one_line(marker))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lines(self, start: int, stop: int) -> str:
        """Return the text of a span."""
        return self.text[self.starts[start] : self.starts[stop]]

    def size(self, spans: Iterable[Span]) -> int:
        """Return the number of characters of some spans."""
        return sum(self.starts[stop] - self.starts[start] for start, stop in spans)

    def fair(self, limit: int, meter: Meter) -> int:
        """Return how many characters count `limit` if all of the text is as dense as its average."""
        return len(self.text) * max(limit, 0) // max(meter.count(self.text), 1)

    def note(self, start: int, stop: int, before: str = "", bare: str = "") -> str:
        """Return the line in place of a span: `before` and the marker, or `bare` if there is no marker.

        A span that is no longer than that line is returned itself.
        """
        text = self.lines(start, stop)
        note = before + filled(self.marker, stop - start) if self.marker else bare
        note = note.replace("[1 lines omitted]", "[1 line omitted]")
        if note and not (stop == len(self) and not self.text.endswith("\n")):
            note += "\n"
        return text if len(text) <= len(note) else note

    def render(self, spans: Iterable[Span], gap: Gap | None = None) -> str:
        """Return the text with everything outside `spans` left out; spans may be in any order and overlap."""
        gap = gap or self.note
        pieces: list[str] = []
        at = 0
        for start, stop in sorted(spans):
            if start > at:
                pieces.append(gap(at, start))
            if stop > at:
                pieces.append(self.lines(max(start, at), stop))
                at = stop
        if at < len(self):
            pieces.append(gap(at, len(self)))
        return "".join(pieces)


def keep(
    page: LineSelection,
    groups: Iterable[Sequence[Span]],
    limit: int,
    meter: Meter,
    *,
    fixed: Sequence[Span] = (),
    gap: Gap | None = None,
) -> Cut | None:
    """Return the fixed spans and as many groups of spans as fit, the first ones first, or `None`.

    A group that alone would take half of the room comes last, so that it does not displace the rest.
    """
    fair = page.fair(limit, meter)
    chosen: list[Sequence[Span]] = []
    large: list[Sequence[Span]] = []
    taken = 0
    for group in groups:
        size = page.size(group)
        if size > fair // 2:
            large.append(group)
            continue
        chosen.append(group)
        taken += size
        if taken > _UNEVEN * fair:
            break
    chosen += large
    parts = Parts(
        sizes=[page.size(group) for group in chosen],
        build=lambda n: page.render([*fixed, *(span for group in chosen[:n] for span in group)], gap),
        total=len(page.text) - page.size(fixed),
        least=0 if fixed else 1,
    )
    return most(page.text, limit, meter, parts)[1]


def plain(marker: str) -> Ends:
    """Return the truncator of a text of which no line can be kept, with the caller's marker if there is one."""
    return Ends() if marker == GAP_MARKER else Ends(marker=marker)


def each(lines: Iterable[int]) -> Iterator[list[Span]]:
    """Yield a group of its own for each line."""
    for line in lines:
        yield [(line, line + 1)]


def between(spans: Iterable[Span], stop: int, start: int = 0) -> list[Span]:
    """Return the lines from `start` to `stop` outside of some spans, which are in order and disjoint."""
    edges = [start, *(edge for span in spans for edge in span), stop]
    return [(left, right) for left, right in zip(edges[::2], edges[1::2], strict=True) if left < right]


def from_both_ends(lines: Sequence[int]) -> Iterator[int]:
    """Yield the last line, the first, the last but one, the second, and so on."""
    for index in range((len(lines) + 1) // 2):
        yield lines[-1 - index]
        if index < len(lines) - 1 - index:
            yield lines[index]
