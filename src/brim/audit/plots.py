"""The plots of an audit as inline SVG, without scripts, fonts or other files.

Everything that a colour shows is also written as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#8fa8ff", "#c0c0c0")
ROLES = ("system", "user", "assistant", "tool")
_WIDE, _HIGH = 720, 170
_LEFT, _BASE = 46, 132
_BINS = 21
"""Twenty tenths of the window, and one for all larger requests."""
_BRIM = 10
"""The bin at which the window is full."""

ICON = (
    '<svg viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">'
    '<path d="M7 14h18v10a4 4 0 0 1-4 4H11a4 4 0 0 1-4-4z" fill="#56b4e9"/>'
    '<path d="M7 19h18v5a4 4 0 0 1-4 4H11a4 4 0 0 1-4-4z" fill="#009e73"/>'
    '<path d="M6 5v19a5 5 0 0 0 5 5h10a5 5 0 0 0 5-5V5" fill="none" stroke="#7d8794" stroke-width="2.4"'
    ' stroke-linecap="round"/><path d="M3 11h26" stroke="#d55e00" stroke-width="2.4" stroke-linecap="round"/></svg>'
)
"""The small logo."""


def sizes(title: str, counts: Sequence[int], tallest: int) -> str:
    """Return a histogram of the share of the window that requests fill; those right of the line are over it."""
    step = (_WIDE - _LEFT - 8) / _BINS
    parts = [_text(_LEFT, 16, f"{title}: {sum(counts):,} requests", "name")]
    for at, count in enumerate(counts):
        high = max(2, round(96 * count / tallest, 1)) if count else 0
        share = f"more than {at * 10} %" + (f" and up to {at * 10 + 10} %" if at < _BINS - 1 else "")
        place = {"x": _LEFT + at * step + 1, "y": _BASE - high, "width": step - 2, "height": high}
        parts.append(_rect(place, f"{share} of the window: {count:,} requests", "over" if at >= _BRIM else "in"))
    brim = _LEFT + _BRIM * step
    parts.append(f'<path class="brim" d="M{brim:.1f} 26V{_BASE + 8}"/>')
    parts.append(_text(brim, _BASE + 22, "brim, 100 %", "brim-word", anchor="middle"))
    parts.append(f'<path class="axis" d="M{_LEFT} {_BASE}H{_WIDE - 8}"/>')
    ticks = (0, 5, 15, 20)
    parts += [_text(_LEFT + at * step, _BASE + 22, f"{at * 10} %", "tick", anchor="middle") for at in ticks]
    heights = {0: "0", 96: f"{tallest:,}"} | ({48: f"{tallest // 2:,}"} if tallest % 2 == 0 and tallest else {})
    parts += [_text(_LEFT - 6, _BASE + 4 - high, count, "tick", anchor="end") for high, count in heights.items()]
    label = f"{title}: {sum(counts):,} requests, {sum(counts[_BRIM:]):,} over the window"
    return _svg(_HIGH, label, parts)


def stacks(rows: Sequence[tuple[str, Mapping[str, int]]], unit: str) -> str:
    """Return a stacked bar for each row; the longest bar takes the whole width."""
    names = list(dict.fromkeys(name for _, parts in rows for name in parts))
    colours = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names)}
    widest = max((sum(parts.values()) for _, parts in rows), default=0)
    drawn: list[str] = []
    y = 8
    for label, parts in rows:
        drawn.append(_text(0, y + 12, label, "name"))
        drawn.append(_text(_WIDE, y + 12, f"{sum(parts.values()):,} {unit}", "tick", anchor="end"))
        x = 0.0
        for name, units in parts.items():
            wide = _WIDE * max(0, units) / widest if widest else 0
            place = {"x": x, "y": y + 18, "width": wide, "height": 20}
            drawn.append(_rect(place, f"{label}: {name} {units:,} {unit}", "part", colours[name]))
            if wide > 11 * len(name):
                drawn.append(_text(x + 5, y + 32, name, "in-bar"))
            x += wide
        y += 54
    legend = "".join(
        f'<span class="key"><i style="background:{colour}"></i>{escape(name)}</span>'
        for name, colour in colours.items()
    )
    label = "; ".join(f"{label}: {sum(parts.values()):,} {unit}" for label, parts in rows)
    return f'{_svg(max(y, 20), label, drawn)}<p class="keys">{legend}</p>'


def bars(rows: Sequence[tuple[str, float | None, str]], most: float) -> str:
    """Return a bar for each row by its value, with its text at the end."""
    drawn: list[str] = []
    for at, (label, value, written) in enumerate(rows):
        y, wide = 4 + 30 * at, (_WIDE - 330) * max(0.0, value or 0.0) / most if most else 0
        drawn.append(_text(0, y + 16, label, "name"))
        drawn.append(_rect({"x": 190, "y": y + 3, "width": wide, "height": 18}, f"{label}: {written}", "in"))
        drawn.append(_text(198 + wide, y + 17, written, "tick"))
    return _svg(30 * len(rows) + 6, "; ".join(f"{label}: {written}" for label, _, written in rows), drawn)


def _svg(high: int, label: str, parts: Sequence[str]) -> str:
    named = escape(label, quote=True)
    return f'<svg viewBox="0 0 {_WIDE} {high}" role="img" aria-label="{named}">{"".join(parts)}</svg>'


def _rect(place: Mapping[str, float], title: str, kind: str, colour: str = "") -> str:
    sides = " ".join(f'{side}="{value:.1f}"' for side, value in place.items())
    fill = f' fill="{colour}"' if colour else ""
    return f'<rect class="{kind}" {sides}{fill}><title>{escape(title)}</title></rect>'


def _text(x: float, y: float, text: str, kind: str, *, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
