"""`brim doctor`: problems of the settings, also from the receipts of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import console, emit, emit_text, masked, mute_settings
from brim.errors import BrimError

if TYPE_CHECKING:
    from brim.doctor.diagnosis import Finding, ProposedChange


def run(
    *,
    config: options.Config = None,
    profile: options.Profile = None,
    receipts: Annotated[
        str | None,
        typer.Option(
            "--receipts", metavar="DIR", help="The receipts of a run: its RUN_BASE, or a directory of receipts."
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Make the suggested changes, and show them as a diff.")] = False,
    json: options.Json = False,
) -> None:
    """Find problems in the settings, and suggest commands that fix them.

    With the receipts of a run, it also finds budgets that are too small or much too large, and suggests a change of the
    step rather than of the whole flow. The exit code is 1 if there is a problem; advice does not change it.

    Example: brim doctor --receipts runs --fix
    """
    from brim.doctor.diagnosis import CHECKS, diagnose
    from brim.flows.receipts import read_receipts
    from brim.settings import load_config

    mute_settings()
    loaded = load_config(config)
    loaded.validate()
    read = [] if receipts is None else list(read_receipts(receipts, ("*", "receipts"), ("receipts",), ()))
    found = diagnose(loaded, read, profile)
    wrong = sum(finding.level == "wrong" for finding in found)
    if json:
        values = {"healthy": not wrong, "findings": [finding.to_dict() for finding in found]}
        emit(masked({**values, "files": loaded.files, "receipts": len(read), "checks": list(CHECKS)}))
    else:
        _print(found, wrong, f"{counted(len(loaded.files), 'settings file')} and {counted(len(read), 'receipt')}")
    if fix:
        _fix(found, config, quiet=json)
    elif wrong:
        raise typer.Exit(1)


def _fix(found: Iterable[Finding], config: str | None, *, quiet: bool) -> None:
    """Make the changes that the findings suggest, and print the diff or the error of each."""
    from brim.settings import load_config
    from brim.settings.changes import plan

    first: dict[tuple[object, ...], ProposedChange] = {}
    for proposed in (change for finding in found for change in finding.changes if not change.variable):
        first.setdefault((proposed.key, proposed.place), proposed)  # The first finding is the most important.
    for change in first.values():
        try:
            planned = plan(load_config(config), {change.key: change.value}, **dict(change.place))
            if not quiet:
                emit_text("\n" + masked(planned.diff()))
            planned.make()
        except BrimError as error:
            console(error=True).print(masked(f"not changed: {change.command}: {error}"))
    console(error=True).print(f"{counted(len(first), 'change')} suggested; run brim doctor again to see what is left")


def _print(found: list[Finding], wrong: int, read: str) -> None:
    out = console()
    for finding in found:
        out.print(f"{finding.level}: {finding.check}")
        commands = [f"$ {line}" for line in finding.commands]
        for line in masked([finding.seen, finding.why, finding.do, *commands]):
            out.print(f"  {line}")
        out.print()
    state = counted(wrong, "problem") if wrong else "healthy"
    advice = f", {counted(len(found) - wrong, 'piece')} of advice" if len(found) > wrong else ""
    out.print(f"{state}{advice}; checked {read}")
