"""Change one setting in the file that it belongs to: planned, checked, and only then written.

The new text is read as settings before it takes the place of the old, so a file that was good stays good.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import unified_diff
from stat import S_IMODE
from typing import Any

from brim.config import project
from brim.config.config import Config, check_text
from brim.config.edit import with_value
from brim.config.given import value_of
from brim.config.keys import BARE, SETTINGS, name_of, setting_of
from brim.errors import InvalidValue, SourceError, UnknownName
from brim.source import Keys, parse, text_of

_MOST_BYTES = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A change of one file that was not made yet."""

    path: str
    key: str
    value: Any
    before: str
    after: str

    def diff(self) -> str:
        """Return what changes, line by line."""
        lines = unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True), self.path, self.path
        )
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

    def make(self) -> None:
        """Write the file: all of it or nothing, and only if nobody changed it since.

        Raises:
            SourceError: it cannot be written, or was changed.
        """
        if os.path.exists(self.path) and text_of(self.path, _MOST_BYTES) != self.before:
            raise SourceError(self.path, "the file was changed by somebody else in the meantime; try again")
        try:
            replace(os.path.realpath(self.path), self.after.encode("utf-8"))
        except OSError as error:
            raise SourceError(self.path, f"it cannot be written: {(error.strerror or str(error)).lower()}") from error


def plan(
    config: Config,
    key: str,
    text: str,
    *,
    file: str | None = None,
    profile: str | None = None,
    flow: str | None = None,
    step: str | int | None = None,
) -> Change:
    """Return the change that gives a setting another value: the project's, or that of a profile, a flow or a step.

    Raises:
        UnknownName: no such setting, profile, flow or step.
        InvalidValue: the setting cannot have this value, or cannot stand there.
        SourceError: the file cannot be read or changed.
    """
    full = BARE.get(key, key)
    setting = setting_of(full)
    if setting is None or full in ("sections", ""):
        raise UnknownName("setting", key, [name_of(each) for each in SETTINGS])
    if profile is not None and flow is not None:
        raise InvalidValue("--profile", profile, "left out where --flow is given")
    if setting.top and (profile or flow):
        raise InvalidValue(key, text, "set at the top of the file, not in a profile, a flow or a step")
    value = value_of(setting, text, key)
    if not setting.takes(value):
        raise InvalidValue(key, value, setting.expected)
    path, kind, base = _place(config, file, profile, flow, step)
    if path.endswith(".toml"):
        raise SourceError(path, "only YAML is edited; change this file by hand, or name another with --file")
    project.check_inside(path, config.root or os.path.dirname(path) or ".")
    before = text_of(path, _MOST_BYTES) if os.path.lexists(path) else ""
    keys = (*base, *_spelled(full, before, path, base))
    after = with_value(before, path, keys, value, project.MOST_VALUES)
    check_text(path, after, kind)
    return Change(path=path, key=name_of(full), value=value, before=before, after=after)


def _place(
    config: Config, file: str | None, profile: str | None, flow: str | None, step: str | int | None
) -> tuple[str, str, Keys]:
    """Return the file, what it holds, and the way to the layer in it."""
    if profile is None and flow is None:
        if step is not None:
            raise InvalidValue("--step", step, "given together with --flow")
        return file or config.path or os.path.join(config.root, project.NAME), "top", ()
    made: Any = config.profile(profile) if profile is not None else config.flow(flow or "")
    path = made.where.rpartition(":")[0] or made.where
    if file is not None and os.path.realpath(file) != os.path.realpath(path):
        raise InvalidValue("--file", file, f"{path}, where {made.name!r} stands")
    if path.startswith(project.shipped("")[: -len(".yaml")]):
        raise SourceError(path, f"{made.name!r} comes with brim; extend it by a profile of your own")
    group = "profiles" if profile is not None else "flows"
    inside = _is_top(path)
    base: Keys = (group, made.name) if inside else ()
    if step is not None:
        base = (*base, "steps", made.steps.index(made.step(step)))
    return path, "top" if inside else group[:-1], base


def _is_top(path: str) -> bool:
    """Return whether a file holds settings at its top, rather than one flow or profile."""
    return project.kind_of(path) == "top"


def _spelled(full: str, text: str, path: str, base: Keys) -> Keys:
    """Return the way to a setting from its layer, budgets by the name that the layer uses or should use."""
    if full.startswith("sections."):
        name, _, last = full.removeprefix("sections.").rpartition(".")
        return ("sections", name, last)
    if not full.startswith("budgets."):
        return tuple(full.split("."))
    at = parse(text, path, project.MOST_VALUES).values
    for key in base:
        at = at[key]
    there = at if isinstance(at, dict) else {}
    group = "budget_overrides" if base or project.kind_of(path) != "top" else "budgets"
    group = next((name for name in ("budgets", "budget_overrides") if name in there), group)
    return (group, full.removeprefix("budgets."))


def replace(path: str, content: bytes) -> None:
    """Put other bytes in place of a file: whoever reads it sees the old ones or the new ones."""
    folder = os.path.dirname(path) or "."
    beside = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(beside, S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
    except BaseException:  # Whatever ended it, nothing half-written stays.
        if os.path.lexists(beside):
            os.unlink(beside)
        raise
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
