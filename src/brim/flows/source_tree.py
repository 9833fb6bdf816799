"""The files of a codebase on disk: text files inside the root, up to a limit.

Symbolic links are not followed, so nothing outside of the root is read. Hidden directories, those of tools, binary and
huge files and likely secrets are left out, with the reason.
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
"""The most directory entries that are read."""
_MOST_BYTES = 256 * 1024
"""The most bytes of a file."""
_MOST_TOTAL = 32 * 1024 * 1024
_MOST_DEPTH = 30
_MOST_REASONS = 100

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Directories with generated or third-party files."""
_SECRETS = ("*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "*credentials*.json", "secrets.*")


@dataclass(slots=True)
class SourceTree:
    """The files below a root; a file that did not change since the last call is not read again."""

    root: str
    _known: dict[str, tuple[tuple[int, int], File]] = field(default_factory=dict, init=False, repr=False)
    _last: Codebase | None = field(default=None, init=False, repr=False)

    def read(self) -> Codebase:
        """Return the files as they are now.

        Raises:
            SourceError: the root is not a directory.
        """
        root = os.path.realpath(self.root)
        if not os.path.isdir(root):
            raise SourceError(self.root, "not a directory")
        walk = _Walk(root, self._known)
        files = tuple(walk.files())
        self._known = walk.read
        if self._last is not None and self._last.files == files and self._last.skipped == walk.skipped:
            return self._last
        self._last = Codebase(files, walk.skipped, walk.left_out)
        return self._last


class _LeftOut(Exception):
    """A file is left out."""


class _Walk:
    """One walk through the tree."""

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
        """Yield the paths of files in the order of their names, those of a directory before its subdirectories."""
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
        """Return whether an entry is hidden or ignored, which needs no reason."""
        if name.startswith(".") or (directory and name in _TOOLS):
            return True
        return any(_matches(pattern, name, path, directory=directory) for pattern in self._ignored)

    def _file(self, path: str) -> File | None:
        """Return a file, or `None` if it is left out."""
        try:
            return self._taken(path)
        except _LeftOut as reason:
            self._skip(path, str(reason))
        except OSError as error:
            self._skip(path, (error.strerror or str(error)).lower())
        return None

    def _taken(self, path: str) -> File:
        if not path.isprintable():  # A line break in a path could imitate other text of a pack.
            raise _LeftOut("its name is not printable")
        if any(fnmatchcase(path.rpartition("/")[2].lower(), pattern) for pattern in _SECRETS):
            raise _LeftOut("it looks like a secret")
        if len(self.read) >= _MOST_FILES:
            raise _LeftOut(f"more than {_MOST_FILES:,} files")
        stamp, data = self._data(path)
        file = self._known[path][1] if data is None else File(path, _text(data))
        self._bytes += stamp[1]
        if self._bytes > _MOST_TOTAL:
            raise _LeftOut(f"more than {_MOST_TOTAL:,} bytes in all")
        self.read[path] = (stamp, file)
        return file

    def _data(self, path: str) -> tuple[tuple[int, int], bytes | None]:
        """Return the modification time and size of a file, and its bytes unless they are known."""
        # The file may have been replaced by a link or a pipe since the directory was read.
        opened = os.open(os.path.join(self._root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(opened, "rb") as stream:
            status = os.fstat(opened)
            stamp = (status.st_mtime_ns, status.st_size)
            if not S_ISREG(status.st_mode):
                raise _LeftOut("not a regular file")
            known = self._known.get(path)
            return stamp, None if known is not None and known[0] == stamp else stream.read(_MOST_BYTES + 1)

    def _skip(self, path: str, reason: str) -> None:
        self.left_out += 1
        if len(self.skipped) < _MOST_REASONS:
            self.skipped[path] = reason


def _text(data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise _LeftOut(f"bigger than {_MOST_BYTES:,} bytes")
    if b"\0" in data:
        raise _LeftOut("not text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _LeftOut("not text") from None


def _patterns(path: str) -> list[str]:
    """Return the plain patterns of an ignore file, without exceptions and comments."""
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
