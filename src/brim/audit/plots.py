"""Drawings of an audit as inline SVG: no script, no font and no file beside the page.

What a colour tells stands beside it in words, so nothing is told by colour alone; the colours are the vessel's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#8fa8ff", "#c0c0c0")
ROLES = ("system", "user", "assistant", "tool")
_WIDE, _HIGH = 720, 170
_LEFT, _BASE = 46, 132
_BINS = 21
"""Twenty tenths of the window, and all that is more."""
_BRIM = 10
"""The bin at which the window is full."""

ICON = (
    '<svg viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">'
    '<path d="M7 14h18v10a4 4 0 0 1-4 4H11a4 4 0 0 1-4-4z" fill="#56b4e9"/>'
    '<path d="M7 19h18v5a4 4 0 0 1-4 4H11a4 4 0 0 1-4-4z" fill="#009e73"/>'
    '<path d="M6 5v19a5 5 0 0 0 5 5h10a5 5 0 0 0 5-5V5" fill="none" stroke="#7d8794" stroke-width="2.4"'
    ' stroke-linecap="round"/><path d="M3 11h26" stroke="#d55e00" stroke-width="2.4" stroke-linecap="round"/></svg>'
)
"""The vessel, small."""


def sizes(title: str, counts: Sequence[int], tallest: int) -> str:
    """Return how many requests fill how much of the window: what stands right of the brim is over it."""
    step = (_WIDE - _LEFT - 8) / _BINS
    parts = [_text(_LEFT, 16, title, "name")]
    for at, count in enumerate(counts):
        high = round(96 * count / tallest, 1) if tallest else 0
        if count and high < 2:
            high = 2
        kind = "over" if at >= _BRIM else "in"
        told = f"{_share(at)} of the window: {count:,} requests"
        x = _LEFT + at * step + 1
        parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{_BASE - high:.1f}" width="{step - 2:.1f}" height="{high:.1f}">'
            f"<title>{escape(told)}</title></rect>"
        )
    brim = _LEFT + _BRIM * step
    parts.append(f'<path class="brim" d="M{brim:.1f} 26V{_BASE + 8}"/>')
    parts.append(_text(brim, _BASE + 22, "brim, 100 %", "brim-word", anchor="middle"))
    parts.append(f'<path class="axis" d="M{_LEFT} {_BASE}H{_WIDE - 8}"/>')
    ticks = (0, 5, 15, 20)
    parts += [_text(_LEFT + at * step, _BASE + 22, f"{at * 10} %", "tick", anchor="middle") for at in ticks]
    parts.append(_text(_LEFT - 6, _BASE - 90, f"{tallest:,}", "tick", anchor="end"))
    over = sum(counts[_BRIM:])
    told = f"{title}: {sum(counts):,} requests, {over:,} over the window"
    return _svg(_WIDE, _HIGH, told, parts)


def stacks(rows: Sequence[tuple[str, Mapping[str, int]]], unit: str) -> str:
    """Return a bar for each row, made of parts; the longest bar takes the whole width."""
    names = list(dict.fromkeys(name for _, parts in rows for name in parts))
    widest = max((sum(parts.values()) for _, parts in rows), default=0)
    drawn: list[str] = []
    y = 8
    for label, held in rows:
        total = sum(held.values())
        drawn.append(_text(0, y + 12, label, "name"))
        drawn.append(_text(_WIDE, y + 12, f"{total:,} {unit}", "tick", anchor="end"))
        x = 0.0
        for name, units in held.items():
            wide = _WIDE * max(0, units) / widest if widest else 0
            colour = COLOURS[names.index(name) % len(COLOURS)]
            told = f"{label}: {name} {units:,} {unit}"
            drawn.append(
                f'<rect x="{x:.1f}" y="{y + 18}" width="{wide:.1f}" height="20" fill="{colour}">'
                f"<title>{escape(told)}</title></rect>"
            )
            if wide > 11 * len(name):
                drawn.append(_text(x + 5, y + 32, name, "in-bar"))
            x += wide
        y += 54
    told = "; ".join(f"{label}: {sum(parts.values()):,} {unit}" for label, parts in rows)
    legend = "".join(
        f'<span class="key"><i style="background:{COLOURS[at % len(COLOURS)]}"></i>{escape(name)}</span>'
        for at, name in enumerate(names)
    )
    return f'{_svg(_WIDE, max(y, 20), told, drawn)}<p class="keys">{legend}</p>'


def bars(rows: Sequence[tuple[str, float | None, str]], most: float) -> str:
    """Return a bar for each row by its value, with its words at the end; one without a value says so."""
    drawn: list[str] = []
    y = 4
    for label, value, told in rows:
        wide = (_WIDE - 330) * max(0.0, value or 0.0) / most if most else 0
        drawn.append(_text(0, y + 16, label, "name"))
        drawn.append(f'<rect class="in" x="190" y="{y + 3}" width="{wide:.1f}" height="18"/>')
        drawn.append(_text(198 + wide, y + 17, told, "tick"))
        y += 30
    told = "; ".join(f"{label}: {words}" for label, _, words in rows)
    return _svg(_WIDE, y + 2, told, drawn)


def _svg(wide: int, high: int, told: str, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {wide} {high}" role="img" aria-label="{escape(told, quote=True)}">{"".join(parts)}</svg>'


def _text(x: float, y: float, said: str, kind: str, *, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>'


def _share(at: int) -> str:
    return f"more than {at * 10} %" if at == _BINS - 1 else f"more than {at * 10} % and up to {at * 10 + 10} %"
