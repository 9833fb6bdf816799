"""Run benchmarks and print what they found: `python -m bench [names...] [--quick] [--traces DIR] [--record DIR]`.

`python -m bench --pages` writes the tables of the docs from the recorded runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path

from bench import record
from bench.outcome import Outcome, Setting

BENCHMARKS = ("counting", "fitting", "peers", "need", "readable", "likelihood", "said", "recall", "growth", "gateway")
"""Each is a module with `run`, loaded when it is run: it may need what the others do not."""


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 if a gate failed at full size."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure brim beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(BENCHMARKS)}; without one, all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size; the gates then prove nothing")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="recorded runs to replay, instead of made-up ones")
    parser.add_argument(
        "--half", choices=("odd", "even", "both"), default="odd", help="which runs: even ones are tuned on"
    )
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each file, for readable and likelihood")
    parser.add_argument("--steps", type=int, metavar="N", help="steps of a run at each budget, for likelihood")
    parser.add_argument("--budgets", type=int, nargs="+", default=(), metavar="N", help="tokens, for likelihood")
    parser.add_argument("--record", type=Path, metavar="DIR", help="also write each one's figures as JSON, NAME.json")
    parser.add_argument("--pages", action="store_true", help="run nothing; write the tables of the docs from docs/runs")
    options = parser.parse_args(arguments)
    if options.pages:
        for path, text in record.pages().items():
            path.write_text(text, "utf-8")
        return 0
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if options.traces and not options.traces.is_dir():
        parser.error(f"--traces must be a folder, and {options.traces} is none")
    setting = Setting(
        quick=options.quick,
        traces=options.traces.resolve() if options.traces else None,
        half=options.half,
        runs=options.runs,
        steps=options.steps,
        budgets=tuple(options.budgets),
    )
    every = []
    for name in options.names or BENCHMARKS:
        start = time.perf_counter()
        outcome: Outcome = import_module(f"bench.{name}").run(setting)
        found = record.recorded(outcome, setting, time.perf_counter() - start)
        every.append(found)
        print(f"## {name}", "", *record.page(found), "", sep="\n", flush=True)
        if options.record:
            print(f"wrote {record.write(found, options.record)}")
    print(*record.gates(*every), sep="\n")
    failed = any(not gate["passed"] for found in every for gate in found["gates"])
    return 1 if failed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
