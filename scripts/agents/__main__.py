"""Run agent programs direct and through brim, print a table, and end with 1 if something that must hold does not."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

from scripts.agents.figures import Figures, figures
from scripts.agents.overhead import overhead
from scripts.agents.programs import ROOT
from scripts.agents.run import run
from scripts.agents.scenario import SCENARIOS, Scenario, Via
from scripts.agents.table import table
from scripts.agents.verdict import MOST_CPU, failures


def main() -> int:
    """Run what was asked for."""
    options = _options()
    chosen = [
        each
        for each in SCENARIOS
        if any(re.search(rf"\b{re.escape(word)}", each.name) for word in options.only or [""])
    ]
    if not chosen and options.only != ["overhead"]:
        print(f"No run has such a name. There are: {', '.join(each.name for each in SCENARIOS)}, overhead.")
        return 1
    results: list[tuple[Scenario, Via, Figures]] = []
    failed: list[str] = []
    for scenario in chosen:
        changed = replace(scenario, answer_counts=scenario.answer_counts or options.answer_counts)
        if options.steps:
            changed = replace(changed, task=replace(changed.task, steps=options.steps))
        found = _compare(changed, options.via, options.out, results)
        failed += [f"{scenario.name}: {said}" for said in found]
    if not options.only or "overhead" in options.only:
        failed += _overhead(options.out)
    shown = table(results)
    (options.out / "table.md").write_text(shown + "\n" + "".join(f"\n- {said}" for said in failed) + "\n")
    print(f"\n{shown}\n\nThe logs are in {options.out}.")
    for said in failed:
        print(f"FAILED {said}")
    return 1 if failed else 0


def _compare(scenario: Scenario, ways: str, out: Path, results: list[tuple[Scenario, Via, Figures]]) -> list[str]:
    """Run a scenario in its ways, and return what does not hold."""
    if not scenario.program.needs.exists():
        return [f"{scenario.program.name} is not installed: {scenario.program.needs} is missing"]
    got: dict[Via, Figures] = {}
    for via in scenario.ways:
        if ways not in ("both", "direct" if via == "direct" else "brim"):
            continue
        folder = out / scenario.name.replace(" ", "-").replace(",", "") / via
        got[via] = each = figures(run(scenario, via, folder))
        (folder / "figures.json").write_text(json.dumps(asdict(each), indent=2))
        results.append((scenario, via, each))
        print(table([(scenario, via, each)]).splitlines()[-1], flush=True)
    brim = got.get(scenario.ways[1])
    return [] if brim is None else list(failures(scenario, got.get("direct"), brim))


def _overhead(out: Path) -> list[str]:
    """Measure what the gateway costs, and return what does not hold."""
    found = overhead(out / "overhead")
    (out / "overhead.json").write_text(json.dumps(asdict(found), indent=2))
    print(f"CPU of the gateway, warm, {found.size:,} bytes with 24 tools: {found.fits:.1f} ms, cut {found.cut:.1f} ms")
    slow = [each for each in (found.fits, found.cut) if each > MOST_CPU]
    return [f"overhead: {max(slow):.1f} ms CPU, at most {MOST_CPU:.0f}"] if slow else []


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.agents", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="only the runs whose name has one of these words")
    parser.add_argument("--via", choices=["both", "direct", "brim"], default="both")
    parser.add_argument("--steps", type=int, help="parts of the log to read")
    counts = "the upstreams refuse a prompt that leaves too little room for the requested answer"
    parser.add_argument("--answer-counts", action="store_true", help=counts)
    parser.add_argument("--out", type=Path, default=ROOT / ".agents", help="where logs and table are written")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
