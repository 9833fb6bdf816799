"""Files as a tree of directories, each with its count."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Branch:
    """A file, or a directory with its content."""

    name: str
    count: int = 0
    files: int = 0
    """The number of files in it; 1 for a file."""
    branches: dict[str, Branch] = field(default_factory=dict)


def grown(counts: Mapping[str, int]) -> Branch:
    """Return the tree of the paths; a directory whose only content is a directory is joined with it."""
    root = Branch("")
    for path, count in counts.items():
        at = root
        at.count += count
        at.files += 1
        for name in os.path.normpath(path).split(os.sep):
            at = at.branches.setdefault(name, Branch(name or os.sep))
            at.count += count
            at.files += 1
    return _joined(root)


def _joined(branch: Branch) -> Branch:
    branches = [_joined(each) for each in branch.branches.values()]
    branch.branches = {each.name: each for each in branches}
    if len(branches) == 1 and branches[0].branches:
        only = branches[0]
        return Branch(os.path.join(branch.name, only.name), only.count, only.files, only.branches)
    return branch


def drawn(branch: Branch, threshold: int = 0, lead: str = "") -> Iterator[tuple[str, int]]:
    """Yield the lines below a branch, the largest first, each with its count.

    Branches under the threshold are joined in one line, or left out if no branch of the directory is above it.
    """
    ordered = sorted(branch.branches.values(), key=lambda each: (-each.count, each.name))
    shown = [each for each in ordered if each.count >= threshold]
    hidden = ordered[len(shown) :] if shown or not lead else []
    for i, each in enumerate(shown):
        last = i == len(shown) - 1 and not hidden
        name = each.name + (os.sep if each.branches else "")
        yield f"{lead}{'└── ' if last else '├── '}{name}", each.count
        yield from drawn(each, threshold, lead + ("    " if last else "│   "))
    if hidden:
        files = sum(each.files for each in hidden)
        yield f"{lead}└── … {files:,} more", sum(each.count for each in hidden)
