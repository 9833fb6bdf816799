"""Prints how far estimates and their bounds are from real counts, by family and kind of text.

Usage: python scripts/bounds.py RUNS TEXTS [TOKENIZER ...]

RUNS is a folder of recorded conversations, as for `bench`: each is counted as one request. TEXTS is a folder of text
files: each is a kind of text, and its pieces of 3,000 characters are counted. Claude's real counts need ctok, the
others splintr (the extras `claude` and `open`); families without one are left out. For unknown models, the largest
count of all these vocabularies and of each TOKENIZER, a `tokenizer.json`, is the real one. The table is in
docs/design/counting.md.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import brim
from brim.meter.chat import request_counts
from brim.meter.estimate import FAMILIES, OTHER, SLACK, Estimate
from brim.meter.vocabularies import VOCABULARIES, vocabulary

_PIECE = 3_000
"""Characters of a text that is counted."""
_EACH = 20
"""Runs of each file that are counted, spread evenly."""
_CLAUDE = {"claude-4.5": "4.5", "claude-5": "5.0"}
"""The version that ctok knows a family by."""
_MODELS = {"claude-4.5": "claude-sonnet-4-5", "claude-5": "claude-opus-4-8", "gemini-3": "gemini-2.5-pro"}
"""The model by whose rules the requests of a family are framed."""

Count = Callable[[str], int]


class Sample(NamedTuple):
    """One request or text."""

    kind: str
    count: Callable[[Count], int]
    """Returns its tokens by a count of texts."""


def claude_counts() -> dict[str, Count]:
    """Return what counts the tokens of Claude's families, if it is installed."""
    try:
        from ctok import token_count
    except ImportError:
        return {}

    def counter(version: str) -> Count:
        frame = int(token_count("a", version)) - 1
        return cache(lambda text: int(token_count(text, version)) - frame if text else 0)

    return {family: counter(version) for family, version in _CLAUDE.items()}


def real_counts() -> dict[str, Count]:
    """Return what counts the tokens of each family."""
    claude, exact = claude_counts(), [meter for meter in map(vocabulary, VOCABULARIES) if meter.exact]
    every = [*claude.values(), *(meter.count for meter in (*exact, *map(brim.meter, sys.argv[3:])))]
    same = (("gemini-3", "gemma4"),)
    public = {family: vocabulary(name).count for family, name in same if vocabulary(name).exact}
    return {**claude, **public, OTHER: cache(lambda text: max(count(text) for count in every))}


def requests(folder: Path, family: str) -> Iterator[Sample]:
    """Yield recorded requests, by the name of their file."""
    meter = brim.meter(_MODELS.get(family, OTHER))
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            runs = [run["messages"] for run in map(json.loads, lines) if run.get("messages")]
        for messages in runs[:: max(1, len(runs) // _EACH)][:_EACH]:
            counted = partial(request_counts, messages=messages, format="openai")
            count = partial(lambda counted, text: counted(partial(meter.counter, count=text)), counted)
            yield Sample(path.name.split(".")[0].replace("_", " "), count)


def pieces(folder: Path) -> Iterator[Sample]:
    """Yield pieces of the texts, by the name of their file."""
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        for at in range(0, len(text) - _PIECE // 2, _PIECE):
            yield Sample(path.stem, partial(lambda piece, count: count(piece), text[at : at + _PIECE]))


def row(family: str, kind: str, counts: list[tuple[int, int, int]]) -> str:
    """Return a row of the table from real counts, estimates and bounds."""
    bounds = [bound / real for real, _, bound in counts]
    means = (
        sum(estimate / real for real, estimate, _ in counts) / len(counts),
        sum(bounds) / len(counts),
        min(bounds),
        sum(bound / estimate for _, estimate, bound in counts) / len(counts),
    )
    cells = [family, kind, str(len(counts)), *(f"{mean:.2f}" for mean in means), str(sum(each < 1 for each in bounds))]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Read the arguments and print the table."""
    runs, texts = map(Path, sys.argv[1:3])
    print("| family | text | number | estimate / real | bound / real | the least | bound / estimate | bound < real |")
    print("|---|---|---|---|---|---|---|---|")
    for family, real in real_counts().items():
        made = Estimate(family, vocabulary(FAMILIES[family][-1].vocabulary))
        rows: dict[str, list[tuple[int, int, int]]] = {}
        for kind, count in (*requests(runs, family), *pieces(texts)):
            rows.setdefault(kind, []).append((count(real), count(made.load), count(made.upper_load) + SLACK))
        for kind, counts in rows.items():
            print(row(family, kind, counts), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
