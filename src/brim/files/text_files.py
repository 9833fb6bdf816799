"""Text files by name, pattern or directory.

A file named by the user must be text. A file that matches a pattern or is in a directory is skipped with a reason if it
is not text, so that one image does not make the whole count fail.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from brim.errors import SourceError
from brim.files.source import STDIN, text_of


@dataclass(frozen=True, slots=True)
class FileMatch:
    """A file to read."""

    path: str
    named: bool
    """Whether the user named it, rather than a pattern or a directory."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read or skipped."""

    path: str
    text: str | None
    """The text; `None` if the file was skipped."""
    problem: str = ""
    """Why it was skipped."""


def expand(patterns: Iterable[str]) -> list[FileMatch]:
    """Return the files of names, patterns and directories without duplicates, sorted within each.

    A directory is searched recursively, without hidden names. The name of an existing file is never a pattern.

    Raises:
        SourceError: a pattern matches no file.
    """
    found: dict[str, FileMatch] = {}
    for pattern in patterns:
        for file in _expanded(pattern):
            found.setdefault(os.path.normpath(file.path), file)
    return list(found.values())


def _expanded(pattern: str) -> list[FileMatch]:
    if pattern != STDIN and os.path.isdir(pattern):
        return [FileMatch(path, named=False) for path in _walk(pattern)]
    if pattern == STDIN or os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [FileMatch(pattern, named=True)]
    matches = matching(pattern)
    if not matches:
        raise SourceError(pattern, "no file matches this pattern")
    return [FileMatch(path, named=False) for path in matches]


def matching(pattern: str) -> list[str]:
    """Return the files that match a pattern, sorted; `**` matches any directories that are not hidden."""
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))


def _walk(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield path


def texts(files: Iterable[FileMatch]) -> Iterator[TextFile]:
    """Yield the files with their texts.

    Raises:
        SourceError: a file that the user named cannot be read as text.
    """
    for file in files:
        try:
            yield TextFile(file.path, text_of(file.path))
        except SourceError as error:
            if file.named:
                raise
            yield TextFile(file.path, None, error.problem)
