"""`brim config`: what the settings are, where they come from, and one changed without touching the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brim.cli import options
from brim.cli.output import complain, console, emit, emit_text, show, table
from brim.errors import SourceError

_ABOVE = ("profile", "flow", "step", "env", "flags")
"""Layers above the files of the project and the user: what they set is an override."""

if TYPE_CHECKING:
    from brim.settings.change import SettingChange

app = typer.Typer(name="config", help="Show, check and change settings.", no_args_is_help=True, rich_markup_mode=None)

Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The profile to take.")]
Flow = Annotated[str | None, typer.Option("--flow", metavar="NAME", help="The flow.")]
Step = Annotated[str | None, typer.Option("--step", metavar="ID", help="The step of the flow.")]
Config = Annotated[
    str | None,
    typer.Option("--config", "-c", metavar="PATH", help="A file of settings or its directory, if not the one here."),
]


@app.command("show")
def show_settings(
    *,
    profile: Profile = None,
    flow: Flow = None,
    step: Step = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Show the settings that hold, and where each comes from.

    A star marks what a profile, a flow, a step, the environment or a flag set above the files of the project and the
    user, and the last column what it stands above.

    Example: brim config show --flow build --step 0
    """
    from brim.settings import load_config

    _silence()
    loaded = load_config(config)
    settings = loaded.resolve(profile, flow, step)
    warnings = settings.warnings
    rows = [(key, value, settings.below(key)) for key, value in settings.items()]
    if json:
        values = {
            key: {
                "value": value.value,
                "origin": value.origin,
                "where": value.where,
                "override": value.origin in _ABOVE,
                "over": None if below is None else {"value": below.value, "origin": below.origin, "where": below.where},
            }
            for key, value, below in rows
        }
        emit({"values": values, "preset": settings.preset, "warnings": warnings, "files": loaded.files})
        return
    _print(rows, settings.preset, warnings, loaded.files)


def _print(rows: list[tuple[str, Any, Any]], preset: str | None, warnings: tuple[str, ...], files: Any) -> None:
    out = console()
    made = table(" ", "setting", "value", "origin", "where", "over", wide=("value", "where", "over"))
    last = None
    for key, value, below in rows:
        group = _group(key)
        if last is not None and group != last:
            made.add_section()
        last = group
        over = "" if below is None or below.origin == "defaults" else f"{_shown(below.value)} ({below.origin})"
        star = "*" if value.origin in _ABOVE else ""
        made.add_row(star, key, _shown(value.value), value.origin, _near(value.where), over)
    show(out, made)
    read = ", ".join(_near(path) for path in files) or "no file, so the defaults"
    out.print(f"\nPreset: {preset or 'none'}. Read: {read}.", soft_wrap=True)
    for warning in warnings:
        out.print(f"warning: {warning}", soft_wrap=True)


def _silence() -> None:
    """Keep warnings out of the log: they are part of the answer."""
    import logging

    logging.getLogger("brim.settings").addHandler(logging.NullHandler())


def _group(key: str) -> str:
    from brim.settings.keys import BARE

    return BARE.get(key, key).partition(".")[0] if "." in BARE.get(key, key) else ""


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return repr(value) if isinstance(value, str) and value != value.strip() else str(value)


def _near(where: str) -> str:
    """Return a path as it looks from here, where that is shorter."""
    if not os.path.isabs(where):
        return where
    near = os.path.relpath(where)
    return near if len(near) < len(where) and not near.startswith(os.pardir + os.sep + os.pardir) else where


@app.command()
def check(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files of settings, flows, profiles, or directories; if not here."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Check files of settings: each problem with its line.

    The exit code is 2 if a file cannot be taken. Warnings, such as a budget beyond its bounds, do not change it.

    Example: brim config check brim.yaml flows/build.yaml
    """
    _silence()
    rows = [_judged(path) for path in paths or [""]]
    failed = [row for row in rows if not row["ok"]]
    if json:
        emit({"ok": not failed, "files": rows})
    else:
        _tell(rows)
        for row in failed:
            complain(row["error"])
    if failed:
        raise typer.Exit(2)


def _judged(path: str) -> dict[str, Any]:
    from brim.settings.verdict import judged

    try:
        return {"path": path, "ok": True, "error": None, "line": None, **judged(path or None)}
    except SourceError as error:
        return {"path": error.path, "ok": False, "error": str(error), "line": error.line, "read": [], "warnings": []}


def _tell(rows: list[dict[str, Any]]) -> None:
    out = console()
    for row in rows:
        if row["ok"]:
            out.print(f"ok  {', '.join(_near(path) for path in row['read']) or 'no file'}", soft_wrap=True)
            for warning in row["warnings"]:
                out.print(f"    warning: {warning}", soft_wrap=True)


@app.command("set")
def set_value(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The setting, such as context_budget_chars.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its new value, as it would stand in the file.")],
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="The file, if not the one here.")] = None,
    profile: Profile = None,
    flow: Flow = None,
    step: Step = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and do not make it.")] = False,
    json: options.Json = False,
) -> None:
    """Change one setting in its file, and leave every other byte of it as it was.

    The new file is checked before it takes the place of the old one, in one step. What changes is printed.

    Example: brim config set context_budget_chars 250000 --flow build --step 0
    """
    from brim.settings import load_config
    from brim.settings.change import plan

    new = file is not None and not os.path.lexists(file)
    config = load_config(os.path.dirname(file or "") or "." if new else file)
    _make(plan(config, key, value, file=file, profile=profile, flow=flow, step=step), dry_run=dry_run, json=json)


@app.command("unset")
def unset_value(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The setting, such as context_budget_chars.")],
    file: Annotated[str | None, typer.Option("--file", metavar="PATH", help="The file, if not the one here.")] = None,
    profile: Profile = None,
    flow: Flow = None,
    step: Step = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and do not make it.")] = False,
    json: options.Json = False,
) -> None:
    """Remove one setting from its file, so that the value below it holds again.

    A comment on its line goes with it; every other byte stays. What changes is printed.

    Example: brim config unset context_budget_chars --flow build --step 0
    """
    from brim.settings import load_config
    from brim.settings.change import plan

    config = load_config(file)
    _make(plan(config, key, None, file=file, profile=profile, flow=flow, step=step), dry_run=dry_run, json=json)


def _make(change: SettingChange, *, dry_run: bool, json: bool) -> None:
    """Make a change, unless it is only to be shown, and print it."""
    if not dry_run:
        change.make()
    if json:
        changed = change.before != change.after
        emit({"path": change.path, "key": change.key, "changed": changed, "made": not dry_run, "diff": change.diff()})
        return
    emit_text(change.diff() or f"{change.path}: {change.key} is {_shown(change.value)} already\n")


@app.command()
def schema(*, json: options.Json = False) -> None:  # noqa: ARG001 - every command has it, and this one has nothing else
    """Print the JSON Schema of brim.yaml, for editors that complete and check it.

    Example: brim config schema > brim.schema.json
    """
    from brim.settings.schema import schema as made

    emit(made())
