"""Run benchmarks and report them: `python -m bench [names...] [--quick] [--traces DIR] [--out DIR] ...`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from bench import counting, ends, fitting, footprint, interpreter, record, report, scaling, settings
from bench.outcome import Outcome, Setting


def _later(name: str) -> Callable[[Setting], Outcome]:
    """Return a benchmark whose module is loaded when it is run: it needs what the others do not."""

    def run(setting: Setting) -> Outcome:
        outcome: Outcome = import_module(f"bench.{name}").run(setting)
        return outcome

    return run


BENCHMARKS: dict[str, Callable[[Setting], Outcome]] = {
    "footprint": footprint.run,
    "counting": counting.run,
    "interpreter": interpreter.run,
    "ends": ends.run,
    "fitting": fitting.run,
    "scaling": scaling.run,
    "settings": settings.run,
    "startup": _later("startup"),
    "engines": _later("engines"),
    "conformance": _later("conformance"),
    "histories": _later("histories"),
    "need": _later("need"),
    "readable": _later("readable"),
    "likelihood": _later("likelihood"),
    "said": _later("said"),
    "recall": _later("recall"),
    "values": _later("values"),
    "calibration": _later("calibration"),
    "handoff": _later("handoff"),
    "continuation": _later("continuation"),
    "sessions": _later("sessions"),
    "growth": _later("growth"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 if a gate failed at full size."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure brim beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(BENCHMARKS)}; without one, all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size; the gates then prove nothing")
    parser.add_argument("--footprint", action="store_true", help="also install the core into an empty environment")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="recorded runs to replay, instead of made-up ones")
    parser.add_argument(
        "--half", choices=("odd", "even", "both"), default="odd", help="which runs: even ones are tuned on"
    )
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each file, for readable and likelihood")
    parser.add_argument("--steps", type=int, metavar="N", help="steps of a run at each budget, for likelihood")
    parser.add_argument("--budgets", type=int, nargs="+", default=(), metavar="N", help="tokens, for likelihood")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", metavar="DIR")
    parser.add_argument("--record", type=Path, metavar="DIR", help="also write each one's figures as JSON, NAME.json")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if options.traces and not options.traces.is_dir():
        parser.error(f"--traces must be a folder, and {options.traces} is none")
    traces = options.traces.resolve() if options.traces else None
    setting = Setting(
        quick=options.quick,
        install=options.footprint,
        traces=traces,
        half=options.half,
        runs=options.runs,
        steps=options.steps,
        budgets=tuple(options.budgets),
        out=options.out,
    )
    head = report.machine() + ("- quick: a tenth of the size, the gates prove nothing\n" if options.quick else "")
    print(head)
    outcomes = []
    for name in options.names or BENCHMARKS:
        start = time.perf_counter()
        outcomes.append(BENCHMARKS[name](setting))
        print(report.page(outcomes[-1]))
        spent = time.perf_counter() - start
        print(f"({name}: {spent:.0f} s)\n", flush=True)
        if options.record:
            print(f"wrote {record.write(outcomes[-1], setting, spent, options.record)}")
    every = [gate for outcome in outcomes for gate in outcome.gates]
    print(report.gates(every))
    for path in report.write(outcomes, head, options.out):
        print(f"wrote {path}")
    failed = not all(gate.passed for gate in every)
    return 1 if failed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
