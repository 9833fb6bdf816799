"""Write the tables of the docs that are made of the recorded runs in docs/runs, and those of nothing else.

python scripts/evidence.py            write them
python scripts/evidence.py --check    fail if one of them is not what would be written

A page has a place for a table between `<!-- NAME: written by make pages -->` and `<!-- end of NAME -->`. NAME is that
of a record (all its tables), `gates` (the gates of all records) or `figures` (the few of the README).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from bench.record import Record, cell  # noqa: E402

from bench import record  # noqa: E402 - the checkout is no installed package

_PLACE = re.compile(r"(<!-- ([a-z]+): written by make pages -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
Row = tuple[Record, str, str, str]
"""A record, what was measured, brim's figure, and those of others."""


def pages() -> dict[Path, str]:
    """Return the pages that have places for tables, as they should be."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path: path.read_text("utf-8") for path in found}
    return {path: written(text) for path, text in texts.items() if _PLACE.search(text)}


def written(text: str) -> str:
    """Return a page with the tables in their places.

    Raises:
        FileNotFoundError: a place names no record.
    """
    return _PLACE.sub(lambda place: "\n".join([place[1], *_inside(place[2]), "", place[3]]), text)


def _inside(name: str) -> Iterator[str]:
    if name == "figures":
        return figures()
    if name == "gates":
        return record.gates(*(record.read(path.stem) for path in sorted(record.RUNS.glob("*.json"))))
    return record.page(record.read(name))


def figures() -> Iterator[str]:
    """Yield the lines of the README's table, with the command that measures each figure again."""
    yield from ("| | brim | others | measured by |", "|---|---|---|---|")
    days = set()
    for found, what, own, others in _figures():
        named = found["command"].removeprefix("python -m bench ")
        command = f'make bench BENCH="{named}"' if " " in named else f"make bench BENCH={named}"
        days.add(found["date"])
        yield f"| {what} | **{own}** | {others} | `{command}` |"
    place = "[docs/runs](docs/runs); [the evidence](docs/evidence.md) has all of them"
    yield from ("", f"Recorded on {' and '.join(sorted(days))} in {place}.")


def _figures() -> Iterator[Row]:
    found = record.read("conformance")
    right = {row[0]: row[2] for row in found["tables"][0]["rows"]}
    others = sorted((number, name) for name, number in right.items() if not name.startswith("brim"))
    told = f"{others[0][0]} to {others[-1][0]} ({len(others)} trimmers; the best is {others[-1][1]})"
    cases = re.search(r"of (\d+) cases", found["tables"][0]["title"])
    yield found, f"right prompts of {cases[1] if cases else '?'} hard histories", cell(right["brim"]), told
    found = record.read("recall")
    kept = {row[0]: row[1] for row in found["tables"][0]["rows"]}
    told = f"{cell(kept['recency'])} by recency, {cell(kept['BM25, plain'])} by plain BM25"
    yield found, "evidence still in a prompt of 2,000 tokens", cell(kept["brim, relevance"]), told
    found = record.read("fitting")
    times = {row[1]: row[2] for row in found["tables"][0]["rows"] if row[0] == 1_000}
    told = ", ".join(f"{name} {cell(value)}" for name, value in times.items() if "brim" not in name)
    yield (
        found,
        "fitting 1,000 sections, CPU ms",
        f"{cell(times['brim, cold'])}, again {cell(times['brim, warm'])}",
        told,
    )
    joins = found["tables"][1]["rows"]
    wrong = {row[0]: row[2] + row[4] + row[5] for row in joins}
    told = ", ".join(f"{name} {value}" for name, value in wrong.items() if name != "brim")
    yield found, f"over, lost or raised, of {joins[0][1]} small prompts", cell(wrong["brim"]), told
    found = record.read("engines")
    speed = {row[0]: row[4] for row in found["tables"][0]["rows"] if row[4] is not None}
    fastest = max((name for name in speed if name != "brim"), key=speed.__getitem__)
    told = f"tokenizers {cell(speed['tokenizers'])}, fastest {fastest} {cell(speed[fastest])}"
    yield found, "exact counts of new text, times tiktoken's speed", cell(speed["brim"]), told


def main() -> int:
    """Write the pages, or check whether they are up to date."""
    stale = {path: text for path, text in pages().items() if path.read_text("utf-8") != text}
    for path, text in stale.items():
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is out of date: run make pages", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
