"""`brim check`: prompt files against budgets, for continuous integration."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from brim.cli import options
from brim.cli.output import console, counted, emit, show, table, whole
from brim.doctor.prompt_files import BudgetRule, CheckResult, check_files
from brim.errors import InvalidValue
from brim.meter.base import measured


def run(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES", help="Files, patterns or directories; - is standard input."),
    ] = None,
    budget: options.Budget = None,
    model: options.Model = None,
    meter: options.Meter = None,
    json: options.Json = False,
) -> None:
    """Check prompt files and requests against their budgets.

    For continuous integration: the exit code is 1 if a file is over its budget. A YAML file with sections is fitted
    first, to its own budget unless --budget is set. A JSON file with messages is counted as a request, with its framing
    and tools, by its own model, whose window is its budget unless --budget is set. Broken JSON is refused.

    Example: brim check "prompts/*.md" --budget 4000 --model gpt-5

    Example of a request: brim check request.json
    """
    if not files:
        raise InvalidValue("FILES", [], "one file at least")
    limit = whole("--budget", budget)
    judged = check_files(BudgetRule(files=tuple(files), budget=limit, model=model, meter=meter))
    if json:
        verdicts = [{**asdict(verdict), "left": verdict.left, "ok": verdict.ok} for verdict in judged.verdicts]
        emit({"ok": not judged.over, "files": verdicts, "skipped": list(judged.skipped)})
    else:
        _show(judged)
    if judged.over:
        raise typer.Exit(1)


def _show(judged: CheckResult) -> None:
    out = console()
    numbers = ("count", "budget", "left")
    notes = ("note",) if any(verdict.losses or verdict.kind == "request" for verdict in judged.verdicts) else ()
    made = table("", *numbers, "file", *notes, numbers=numbers, wide=("file", "note"))
    for verdict in judged.verdicts:
        cells = [f"{number:,}" for number in (verdict.count, verdict.budget, verdict.left)]
        note = "a request" if verdict.kind == "request" else ""
        note = f"{counted(verdict.losses, 'section')} shortened or dropped" if verdict.losses else note
        row = ("ok" if verdict.ok else "OVER", *cells, verdict.path, *((note,) if notes else ()))
        made.add_row(*row, style=None if verdict.ok else "bold red")
    show(out, made)
    meters = dict.fromkeys(measured(verdict.meter, exact=verdict.exact) for verdict in judged.verdicts)
    over = f"{len(judged.over):,} over budget" if judged.over else "all within budget"
    skipped = f"; skipped {counted(len(judged.skipped), 'file')}: not text" if judged.skipped else ""
    out.print(f"\n{counted(len(judged.verdicts), 'file')}, {over}{skipped} ({'; '.join(meters)})")
