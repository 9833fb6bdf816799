"""The command line: one file per command, assembled here.

A command translates and prints. Every refusal ends as one line on the error stream and an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from brim.cli import config, flow, output
from brim.errors import BrimError, DoesNotFit
from brim.observe import uncaught

COMMANDS = (
    *("demo", "count", "fit", "check", "replay", "status", "models", "doctor"),
    *("gateway", "studio", "mcp", "audit"),
)
"""The commands, each the `run` of a module of its name, in the order of the help."""

DONE = 0
NO = 1
"""The answer is no: over the budget, or nothing fits."""
REFUSED = 2
"""The input is invalid."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output closed it."""

_EPILOG = (
    "Exit codes: 0 done; 1 the answer is no (over budget, or nothing fits); 2 invalid input, with one line on standard"
    " error; 130 interrupted; 141 the reader of the output closed it."
)

# Plain help: it is the same text in every terminal, and needs no library but Typer.
app = typer.Typer(
    name="brim", add_completion=False, epilog=_EPILOG, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"brim {version('brim')}")
        raise typer.Exit


@app.callback()
def _brim(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Fit prompts into the context window of an LLM, exactly."""


for command in COMMANDS:
    app.command(command)(import_module(f"brim.cli.{command}").run)

app.add_typer(config.app)
app.add_typer(flow.app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words in ([config.app.info.name], [flow.app.info.name]):
        words.append("--help")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=words, prog_name="brim", standalone_mode=False)
        sys.stdout.flush()
    except BrimError as error:
        output.complain(str(error))
        return NO if isinstance(error, DoesNotFit) else REFUSED
    except typer.TyperException as error:
        output.complain(_usage(error))
        return REFUSED
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _discard_output()
    except SystemExit as error:  # rich and Typer end the process themselves when a pipe breaks
        if isinstance(error.__context__, BrokenPipeError):
            return _discard_output()
        raise
    except OSError as error:
        output.complain(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}")
        return REFUSED
    except Exception as error:  # An error of brim: its text may hold a key or a prompt, its place tells enough.
        print(uncaught.traced(error), file=sys.stderr)
        output.complain(f"this is an error of brim ({type(error).__name__}); please report the lines above")
        return REFUSED
    return code if isinstance(code, int) else DONE


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "brim"
    return f"{message[:1].lower()}{message[1:]} (see {command} --help)"


def _discard_output() -> int:
    """Redirect standard output to nowhere, so that Python writes nothing more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE
