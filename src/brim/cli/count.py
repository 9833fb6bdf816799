"""`brim count`: how many tokens files have, or a request."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from brim.cli import options, tree
from brim.cli.output import console, emit, measured, show, table, told, whole
from brim.errors import InvalidValue
from brim.files.source import STDIN, STDIN_SHOWN
from brim.files.text_files import FileMatch, expand, texts
from brim.history.request_body import read_request
from brim.meter import DEFAULT, meter

if TYPE_CHECKING:
    from rich.table import Table

    from brim.meter import BaseMeter

_MANY_FILES = 200
_MANY_BYTES = 20_000_000
"""From here on a person at a terminal wants to see that something moves."""


@dataclass(slots=True)
class _Tally:
    """What was counted."""

    counts: dict[str, int] = field(default_factory=dict)
    upper: int = 0
    skipped: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def run(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILES]...", help="Files, patterns or directories; nothing or - is standard input."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--model",
            "--meter",
            "-m",
            metavar="NAME",
            help=f"A model, a vocabulary or a unit; by default a request's own model, else {DEFAULT}.",
        ),
    ] = None,
    request: Annotated[
        bool, typer.Option("--request", help="Count one file as a request: messages, tools, system, framing.")
    ] = False,
    as_tree: Annotated[bool, typer.Option("--tree", help="Draw the directories, the biggest first.")] = False,
    threshold: Annotated[
        str, typer.Option("--threshold", metavar="N", help="In the tree, put those below N on one line.")
    ] = "0",
    json: options.Json = False,
) -> None:
    """Count the tokens of files, of directories, or of standard input.

    Hidden files, and files that are no text, are passed over in directories and patterns, and told.

    With --request the file is JSON: a list of messages, or the body of a request to a model. It is counted as the
    model's maker does, with what frames each message, and told by who speaks.

    Example: brim count src docs --tree --threshold 1000 --model gpt-5

    Example of a request: brim count --request request.json
    """
    least = whole("--threshold", threshold) or 0
    if request:
        _count_request(files or [STDIN], name, tree=as_tree, json=json)
        return
    found = expand(files or [STDIN])
    scale = meter(name or DEFAULT)
    tally = _tally(scale, found)
    if json:
        emit(_as_json(scale, tally))
        return
    out = console()
    made = None
    if as_tree or any(os.path.isdir(each) for each in files or ()):
        made = _tree(scale.unit, tally, least)
    elif len(tally.counts) > 1:
        made = table(scale.unit, "file", numbers=(scale.unit,), wide=("file",))
        for path, count in tally.counts.items():
            made.add_row(f"{count:,}", path)
    if made:
        show(out, made)
    lead = "\n" if made else ""
    out.print(lead + _sum(scale, tally), soft_wrap=True)


def _count_request(files: list[str], name: str | None, *, tree: bool, json: bool) -> None:
    if len(files) != 1:
        raise InvalidValue("--request", files, "given with one file")
    if tree:
        raise InvalidValue("--tree", "nothing", "left out where a request is counted")
    counted = read_request(files[0]).tally(name)
    if json:
        emit({"total": counted.total, **asdict(counted), "parts": _keyed(counted.parts)})
        return
    out = console()
    made = table(counted.unit, "share", "part", numbers=(counted.unit, "share"))
    for part, units in counted.parts.items():
        if units:
            made.add_row(f"{units:,}", f"{units * 100 // counted.total}%", part)
    if made.row_count:
        show(out, made)
        out.print()
    about = "" if counted.exact else "about "
    at_most = f", at most {counted.upper:,}" if counted.upper > counted.total else ""
    by = measured(counted.meter, exact=counted.exact)
    out.print(
        f"{about}{counted.total:,} {counted.unit}{at_most} in {told(counted.messages, 'message')} ({by})",
        soft_wrap=True,
    )


def _keyed(parts: Mapping[str, int]) -> dict[str, int]:
    return {part.replace(" ", "_"): units for part, units in parts.items()}


def _tree(unit: str, tally: _Tally, least: int) -> Table:
    top = tree.grown(tally.counts)
    made = table(unit, "share", "", numbers=(unit, "share"), wide=("",))
    made.add_row(f"{top.count:,}", "100%", top.name or ".", style="bold")
    for line in tree.drawn(top, least):
        made.add_row(f"{line.count:,}", f"{line.count * 100 // max(1, top.count)}%", line.label)
    return made


def _tally(scale: BaseMeter, found: list[FileMatch]) -> _Tally:
    tally = _Tally()
    for read in texts(_watched(found)):
        path = STDIN_SHOWN if read.path == STDIN else read.path
        if read.text is None:
            tally.skipped.append(path)
            continue
        tally.counts[path] = scale.count(read.text)
        tally.upper += tally.counts[path] if scale.exact else scale.upper(read.text)
    return tally


def _watched(found: list[FileMatch]) -> Iterator[FileMatch]:
    """Yield the files, with a bar on the error stream where there is much to do and somebody looks."""
    if not sys.stderr.isatty() or (len(found) < _MANY_FILES and _bytes(found) < _MANY_BYTES):
        yield from found
        return
    from rich.progress import track

    yield from track(found, description="counting", console=console(error=True), transient=True)


def _bytes(found: list[FileMatch]) -> int:
    return sum(os.path.getsize(file.path) for file in found if os.path.exists(file.path))


def _sum(scale: BaseMeter, tally: _Tally) -> str:
    at_most = "" if scale.exact else f", at most {tally.upper:,}"
    counted = "" if len(tally.counts) == 1 else f" in {told(len(tally.counts), 'file')}"
    skipped = f"; skipped {told(len(tally.skipped), 'file')}: no text" if tally.skipped else ""
    about = "" if scale.exact else "about "
    by = measured(scale.name, exact=scale.exact)
    return f"{about}{tally.total:,} {scale.unit}{at_most}{counted} ({by}){skipped}"


def _as_json(scale: BaseMeter, tally: _Tally) -> dict[str, object]:
    return {
        "total": tally.total,
        "upper": tally.upper,
        "unit": scale.unit,
        "meter": scale.name,
        "exact": scale.exact,
        "files": [{"path": path, "count": count} for path, count in tally.counts.items()],
        "skipped": tally.skipped,
    }
