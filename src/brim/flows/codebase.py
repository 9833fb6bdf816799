"""The files of a codebase, ranked by relevance to a step, and as much of them as fits a budget.

The ranking is BM25 on paths and the start of each file, offline and deterministic. Each file is included whole, by its
head, or by its path alone, the most relevant first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.history.term_index import TermIndex
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.sections.prompt_fit import Prompt
from brim.truncate import cut

_INDEXED = 8_000
"""Characters of a file that are indexed, from its start."""
_HEAD = 1_500
"""Characters of the head of a file."""
_MOST = 40
"""The most files that are considered for one pack."""
_LEAST_SHARE = 0.1
"""A file with a smaller share of the best score only has a common word in common, such as its extension."""
_LARGEST_SHARE = "50%"
"""The share of the budget that one file may take."""
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
        """The whole file as it appears in a pack."""
        return self._framed(self.text)

    @property
    def head(self) -> str:
        """Its start as it appears in a pack."""
        return self._framed(cut(self.text, _HEAD, "chars", marker=_REST).text)

    @property
    def name(self) -> str:
        """Its path alone as it appears in a pack."""
        return f"### {self.path} (by path only)"

    def _framed(self, text: str) -> str:
        longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
        fence = "`" * max(3, longest + 1)
        return f"### {self.path}\n{fence}\n{text.rstrip()}\n{fence}"


@dataclass(slots=True)
class Codebase:
    """The files that were read, and the reasons why others were not."""

    files: tuple[File, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Paths that were left out, with the reason; at most the first hundred."""
    left_out: int = 0
    """The number of paths that were left out."""
    _index: TermIndex | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for file in self.files:
            if not isinstance(file, File):
                raise InvalidType("files: an item", file, "a File")
            if file.path in seen:
                raise InvalidValue("files: a path", file.path, "unique")
            seen.add(file.path)
        self.files = tuple(sorted(self.files, key=lambda file: file.path))

    def __len__(self) -> int:
        return len(self.files)

    def ranked(self, query: str, most: int = _MOST) -> list[File]:
        """Return the files that match a query, the most relevant first, equals by path."""
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
                # The path counts twice, since it describes a file better than any of its lines.
                self._index.add(f"{file.path}\n{file.path}\n{file.text[:_INDEXED]}")
        return self._index


def shown(files: Sequence[File], budget: int) -> Prompt:
    """Return as much of the files as fits a budget of characters, the first files first.

    Each file is whole, or shown by its head, or named by its path, or left out. The parts of the receipt are named by
    the paths.

    Raises:
        InvalidValue: the budget is not a whole number of at least 0.
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
