"""Fitting sections into a budget: the same pieces and the same budget for brim and for its peers.

Each peer is imported when it is made; one that is not installed is left out, with a line that says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import brim
from bench import clock, corpus
from bench.counting import Count, tiktoken_count, tiktoken_encoding
from bench.outcome import Cell, Gate, Outcome, Setting, Table

SEPARATOR = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One section of a prompt, in no library's own words."""

    name: str
    text: str
    rank: int
    """Zero is essential; the higher, the sooner it goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Sections and the budget that they are to fit into."""

    pieces: Sequence[Piece]
    budget: int


Fit = Callable[[Case], str]

_NUMBERS = (10, 100, 1_000)
_SIZES = (300, 1_000, 2_000, 4_000)
_GATED = 2_000


def run(setting: Setting) -> Outcome:
    table = _beside_peers(setting)
    joins, over = _joins(setting)
    warm, share = _warm(setting)
    return Outcome(name="fitting", tables=[table, joins, warm], gates=[share, over])


def brim_fit(case: Case) -> str:
    """Fit by brim, from the making of the sections to the text."""
    return brim.fit(_sections(case.pieces), case.budget, meter="o200k_base", separator=SEPARATOR).text


def _sections(pieces: Sequence[Piece]) -> list[brim.Section]:
    return [brim.Section(piece.name, piece.text, priority=piece.rank, required=not piece.rank) for piece in pieces]


def _case(number: int, size: int, seed: int) -> Case:
    """Return `number` pieces, every tenth essential plain prose, with a budget of half their tokens."""
    count = tiktoken_count()
    pieces = [
        Piece(name=f"p{i}", text=text if i % 10 else corpus.essential(seed + i), rank=1 + i % 3 if i % 10 else 0)
        for i, text in enumerate(corpus.parts(number, size, seed))
    ]
    return Case(pieces=pieces, budget=sum(count(piece.text) for piece in pieces) // 2)


def _beside_peers(setting: Setting) -> Table:
    count = tiktoken_count()
    fits, notes = _fits()
    rows: list[list[Cell]] = []
    for number in _NUMBERS[: 2 if setting.quick else 3]:
        cases = [_case(number, 1_000, number + seed) for seed in (1, 2, 3)]
        once = clock.median(lambda case: [count(piece.text) for piece in case.pieces], cases)
        for name, fit in fits.items():
            measured: list[tuple[float, str | None]]
            if name == "brim, warm":
                measured = [(clock.best(fit, case, 3), fit(case)) for case in cases]
            else:
                measured = [_attempt(fit, case) for case in cases]
            seconds = statistics.median(seconds for seconds, _ in measured)
            rows.append([number, name, seconds * 1e3, seconds / once, *_judged(cases, [text for _, text in measured])])
    return Table(
        title="Fitting sections of 1,000 characters into half of their tokens",
        columns=[
            "sections",
            "what",
            "CPU ms",
            "x tiktoken pass",
            "within budget",
            "fill %",
            "essentials kept",
            "whole %",
        ],
        rows=rows,
        notes=[
            "Three prompts each: the median time, and how many results tiktoken counts within the budget and have"
            " every essential section. Sections are made inside the measured call, for brim as for its peers.",
            "'x tiktoken pass' is against counting each section once. 'whole' is the share of sections found unchanged:"
            " prompt-poet removes control and format characters from texts, and puts no separator between parts.",
            *notes,
        ],
    )


def _fits() -> tuple[dict[str, Fit], list[str]]:
    """Return the fits to compare, and a line for each peer that is not installed."""
    made: dict[str, Fit] = {"brim, cold": brim_fit, "brim, warm": brim_fit}
    notes = []
    for name, make in _fitters().items():
        try:
            made[name] = make()
        except ImportError as error:
            notes.append(f"{name} is left out: {error}")
    return made, notes


def _attempt(fit: Fit, case: Case) -> tuple[float, str | None]:
    """Return the CPU seconds and the text, `None` where the fit raised: for a peer that is a result too."""
    try:
        return clock.once(fit, case)
    except Exception:
        return float("nan"), None


def _judged(cases: Sequence[Case], texts: Sequence[str | None]) -> tuple[str, float, str, float]:
    """Return how many texts are within their budgets, how full, with all essentials, and with how many pieces whole."""
    count = tiktoken_count()
    within = kept = 0
    fills, whole = [0.0], [0.0]
    for case, text in zip(cases, texts, strict=True):
        if text is not None:
            used = count(text)
            within += used <= case.budget
            kept += _essentials_in(text, case)
            fills.append(100 * used / case.budget)
            whole.append(100 * sum(piece.text.strip() in text for piece in case.pieces) / len(case.pieces))
    number = len(cases)
    return f"{within} of {number}", sum(fills) / number, f"{kept} of {number}", sum(whole) / number


def _essentials_in(text: str, case: Case) -> bool:
    return all(piece.text.strip() in text for piece in case.pieces if not piece.rank)


def _joins(setting: Setting) -> tuple[Table, Gate]:
    """Return how often each is over on small prompts whose pieces count otherwise joined than apart."""
    count = tiktoken_count()
    fits, _ = _fits()
    del fits["brim, warm"]
    cases = list(_hard_cases(setting.size(400)))
    rows: list[list[Cell]] = []
    for name, fit in fits.items():
        results = [(case, _attempt(fit, case)[1]) for case in cases]
        excess = [count(text) - case.budget for case, text in results if text is not None]
        lost = sum(text is not None and not _essentials_in(text, case) for case, text in results)
        over = sum(each > 0 for each in excess)
        rows.append([name.removesuffix(", cold"), len(cases), over, max(0, *excess), lost, len(cases) - len(excess)])
    table = Table(
        title="Small prompts with hard joins",
        columns=["what", "prompts", "over the budget", "by at most", "essential lost", "raised"],
        rows=rows,
        notes=["In every case the essential section alone is well within the budget."],
    )
    own = float(str(rows[0][2])) + float(str(rows[0][4])) + float(str(rows[0][5]))
    return table, Gate(name="fitting: over, lost or raised on hard joins", value=own, limit=0, unit="fits")


def _hard_cases(number: int) -> Iterator[Case]:
    random, count = Random(5), tiktoken_count()
    for i in range(number):
        texts = ["".join(random.choices(corpus.HARD_BITS, k=random.randrange(1, 12))) for _ in range(12)]
        texts[3] = f"rule {i}"
        pieces = [
            Piece(name=f"p{j}", text=text, rank=random.randrange(1, 4) if j != 3 else 0) for j, text in enumerate(texts)
        ]
        whole = count(SEPARATOR.join(texts))
        yield Case(pieces=pieces, budget=random.randrange(8, max(9, whole)))


def _warm(setting: Setting) -> tuple[Table, Gate]:
    """Return the cost of a fit of known sections, compared with one tokenisation of them."""
    count = tiktoken_count()
    number = setting.size(1_000)
    rows: list[list[Cell]] = []
    shares = {}
    for size in _SIZES:
        texts = corpus.parts(number, size, 70 + size)
        once = clock.best(lambda texts: [count(text) for text in texts], texts, 3)
        pieces = [Piece(name=f"p{i}", text=text, rank=1 + i % 3) for i, text in enumerate(texts)]
        budget = sum(map(count, texts)) // 2

        def fit(made: Sequence[brim.Section], budget: int = budget) -> brim.Prompt:
            return brim.fit(made, budget, meter="o200k_base", separator=SEPARATOR)

        first, _ = clock.once(fit, _sections(pieces))
        warm = clock.best(fit, _sections(pieces), 15)
        shares[size] = 100 * warm / once
        rows.append([size, once * 1e3, first * 1e3, warm * 1e3, shares[size]])
    table = Table(
        title=f"A warm fit of {number:,} sections beside one tokenisation pass over them",
        columns=["characters each", "tiktoken pass ms", "first fit ms", "warm fit ms", "warm, % of tiktoken"],
        rows=rows,
    )
    name = f"warm fit of {number:,} sections of {_GATED:,}"
    return table, Gate(name=name, value=shares[_GATED], limit=10, unit="% of a tiktoken pass")


def plain_loop(count: Count) -> Fit:
    """Return what people write by hand: the most essential first, each counted, until one does not fit."""

    def fit(case: Case) -> str:
        kept, used = set(), 0
        for piece in sorted(case.pieces, key=lambda piece: piece.rank):
            used += count(piece.text + SEPARATOR)
            if used > case.budget:
                break
            kept.add(piece.name)
        return SEPARATOR.join(piece.text for piece in case.pieces if piece.name in kept)

    return fit


def _prompt_poet() -> Fit:
    """Return prompt-poet's fit: one part a piece, those of the highest truncation priority out first.

    Raises:
        ImportError: it, or something that it needs, is not installed.
    """
    import prompt_poet

    encode = tiktoken_encoding().encode_ordinary

    def fit(case: Case) -> str:
        prompt = prompt_poet.Prompt(
            raw_template=_POET_TEMPLATE,
            template_data={"pieces": [(piece.name, piece.text, piece.rank) for piece in case.pieces]},
            encode_func=encode,
            token_limit=case.budget,
            truncation_step=1,
        )
        prompt.tokenize()
        prompt.truncate()
        return str(prompt.string)

    return fit


_POET_TEMPLATE = """\
{% for name, text, rank in pieces %}
- name: {{ name }}
  role: user
  truncation_priority: {{ rank }}
  content: |
    {{ escape_special_characters(text) }}
{% endfor %}
"""


def _fitters() -> dict[str, Callable[[], Fit]]:
    """Return how each peer that fits sections is made, by name."""
    return {
        "plain loop": lambda: plain_loop(tiktoken_count()),
        "prompt-poet": _prompt_poet,
    }
