"""The records of a file, with one record in memory at a time.

A file has one record per line, or is one record over many lines; its first bytes show which.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from stat import S_ISFIFO
from typing import IO, Any, NamedTuple, cast

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
_OPEN = (b"{", b"[", b",", b":")
"""How the first line of a document over many lines may end."""


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
    document: bool = False
    """Whether it is one record over many lines."""
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
            head = file.read(_BLOCK)
        document = _is_document(head)
        problem = UTF16_PROBLEM if head.startswith(UTF16) else ""
        if document and size > MOST:
            problem = f"it is one record of more than {MOST // 1024**2} MiB: write one record per line"
    except UnpackedTooLong as error:
        problem = str(error)
    except (OSError, EOFError, zlib.error) as error:
        problem = f"it cannot be read: {(getattr(error, 'strerror', None) or str(error)).lower()}"
    if problem:
        return Recording(name=shown, path="", size=0, named=found.named, problem=problem)
    return Recording(name=shown, path=path, size=size, document=document, named=found.named)


def records(recording: Recording, offset: int = 0, length: int | None = None, line: int = 1) -> Iterator[Record]:
    """Yield the records of a file, or of a span that begins on this line; none if the file has a problem."""
    if recording.problem:
        return
    with _file(recording) as file:
        if recording.document:
            yield _record(file.read(), 0, 1)
            return
        file.seek(offset)
        yield from _lines(file, offset, recording.size if length is None else offset + length, line)


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


def _is_document(head: bytes) -> bool:
    """Return whether a file is one JSON value over many lines, by its first bytes."""
    first, ends, _ = head.removeprefix(_BOM).lstrip().partition(b"\n")
    return bool(ends) and first[:1] in (b"{", b"[") and first.rstrip().endswith(_OPEN)


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
