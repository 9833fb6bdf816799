"""The output of every command: a console, tables, JSON, files, and the one line of an error."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Collection, Mapping
from json import dumps
from typing import TYPE_CHECKING, Any

from brim.amounts import units
from brim.errors import InvalidValue, SourceError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPE_WIDTH = 120
"""Columns if the output is not a terminal."""

_LEAST = 16
"""The least columns for text; a table with less becomes wider than the terminal."""

MOST_ROWS = 20
"""The most rows of a list that may have thousands; the JSON has all."""


def console(*, error: bool = False) -> Console:
    """Return a console on standard output, or on standard error; it does not break lines of text."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


def table(*columns: str, numbers: tuple[str, ...] = (), wide: tuple[str, ...] = ()) -> Table:
    """Return an empty table.

    Args:
        columns: the headers, in order.
        numbers: the columns to align to the right.
        wide: the columns whose cells may be wrapped.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        right = name in numbers
        made.add_column(name, justify="right" if right else "left", no_wrap=name not in wide, overflow="fold")
    return made


def is_plain(out: Console) -> bool:
    """Return whether the output is limited to ASCII."""
    return not out.encoding.lower().startswith("utf")


def show(out: Console, made: Table) -> None:
    """Print a table without trailing blanks.

    A table that is too wide for the console is printed at full width, so that no number is cut off.
    """
    before = out.width
    out.width = max(before, _needed(made))
    with out.capture() as captured:
        out.print(made, soft_wrap=False)
    out.width = before
    for line in captured.get().splitlines():
        out.file.write(line.rstrip() + "\n")


def _needed(made: Table) -> int:
    """Return the least width of a table in which no number is cut off."""
    from rich.cells import cell_len

    widths = [
        min(max(map(cell_len, map(str, (column.header, *column.cells)))), 10_000 if column.no_wrap else _LEAST)
        for column in made.columns
    ]
    return sum(widths) + 3 * (len(widths) - 1)


def emit(values: object) -> None:
    """Print JSON on standard output."""
    sys.stdout.write(dumps(values, indent=2, ensure_ascii=True) + "\n")


def masked(values: Any) -> Any:
    """Return JSON values with anything that looks like a key removed from their strings."""
    from brim.files.json_strings import map_strings
    from brim.redaction import redact

    return map_strings(values, redact)


def emit_line(values: object) -> None:
    """Print JSON on one line of standard output."""
    print(dumps(values), flush=True)


def emit_text(text: str) -> None:
    """Print a text on standard output as UTF-8, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded(text))
    sys.stdout.buffer.flush()


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; lone surrogates are kept."""
    return text.encode("utf-8", "surrogatepass")


def announce(command: str, text: str, values: Mapping[str, Any], *, json: bool) -> None:
    """Print the address of a server, or these values as JSON."""
    if json:
        emit_line(values)
    else:
        print(f"brim {command}: {text}", flush=True)


def mute_settings() -> None:
    """Suppress logged warnings about settings in a command that shows them itself."""
    logging.getLogger("brim.settings").addHandler(logging.NullHandler())


def exit_on_sigterm() -> None:
    """Exit on SIGTERM as after an error, so that temporary files are removed."""
    signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def complain(sentence: str) -> str:
    """Print an error as one line without anything that looks like a key, and return the line."""
    from brim.redaction import redact

    line = " ".join(redact(sentence).split())
    print("brim: " + line, file=sys.stderr)
    return line


def whole(option: str, value: str | None, least: int = 0) -> int | None:
    """Return the whole number of an option, or `None` if it is not set.

    Raises:
        InvalidValue: it is not a whole number, or less than `least`.
    """
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError:
        raise InvalidValue(option, value, f"a whole number of at least {least}") from None
    return units(option, number, least=least)


def write_files(contents: Mapping[str, str], private: Collection[str] = ()) -> None:
    """Write files atomically; new files in `private` are readable only by their owner.

    Raises:
        SourceError: a file cannot be written.
    """
    from brim.files import writer

    for path, text in contents.items():
        try:
            if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):  # A pipe, or a device.
                with open(path, "wb") as file:
                    file.write(encoded(text))
            else:
                writer.put(os.path.realpath(path), encoded(text), 0o600 if path in private else 0o666)
        except OSError as error:
            raise SourceError(path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def fields(values: Mapping[str, Any]) -> Table:
    """Return a table of names and values, without a header."""
    from rich.table import Table

    made = Table.grid(padding=(0, 3))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in values.items():
        made.add_row(name, str(value))
    return made
