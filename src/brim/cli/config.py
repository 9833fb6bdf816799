"""`brim config`: show the settings and where each comes from, and change them in their files."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from brim.cli import options
from brim.cli.output import console, emit, emit_text, masked, mute_settings, show, table
from brim.errors import SourceError

if TYPE_CHECKING:
    from brim.settings.config import Config
    from brim.settings.resolved import Resolved

app = typer.Typer(name="config", help="Show and change settings.", no_args_is_help=True, rich_markup_mode=None)

_Key = Annotated[str, Argument(metavar="KEY", help="The setting, such as context_budget_chars.")]
_File = Annotated[str | None, Option("--file", metavar="PATH", help="The file; default: that of the project.")]
_DryRun = Annotated[bool, Option("--dry-run", help="Print the change without making it.")]


@app.command("show")
def show_settings(
    *,
    profile: options.Profile = None,
    flow: options.Flow = None,
    step: options.Step = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Show the current settings, and where each comes from.

    A star marks a value from a profile, a flow, a step, the environment or a flag. The last column shows the value that
    it overrides.

    Example: brim config show --flow build --step 0
    """
    from brim.settings import load_config

    mute_settings()
    loaded = load_config(config)
    settings = loaded.resolve(profile, flow, step)
    if not json:
        _show(loaded, settings)
        return
    values = {}
    for key, value in settings.items():
        below = settings.below(key)
        values[key] = {**value.to_dict(), "override": value.is_override, "over": below and below.to_dict()}
        values[key]["trusted"] = not value.refusal
    more = {"preset": settings.preset, "warnings": settings.warnings, "files": loaded.files}
    emit(masked({"values": values, **more}))


@app.command("get")
def get_value(
    *,
    key: _Key,
    profile: options.Profile = None,
    flow: options.Flow = None,
    step: options.Step = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Print the current value of one setting.

    With --json, it is printed with its origin.

    Example: brim config get context_budget_chars --flow build --step 0
    """
    from brim.settings import load_config

    mute_settings()
    value = load_config(config).resolve(profile, flow, step)[key]
    if json:
        emit(masked({"key": key, **value.to_dict()}))
    else:
        emit_text(masked(f"{_plain(value.value)}\n"))


def _plain(value: object) -> str:
    """Return a value as `config set` reads it; a string without quotes, and an empty line for `null`."""
    from brim.settings.yaml_editor import written

    return value if isinstance(value, str) else "" if value is None else written(value)


def _show(config: Config, settings: Resolved) -> None:
    out = console()
    made = table(" ", "setting", "value", "origin", "where", "over", wide=("value", "where", "over"))
    last = None
    for key, value in settings.items():
        group = _group(key)
        if last is not None and group != last:
            made.add_section()
        last = group
        below = settings.below(key)
        over = "" if below is None or below.origin == "defaults" else f"{_text(below.value)} ({below.origin})"
        star = "*" if value.is_override else ""
        origin = f"{value.origin} (not trusted)" if value.refusal else value.origin
        made.add_row(star, *masked([key, _text(value.value), origin, _near(value.where), over]))
    show(out, made)
    read = ", ".join(map(_near, config.files)) or "no file (defaults apply)"
    out.print(f"\nPreset: {settings.preset or 'none'}. Read: {read}.")
    for warning in masked(settings.warnings):
        out.print(f"warning: {warning}")


def _group(key: str) -> str:
    from brim.settings.keys import BARE

    return BARE.get(key, key).rpartition(".")[0].partition(".")[0]


def _text(value: object) -> str:
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
    """Return a path relative to the current directory if that is shorter, or the name of a file of brim."""
    from brim.settings.project import is_shipped

    if is_shipped(where):
        return f"brim:{os.path.basename(where)}"
    if not os.path.isabs(where):
        return where
    near = os.path.relpath(where)
    return near if len(near) < len(where) and not near.startswith(os.pardir + os.sep + os.pardir) else where


@app.command("set")
def set_value(
    *,
    key: _Key,
    value: Annotated[str, Argument(metavar="VALUE", help="The new value, in YAML.")],
    file: _File = None,
    profile: options.Profile = None,
    flow: options.Flow = None,
    step: options.Step = None,
    dry_run: _DryRun = False,
    json: options.Json = False,
) -> None:
    """Change one setting in its file, and keep every other byte.

    The new file is checked before it replaces the old one. The change is printed as a diff.

    Example: brim config set context_budget_chars 250000 --flow build --step 0
    """
    new = file is not None and not os.path.lexists(file)
    load = os.path.dirname(file or "") or "." if new else file
    _change(load, key, value, dry_run=dry_run, json=json, file=file, profile=profile, flow=flow, step=step)


@app.command("unset")
def unset_value(
    *,
    key: _Key,
    file: _File = None,
    profile: options.Profile = None,
    flow: options.Flow = None,
    step: options.Step = None,
    dry_run: _DryRun = False,
    json: options.Json = False,
) -> None:
    """Remove one setting from its file.

    The value that it overrides applies again. A comment on its line is removed too, and no other byte
    is changed. The change is printed as a diff.

    Example: brim config unset context_budget_chars --flow build --step 0
    """
    _change(file, key, None, dry_run=dry_run, json=json, file=file, profile=profile, flow=flow, step=step)


def _change(load: str | None, key: str, value: str | None, *, dry_run: bool, json: bool, **place: str | None) -> None:
    """Make a change of one setting, unless this is a dry run, and print it."""
    from brim.settings import load_config
    from brim.settings.changes import plan
    from brim.settings.trust import trust

    change = plan(load_config(load), {key: value}, **place)
    if not dry_run:
        new = not os.path.lexists(change.path)
        change.make()
        if new:  # The user wrote it.
            with suppress(SourceError):
                trust(change.path, os.environ)
    if json:
        changed = change.before != change.after
        values = {"path": change.path, "key": change.key, "changed": changed, "made": not dry_run}
        emit(masked({**values, "diff": change.diff()}))
        return
    emit_text(masked(change.diff() or f"{change.path}: {change.key} is already {_text(change.value)}\n"))


@app.command("trust")
def trust_project(
    *,
    path: Annotated[str, Argument(metavar="PATH", help="A folder, or a settings file.")] = ".",
    json: options.Json = False,
) -> None:
    """Trust the settings of a project.

    Until then, its settings may only change prompts: others, such as addresses, keys and stores, do not apply. A folder
    is trusted with everything in it. Trusted folders are listed in your configuration folder.

    Example: brim config trust ~/work/shop
    """
    from brim.settings.trust import trust

    place = trust(path, os.environ)
    if json:
        emit({"trusted": place})
    else:
        console().print(f"trusted {place}")
