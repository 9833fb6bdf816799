"""Pictures for the docs: SVG of our own, in the colours of the command line and of the studio.

A picture has its own paper and is drawn for light and dark alike: it follows what the reader's system asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

LIGHT = {
    "paper": "#ffffff",
    "ink": "#17202a",
    "soft": "#566270",
    "line": "#d8dee5",
    "water": "#0f6fae",
    "brim": "#c24e00",
}
DARK = {
    "paper": "#171d24",
    "ink": "#e8edf2",
    "soft": "#a3b0bd",
    "line": "#2c3640",
    "water": "#6cc0f2",
    "brim": "#ff8f45",
}

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def _style() -> str:
    def rules(colours: dict[str, str]) -> str:
        filled = "".join(f".{name}{{fill:{colour}}}.{name}-line{{stroke:{colour}}}" for name, colour in colours.items())
        return filled + ".none{fill:none}"

    base = f"text{{font-family:{_FONT};font-size:13px}}.small{{font-size:11px}}.bold{{font-weight:650}}"
    base += ".end{text-anchor:end}.middle{text-anchor:middle}"
    return f"<style>{base}{rules(LIGHT)}@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>"


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return a whole picture on its own paper, with a title for those who cannot see it."""
    paper = f'<rect class="paper line-line" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n{_style()}\n{paper}\n{body}\n</svg>\n'
    )


def text(x: float, y: float, said: str, kind: str = "ink") -> str:
    """Return a line of text; `kind` is a colour, and what else it is: small, bold, end, middle."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(said)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled box; a fill with a hash is a colour, any other one of the named ones."""
    told = f'fill="{fill}"' if fill.startswith("#") else f'class="{fill}"'
    return f'<rect {told} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="1.5"/>'


def path(points: str, kind: str, width: float = 2) -> str:
    """Return a line along `points`, in one of the named colours."""
    return f'<path class="none {kind}-line" d="{points}" stroke-width="{width:g}" stroke-linecap="round"/>'


def dot(x: float, y: float, fill: str, radius: float = 4.5) -> str:
    """Return a filled circle."""
    return f'<circle fill="{fill}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def bars(title: str, rows: Sequence[tuple[str, Sequence[float], str]], fills: Sequence[str], most: float) -> str:
    """Return bars with names: each row is a name, its pieces from left to right, and what stands behind them."""
    left, right, step, top = 322, 96, 24, 58
    width, height = 860, top + step * len(rows) + 18
    scale = (width - left - right) / most
    parts = [text(22, 32, title, "ink bold")]
    for i, (name, pieces, told) in enumerate(rows):
        y, x = top + i * step, float(left)
        own = name.startswith("brim")
        parts.append(text(left - 12, y + 13, name, "ink end bold" if own else "ink end"))
        for piece, fill in zip(pieces, fills, strict=True):
            if piece:
                parts.append(box(x, y, max(1.0, piece * scale), 17, fill))
                x += piece * scale
        parts.append(text(x + 8, y + 13, told, "ink bold" if own else "soft"))
    return picture(width, height, title, parts)
