"""`brim doctor`: what to put right in the settings, and what the receipts of a run tell about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brim.cli import options
from brim.cli.output import console, emit, told
from brim.errors import SourceError

if TYPE_CHECKING:
    from brim.doctor.finding import Finding


def run(
    *,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", "-c", metavar="PATH", help="A file of settings or its directory, if not the one here."
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The profile to take.")] = None,
    receipts: Annotated[
        str | None,
        typer.Option("--receipts", metavar="DIR", help="The receipts of a run: RUN_BASE, or a directory of receipts."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Say what is wrong with the settings and what could be better: what was seen, why it matters, what to type.

    With the receipts of a run it also tells which budgets were too small, and which were never used. The exit code is 1
    if something is wrong; advice alone does not change it.

    Example: brim doctor --receipts runs
    """
    import logging

    from brim.doctor.checks import CHECKS, examined
    from brim.settings import load_config

    logging.getLogger("brim.settings").addHandler(logging.NullHandler())
    loaded = load_config(config)
    read = list(_receipts(receipts)) if receipts is not None else []
    found = examined(loaded, read, profile)
    wrong = sum(finding.level == "wrong" for finding in found)
    if json:
        values = {"healthy": not wrong, "findings": [finding.to_dict() for finding in found]}
        emit({**values, "files": loaded.files, "receipts": len(read), "checks": CHECKS})
    else:
        _print(found, wrong, len(loaded.files), len(read))
    if wrong:
        raise typer.Exit(1)


def _receipts(base: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the receipts below a directory, each with the flow whose directory it is in.

    Raises:
        SourceError: there are none, or one cannot be read.
    """
    from glob import escape, glob

    from brim.flows.receipts import read_receipt

    places = (("*", "receipts"), ("receipts",), ())
    paths = [path for inside in places for path in sorted(glob(os.path.join(escape(base), *inside, "*.json")))]
    if not paths:
        raise SourceError(base, "it has no receipts: they are in RUN_BASE/FLOW/receipts")
    for path in paths:
        folder = os.path.dirname(os.path.abspath(path))
        flow = os.path.basename(os.path.dirname(folder)) if os.path.basename(folder) == "receipts" else ""
        yield flow, read_receipt(path)


def _print(found: list[Finding], wrong: int, files: int, receipts: int) -> None:
    out = console()
    for finding in found:
        out.print(f"{finding.level}: {finding.check}", soft_wrap=True)
        for line in (finding.seen, finding.why, finding.do):
            out.print(f"  {line}", soft_wrap=True)
        for line in finding.commands:
            out.print(f"  $ {line}", soft_wrap=True)
        out.print()
    looked = f"{told(files, 'file')} of settings and {told(receipts, 'receipt')}"
    advice = len(found) - wrong
    state = f"{told(wrong, 'thing')} wrong" if wrong else "healthy"
    more = f", {told(advice, 'piece')} of advice" if advice else ""
    out.print(f"{state}{more}; looked at {looked}", soft_wrap=True)
