"""The command line: one file per command, assembled here.

A command translates and prints; whatever it refuses ends as one line on the error stream and an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from brim.cli import (
    audit,
    check,
    config,
    count,
    demo,
    doctor,
    fit,
    flow,
    gateway,
    mcp,
    models,
    output,
    replay,
    status,
    studio,
)
from brim.errors import BrimError, DoesNotFit

DONE = 0
NO = 1
"""The answer is no: over the budget, or nothing that fits."""
REFUSED = 2
"""The input cannot be taken."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Whoever read the output has gone."""

_EPILOG = (
    "Exit codes: 0 done; 1 the answer is no (over budget, or nothing fits); 2 input that cannot be taken, with one"
    " sentence on standard error; 130 interrupted; 141 the reader of the output went away."
)

# Plain help: it is the same text in every terminal, and needs no library but Typer.
app = typer.Typer(
    name="brim", add_completion=False, epilog=_EPILOG, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"brim {version('brim')}")
        raise typer.Exit


@app.callback()
def _brim(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Fill an LLM's context window to the brim and never over it."""


for command in (demo, count, fit, check, replay, status, models, doctor, gateway, studio, mcp, audit):
    app.command(command.__name__.rpartition(".")[2])(command.run)

app.add_typer(config.app)
app.add_typer(flow.app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given in ([config.app.info.name], [flow.app.info.name]):
        given.append("--help")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name or a sign that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=given, prog_name="brim", standalone_mode=False)
        sys.stdout.flush()
    except DoesNotFit as error:
        output.complain(str(error))
        return NO
    except BrimError as error:
        output.complain(str(error))
        return REFUSED
    except typer.TyperException as error:
        output.complain(_usage(error))
        return REFUSED
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _let_go()
    except SystemExit as error:  # rich and Typer end the process themselves when a pipe breaks
        if isinstance(error.__context__, BrokenPipeError):
            return _let_go()
        raise
    except OSError as error:
        output.complain(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}")
        return REFUSED
    return code if isinstance(code, int) else DONE


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "brim"
    return f"{message[:1].lower()}{message[1:]} ({where} --help tells more)"


def _let_go() -> int:
    """Give up standard output, so that nothing more is written when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE
