"""The files of a codebase, ranked by relevance to a step, and the forms in which a pack shows them.

Only text files inside the root are read, up to a limit, and symbolic links are not followed. Hidden files, files in the
directories of tools, and files that a `.gitignore` names are skipped. Binary files, huge files and likely secrets are
left out, with the reason. The ranking is BM25 on paths and the start of each file, offline and deterministic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from brim.errors import SourceError
from brim.history.relevance import Relevance
from brim.receipts.section import Section
from brim.sections.prompt_fit import Prompt
from brim.truncate import cut

if TYPE_CHECKING:
    from pathspec import PathSpec

_INDEXED = 8_000
"""Characters of a file that are indexed, from its start."""
_HEAD = 1_500
"""Characters of the head of a file."""
MOST_FILES = 40
"""The most files of one pack."""
_LEAST_SHARE = 0.1
"""A file with a smaller share of the best score usually matches only a common word, such as its extension."""
_LARGEST_SHARE = "50%"
"""The share of the budget that one file may take."""
_REST = "\n[... the rest of this file is left out ...]"
_BY_PATH = " (by path only)"
_FENCES = re.compile(r"^`{3,}", re.MULTILINE)

_MOST_ENTRIES = 100_000
"""The most directory entries that are read."""
_MOST_BYTES = 256 * 1024
"""The most bytes of a file."""
_MOST_TOTAL = 32 * 1024 * 1024
_MOST_STARS = 2
"""Maximum stars in one name of an ignore file: each further star makes matching a name of 255 letters a hundred times
slower.
"""
_MOST_REASONS = 100

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Directories with generated or third-party files."""
_SECRETS = ("*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "*credentials*.json", "secrets.*")


@dataclass(frozen=True, slots=True)
class File:
    """One file."""

    path: str
    """Relative to the root, with slashes."""
    text: str = field(repr=False)


@dataclass(slots=True)
class Codebase:
    """The files that were read, and why others were not."""

    files: tuple[File, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The first hundred paths that were left out, with the reason."""
    left_out: int = 0
    """The number of paths that were left out."""
    _index: Relevance | None = field(default=None, init=False, repr=False, compare=False)

    def ranked(self, query: str) -> list[File]:
        """Return the files that match a query, the most relevant first, and by path if equally relevant."""
        if self._index is None:
            self._index = Relevance(conversation=False)
            for file in self.files:
                # The path counts twice, since it describes a file better than any of its lines.
                self._index.add(f"{file.path}\n{file.path}\n{file.text[:_INDEXED]}")
        scores = self._index.scores(query)
        least = _LEAST_SHARE * max(scores, default=0.0)
        found = [i for i, score in enumerate(scores) if score > 0 and score >= least]
        found.sort(key=lambda i: (-scores[i], self.files[i].path))
        return [self.files[i] for i in found[:MOST_FILES]]

    def to_dict(self) -> dict[str, Any]:
        """Return what was read and what was left out, as JSON values."""
        return {"files": len(self.files), "left_out": self.left_out, "skipped": dict(self.skipped)}


def file_sections(files: Sequence[File]) -> list[Section]:
    """Return a section for each file in order: the whole file, its head or its path."""
    return [
        Section(
            file.path,
            _framed(file, file.text),
            priority=rank,
            ceiling=_LARGEST_SHARE,
            overflow="drop",
            forms=[
                *([_framed(file, cut(file.text, _HEAD, "chars", marker=_REST).text)] if len(file.text) > _HEAD else []),
                f"### {file.path}{_BY_PATH}",
            ],
        )
        for rank, file in enumerate(files, start=1)
    ]


def _framed(file: File, text: str) -> str:
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"### {file.path}\n{fence}\n{text.rstrip()}\n{fence}"


def file_states(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the state of each file of a fitted list of files: `whole`, `head`, `path` or `dropped`."""

    def state(name: str, kept: str) -> str:
        by_path = prompt.texts.get(name, "").endswith(_BY_PATH)
        return kept if kept in ("whole", "dropped") else "path" if by_path else "head"

    return [
        {"path": part.name, "given": state(part.name, part.state), "used_chars": part.used}
        for part in prompt.receipt.parts
    ]


def read_codebase(root: str, last: Codebase | None = None, without: str | None = None) -> Codebase:
    """Return the files below a root, or `last` itself if nothing has changed.

    Args:
        root: the directory.
        last: the codebase of an earlier call, whose index may be used again.
        without: a directory to skip, such as that of the receipts.

    Raises:
        SourceError: the root is not a directory.
    """
    real = os.path.realpath(root)
    if not os.path.isdir(real):
        raise SourceError(root, "not a directory")
    walk = _Walk(real, "" if without is None else os.path.relpath(os.path.realpath(without), real))
    files = sorted(walk.files(), key=lambda file: file.path)
    found = Codebase(tuple(files), walk.skipped, walk.left_out)
    return last if last == found else found


Ignored = tuple[tuple[int, "PathSpec[Any]"], ...]
"""The ignore files of a directory and of its parents, each with the length of its directory's path."""


class _LeftOut(Exception):
    """A file is left out."""


class _Walk:
    """One walk through the tree."""

    def __init__(self, root: str, without: str) -> None:
        self._root = root
        self._without = without
        self._entries = self._bytes = 0
        self.skipped: dict[str, str] = {}
        self.left_out = 0

    def files(self) -> Iterator[File]:
        for path in self._paths():
            try:
                text = self._text(path)
            except _LeftOut as reason:
                self._skip(path, str(reason))
            except OSError as error:
                self._skip(path, (error.strerror or str(error)).lower())
            else:
                yield File(path, text)

    def _paths(self) -> Iterator[str]:
        """Yield the paths of files in the order of their names, those of a directory before its subdirectories."""
        waiting: list[tuple[str, Ignored]] = [("", ())]
        while waiting:
            inside, ignored = waiting.pop()
            own = _ignore_file(os.path.join(self._root, inside, ".gitignore"))
            ignored = ignored if own is None else (*ignored, (len(inside) + 1 if inside else 0, own))
            try:
                with os.scandir(os.path.join(self._root, inside)) as listed:
                    entries = sorted(listed, key=lambda entry: entry.name)
            except OSError as error:
                self._skip(inside, (error.strerror or str(error)).lower())
                continue
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
                    if entry.name not in _TOOLS and path != self._without and not _is_skipped(f"{path}/", ignored):
                        below.append((path, ignored))
                elif not _is_skipped(path, ignored):
                    yield path
            waiting += reversed(below)

    def _text(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            _LeftOut: the file is not part of the codebase, or exceeds a limit.
            OSError: it cannot be read.
        """
        if not path.isprintable():  # A line break in a path could imitate other text of a pack.
            raise _LeftOut("its name is not printable")
        if any(fnmatchcase(path.rpartition("/")[2].lower(), pattern) for pattern in _SECRETS):
            raise _LeftOut("it looks like a secret")
        # The file may have been replaced by a link or a pipe since the directory was read.
        opened = os.open(os.path.join(self._root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(opened, "rb") as stream:
            if not S_ISREG(os.fstat(opened).st_mode):
                raise _LeftOut("not a regular file")
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise _LeftOut(f"bigger than {_MOST_BYTES:,} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise _LeftOut("not text") from None
        if "\0" in text:
            raise _LeftOut("not text")
        self._bytes += len(data)
        if self._bytes > _MOST_TOTAL:
            raise _LeftOut(f"more than {_MOST_TOTAL:,} bytes in total")
        return text

    def _skip(self, path: str, reason: str) -> None:
        self.left_out += 1
        if len(self.skipped) < _MOST_REASONS:
            self.skipped[path] = reason


def _is_skipped(path: str, ignored: Ignored) -> bool:
    """Return whether an entry is hidden or ignored; the nearest ignore file decides."""
    if path.removesuffix("/").rpartition("/")[2].startswith("."):
        return True
    verdicts = [spec.check_file(path[start:]).include for start, spec in ignored]
    return bool(next((verdict for verdict in reversed(verdicts) if verdict is not None), False))


def _ignore_file(path: str) -> PathSpec[Any] | None:
    """Return the patterns of an ignore file, interpreted as by git; `None` if it is missing or unreadable.

    Lines with too many stars are ignored, since matching them could take for ever.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            rows = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines([row for row in rows if _stars(row) <= _MOST_STARS])
    except GitIgnorePatternError:
        return None


def _stars(row: str) -> int:
    """Return the largest number of stars in one name of a line, or the number of `**` names if that is larger."""
    names = row.split("/")
    return max(names.count("**") - 1, *(name.count("*") for name in names if name != "**"), 0)
