"""Reads and checks the settings of one file, as flat keys with line numbers.

A file is read to its end before an error is raised, so that one error lists every problem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import SourceError, nearest, shown
from brim.files.source import Keys, Source, place
from brim.settings.authors import extending
from brim.settings.budgets import PRESETS
from brim.settings.keys import ANY, BARE, TREE, Leaf, OwnKey
from brim.settings.trust import refusal
from brim.settings.values import Value

_TOPS = ("project", "user")
"""The layers that consist of a whole file."""
_INNER = ("flow", "step")
"""The layers that inherit the total of their file."""
_OPEN = ("flow", "step", "profile")
"""The layers whose files may also contain keys of another program."""
TYPO = 0.75
"""The similarity from which an unknown name is taken for a typo of a known one."""
_SHOWN = 10
"""The most problems that an error lists; the others are counted."""
_AGENT = "agent"
"""A group that is never suggested for a typo: `agents` and the like belong to other programs."""

Entry = tuple[Leaf, str, Any, Keys]
"""A setting or a word for it, the key of the setting, the value, and its path in the file."""


@dataclass(slots=True)
class Reader:
    """Reads the settings of one file, and collects its problems."""

    source: Source
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Unknown keys that are ignored, each with its line."""
    untrusted: str | None = None
    """The folder of its project, if the user has not trusted it."""

    def refuse(self, problem: str, *keys: str | int) -> None:
        """Record a problem and its line."""
        self.problems.append((self.source.line(*keys), problem))

    def refuse_value(self, value: Any, expected: str, *keys: str | int) -> None:
        """Record that a value is invalid."""
        self.refuse(f"{place(keys) or 'the file'} must be {expected}, not {shown(value)}", *keys)

    def ignore(self, name: str, known: tuple[str, ...], keys: Keys) -> None:
        """Record an unknown key as a warning, or as a problem if it may be a typo of a known key."""
        if name in BARE or not isinstance(name, str) or nearest(name, known, most=1, cutoff=TYPO):
            self.unknown(name, known, keys)
        else:
            self.warnings.append(f"{self.where(*keys, name)}: unknown key {shown(name)}, ignored")

    def unknown(self, name: str, known: tuple[str, ...], keys: Keys) -> None:
        """Record an unknown key as a problem, and suggest the nearest known one."""
        if name in BARE and name not in known:
            advice = f"it belongs under budgets: {BARE[name]}"
        elif near := nearest(name, known, most=1):
            advice = f"did you mean {near[0]!r}?"
        else:
            advice = f"known are {', '.join(known)}"
        self.refuse(f"{place(keys) or 'the file'} has no key {shown(name)}; {advice}", *keys, name)

    def finish(self) -> None:
        """Raise the problems that were recorded.

        Raises:
            SourceError: there is a problem; the message lists each with its line.
        """
        if not self.problems:
            return
        (line, first), *others = sorted(self.problems, key=lambda problem: problem[0] or 0)
        listed = [f"line {at}: {problem}" if at else problem for at, problem in others[: _SHOWN - 1]]
        if len(others) >= _SHOWN:
            listed.append(f"and {len(others) - _SHOWN + 1:,} more")
        more = f"; {len(others):,} more problem{'s' * (len(others) > 1)}: {'; '.join(listed)}" if others else ""
        raise SourceError(self.source.path, first + more, line=line)

    def where(self, *keys: str | int) -> str:
        """Return the file and line of a value."""
        line = self.source.lines.get(keys) or self.source.line(*keys)
        return f"{self.source.path}:{line}" if line else self.source.path

    def mapping(self, value: Any, *keys: str | int) -> dict[str, Any]:
        """Return a value that must be a mapping; `None` counts as an empty one."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.refuse_value(value, "a mapping", *keys)
        return {}

    def own(self, value: Any, known: Mapping[str, OwnKey], *keys: str | int) -> dict[str, Any]:
        """Return the known keys of a mapping; keys with invalid values are recorded as problems and left out."""
        found = {}
        for name, each in self.mapping(value, *keys).items():
            if name in known and each is not None:
                if known[name].kind.takes(each):
                    found[name] = each
                else:
                    self.refuse_value(each, known[name].kind.expected, *keys, name)
        return found

    def settings(
        self,
        values: dict[str, Any],
        layer: str,
        other: Mapping[str, OwnKey],
        *keys: str | int,
        tree: Mapping[str, Any] = TREE,
    ) -> dict[str, Value]:
        """Return the settings of a mapping; the keys of `other` are read by the caller.

        Flows, profiles, mappings with another tree, and files that use alternative words may also belong to another
        program, so their unknown keys are ignored.
        """
        is_open = layer in _OPEN or tree is not TREE or extending(values) is not None
        flat = self.layer(values, layer, other, *keys, tree=tree, is_open=is_open)
        if layer not in _INNER and (group := extending(values)):
            # Without a total, the window applies; without a window, the total of the extended profile.
            flat.setdefault("prompt.total", Value(None, layer, self.where(*keys, group)))
        return with_preset(flat)

    def layer(
        self,
        values: dict[str, Any],
        layer: str,
        other: Collection[str],
        *keys: str | int,
        tree: Mapping[str, Any],
        is_open: bool = False,
        section: str = "",
    ) -> dict[str, Value]:
        """Return the settings of a mapping by the names in a tree; `section` is the one that the mapping belongs to."""
        flat: dict[str, Value] = {}
        for leaf, key, value, at in self.leaves(values, tree, keys, other, is_open=is_open, section=section):
            if leaf.top and layer not in _TOPS:
                self.refuse(f"{place(at)} is only allowed at the top of the file", *at)
            elif not leaf.takes(value):
                near = nearest(value, leaf.kind.names, most=1) if isinstance(value, str) else []
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                self.refuse(f"{place(at)} must be {leaf.expected}, not {shown(value)}{hint}", *at)
            elif key in flat:
                self.refuse(f"{place(at)} sets {key} a second time: keep one", *at)
            else:
                refused = "" if self.untrusted is None else refusal(key, value, self.untrusted)
                flat[key] = Value(leaf.read(value), layer, self.where(*at), refused)
        return flat

    def leaves(
        self,
        values: dict[str, Any],
        node: Mapping[str, Any],
        keys: Keys,
        other: Collection[str] = (),
        *,
        is_open: bool = False,
        section: str = "",
    ) -> Iterator[Entry]:
        """Yield the settings and words of a mapping and its inner mappings; record unknown keys."""
        for name, value in values.items():
            at, child = (*keys, name), node.get(name) or (node.get(ANY) if name else None)
            if isinstance(child, dict):
                if name in other and isinstance(value, str):
                    continue  # The `prompt` and the `agent` of a step may be strings.
                if name in node and (first := next(each for each in values if node.get(each) is child)) != name:
                    self.refuse(f"{place(at)} and {first} mean the same: keep one", *at)
                    continue
                within, inner = self.mapping(value, *at), name if ANY in node else section
                yield from self.leaves(within, child, at, is_open=is_open and name == _AGENT, section=inner)
            elif child is not None:
                yield child, child.key.replace(ANY, section), value, at
            elif name not in other:
                known = (*(each for each in node if each != _AGENT), *other)
                (self.ignore if is_open else self.unknown)(name, known, keys)


def with_preset(flat: dict[str, Value]) -> dict[str, Value]:
    """Return the settings of a layer with the budgets of its preset, except budgets that the layer sets itself."""
    preset = flat.get("budgets.preset")
    if preset is not None and preset.value is not None:
        for name, size in PRESETS[preset.value].items():
            flat.setdefault(f"budgets.{name}", Value(size, preset.origin, preset.where))
    return flat
