"""The records of a file, with one record in memory at a time.

A file has one record per line, is a list of records, or is one record over many lines; its first bytes show which.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from stat import S_ISFIFO
from typing import IO, Any, NamedTuple, cast

from brim.audit.fields import loaded, mapping
from brim.errors import SourceError
from brim.files.source import STDIN, STDIN_SHOWN, UTF16, UTF16_PROBLEM
from brim.files.text_files import FileMatch

MOST = 64 * 1024 * 1024
"""The longest record, in bytes."""
_BLOCK = 1024 * 1024
"""Bytes that are read at a time."""
_MOST_TIMES = 100
"""A file that unpacks to more than `MOST` bytes may grow by this factor; recordings grow by 5 to 40."""
_GZIP = b"\x1f\x8b"
_BOM = codecs.BOM_UTF8
_BLANK, _BETWEEN = re.compile(r"[ \t\r\n]*+"), re.compile(r"[ \t\r\n,]*+")
_OPEN = (b"{", b"[", b",", b":")
"""How the first line of a multi-line document may end."""

LINES, LIST, DOCUMENT = "lines", "list", "document"


class UnpackedTooLong(Exception):
    """A compressed file unpacks to more than is allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """One file of recordings."""

    name: str
    """As the caller wrote it."""
    path: str
    """The file that is read: an unpacked copy, if it was compressed or came from standard input."""
    size: int
    form: str
    """`lines`, `list` or `document`."""
    named: bool = True
    """Whether it was passed by name, not found in a directory."""
    problem: str = ""
    """Why it cannot be read."""


class Record(NamedTuple):
    """One record of a file."""

    offset: int
    length: int
    line: int
    """The line on which it begins."""
    value: Any
    """Its JSON value; `None` if it cannot be read."""
    problem: str = ""
    """Why it cannot be read."""


def opened(found: FileMatch, spool: str) -> Recording:
    """Return a recording, with a problem if the file cannot be read."""
    shown = STDIN_SHOWN if found.path == STDIN else found.path
    try:
        path = _plain(found.path, spool)
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            wide = file.read(2).startswith(UTF16)
            file.seek(0)
            form = _form(file)
        if wide:
            return Recording(name=shown, path="", size=0, form=LINES, named=found.named, problem=UTF16_PROBLEM)
    except UnpackedTooLong as error:
        return Recording(name=shown, path="", size=0, form=LINES, named=found.named, problem=str(error))
    except (OSError, EOFError, zlib.error) as error:
        problem = f"it cannot be read: {(getattr(error, 'strerror', None) or str(error)).lower()}"
        return Recording(name=shown, path="", size=0, form=LINES, named=found.named, problem=problem)
    return Recording(name=shown, path=path, size=size, form=form, named=found.named)


def records(recording: Recording) -> Iterator[Record]:
    """Yield the records of a file; none if it has a problem."""
    if recording.problem:
        return
    with _file(recording) as file:
        if recording.form == LINES:
            yield from _lines(file, 0, recording.size, 1)
        else:
            yield from _values(file, listed=recording.form == LIST)


def again(recording: Recording, offset: int, length: int, line: int) -> Iterator[Record]:
    """Yield the records of a span that begins on this line, for the second pass."""
    with _file(recording) as file:
        file.seek(offset)
        if recording.form == LINES:
            yield from _lines(file, offset, offset + length, line)
        else:
            yield _record(file.read(length), offset, line)


def _file(recording: Recording) -> IO[bytes]:
    """Open a file to read it.

    Raises:
        SourceError: it is gone.
    """
    try:
        return open(recording.path, "rb")
    except FileNotFoundError as error:
        problem = f"the file was removed during the audit ({recording.path}): run the audit again"
        raise SourceError(recording.name, problem) from error


def _plain(name: str, spool: str) -> str:
    """Return the path of a file, or of an unpacked copy of it."""
    if name == STDIN:
        return _copy(cast("io.BufferedReader", sys.stdin.buffer), spool)
    with open(name, "rb") as file:
        if S_ISFIFO(os.stat(name).st_mode):  # A pipe, as of <(zcat FILE), can be read only once.
            return _copy(file, spool)
        packed = file.read(2) == _GZIP
    if not packed:
        return os.path.abspath(name)
    with gzip.open(name, "rb") as unpacked:
        return _copy(unpacked, spool, max(_MOST_TIMES * os.path.getsize(name), MOST))


def _copy(source: io.BufferedReader | gzip.GzipFile, spool: str, most: int | None = None) -> str:
    """Return the path of a copy.

    Raises:
        UnpackedTooLong: it has more than `most` bytes; the copy is removed.
    """
    descriptor, path = tempfile.mkstemp(dir=spool, suffix=".records")
    try:
        with open(descriptor, "wb") as file:
            size = 0
            while block := source.read1(_BLOCK):  # What a pipe has now, so that a signal can end the wait.
                size += len(block)
                if most is not None and size > most:
                    raise UnpackedTooLong(
                        f"it unpacks to more than {most:,} bytes; if you expect this, unpack it first"
                    )
                file.write(block)
    except BaseException:  # An incomplete copy is removed, also after Ctrl+C.
        os.unlink(path)
        raise
    return path


def _form(file: IO[bytes]) -> str:
    """Return how a file stores its records, by its first bytes."""
    head = file.read(_BLOCK).removeprefix(_BOM).lstrip()
    first, ends, _ = head.partition(b"\n")
    if head[:1] == b"[":
        if not _begins_with_message(head):
            return LIST
        return LINES if ends and isinstance(loaded(first.decode("utf-8", "replace")), list) else DOCUMENT
    return DOCUMENT if ends and head[:1] == b"{" and first.rstrip().endswith(_OPEN) else LINES


def _begins_with_message(head: bytes) -> bool:
    """Return whether a list begins with a message, so that all of it is one conversation."""
    text = head.decode("utf-8", "replace")
    try:
        first, _ = json.JSONDecoder().raw_decode(text, text.find("{"))
    except (ValueError, RecursionError):
        return False
    return "role" in mapping(first)


def _lines(file: IO[bytes], start: int, stop: int, line: int) -> Iterator[Record]:
    """Yield the records on the lines that begin before `stop`; the file stands at `start`, where a line begins."""
    at = start
    while at < stop and (raw := file.readline(MOST + 1)):
        length = len(raw)
        if length > MOST:
            while not raw.endswith(b"\n") and (raw := file.readline(_BLOCK)):
                length += len(raw)
            yield Record(at, length, line, None, f"it is longer than {MOST // 1024**2} MiB")
        elif raw.strip():
            yield _record(raw, at, line)
        at += length
        line += 1


def _record(raw: bytes, offset: int, line: int) -> Record:
    try:
        return Record(offset, len(raw), line, json.loads(raw.removeprefix(_BOM)))
    except RecursionError:
        problem = "it is nested too deeply"
    except json.JSONDecodeError as error:
        problem = f"it is not JSON: {error.msg} at character {error.pos + 1:,}"
    except UnicodeDecodeError as error:
        problem = f"it is not UTF-8: byte {error.start:,} is invalid"
    except ValueError as error:
        problem = f"it is not JSON: {error}"
    return Record(offset, len(raw), line, None, problem)


def _values(file: IO[bytes], *, listed: bool) -> Iterator[Record]:
    """Yield the value that a file holds or, if it is a list of records, its elements, one in memory at a time."""
    utf8, decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape"), json.JSONDecoder()
    head = file.read(len(_BOM))
    text, offset = ("", len(_BOM)) if head == _BOM else (utf8.decode(head), 0)
    opened, at, line = not listed, 0, 1
    while True:
        start = _end(_BETWEEN if opened else _BLANK, text, at)
        if not opened and text.startswith("[", start):
            opened, start = True, _end(_BLANK, text, start + 1)
        line += text.count("\n", at, start)
        offset, at = offset + start - at, start
        if listed and opened and text.startswith("]", at):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            yield Record(offset, 0, line, None, "it is nested too deeply, and the records after it cannot be found")
            return
        except ValueError as error:
            text, at = text[at:], 0
            raw = file.read(max(_BLOCK, len(text)))
            if raw and len(text) <= MOST:
                text += utf8.decode(raw)
                continue
            if text or not opened:
                yield Record(offset, 0, line, None, f"it is not JSON, or is longer than {MOST // 1024**2} MiB: {error}")
            return
        length = len(text[at:end].encode("utf-8", "surrogateescape"))
        yield Record(offset, length, line, value)
        line += text.count("\n", at, end)
        offset, at = offset + length, end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found is not None else at
