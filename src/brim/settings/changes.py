"""Changes settings in their files.

The new text is checked before it replaces the old one, so a valid file stays valid.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from brim.errors import BrimError, InvalidValue, SourceError, UnknownName, shown
from brim.files.source import MOST_BYTES, Keys, parse, place, text_of
from brim.files.writer import put
from brim.settings import project
from brim.settings.authors import Word
from brim.settings.config import Config
from brim.settings.keys import BARE, SETTINGS, STEP_KEYS, TREE, name_of, setting_of
from brim.settings.loader import check_text, value_of
from brim.settings.reader import Reader
from brim.settings.yaml_editor import with_value, without_value


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingChange:
    """A planned change of one file."""

    path: str
    key: str
    value: Any
    before: str | None
    """The text of the file; `None` if there is no file."""
    after: str | None
    """The new text; `None` removes the file."""

    def diff(self) -> str:
        """Return the change as a unified diff."""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            self.path,
            self.path,
        )
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

    def make(self) -> None:
        """Write the file atomically, unless it was changed since the change was planned.

        Raises:
            SourceError: the file cannot be written, or was changed.
        """
        if os.path.exists(self.path) and text_of(self.path, MOST_BYTES) != self.before:
            raise SourceError(self.path, "the file was changed in the meantime; try again")
        try:
            if self.after is None:
                os.unlink(self.path)
            else:
                put(os.path.realpath(self.path), self.after.encode("utf-8"))
        except OSError as error:
            raise SourceError(self.path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def plan(
    config: Config,
    texts: Mapping[str, str | None],
    *,
    file: str | None = None,
    profile: str | None = None,
    flow: str | None = None,
    step: str | int | None = None,
) -> SettingChange:
    """Return the change that sets settings of the project, a profile, a flow or a step.

    Args:
        config: the settings.
        texts: the new values by key, in YAML; `None` removes a setting, so that the value of the layer below applies.
        file: the file of the project; by default that of the config.
        profile: the profile to change.
        flow: the flow to change.
        step: the step of the flow to change.

    Raises:
        UnknownName: no setting, profile, flow or step has that name.
        InvalidValue: a value is invalid.
        BrimError: the setting is not allowed there.
        SourceError: the file cannot be read or changed, or does not contain a setting to remove.
    """
    values = {key: _checked(key, text, profile=profile, flow=flow) for key, text in texts.items()}
    path, kind, base = _place(config, file, profile, flow, step)
    if not project.is_inside(path, config.root or os.path.dirname(path) or "."):
        raise SourceError(path, "this link leads out of the project; use a file inside it", line=1)
    before = text_of(path, MOST_BYTES) if os.path.lexists(path) else None
    after = before or ""
    for key, value in values.items():
        keys, word = _spelled(BARE.get(key, key), after, path, base)
        if texts[key] is None:
            after = without_value(after, path, keys, len(base))
        else:
            if word is not None and not (word.takes(value) and word.read(value) == SETTINGS[word.key].read(value)):
                raise SourceError(path, f"{place(keys)} must be {word.expected}, not {shown(value)}: edit it by hand")
            after = with_value(after, path, keys, value)
    check_text(path, after, kind)
    names = [name_of(BARE.get(key, key)) for key in values]
    one = next(iter(values.values())) if len(values) == 1 else None
    return SettingChange(path=path, key=", ".join(names), value=one, before=before, after=after)


def _checked(key: str, text: str | None, *, profile: str | None, flow: str | None) -> Any:
    """Return the new value from its text, or `None` to remove the setting; raise if it is not allowed there."""
    full = BARE.get(key, key)
    setting = setting_of(full)
    if setting is None or full in ("sections", ""):
        raise UnknownName("setting", key, [name_of(each) for each in SETTINGS])
    if profile is not None and flow is not None:
        raise BrimError("--profile and --flow cannot be combined")
    if setting.top and (profile or flow):
        raise BrimError(f"{key} is only allowed at the top of the file, not in a profile, a flow or a step")
    if text is None:
        return None
    value = value_of(setting, text, key)
    if not setting.takes(value):
        raise InvalidValue(key, value, setting.expected)
    return value


def _place(
    config: Config, file: str | None, profile: str | None, flow: str | None, step: str | int | None
) -> tuple[str, str, Keys]:
    """Return the file, its kind, and the path of the layer in it."""
    if profile is None and flow is None:
        if step is not None:
            raise BrimError("--step needs --flow")
        return file or config.path or os.path.join(config.root, project.NAME), "top", ()
    made: Any = config.profile(profile) if profile is not None else config.flow(flow or "")
    path = made.where.rpartition(":")[0] or made.where
    if file is not None and os.path.realpath(file) != os.path.realpath(path):
        raise InvalidValue("--file", file, f"{path}, which defines {made.name!r}")
    if project.is_shipped(path):
        raise SourceError(path, f"{made.name!r} is part of brim and cannot be changed; extend it in your own profile")
    group = "profiles" if profile is not None else "flows"
    inside = project.kind_of(path) == "top"
    base: Keys = (group, made.name) if inside else ()
    if step is not None:
        base = (*base, "steps", made.steps.index(made.step(step)))
    return path, "top" if inside else group[:-1], base


def _spelled(full: str, text: str, path: str, base: Keys) -> tuple[Keys, Word | None]:
    """Return the path of a setting in its file, and the alternative word that the layer uses for it, if any."""
    source = parse(text, path)
    layer = source.at(*base)
    there = layer if isinstance(layer, dict) else {}
    for leaf, key, _, at in Reader(source).leaves(there, TREE, base, STEP_KEYS):
        if key == full:
            return at, leaf if isinstance(leaf, Word) else None
    if full.startswith("sections."):
        name, _, last = full.removeprefix("sections.").rpartition(".")
        return (*base, "sections", name, last), None
    if not full.startswith("budgets."):
        return (*base, *full.split(".")), None
    group = "budget_overrides" if base or project.kind_of(path) != "top" else "budgets"
    group = next((name for name in ("budgets", "budget_overrides") if name in there), group)
    return (*base, group, full.removeprefix("budgets.")), None
