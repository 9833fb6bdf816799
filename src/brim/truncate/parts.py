"""A text as lines, each of which is shown or omitted whole, with marks for the gaps.

A line that is too long is divided into sentences, or at a word. JSON is divided into members (`json_parts`); both are
chosen, counted and shown in the same way.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from brim.meter.grapheme import boundary_after
from brim.truncate.base import filled, mark, one_line
from brim.truncate.failure import failure_places, is_code

LONG_LINE = 600
"""Characters above which a line is divided: minified code, or prose without line breaks."""
SHORT_LINE = 24
"""The same for a very small limit."""
_SENTENCE_END = re.compile(r"[.!?;]\s|[。！？]")
_FULL_STOP = re.compile(r"[.!?]\s(?![a-z])|[。！？]")
"""The end of a whole sentence; a small letter after it means an abbreviation."""
_STEP = 65_536
"""Characters that one search looks through: a longer one would hold up other threads."""
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"\w")
_SAYS_NOTHING = re.compile(r"</?[\w:-]{1,40}>|^[\w ]{1,40}: \((?:none|empty)\)$", re.MULTILINE)
"""Tags, and fields without a value, such as `Signal: (none)`."""
STATUS = re.compile(
    r"(?:exit(?:ed)?|return|status)[ _-]{0,2}(?:with )?(?:code|status)?\W{1,3}\d{1,3}\b"
    r'|^"(?:status|state|error|errors|success|ok|code|message|result)"\s*:',
    re.IGNORECASE,
)
"""A line, or a field of JSON, with the status of a call."""
_MARKED = re.compile(r"^\[([\d,]{1,12}) lines? omitted[^\]\n]{0,40}\]$", re.MULTILINE)
_LISTED = re.compile(r"\s|[+-](?![+-])|\d{1,9}[:|]")
"""The start of a line in a listing or a diff: indentation, a sign, or a line number."""
_BLOCKS = re.compile(r"total \d+[KMG]?\s*$")
"""The first line of `ls -l`."""
_SHORT_GAP = 40
"""A gap of up to this many characters is shown although it was not chosen: many marks are hard to read."""
NEAR_END = 3
"""Lines at either end of a result that are searched for a status."""


def grain(size: int, room: int | None, share: int = 3) -> int:
    """Return the size of a part, or a share of the room if that is less."""
    return size if room is None else min(size, max(SHORT_LINE, room // share))


def from_both_ends(parts: Sequence[int]) -> Iterator[int]:
    """Yield the last part, the first, the last but one, the second, and so on."""
    for index in range((len(parts) + 1) // 2):
        yield parts[-1 - index]
        if index < len(parts) - 1 - index:
            yield parts[index]


class TextParts:
    """A text as lines, of which some may be omitted."""

    def __init__(
        self,
        text: str,
        *,
        longest: int = LONG_LINE,
        whole: int = 0,
        shortest: int | None = None,
        marker: str | None = None,
        words: bool = False,
    ) -> None:
        """Divide a text.

        Args:
            text: the text.
            longest: characters above which a line is divided.
            whole: characters up to which a line is not divided even if `longest` is less.
            shortest: divide such a line after each sentence of at least so many characters, not only where it must be.
            marker: fills each gap instead of the usual mark; `{dropped}` is the number of lines.
            words: divide a line only after a sentence or a word, so that data without spaces stays whole.
        """
        self.text = text
        self.marker = None if marker is None else one_line(marker)
        self._words = words
        self._breaks = _breaks(text)
        self._has_marks = " omitted" in text
        self.starts = array("L", [0])
        """The start of each part, and the end of the text."""
        for end in (*self._breaks, len(text)):
            at = self.starts[-1]
            divided = end - at > max(longest, whole)
            for stop in self._sentences(at, end, shortest) if divided and shortest is not None else (end,):
                while divided and stop - at > longest:
                    at = self._division(at, at + longest // 2, at + longest, stop)
                    self.starts.append(at)
                if at < stop:
                    self.starts.append(stop)
                    at = stop

    def _sentences(self, start: int, end: int, shortest: int) -> Iterator[int]:
        """Yield where the sentences of a line end; one that is too short ends with the next."""
        at = start + shortest - 1
        while at < end:
            found = _FULL_STOP.search(self.text, at, min(end, at + _STEP))
            if found is None:
                at += _STEP - 1  # An end has two characters.
                continue
            start = min(boundary_after(self.text, found.end()), end)
            at = start + shortest - 1
            yield start
        yield end

    def _division(self, start: int, least: int, most: int, end: int) -> int:
        """Return where to divide a line: after a sentence or a word, or, without `words`, after any letter."""
        found = _SENTENCE_END.search(self.text, least, most) or _SPACE.search(self.text, least, most)
        if found is None and self._words:
            found = _SPACE.search(self.text, most, end)
            if found is None:
                return end
        at = boundary_after(self.text, found.end() if found else max(least, start + 1))
        return min(at, end)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def stops(self) -> Sequence[int]:
        """The end of each part."""
        return self.starts[1:]

    def part_at(self, place: int) -> int:
        """Return the part at an offset of the text."""
        return min(bisect_right(self.starts, place) - 1, len(self) - 1)

    def line_of(self, part: int) -> Sequence[int]:
        """Return the parts of the line that a part belongs to."""
        line = bisect_right(self._breaks, self.starts[part])
        start = self._breaks[line - 1] if line else 0
        stop = self._breaks[line] if line < len(self._breaks) else len(self.text)
        return range(self.part_at(start), self.part_at(stop - 1) + 1)

    def size(self, part: int) -> int:
        """Return the characters of a part."""
        return self.starts[part + 1] - self.starts[part]

    def part(self, part: int) -> str:
        """Return the text of a part."""
        return self.text[self.starts[part] : self.starts[part + 1]]

    def show(self, chosen: Collection[int]) -> str:
        """Return the chosen parts in order, with a mark for each gap that is longer than its mark."""
        shown: list[str] = []
        at = 0
        for part in [*sorted(chosen), len(self)]:
            if part > at:
                shown.append(self._gap(at, part))
            if part < len(self):
                shown.append(self.part(part))
            at = part + 1
        return "".join(shown)

    def _gap(self, first: int, last: int) -> str:
        """Return the mark for some parts, or the parts themselves if the mark would not be shorter."""
        start, stop, ends = self.starts[first], self.starts[last], last == len(self)
        above, below = bisect_right(self._breaks, start), bisect_right(self._breaks, stop)
        closed = below > above and self._breaks[below - 1] == stop
        if (not start or (above and self._breaks[above - 1] == start)) and (ends or closed):
            # A blank line stays below its paragraph.
            blank = below - above > 1 and not ends and self._breaks[below - 2] == stop - 1
            lines = below - above + (ends and not closed) - blank + self._marked(start, stop)
            single = lines == 1 and (stop - start > LONG_LINE or (ends and not start))
            note = self._note(*((stop - start, "character") if single else (lines, "line")))
            note += "\n" * (0 if not note or (ends and not closed) else 1 + blank)
        else:
            note = self._note(stop - start, "character")
            note = (
                ("" if not start or self.text[start - 1].isspace() else " ")
                + note
                + ("" if ends else "\n" if closed else " ")
            )
        short = _SHORT_GAP if note and first and not ends else 0
        return self.text[start:stop] if stop - start <= max(len(note), short) else note

    def _note(self, number: int, noun: str) -> str:
        return mark(number, noun) if self.marker is None else filled(self.marker, number)

    def _marked(self, start: int, stop: int) -> int:
        """Return how many lines a gap lacks already, according to marks in the text itself."""
        found = _MARKED.findall(self.text[start:stop]) if self._has_marks else ()
        return sum(int(number.replace(",", "")) - 1 for number in found)

    @cached_property
    def _failures(self) -> list[int]:
        return [*dict.fromkeys(map(self.part_at, failure_places(self.text)))]

    def failures(self, *, code: bool = False) -> list[int]:
        """Return the parts that report a failure, ascending; `code` excludes source code."""
        found = self._failures
        return [at for at in found if not (code and is_code(self.part(at)))]

    def ending(self) -> list[int]:
        """Return the parts that show how it ended, the best first: the last line, the last failure above it, a status.

        The last line of a listing or a diff says nothing alone; its first line, after the sum of `ls -l`, says what
        it is.
        """
        telling = range(len(self) - 1, -1, -1)
        last = next((at for at in telling if self._tells(at)), None)
        if last is not None and self._is_inside(last):
            first = (at for at in reversed(telling) if self._tells(at) and not _BLOCKS.match(self.part(at)))
            last = next(first, last)
        found = [] if last is None else [last]
        found += [at for at in self.failures() if at not in found][-1:]
        edges = {*range(min(NEAR_END, len(self))), *range(max(0, len(self) - NEAR_END), len(self))}
        found += [at for at in sorted(edges) if STATUS.search(self.part(at))]
        return [at for at in dict.fromkeys(found) if self.size(at) <= LONG_LINE]

    def _is_inside(self, part: int) -> bool:
        """Return whether a line is a part of a listing or a diff: indented, numbered, or code."""
        line = self.part(part)
        return _LISTED.match(line) is not None or is_code(line)

    def _tells(self, part: int) -> bool:
        """Return whether a line has content: tags, brackets and fields without a value do not count."""
        return _WORD.search(_SAYS_NOTHING.sub("", self.part(part))) is not None


def whole_part(text: str) -> TextParts:
    """Return a text as one part."""
    made = TextParts(text, longest=len(text) + 1)
    made.starts = array("L", [0, len(text)])
    return made


def _breaks(text: str) -> Sequence[int]:
    """Return the offsets after the line breaks of a text."""
    found = array("L")
    at = text.find("\n") + 1
    while at:
        found.append(at)
        at = text.find("\n", at) + 1
    return found
