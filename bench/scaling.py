"""How cost grows with the number of parts and with the length of the text: it must be linear."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import brim
from bench import clock, corpus
from bench.outcome import Cell, Gate, Outcome, Plot, Setting, Table, exponent
from brim.meter.vocabularies import vocabulary

_PARTS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
_TEXTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_LIMIT = 1.15

Points = list[tuple[float, float]]
Made = tuple[Sequence[brim.Section], int]
"""Sections and their budget."""


def run(setting: Setting) -> Outcome:
    parts = _by_parts([number for number in _PARTS if number <= setting.size(_PARTS[-1])])
    texts = _by_text([size for size in _TEXTS if size <= setting.size(_TEXTS[-1])])
    return Outcome(
        name="scaling",
        tables=[
            _table("Fitting by number of parts (300 characters each, half of them fit)", "part", parts),
            _table("By length of the text, new to brim", "character", texts),
        ],
        gates=[
            Gate(name=f"scaling: {name}, exponent", value=exponent(points), limit=_LIMIT, unit="")
            for name, points in (parts | texts).items()
        ],
        plots=[
            Plot(name="scaling-parts", title="Fitting by parts", x_label="parts", y_label="CPU s", lines=parts),
            Plot(name="scaling-text", title="By length of text", x_label="characters", y_label="CPU s", lines=texts),
        ],
    )


def _by_parts(numbers: list[int]) -> dict[str, Points]:
    meter = vocabulary("o200k_base")
    found: dict[str, Points] = {"cold fit": [], "warm fit": [], "warm, fair shares": [], "warm, all fits": []}
    for number in numbers:
        texts = [corpus.mixed(number * 300, number + seed) for seed in (1, 2, 3)]
        cases: list[Made] = [
            (_sections([text[i : i + 300] for i in range(0, len(text), 300)]), meter.measure(text) // 2)
            for text in texts
        ]
        [first, *_] = cases
        roomy: Made = (first[0], 4 * first[1])
        found["cold fit"].append((number, clock.median(_fit, cases)))
        found["warm fit"].append((number, clock.best(_fit, first)))
        found["warm, fair shares"].append((number, clock.best(partial(_fit, fill="fair"), first)))
        found["warm, all fits"].append((number, clock.best(_fit, roomy)))
    return found


def _by_text(sizes: list[int]) -> dict[str, Points]:
    meter = vocabulary("o200k_base")
    found: dict[str, Points] = {"count": [], "cold fit of ten": [], "head at half": []}
    for size in sizes:
        texts = [corpus.long(size, 90 + seed) for seed in range(3 if size <= 10_000_000 else 1)]
        found["count"].append((size, clock.median(meter.count, texts)))
        budget = meter.count(texts[0]) // 2
        tenths = [[text[i * size // 10 : (i + 1) * size // 10] for i in range(10)] for text in texts]
        found["cold fit of ten"].append((size, clock.median(_fit, [(_sections(parts), budget) for parts in tenths])))
        found["head at half"].append((size, clock.median(partial(meter.head, limit=budget), texts)))
    return found


def _fit(case: Made, fill: Literal["order", "fair"] = "order") -> brim.Prompt:
    sections, budget = case
    return brim.fit(sections, budget, meter="o200k_base", fill=fill)


def _sections(texts: Sequence[str]) -> list[brim.Section]:
    return [brim.Section(f"s{i}", text, priority=1 + i % 3) for i, text in enumerate(texts)]


def _table(title: str, unit: str, found: dict[str, Points]) -> Table:
    columns = [f"{unit}s"]
    for name in found:
        columns += [f"{name}, ms", f"ns a {unit}"]
    rows: list[list[Cell]] = []
    for points in zip(*found.values(), strict=True):
        size = int(points[0][0])
        row: list[Cell] = [f"{size:,}"]
        for _, seconds in points:
            row += [seconds * 1e3, seconds * 1e9 / size]
        rows.append(row)
    for label, since in (("exponent, all", 0), ("exponent, last two", -2)):
        row = [label]
        for line in found.values():
            row += [None, exponent(line[since:])]
        rows.append(row)
    return Table(title=title, columns=columns, rows=rows)
