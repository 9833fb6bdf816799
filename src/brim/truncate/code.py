"""Keep the signatures of source code and leave out the bodies that are too long.

A reader of code that does not fit needs to know what can be called and with what. So the largest bodies go first, small
functions stay whole, and whole definitions go only if their signatures alone do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from brim.meter.base import Meter
from brim.truncate.base import BaseTruncator, Cut, refusal
from brim.truncate.code_blocks import by_grammar, by_layout, indents
from brim.truncate.code_python import Outline, outline, parse
from brim.truncate.line_selection import GAP_MARKER, Gap, LineSelection, Span, between, each, keep, plain


@dataclass(frozen=True, kw_only=True, slots=True)
class Code(BaseTruncator):
    """Truncate between and inside definitions, leaving a marker in each gap.

    Python stays valid Python: `DoesNotFit` is raised if not one statement of it fits. If not one line of another
    language fits, the text is cut as `Ends` would cut it.
    """

    marker: str = GAP_MARKER
    """Stands in each gap, in Python as a comment; `{dropped}` is the number of lines."""
    language: str | None = None
    """The language, by its name in tree-sitter. A grammar is used if it is installed; `None` uses the text alone."""

    def _shorten(self, text: str, limit: int, meter: Meter) -> Cut:
        page = LineSelection.of(text, self.marker)
        found = outline(text) if self.language in (None, "python") else None
        if found:
            return _python(page, found, limit, meter)
        return _generic(page, self.language, limit, meter) or plain(self.marker).truncate(text, limit, meter)


def _python(page: LineSelection, found: Outline, limit: int, meter: Meter) -> Cut:
    """Return the source with bodies elided, then without docstrings, then with the first statements only.

    Raises:
        DoesNotFit: the smallest of these does not fit.
    """
    spans = [(body.start, body.stop) for body in found.bodies]
    bodies = _smallest_first(page, spans)
    brief = _elided(page, found, summaries=False)
    around = between(spans, len(page))
    cut = (
        keep(page, bodies, limit, meter, fixed=around, gap=_elided(page, found, summaries=True))
        or keep(page, bodies, limit, meter, fixed=around, gap=brief)
        or keep(page, found.statements, limit, meter, gap=brief)
    )
    if cut is None or parse(cut.text) is None:
        smallest = min((page.render(spans, brief) for spans in found.statements), key=len)
        raise refusal(page.text, meter.count(smallest), limit, meter)
    return cut


def _elided(page: LineSelection, found: Outline, *, summaries: bool) -> Gap:
    """Return the function that marks a gap in Python: with an ellipsis in place of a body, else a comment."""
    by_start = {body.start: body for body in found.bodies}

    def gap(start: int, stop: int) -> str:
        body = by_start.get(start)
        if body is None:
            return page.note(start, stop, _margin(page, start, stop) + "# ")
        bare = (body.summary if summaries else "") + body.indent + "..."
        return page.note(start, stop, bare + "  # ", bare)

    return gap


def _generic(page: LineSelection, language: str | None, limit: int, meter: Meter) -> Cut | None:
    """Return the source with bodies elided, then with its outermost lines only, or `None`."""
    margins = indents(page)
    spans = by_grammar(page, language) if language else None
    if spans is None:
        spans = list(by_layout(page, margins))
    bodies = _smallest_first(page, spans)
    around = between(spans, len(page))
    outer = sorted(
        (line for start, stop in around for line in range(start, stop) if margins[line] is not None),
        key=lambda line: margins[line] or 0,
    )

    def gap(start: int, stop: int) -> str:
        return page.note(start, stop, _margin(page, start, stop))

    return keep(page, bodies, limit, meter, fixed=around, gap=gap) or keep(page, each(outer), limit, meter, gap=gap)


def _smallest_first(page: LineSelection, spans: Iterable[Span]) -> list[list[Span]]:
    return [[span] for span in sorted(spans, key=lambda span: (page.size([span]), span))]


def _margin(page: LineSelection, start: int, stop: int) -> str:
    """Return the indentation of the first line in a span that is not blank."""
    for line in range(start, min(stop, start + 8)):
        text = page.lines(line, line + 1)
        bare = text.lstrip(" \t")
        if bare.strip():
            return text[: len(text) - len(bare)]
    return ""
