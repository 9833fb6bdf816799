"""Text files by name, pattern or directory.

What a user named must be readable, or it is an error with its place. What a pattern or a directory merely led to is
passed over when it is no text, and told, so that one picture in a tree does not end the whole count.
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
    """One file to read."""

    path: str
    named: bool
    """Whether the user named it, rather than a pattern or a directory that it is in."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """One file after reading it."""

    path: str
    text: str | None
    """What it holds; `None` when it is no text and was passed over."""
    problem: str = ""
    """Why it was passed over."""


def expand(patterns: Iterable[str]) -> list[FileMatch]:
    """Return the files that names, patterns and directories lead to, each once, sorted within each of them.

    A directory is gone through to its depth, hidden names left out. An existing file is taken by its name even
    where that looks like a pattern.

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
    """Return the files that match a pattern, sorted; `**` stands for any directories, hidden ones left out."""
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))


def _walk(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.startswith(".") and os.path.isfile(path):
                yield path


def texts(files: Iterable[FileMatch]) -> Iterator[TextFile]:
    """Yield the files with their texts, one after the other.

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
