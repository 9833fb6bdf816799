"""What every command prints with: a console, tables, JSON, files, and the one line of an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from brim.amounts import units
from brim.errors import InvalidValue, SourceError
from brim.files import writer as sink

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPE_WIDTH = 120
"""Columns where nobody looks: enough that a path is seldom broken over two lines."""

_LEAST = 16
"""Columns that a text keeps before a table is made wider than the terminal."""


def console(*, error: bool = False, width: int | None = None) -> Console:
    """Return a console on standard output, or on standard error."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    if width is None and not stream.isatty() and "COLUMNS" not in os.environ:
        width = _PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def table(*columns: str, numbers: tuple[str, ...] = (), wide: tuple[str, ...] = ()) -> Table:
    """Return an empty table.

    Args:
        columns: the heads, in order.
        numbers: the columns that are aligned to the right.
        wide: the columns that may be broken over several lines.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        right = name in numbers
        made.add_column(name, justify="right" if right else "left", no_wrap=name not in wide, overflow="fold")
    return made


def is_plain(out: Console) -> bool:
    """Return whether the stream takes ASCII alone."""
    return not out.encoding.lower().startswith("utf")


def show(out: Console, made: Table) -> None:
    """Print a table, without the blanks that fill its lines to the right.

    A table that is too wide for the console is printed wider than it, rather than with its numbers cut off.
    """
    before = out.width
    out.width = max(before, _needed(made))
    with out.capture() as captured:
        out.print(made)
    out.width = before
    for line in captured.get().splitlines():
        out.file.write(line.rstrip() + "\n")


def _needed(made: Table) -> int:
    """Return the fewest columns in which a table is whole; what may be broken over lines has its least width."""
    from rich.cells import cell_len

    widths = [
        min(max(map(cell_len, map(str, (column.header, *column.cells)))), 10_000 if column.no_wrap else _LEAST)
        for column in made.columns
    ]
    return sum(widths) + 3 * (len(widths) - 1)


def emit(values: object) -> None:
    """Print JSON on standard output."""
    sys.stdout.write(json.dumps(values, indent=2, ensure_ascii=True) + "\n")


def emit_text(text: str) -> None:
    """Print a text on standard output byte for byte, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded(text))
    sys.stdout.buffer.flush()


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; a lone surrogate stays what it is."""
    return text.encode("utf-8", "surrogatepass")


def complain(sentence: str) -> None:
    """Print the one line that says what went wrong."""
    print("brim: " + " ".join(sentence.split()), file=sys.stderr)


def whole(option: str, value: str | None, least: int = 0) -> int | None:
    """Return the whole number that an option was given; nothing for nothing.

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


def write_files(contents: Mapping[str, str]) -> None:
    """Write texts to files: all of them, or none of them.

    Each is written beside its place under another name first, and takes its place once all are written. A pipe or a
    device is written to last.

    Raises:
        SourceError: one cannot be written.
    """
    staged: dict[str, tuple[str, str]] = {}
    streams: dict[str, bytes] = {}
    at = ""
    try:
        for at, text in contents.items():
            if os.path.exists(at) and not os.path.isfile(at) and not os.path.isdir(at):
                streams[at] = encoded(text)
            else:
                target = os.path.realpath(at)
                staged[at] = (sink.staged(target, encoded(text)), target)
        for at, data in streams.items():
            with open(at, "wb") as file:
                file.write(data)
        for at in list(staged):
            os.replace(*staged[at])
            del staged[at]
    except OSError as error:
        raise SourceError(at, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error
    finally:
        for beside, _ in staged.values():
            os.unlink(beside)


def told(count: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `12 files`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def measured(meter: str, *, exact: bool) -> str:
    """Return by what something was counted, and how far that is to be believed."""
    return f"{meter}, exact" if exact else f"{meter}, an estimate" if "estimate" not in meter else meter


def fields(values: Mapping[str, Any]) -> Table:
    """Return a table of names and values, without heads."""
    from rich.table import Table

    made = Table.grid(padding=(0, 3))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in values.items():
        made.add_row(name, str(value))
    return made
