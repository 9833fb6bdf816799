"""The files of a codebase, ranked by what a step is about, and as much of them as a budget holds.

The ranking is BM25 on paths and the start of each file, offline: the same files and the same question give the same
order. Each file is given whole, by its head, or by its path alone, the most relevant first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue, UnknownName
from brim.history.index import TermIndex
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.fitting import Prompt
from brim.truncate.text import cut

_INDEXED = 8_000
"""Characters of a file that are indexed: what it is about, it says at its start."""
_HEAD = 1_500
"""Characters of a file that is given by its head."""
_MOST = 40
"""Files that are considered for one pack."""
_LEAST_SHARE = 0.1
"""The part of the best file's score below which a file only shares a word that most have, such as its ending."""
_LARGEST_SHARE = "50%"
"""The part of the budget that one file may take."""
_REST = "\n[... the rest of this file is left out ...]"
_FENCES = re.compile(r"^`{3,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class File:
    """One file."""

    path: str
    """Relative to the root, with slashes."""
    text: str = field(repr=False)

    @property
    def whole(self) -> str:
        """The file as it stands in a pack."""
        return self._framed(self.text)

    @property
    def head(self) -> str:
        """Its start, as it stands in a pack."""
        return self._framed(cut(self.text, _HEAD, "chars", marker=_REST).text)

    @property
    def name(self) -> str:
        """Its path alone, as it stands in a pack."""
        return f"### {self.path} (by path only)"

    def _framed(self, text: str) -> str:
        longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
        fence = "`" * max(3, longest + 1)
        return f"### {self.path}\n{fence}\n{text.rstrip()}\n{fence}"


@dataclass(slots=True)
class Codebase:
    """The files that were read, and why others were not."""

    files: tuple[File, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Paths that were left out, with the reason; the first of many."""
    left_out: int = 0
    """How many were left out in all."""
    _index: TermIndex | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for file in self.files:
            if not isinstance(file, File):
                raise InvalidType("files: an item", file, "a File")
            if file.path in seen:
                raise InvalidValue("files: a path", file.path, "unlike all others")
            seen.add(file.path)
        self.files = tuple(sorted(self.files, key=lambda file: file.path))

    def __len__(self) -> int:
        return len(self.files)

    def file(self, path: str) -> File:
        """Return a file by its path.

        Raises:
            UnknownName: there is none.
        """
        for file in self.files:
            if file.path == path:
                return file
        raise UnknownName("file of the codebase", path, [file.path for file in self.files])

    def ranked(self, query: str, most: int = _MOST) -> list[File]:
        """Return the files that a question is about, the most relevant first, by path among equals."""
        units("most", most)
        scores = self._indexed().scores(query)
        least = _LEAST_SHARE * max(scores, default=0.0)
        found = [i for i, score in enumerate(scores) if score > 0 and score >= least]
        found.sort(key=lambda i: (-scores[i], self.files[i].path))
        return [self.files[i] for i in found[:most]]

    def _indexed(self) -> TermIndex:
        if self._index is None:
            self._index = TermIndex()
            for file in self.files:
                # A path says what a file is for better than any line of it.
                self._index.add(f"{file.path}\n{file.path}\n{file.text[:_INDEXED]}")
        return self._index


def shown(files: Sequence[File], budget: int) -> Prompt:
    """Return as much of some files as a budget of characters holds, the first served first.

    Each is whole, or shown by its head, or named by its path; one that not even has room for that is left out. The
    receipt's parts have the paths as their names.

    Raises:
        InvalidValue: the budget is no whole number of at least 0.
    """
    sections = [
        Section(
            file.path,
            file.whole,
            priority=rank,
            ceiling=_LARGEST_SHARE,
            overflow="drop",
            forms=[file.head, file.name] if len(file.text) > _HEAD else [file.name],
        )
        for rank, file in enumerate(files, start=1)
    ]
    return fit(sections, budget, meter="chars")
