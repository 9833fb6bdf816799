"""The files of a codebase on disk: text files inside the root, up to a limit.

Symbolic links are not followed, so nothing outside of the root is read. Hidden files and directories, those of tools
and those that a `.gitignore` names are passed over. Binary and huge files and likely secrets are left out, with the
reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from brim.errors import SourceError
from brim.flows.codebase import Codebase, File

if TYPE_CHECKING:
    from pathspec import PathSpec

_MOST_FILES = 5_000
_MOST_ENTRIES = 100_000
"""The most directory entries that are read."""
_MOST_BYTES = 256 * 1024
"""The most bytes of a file."""
_MOST_TOTAL = 32 * 1024 * 1024
_MOST_DEPTH = 30
_MOST_IGNORED = 64 * 1024
"""The most characters of an ignore file."""
_MOST_STARS = 2
"""The most stars in one name of an ignore file: with each more, a name of 255 letters takes a hundred times as long."""
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


Ignored = tuple[tuple[int, "PathSpec[Any]"], ...]
"""The ignore files of a directory and of those above it, each with the length of the path that it starts from."""


class _LeftOut(Exception):
    """A file is left out."""


class _Walk:
    """One walk through the tree."""

    def __init__(self, root: str, known: dict[str, tuple[tuple[int, int], File]]) -> None:
        self._root = root
        self._known = known
        self._entries = self._bytes = 0
        self.read: dict[str, tuple[tuple[int, int], File]] = {}
        self.skipped: dict[str, str] = {}
        self.left_out = 0

    def files(self) -> Iterator[File]:
        found = [file for path in self._paths("", 0, ()) if (file := self._file(path)) is not None]
        yield from sorted(found, key=lambda file: file.path)

    def _paths(self, inside: str, depth: int, above: Ignored) -> Iterator[str]:
        """Yield the paths of files in the order of their names, those of a directory before its subdirectories."""
        own = _ignore_file(os.path.join(self._root, inside, ".gitignore"))
        ignored = above if own is None else (*above, (len(inside) + 1 if inside else 0, own))
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
                if not (entry.name in _TOOLS or _is_passed_over(entry.name, f"{path}/", ignored)):
                    below.append(path)
            elif not _is_passed_over(entry.name, path, ignored):
                yield path
        for path in below:
            if depth >= _MOST_DEPTH:
                self._skip(path, f"more than {_MOST_DEPTH} levels deep")
            else:
                yield from self._paths(path, depth + 1, ignored)

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


def _is_passed_over(name: str, path: str, ignored: Ignored) -> bool:
    """Return whether an entry is hidden or ignored, which needs no reason; the nearest ignore file decides."""
    if name.startswith("."):
        return True
    verdicts = [spec.check_file(path[start:]).include for start, spec in ignored]
    return bool(next((verdict for verdict in reversed(verdicts) if verdict is not None), False))


def _text(data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise _LeftOut(f"bigger than {_MOST_BYTES:,} bytes")
    if b"\0" in data:
        raise _LeftOut("not text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _LeftOut("not text") from None


def _ignore_file(path: str) -> PathSpec[Any] | None:
    """Return the patterns of an ignore file, as git reads them; `None` if there is none that can be read.

    A row with more stars than anyone writes is left out: to match it could take for ever.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = file.read(_MOST_IGNORED).splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines([row for row in rows if _stars(row) <= _MOST_STARS])
    except GitIgnorePatternError:
        return None


def _stars(row: str) -> int:
    """Return the most stars in one name of a row, or the number of `**` if those are more."""
    names = row.split("/")
    return max(names.count("**") - 1, *(name.count("*") for name in names if name != "**"), 0)
