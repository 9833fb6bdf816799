"""The commands of the command line, each the function `run` in the module of its name.

Only the module of the called command is imported, so that commands start fast.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from importlib import import_module
from typing import Annotated

import typer

COMMANDS = {
    "demo": "Fit a long agent prompt to a budget, as a demonstration.",
    "count": "Count the tokens of files, of directories, or of standard input.",
    "fit": "Fit a prompt described in YAML, or the messages of a request.",
    "check": "Check prompt files and requests against their budgets.",
    "replay": "Repeat a fit from its receipt, at other budgets.",
    "status": "Show how full the context of a session or a gateway's conversations is.",
    "models": "List the models that brim knows, or show one in detail.",
    "doctor": "Find problems in the settings, and suggest commands that fix them.",
    "gateway": "Make every request to a model fit, for clients in any language.",
    "studio": "Show your sessions, prompts and budgets on a local web page.",
    "mcp": "Serve the tools count, fit, room, status, recall, compact and restart over MCP.",
    "audit": "Replay recorded traffic, and report what brim would have changed.",
}
"""The commands and their summaries, in the order of the help."""
GROUPS = {"config": "Show and change settings.", "flow": "Run flows, and report on their runs."}
"""The groups of commands, each the `app` in the module of its name."""

_EPILOG = (
    "Exit codes: 0 success; 1 over budget, or nothing fits; 2 invalid input; 130 interrupted;"
    " 141 broken pipe. An error is one line on standard error; with --json, also an object with the key error on"
    " standard output."
)


def app(called: Collection[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """Return the command line with these commands, and only the names and summaries of the others."""
    # Plain help is the same in every terminal, and does not import rich.
    plain = {"pretty_exceptions_enable": False, "rich_markup_mode": None}
    made = typer.Typer(name="brim", epilog=_EPILOG, **plain)  # type: ignore[arg-type]
    made.callback()(_brim)
    for name, summary in COMMANDS.items():
        run = import_module(f"brim.cli.{name}").run if name in called else _elsewhere
        made.command(name, short_help=summary)(run)
    for name, summary in GROUPS.items():
        if name in called:
            made.add_typer(import_module(f"brim.cli.{name}").app)
        else:
            made.command(name, short_help=summary)(_elsewhere)
    return made


def _elsewhere() -> None:
    """Take the place of a command that is not called."""


def _version(requested: bool) -> None:
    if requested:
        from brim import __version__

        print(f"brim {__version__}\nPython {'.'.join(map(str, sys.version_info[:3]))}")
        raise typer.Exit


def _brim(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Fit prompts into the context window of an LLM, exactly."""
