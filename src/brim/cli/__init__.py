"""The command line: one file per command.

A command translates and prints. Every error ends as one line on standard error and an exit code; with `--json`, it is
also an object on standard output.
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
"""The reader of the output has closed it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or (len(words) == 1 and words[0] in GROUPS):
        words.append("--help")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # A character that the terminal cannot show is escaped.
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
    except SystemExit as error:  # rich and Typer exit by themselves when a pipe breaks.
        if isinstance(error.__context__, BrokenPipeError):
            return _discard_output()
        raise
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}", words)
    except Exception as error:  # A bug in brim: the text of the error may contain a key or a prompt.
        from brim.observe import uncaught

        print(uncaught.traced(error), file=sys.stderr)
        return _complain(f"this is a bug in brim ({type(error).__name__}); please report the lines above", words)
    return code if isinstance(code, int) else DONE


def _complain(sentence: str, words: Sequence[str], error: BrimError | None = None) -> int:
    """Print an error, with `--json` as JSON too, and return the exit code."""
    from brim.cli import output

    code = NO if isinstance(error, DoesNotFit) else REFUSED
    line = output.complain(sentence)
    if "--json" in words:
        numbers = {"needed": error.needed, "budget": error.available} if isinstance(error, DoesNotFit) else {}
        with suppress(OSError):  # The error may be that of the output.
            output.emit({"error": {"message": line, "exit_code": code, **numbers}})
            sys.stdout.flush()
    return code


def _usage(error: typer.TyperException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "brim"
    return f"{message[:1].lower()}{message[1:]} (see {command} --help)"


def _discard_output() -> int:
    """Redirect standard output to the null device, so that Python writes nothing more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE
