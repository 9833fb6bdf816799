"""Reads the settings of one file: flat, checked, each with its line.

A file is read to its end before it is refused, so that one error names every problem in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import SourceError, nearest, shown
from brim.files.source import Keys, Source, place
from brim.settings import ecology, session_words
from brim.settings.budgets import PRESETS
from brim.settings.keys import BARE, SPELLINGS, TREE, Setting, setting_of
from brim.settings.values import Value

_TOPS = ("project", "user")
"""The layers that are whole files."""
_INNER = ("flow", "step")
"""The layers that inherit the total of the files."""
_OPEN = ("flow", "step", "profile")
"""The layers whose files have an owner with keys of its own."""
_TYPO = 0.75
"""How similar a key of them is to a known one if it is a typo."""
_SHOWN = 10
"""Problems that one error lists; the others are counted."""

Entry = tuple[Setting, str, Any, Keys]
"""A setting, its full key, its value, and its path in the file."""


@dataclass(slots=True)
class Reader:
    """Reads the settings of one file, and collects its problems."""

    source: Source
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Keys that nothing reads, each with its line."""

    def refuse(self, problem: str, *keys: str | int) -> None:
        """Record a problem and its line."""
        self.problems.append((self.source.line(*keys), problem))

    def refuse_value(self, value: Any, expected: str, *keys: str | int) -> None:
        """Record that a value is not what is expected at its place."""
        self.refuse(f"{place(keys) or 'the file'} must be {expected}, not {shown(value)}", *keys)

    def ignore(self, name: str, known: tuple[str, ...], keys: Keys) -> None:
        """Record a key that nothing reads as a warning; what may be a typo of a known key is a problem."""
        if name in BARE or not isinstance(name, str) or nearest(name, known, most=1, cutoff=_TYPO):
            self.unknown(name, known, keys)
        else:
            self.warnings.append(f"{self.where(*keys, name)}: brim does not read the key {shown(name)}, and ignores it")

    def unknown(self, name: str, known: tuple[str, ...], keys: Keys) -> None:
        """Record an unknown key, and suggest the nearest known one."""
        if name in BARE and name not in known:
            advice = f"it belongs under budgets: {BARE[name]}"
        elif near := nearest(name, known, most=1):
            advice = f"did you mean {near[0]!r}?"
        else:
            advice = f"known are {', '.join(known)}"
        self.refuse(f"{place(keys) or 'the file'} has no key {shown(name)}; {advice}", *keys, name)

    def finish(self) -> None:
        """Pass if the file has no problem.

        Raises:
            SourceError: it has some; the message lists each with its line.
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
        """Return a value that must be a mapping; `None` is an empty one."""
        if isinstance(value, dict):
            return value
        if value is not None:
            self.refuse_value(value, "a mapping", *keys)
        return {}

    def settings(
        self, values: dict[str, Any], layer: str, other: Mapping[str, str], *keys: str | int
    ) -> dict[str, Value]:
        """Return the settings of a mapping; the keys of `other` are read by the caller."""
        flat: dict[str, Value] = {}
        for setting, key, value, at in self._entries(values, other, keys, is_open=layer in _OPEN):
            if setting.top and layer not in _TOPS:
                self.refuse(f"{place(at)} is only allowed at the top of the file", *at)
            elif not setting.takes(value):
                near = nearest(value, setting.kind.names, most=1) if isinstance(value, str) else []
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                self.refuse(f"{place(at)} must be {setting.expected}, not {shown(value)}{hint}", *at)
            elif key in flat:
                self.refuse(f"{place(at)} sets {key} a second time: keep one", *at)
            else:
                flat[key] = Value(setting.read(value), layer, self.where(*at))
        if layer not in _INNER and ecology.speaks(values):
            name = ecology.NAME if ecology.NAME in values else ecology.ABOVE
            # Without a total the model's window counts; without a window, the total of the profile.
            flat.setdefault(ecology.WORDS["total_tokens"].key, Value(None, layer, self.where(*keys, name)))
        return with_preset(flat)

    def _entries(
        self, values: dict[str, Any], other: Mapping[str, str], keys: Keys, *, is_open: bool
    ) -> Iterator[Entry]:
        for name, value in values.items():
            node, at = TREE.get(name), (*keys, name)
            if isinstance(node, Setting):
                yield node, name, value, at
            elif node is not None:
                if not (name in other and isinstance(value, str)):
                    yield from self._group(value, node, name, at)
            elif (group := SPELLINGS.get(name)) is not None:
                if group in values:
                    self.refuse(f"{place(at)} and {group} mean the same: keep one", *at)
                else:
                    yield from self._group(value, TREE[group], group, at)
            elif name in other:
                continue
            elif name in (ecology.NAME, ecology.ABOVE, session_words.NAME):
                yield from self._vocabulary(name, value, at)
            else:
                (self.ignore if is_open else self.unknown)(name, (*TREE, *SPELLINGS, session_words.NAME, *other), keys)
        if "curator_enabled" in other and "curator_enabled" in values:
            enabled = TREE["curator"]["enabled"]
            yield enabled, "curator.enabled", values["curator_enabled"], (*keys, "curator_enabled")

    def _group(self, value: Any, node: dict[str, Any], key: str, keys: Keys) -> Iterator[Entry]:
        for name, inner in self.mapping(value, *keys).items():
            if key == "loop" and name == session_words.LOOP_WORD:
                yield from self._context_word(name, inner, keys)
                continue
            child = node.get(name) or node.get("*")
            if isinstance(child, Setting):
                yield child, f"{key}.{name}", inner, (*keys, name)
            elif child is not None and name:
                yield from self._group(inner, child, f"{key}.{name}", (*keys, name))
            else:
                self.unknown(name, tuple(node), keys)

    def _vocabulary(self, name: str, value: Any, keys: Keys) -> Iterator[Entry]:
        """Yield the settings of a `context_budget` or a `context`."""
        values = self.mapping(value, *keys)
        if name == session_words.NAME:
            for word, inner in values.items():
                yield from self._context_word(word, inner, keys)
            return
        if name == ecology.ABOVE:
            for inner, below in values.items():
                if inner == ecology.NAME:
                    yield from self._vocabulary(inner, below, (*keys, inner))
                else:
                    self.unknown(inner, (ecology.NAME,), keys)
            return
        if all(each in values for each in ecology.SECTIONS):
            self.refuse(f"{place((*keys, 'allocations'))} and sections mean the same: keep one", *keys, "allocations")
        for word, inner in values.items():
            if word not in ecology.SECTIONS:
                yield from self._word(ecology.WORDS, word, inner, keys)
                continue
            for section, row in self.mapping(inner, *keys, word).items():
                at = (*keys, word, section)
                if not section:
                    self.unknown(section, (), at[:-1])
                    continue
                for each, own in self.mapping(row, *at).items():
                    yield from self._word(ecology.SECTION_WORDS, each, own, at, f"sections.{section}.")

    def _context_word(self, name: str, value: Any, keys: Keys) -> Iterator[Entry]:
        """Yield the setting of a word of `context`."""
        word = session_words.WORDS.get(name)
        if word is None:
            self.unknown(name, tuple(session_words.WORDS), keys)
        elif not word[1].takes(value):
            self.refuse_value(value, word[1].expected, *keys, name)
        elif (setting := setting_of(word[0])) is not None:
            yield setting, word[0], session_words.meant(name, value), (*keys, name)

    def _word(
        self, known: Mapping[str, ecology.Word], name: str, value: Any, keys: Keys, prefix: str = ""
    ) -> Iterator[Entry]:
        word = known.get(name)
        if word is None:
            self.unknown(name, (*known, *(() if prefix else ecology.SECTIONS)), keys)
        elif not word.kind.takes(value):
            self.refuse_value(value, word.kind.expected, *keys, name)
        elif (setting := setting_of(prefix + word.key)) is not None:
            yield setting, prefix + word.key, word.means[value] if word.means else value, (*keys, name)


def with_preset(flat: dict[str, Value]) -> dict[str, Value]:
    """Return the settings of a layer with the budgets of its preset, except for those that it sets on their own."""
    preset = flat.get("budgets.preset")
    if preset is not None and preset.value is not None:
        for name, size in PRESETS[preset.value].items():
            flat.setdefault(f"budgets.{name}", Value(size, preset.origin, preset.where))
    return flat
