"""`brim check`: prompt files against budgets, for continuous integration."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import console, emit, show, table, whole
from brim.doctor.prompt_files import Verdict, check_files
from brim.meter.base import measured


def run(
    *,
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Files, patterns or directories; - is standard input.")
    ],
    budget: options.Budget = None,
    model: options.Model = None,
    meter: options.Meter = None,
    json: options.Json = False,
) -> None:
    """Check prompt files and requests against their budgets.

    For continuous integration: the exit code is 1 if a file is over its budget, and 2 if one cannot be checked. A YAML
    file with sections is fitted first. A JSON file with messages is counted as a request for the model that it names,
    with framing and tools. Without --budget, the budget is that of the YAML file, or the window of the model of the
    request. With it, a YAML file with a smaller budget keeps its own.

    Example: brim check "prompts/*.md" --budget 4000 --model gpt-5

    Example of a request: brim check request.json
    """
    limit = whole("--budget", budget)
    verdicts, skipped = check_files(files, budget=limit, model=model, meter=meter)
    fits = all(verdict.ok for verdict in verdicts)
    if json:
        rows = [{**asdict(verdict), "left": verdict.left, "ok": verdict.ok} for verdict in verdicts]
        emit({"ok": fits, "files": rows, "skipped": skipped})
    else:
        _show(verdicts, skipped, limit)
    if not fits:
        raise typer.Exit(2 if any(verdict.problem for verdict in verdicts) else 1)


def _show(verdicts: list[Verdict], skipped: list[str], limit: int | None) -> None:
    out = console()
    numbers = ("count", "budget", "left")
    noted = {verdict.path: verdict.problem or _note(verdict, limit) for verdict in verdicts}
    notes = ("note",) if any(noted.values()) else ()
    made = table("", *numbers, "file", *notes, numbers=numbers, wide=("file", "note"))
    for verdict in verdicts:
        state = "ERROR" if verdict.problem else "ok" if verdict.ok else "OVER"
        cells = ["-" if size is None else f"{size:,}" for size in (verdict.count, verdict.budget, verdict.left)]
        row = (state, *cells, verdict.path, *((noted[verdict.path],) if notes else ()))
        made.add_row(*row, style=None if verdict.ok else "bold red")
    show(out, made)
    read = [verdict for verdict in verdicts if not verdict.problem]
    meters = dict.fromkeys(measured(verdict.meter, exact=verdict.exact) for verdict in read)
    over, unread = sum(not verdict.ok for verdict in read), len(verdicts) - len(read)
    states = [f"{over:,} over budget"] if over else []
    states += [f"{unread:,} could not be checked"] if unread else []
    state = ", ".join(states) or "all within budget"
    left = f"; skipped {counted(len(skipped), 'file')}: not text" if skipped else ""
    by = f" ({'; '.join(meters)})" if meters else ""
    out.print(f"\n{counted(len(verdicts), 'file')}, {state}{left}{by}")


def _note(verdict: Verdict, limit: int | None) -> str:
    """Return what is special about a verdict, with `limit` as the budget of the command line."""
    own = ["budget of the file"] if limit is not None and (verdict.budget or 0) < limit else []
    lost = [f"{counted(verdict.losses, 'section')} shortened or dropped"] if verdict.losses else []
    return ", ".join(["a request"] * (verdict.kind == "request") + own + lost)
