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
from itertools import islice
from typing import TYPE_CHECKING, Any

from brim.errors import SourceError
from brim.files.source import text_of
from brim.receipts.section import Section
from brim.relevance.lexical import Relevance
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

_MOST_BYTES = 256 * 1024
"""The most bytes of a file."""
_MOST_TOTAL = 32 * 1024 * 1024
"""The most bytes of all files."""
_MOST_REASONS = 100
"""The most paths that a receipt lists as left out."""

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
"""Directories with generated or third-party files."""
_SECRETS = ("*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "*credentials*.json", "secrets.*")


@dataclass(frozen=True, slots=True)
class File:
    """One file."""

    path: str
    """Relative to the root, with slashes."""
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Codebase:
    """The files that were read, and why others were not."""

    files: tuple[File, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """The paths that were left out, with the reason."""

    def ranked(self, query: str) -> list[File]:
        """Return the files that match a query, the most relevant first, and by path if equally relevant."""
        index = Relevance(conversation=False)
        for file in self.files:
            # The path counts twice, since it describes a file better than any of its lines.
            index.add(f"{file.path}\n{file.path}\n{file.text[:_INDEXED]}")
        scores = index.scores(query)
        least = _LEAST_SHARE * max(scores, default=0.0)
        found = [i for i, score in enumerate(scores) if score > 0 and score >= least]
        found.sort(key=lambda i: (-scores[i], self.files[i].path))
        return [self.files[i] for i in found[:MOST_FILES]]

    def to_dict(self) -> dict[str, Any]:
        """Return what was read and what was left out, as JSON values."""
        listed = dict(islice(self.skipped.items(), _MOST_REASONS))
        return {"files": len(self.files), "left_out": len(self.skipped), "skipped": listed}


Ignored = tuple[tuple[int, "PathSpec[Any]"], ...]
"""The ignore files of a directory and of its parents, each with the length of its directory's path."""


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


def read_codebase(root: str, without: str | None = None) -> Codebase:
    """Return the files below a root, by path.

    Args:
        root: the directory.
        without: a directory to skip, such as that of the receipts.

    Raises:
        SourceError: the root is not a directory.
    """
    real = os.path.realpath(root)
    if not os.path.isdir(real):
        raise SourceError(root, "not a directory")
    files: list[File] = []
    skipped: dict[str, str] = {}
    room = _MOST_TOTAL
    for path in sorted(_paths(real, "" if without is None else os.path.relpath(os.path.realpath(without), real))):
        try:
            text, size = _read(real, path, room)
        except SourceError as error:
            skipped[path] = error.problem
        else:
            files.append(File(path, text))
            room -= size
    return Codebase(tuple(files), skipped)


def _paths(root: str, without: str) -> Iterator[str]:
    """Yield the paths of files and links, except those that are hidden, ignored, or in a directory of tools."""
    ignored: dict[str, Ignored] = {}
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        start = "" if inside == "." else f"{inside}/"
        own = _ignore_file(os.path.join(folder, ".gitignore"))
        above = ignored.get(os.path.dirname(inside) or ".", ())
        ignored[inside] = above if own is None else (*above, (len(start), own))
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [
            name
            for name in folders
            if name not in _TOOLS and start + name != without and not _is_skipped(f"{start}{name}/", ignored[inside])
        ]
        yield from (start + name for name in (*names, *links) if not _is_skipped(start + name, ignored[inside]))


def _read(root: str, path: str, room: int) -> tuple[str, int]:
    """Return the text and the bytes of a file.

    Raises:
        SourceError: it is no part of a codebase, or larger than the limit or the room.
    """
    file = os.path.join(root, path)
    if not path.isprintable():  # A line break in a path could imitate other text of a pack.
        raise SourceError(path, "its name is not printable")
    if any(fnmatchcase(path.rpartition("/")[2].lower(), pattern) for pattern in _SECRETS):
        raise SourceError(path, "it looks like a secret")
    if os.path.islink(file):
        raise SourceError(path, "a symbolic link")
    if not os.path.isfile(file):
        raise SourceError(path, "not a regular file")
    text = text_of(file, _MOST_BYTES)
    size = len(text.encode())
    if size > room:
        raise SourceError(path, f"more than {_MOST_TOTAL:,} bytes in total")
    return text, size


def _is_skipped(path: str, ignored: Ignored) -> bool:
    """Return whether an entry is hidden or ignored; the nearest ignore file decides."""
    if path.removesuffix("/").rpartition("/")[2].startswith("."):
        return True
    verdicts = [spec.check_file(path[start:]).include for start, spec in ignored]
    return bool(next((verdict for verdict in reversed(verdicts) if verdict is not None), False))


def _ignore_file(path: str) -> PathSpec[Any] | None:
    """Return the patterns of an ignore file, interpreted as by git; `None` if it is missing or unreadable."""
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return GitIgnoreSpec.from_lines(file.read(_MOST_BYTES).splitlines())
    except (OSError, GitIgnorePatternError):
        return None
