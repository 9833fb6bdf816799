"""`brim count`: the tokens of files, or of a request."""

from __future__ import annotations

import sys
from dataclasses import asdict
from operator import itemgetter
from typing import Annotated

import typer
from typer import Option

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import MOST_ROWS, console, emit, show, table
from brim.errors import BrimError
from brim.files.source import STDIN, STDIN_SHOWN
from brim.files.text_files import FileMatch, expand, texts
from brim.meter import DEFAULT, BaseMeter, meter
from brim.meter.adapters import exact_count_advice
from brim.meter.base import measured


def run(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES", help="Files, patterns or directories; none or - is standard input."),
    ] = None,
    name: Annotated[
        str | None,
        Option(
            "--model",
            "--meter",
            "-m",
            metavar="NAME",
            help=f"A model, a vocabulary or a unit; default: the model of the request, or {DEFAULT}.",
        ),
    ] = None,
    request: Annotated[bool, Option("--request", help="Count one JSON file as a request, with its framing.")] = False,
    json: options.Json = False,
) -> None:
    """Count the tokens of files, of directories, or of standard input.

    The largest files are listed first. Hidden files in directories are not counted. Binary files in directories and
    patterns are skipped and reported.

    With --request, the file is a JSON list of messages or the body of a request. It is counted as the provider counts
    it, including the framing of each message, and reported by role.

    Example: brim count src docs --model gpt-5

    Example of a request: brim count --request request.json
    """
    if request:
        _count_request(files or [STDIN], name, json=json)
        return
    found = expand(files or [STDIN])
    scale = meter(name or DEFAULT)
    counts, upper, skipped = _tally(scale, found)
    total = sum(counts.values())
    if json:
        rows = [{"path": path, "count": count} for path, count in counts.items()]
        head = {"total": total, "upper": upper, "unit": scale.unit, "meter": scale.name}
        emit({**head, "exact": scale.exact, "files": rows, "skipped": skipped})
        return
    if len(counts) > 1:
        made = table(scale.unit, "file", numbers=(scale.unit,), wide=("file",))
        ordered = sorted(counts.items(), key=itemgetter(1), reverse=True)
        for path, count in ordered[:MOST_ROWS]:
            made.add_row(f"{count:,}", path)
        if rest := ordered[MOST_ROWS:]:
            made.add_row(
                f"{sum(count for _, count in rest):,}", f"{counted(len(rest), 'smaller file')}; --json lists all"
            )
        show(console(), made)
        print()
    within = "" if len(counts) == 1 else f" in {counted(len(counts), 'file')}"
    left = f"; skipped {counted(len(skipped), 'file')}: not text" if skipped else ""
    size = _total(total, upper, scale.unit, exact=scale.exact)
    print(f"{size}{within} ({measured(scale.name, exact=scale.exact)}){left}")
    _advise(total, upper, name)


def _advise(total: int, upper: int, name: str | None) -> None:
    """Say how to get an exact count, if the estimate costs much of a budget."""
    advice = exact_count_advice(total, upper, name or "")
    if advice is not None:
        print(advice, file=sys.stderr)


def _total(total: int, upper: int, unit: str, *, exact: bool) -> str:
    at_most = f", at most {upper:,}" if upper > total else ""
    return f"{'' if exact else 'about '}{total:,} {unit}{at_most}"


def _count_request(files: list[str], name: str | None, *, json: bool) -> None:
    if len(files) != 1:
        raise BrimError("--request takes one file")
    from brim.requests.request_body import read_request

    found = read_request(files[0]).tally(name)
    if json:
        parts = {part.replace(" ", "_"): units for part, units in found.parts.items()}
        emit({"total": found.total, **asdict(found), "parts": parts})
        return
    out = console()
    made = table(found.unit, "share", "part", numbers=(found.unit, "share"))
    for part, units in found.parts.items():
        if units:
            made.add_row(f"{units:,}", f"{units * 100 // found.total}%", part)
    if made.row_count:
        show(out, made)
        out.print()
    total = _total(found.total, found.upper, found.unit, exact=found.exact)
    within = f"{counted(found.messages, 'message')} ({measured(found.meter, exact=found.exact)})"
    out.print(f"{total} in {within}")
    _advise(found.total, found.upper, name or found.meter)


def _tally(scale: BaseMeter, found: list[FileMatch]) -> tuple[dict[str, int], int, list[str]]:
    """Return the counts of files, the upper bound of their sum, and the files that were skipped."""
    counts, upper, skipped = dict[str, int](), 0, list[str]()
    for read in texts(found):
        path = STDIN_SHOWN if read.path == STDIN else read.path
        if read.text is None:
            skipped.append(path)
            continue
        counts[path] = scale.count(read.text)
        upper += counts[path] if scale.exact else scale.upper(read.text)
    return counts, upper, skipped
