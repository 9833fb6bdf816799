"""Run agent programs on the debugging task, direct and through brim, and write the table of the guide.

Ends with 1 if something that must hold does not.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path

from scripts.agents.programs import PROGRAMS, ROOT, Program
from scripts.agents.run import Figures, Via, run

_GUIDE = ROOT / "docs/guides/gateway-agents.md"
_LOGS = ROOT / ".agents"
_HEAD = (
    "| agent | window | direct | shown | cached | through brim | shown | cached |\n|---|---|---|---|---|---|---|---|\n"
)
_TABLE = re.compile(rf"{re.escape(_HEAD)}(\|.*\n)*")
_CACHED = 0.02
"""By so much less than without brim may be read from the cache."""


def main() -> int:
    """Run the programs that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m scripts.agents", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="only the programs whose name has this word")
    parser.add_argument("--write", action="store_true", help="write the table to the guide")
    options = parser.parse_args()
    chosen = [each for each in PROGRAMS if re.search(options.only, each.name, re.IGNORECASE)]
    for program in chosen:
        for window, via in product(program.windows if program.needs.exists() else (), _ways(program)):
            _run(program, window, via)
    rows = []
    for each in PROGRAMS:
        direct, brim = _ways(each)
        rows += [(each, window, _found(each, window, direct), _found(each, window, brim)) for window in each.windows]
    table = _HEAD + "".join(map(_line, rows))
    if options.write:
        _GUIDE.write_text(_TABLE.sub(lambda _: table, _GUIDE.read_text()))
    print(f"\n{table}\nThe logs are in {_LOGS}.")
    failed = [
        f"{program.name} {window:,}: {said}"
        for program, window, direct, brim in rows
        if program in chosen
        for said in _failures(direct, brim)
    ]
    for said in failed:
        print(f"FAILED {said}")
    return 1 if failed else 0


def _ways(program: Program) -> tuple[Via, Via]:
    return ("direct", "wrap" if program.wrapped else "gateway")


def _run(program: Program, window: int, via: Via) -> None:
    """Run a program in one way, and write its figures to the folder of the run."""
    folder = _folder(program, window, via)
    found = asdict(run(program, window, via, folder))
    (folder / "figures.json").write_text(json.dumps(found, indent=2))
    print(f"{program.name} {window:,} {via}: {json.dumps(found)}", flush=True)


def _found(program: Program, window: int, via: Via) -> Figures | None:
    """Return the figures of a program's newest run in one way."""
    path = _folder(program, window, via) / "figures.json"
    return Figures(**json.loads(path.read_text())) if path.exists() else None


def _folder(program: Program, window: int, via: Via) -> Path:
    return _LOGS / re.sub(r"\W+", "-", program.name) / f"{window}-{via}"


def _failures(direct: Figures | None, brim: Figures | None) -> Iterator[str]:
    """Yield what does not hold, a sentence each."""
    if brim is None:
        yield "was not run through brim"
        return
    if not brim.finished:
        yield f"did not finish: step {brim.steps}"
    if brim.overflows:
        yield f"{brim.overflows} overflows reached the program"
    if brim.illegal:
        yield f"{len(brim.illegal)} illegal requests: {brim.illegal[0]}"
    if not brim.kept:
        yield "the user's words or a subagent's answer were lost"
    if direct is None or not direct.finished:
        return
    if set(direct.facts) - set(brim.facts) or direct.edits > brim.edits:
        yield f"shows {_shown(brim)}, without brim {_shown(direct)}"
    if brim.cached < direct.cached - _CACHED:
        yield f"{brim.cached:.1%} of the prompts were read from the cache, {direct.cached:.1%} without brim"


def _line(row: tuple[Program, int, Figures | None, Figures | None]) -> str:
    program, window, direct, brim = row
    cells = [program.name, f"{window:,}"]
    for each in (direct, brim):
        if each is None:
            cells += ["not run", "", ""]
        elif each.finished:
            cells += ["finishes", _shown(each), f"{each.cached:.1%}"]
        else:
            cells += [f"ends at step {each.steps}", "", ""]
    return f"| {' | '.join(cells)} |\n"


def _shown(each: Figures) -> str:
    return f"{each.facts} {each.edits}".strip()


if __name__ == "__main__":
    sys.exit(main())
