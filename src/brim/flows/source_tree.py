"""Read the files of a codebase: text only, inside its root only, and never more than a bound.

Symbolic links are not followed, so nothing outside of the root is read. Hidden directories, those of tools, binary and
huge files and what looks like a secret are left out, and it is told which and why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from stat import S_ISREG

from brim.errors import SourceError
from brim.flows.codebase import Codebase, File

_MOST_FILES = 5_000
_MOST_ENTRIES = 100_000
"""Names that are looked at in all."""
_MOST_BYTES = 256 * 1024
"""Bytes of a file."""
_MOST_TOTAL = 32 * 1024 * 1024
_MOST_DEPTH = 30
_MOST_TOLD = 100

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Directories that hold what others wrote."""
_SECRETS = ("*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "*credentials*.json", "secrets.*")


@dataclass(slots=True)
class SourceTree:
    """The files below a root; what did not change since the last reading is not read again."""

    root: str
    _known: dict[str, tuple[tuple[int, int], File]] = field(default_factory=dict, init=False, repr=False)
    _last: Codebase | None = field(default=None, init=False, repr=False)

    def read(self) -> Codebase:
        """Return the files as they are now.

        Raises:
            SourceError: the root is no directory.
        """
        root = os.path.realpath(self.root)
        if not os.path.isdir(root):
            raise SourceError(self.root, "not a directory")
        reading = _Reading(root, self._known)
        files = tuple(reading.files())
        self._known = reading.read
        if self._last is not None and self._last.files == files and self._last.skipped == reading.skipped:
            return self._last
        self._last = Codebase(files, reading.skipped, reading.left_out)
        return self._last


class _Refused(Exception):
    """Why a file is left out."""


class _Reading:
    """One walk."""

    def __init__(self, root: str, known: dict[str, tuple[tuple[int, int], File]]) -> None:
        self._root = root
        self._known = known
        self._ignored = _patterns(os.path.join(root, ".gitignore"))
        self._entries = self._bytes = 0
        self.read: dict[str, tuple[tuple[int, int], File]] = {}
        self.skipped: dict[str, str] = {}
        self.left_out = 0

    def files(self) -> Iterator[File]:
        found = [file for path in self._paths("", 0) if (file := self._file(path)) is not None]
        yield from sorted(found, key=lambda file: file.path)

    def _paths(self, inside: str, depth: int) -> Iterator[str]:
        """Yield the paths of files in the order of their names, those of a directory before what is below it."""
        try:
            with os.scandir(os.path.join(self._root, inside)) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            self._skip(inside, (error.strerror or str(error)).lower())
            return
        below = []
        for entry in entries:
            self._entries += 1
            if self._entries > _MOST_ENTRIES:
                self._skip(inside, f"more than {_MOST_ENTRIES:,} names")
                return
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_symlink():
                self._skip(path, "a symbolic link")
            elif entry.is_dir(follow_symlinks=False):
                if not self._passed_over(entry.name, path, directory=True):
                    below.append(path)
            elif not self._passed_over(entry.name, path, directory=False):
                yield path
        for path in below:
            if depth >= _MOST_DEPTH:
                self._skip(path, f"more than {_MOST_DEPTH} levels deep")
            else:
                yield from self._paths(path, depth + 1)

    def _passed_over(self, name: str, path: str, *, directory: bool) -> bool:
        """Return whether a name is none of the codebase: this is the usual case, and not told."""
        if name.startswith(".") or (directory and name in _TOOLS):
            return True
        return any(_matches(pattern, name, path, directory=directory) for pattern in self._ignored)

    def _file(self, path: str) -> File | None:
        """Return a file, or nothing where it is not one to read."""
        try:
            return self._taken(path)
        except _Refused as refused:
            self._skip(path, str(refused))
        except OSError as error:
            self._skip(path, (error.strerror or str(error)).lower())
        return None

    def _taken(self, path: str) -> File:
        if not path.isprintable():  # It would stand in a pack, where a line of it could be taken for another.
            raise _Refused("its name cannot be shown")
        if any(fnmatchcase(path.rpartition("/")[2].lower(), pattern) for pattern in _SECRETS):
            raise _Refused("it looks like a secret")
        if len(self.read) >= _MOST_FILES:
            raise _Refused(f"more than {_MOST_FILES:,} files")
        stamp, data = self._data(path)
        file = self._known[path][1] if data is None else File(path, _text(data))
        self._bytes += stamp[1]
        if self._bytes > _MOST_TOTAL:
            raise _Refused(f"more than {_MOST_TOTAL:,} bytes in all")
        self.read[path] = (stamp, file)
        return file

    def _data(self, path: str) -> tuple[tuple[int, int], bytes | None]:
        """Return when a file was changed and its size, and its bytes unless they are known."""
        # Not through a link that took the place of the file since, and not waiting for the other end of a pipe.
        opened = os.open(os.path.join(self._root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(opened, "rb") as stream:
            told = os.fstat(opened)
            stamp = (told.st_mtime_ns, told.st_size)
            if not S_ISREG(told.st_mode):
                raise _Refused("not a regular file")
            known = self._known.get(path)
            return stamp, None if known is not None and known[0] == stamp else stream.read(_MOST_BYTES + 1)

    def _skip(self, path: str, reason: str) -> None:
        self.left_out += 1
        if len(self.skipped) < _MOST_TOLD:
            self.skipped[path] = reason


def _text(data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise _Refused(f"bigger than {_MOST_BYTES:,} bytes")
    if b"\0" in data:
        raise _Refused("not text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _Refused("not text") from None


def _patterns(path: str) -> list[str]:
    """Return the patterns of an ignore file that are plain: no exceptions, no comments."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = [row.strip() for row in file.read(64 * 1024).splitlines()]
    except OSError:
        return []
    return [row for row in rows if row and row[0] not in "#!" and len(row) < 200 and "**" not in row]


def _matches(pattern: str, name: str, path: str, *, directory: bool) -> bool:
    if pattern.endswith("/"):
        if not directory:
            return False
        pattern = pattern[:-1]
    if "/" in pattern:
        return fnmatchcase(path, pattern.removeprefix("/"))
    return fnmatchcase(name, pattern)
