"""`head` and `tail` on a long text, compared with encoding all of it and decoding a part."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import clock, corpus, peers
from bench.outcome import Cell, Gate, Outcome, Plot, Setting, Table
from brim.meter.vocabularies import vocabulary

_LIMITS = (100, 4_000, 100_000)
_GATED = ("head", 4_000)
_TEXTS = 11


def run(setting: Setting) -> Outcome:
    size = setting.size(2_000_000)
    meter, encoding = vocabulary("o200k_base"), peers.tiktoken_encoding()
    meter.count("loaded")
    texts = [corpus.mixed(size, 40 + i) for i in range(_TEXTS)]
    rows: list[list[Cell]] = []
    lines: dict[str, list[tuple[float, float]]] = {"tiktoken, encode and decode": [], "head": [], "tail": []}
    gated = over = 0.0
    for limit in _LIMITS:
        for name, cut, theirs in (("head", meter.head, slice(limit)), ("tail", meter.tail, slice(-limit, None))):
            full = clock.median(partial(_encode_and_decode, encoding, theirs), texts[:5])
            first = clock.median(partial(cut, limit=limit), texts)
            again = clock.median(partial(cut, limit=limit), texts)
            counts = [meter.count(cut(text, limit)) for text in texts]
            over += sum(count > limit for count in counts)
            lines[name].append((limit, first * 1e3))
            times = (full * 1e3, first * 1e3, full / first, again * 1e3, full / again)
            rows.append([name, limit, *times, min(counts), max(counts)])
            if (name, limit) == _GATED:
                gated = full / first
        lines["tiktoken, encode and decode"].append((limit, full * 1e3))
    title = f"The first and the last N tokens of {size:,} characters"
    table = Table(
        title=title,
        columns=["what", "N", "tiktoken ms", "first time ms", "x", "again ms", "x", "fewest tokens", "most tokens"],
        rows=rows,
        notes=[
            f"tiktoken encodes all and decodes N tokens. brim: the median of {_TEXTS} texts, each cut once at each"
            " limit, and then once more."
        ],
    )
    gates = [
        Gate(name="head at 4,000", value=gated, limit=300, unit="x encode and decode", at_least=True),
        Gate(name="head and tail over the limit", value=over, limit=0, unit="cuts"),
    ]
    plot = Plot(name="ends", title=title, x_label="N", y_label="CPU ms", lines=lines)
    return Outcome(name="ends", tables=[table], gates=gates, plots=[plot])


def _encode_and_decode(encoding: Any, part: slice, text: str) -> str:
    return str(encoding.decode(encoding.encode_ordinary(text)[part]))
