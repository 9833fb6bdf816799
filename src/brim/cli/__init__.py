"""The command line: one file per command.

A command translates and prints. Every refusal ends as one line on the error stream and an exit code; with `--json`, it
is also an object on standard output.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import typer

from brim.cli.commands import GROUPS, app
from brim.errors import BrimError, DoesNotFit

DONE = 0
NO = 1
"""The answer is no: over the budget, or nothing fits."""
REFUSED = 2
"""The input is invalid."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""The reader of the output closed it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or (len(words) == 1 and words[0] in GROUPS):
        words.append("--help")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        called = next((word for word in words if not word.startswith("-")), "")
        made = app() if "_BRIM_COMPLETE" in os.environ else app((called,))  # A shell completes any command.
        code = made(args=words, prog_name="brim", standalone_mode=False)
        sys.stdout.flush()
    except BrimError as error:
        return _complain(str(error), words, error)
    except typer.TyperException as error:
        return _complain(_usage(error), words)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _discard_output()
    except SystemExit as error:  # rich and Typer end the process themselves when a pipe breaks
        if isinstance(error.__context__, BrokenPipeError):
            return _discard_output()
        raise
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}", words)
    except Exception as error:  # An error of brim: its text may hold a key or a prompt, its place tells enough.
        from brim.observe import uncaught

        print(uncaught.traced(error), file=sys.stderr)
        return _complain(f"this is an error of brim ({type(error).__name__}); please report the lines above", words)
    return code if isinstance(code, int) else DONE


def _complain(sentence: str, words: Sequence[str], error: BrimError | None = None) -> int:
    """Print an error, with `--json` as JSON too, and return the exit code."""
    from brim.cli import output

    code = NO if isinstance(error, DoesNotFit) else REFUSED
    told = output.complain(sentence)
    if "--json" in words:
        numbers = {"needed": error.needed, "budget": error.available} if isinstance(error, DoesNotFit) else {}
        with suppress(OSError):  # The output may be what failed.
            output.emit({"error": {"message": told, "exit_code": code, **numbers}})
            sys.stdout.flush()
    return code


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "brim"
    return f"{message[:1].lower()}{message[1:]} (see {command} --help)"


def _discard_output() -> int:
    """Redirect standard output to nowhere, so that Python writes nothing more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE
