"""Settings as one place wrote them: flat, checked, each with the line that it stands on.

A file is read to its end before anything is refused, so that one error tells all that is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import SourceError, nearest, shown
from brim.files.source import Keys, Source, place
from brim.settings import ecology
from brim.settings.keys import BARE, SPELLINGS, TREE, setting_of
from brim.settings.kinds import Setting
from brim.settings.presets import PRESETS

_TOPS = ("project", "user")
"""The layers that are whole files."""
_TOLD = 10
"""Problems that one error tells; the others it counts."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value, and where it came from."""

    value: Any
    origin: str
    """The layer: defaults, user, project, profile, flow, step, env or flags."""
    where: str = ""
    """The file and line, the environment variable or the flag; nothing for defaults."""


Values = Mapping[str, Value]
"""The settings of one layer by their keys."""


@dataclass(frozen=True, slots=True)
class _Into:
    """What is read, and for which layer."""

    layer: str
    flat: dict[str, Value]


@dataclass(slots=True)
class Reader:
    """Reads the settings of one file, and gathers what is wrong with it."""

    source: Source
    problems: list[tuple[int | None, str]] = field(default_factory=list)

    def refuse(self, problem: str, *keys: str | int) -> None:
        """Remember a problem and its line."""
        self.problems.append((self.source.line(*keys), problem))

    def finish(self) -> None:
        """Pass if nothing is wrong.

        Raises:
            SourceError: something is; the error tells each problem with its line.
        """
        if not self.problems:
            return
        (line, first), *others = sorted(self.problems, key=lambda told: told[0] or 0)
        told = [f"line {at}: {problem}" if at else problem for at, problem in others[: _TOLD - 1]]
        if len(others) >= _TOLD:
            told.append(f"and {len(others) - _TOLD + 1:,} more")
        more = f"; {len(others)} more problem{'s' if len(others) > 1 else ''}: {'; '.join(told)}" if others else ""
        raise SourceError(self.source.path, first + more, line=line)

    def where(self, *keys: str | int) -> str:
        """Return the file and line of a value."""
        line = self.source.lines.get(keys) or self.source.line(*keys)
        return f"{self.source.path}:{line}" if line else self.source.path

    def mapping(self, value: Any, *keys: str | int) -> dict[str, Any]:
        """Return a value that must be a mapping; nothing is an empty one."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.refuse(f"{place(keys) or 'the file'} must be a mapping, not {shown(value)}", *keys)
        return {}

    def settings(
        self, values: dict[str, Any], layer: str, aside: Mapping[str, str], *keys: str | int
    ) -> dict[str, Value]:
        """Return the settings of a mapping; keys that stand aside are somebody else's to read."""
        into = _Into(layer, {})
        for name, value in values.items():
            node = TREE.get(name)
            if isinstance(node, dict):
                if not (name in aside and isinstance(value, str)):
                    self._group(value, node, name, (*keys, name), into)
            elif isinstance(node, Setting):
                self._one(node, name, value, (*keys, name), into)
            elif name in SPELLINGS:
                self._respelled(name, values, keys, into)
            elif name in (ecology.NAME, ecology.ABOVE) and name not in aside:
                for key, own, at in ecology.respelled(self, name, value, (*keys, name)):
                    if (setting := setting_of(key)) is not None:
                        self._one(setting, key, own, at, into)
            elif name not in aside:
                self.unknown(name, (*TREE, *SPELLINGS, *aside), keys)
        if "curator_enabled" in aside and "curator_enabled" in values:
            enabled = TREE["curator"]["enabled"]
            self._one(enabled, "curator.enabled", values["curator_enabled"], (*keys, "curator_enabled"), into)
        return with_preset(into.flat)

    def _respelled(self, name: str, values: dict[str, Any], keys: Keys, into: _Into) -> None:
        own = SPELLINGS[name]
        if own in values:
            self.refuse(f"{place((*keys, name))} stands beside {own}, which means the same: keep one", *keys, name)
        else:
            self._group(values[name], TREE[own], own, (*keys, name), into)

    def _group(self, value: Any, node: dict[str, Any], key: str, keys: Keys, into: _Into) -> None:
        for name, inner in self.mapping(value, *keys).items():
            child = node.get(name) or node.get("*")
            if isinstance(child, Setting):
                self._one(child, f"{key}.{name}", inner, (*keys, name), into)
            elif child is not None and name:
                self._group(inner, child, f"{key}.{name}", (*keys, name), into)
            else:
                self.unknown(name, tuple(node), keys)

    def _one(self, setting: Setting, key: str, value: Any, keys: Keys, into: _Into) -> None:
        if setting.top and into.layer not in _TOPS:
            self.refuse(f"{place(keys)} can only stand at the top of the file", *keys)
        elif not setting.takes(value):
            self.refuse(f"{place(keys)} must be {setting.expected}, not {shown(value)}{_hint(setting, value)}", *keys)
        elif key in into.flat:
            self.refuse(f"{place(keys)} says again what {key} says: keep one", *keys)
        else:
            into.flat[key] = Value(value, into.layer, self.where(*keys))

    def unknown(self, name: str, known: tuple[str, ...], keys: Keys) -> None:
        """Refuse a key that is not known, and name the nearest that is."""
        self.refuse(f"{place(keys) or 'the file'} has no key {shown(name)}; {advice(name, known)}", *keys, name)


def advice(name: str, known: tuple[str, ...]) -> str:
    """Return what to do about a name that is not known: the nearest that is."""
    if name in BARE and name not in known:
        return f"it stands under budgets: {BARE[name]}"
    near = nearest(name, known, most=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"


def with_preset(flat: dict[str, Value]) -> dict[str, Value]:
    """Return the settings of a layer with the budgets that its preset stands for, where it has none of its own."""
    preset = flat.get("budgets.preset")
    if preset is not None and preset.value is not None:
        for name, number in PRESETS[preset.value].items():
            flat.setdefault(f"budgets.{name}", Value(number, preset.origin, preset.where))
    return flat


def _hint(setting: Setting, value: Any) -> str:
    """Return the nearest name, where the value is a text that is almost one."""
    names = getattr(setting.kind, "names", ())
    near = nearest(value, names, most=1) if names and isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
