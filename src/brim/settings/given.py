"""Settings that are given from outside the files: environment variables and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidValue, SourceError, nearest, shown
from brim.files.source import parse
from brim.settings.keys import BARE, SETTINGS, TREE, name_of, setting_of
from brim.settings.kinds import Setting
from brim.settings.layer import Value, with_preset

PREFIX = "BRIM_"


def from_environ(environ: Mapping[str, str]) -> dict[str, Value]:
    """Return the settings of `BRIM_*` variables; two underscores part the names of a key.

    A variable that is empty says nothing. Of variables with one name only those of settings are looked at, since
    others of brim's own may begin the same.

    Raises:
        SourceError: a variable that names no setting, or whose value cannot be.
    """
    flat: dict[str, Value] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or not environ[variable]:
            continue
        key = variable.removeprefix(PREFIX).lower().replace("__", ".")
        if "." not in key and not isinstance(TREE.get(key), Setting):
            continue
        setting = SETTINGS.get(key) or setting_of(key)
        if setting is None:
            near = nearest(variable, [each.variable for each in SETTINGS.values()], most=1)
            told = f"did you mean {near[0]}?" if near else "see the reference of settings"
            raise SourceError(variable, f"no setting has this name; {told}")
        value = value_of(setting, environ[variable], variable)
        if not setting.takes(value):
            raise SourceError(variable, f"{key} must be {setting.expected}, not {shown(value)}")
        flat[key] = Value(value, "env", variable)
    return with_preset(flat)


def from_flags(flags: Mapping[str, Any]) -> dict[str, Value]:
    """Return settings that were given by key, as values or as the texts of a command line.

    Raises:
        InvalidValue: a key that names no setting, or a value that cannot be.
    """
    flat: dict[str, Value] = {}
    for flag, given in flags.items():
        key = flag.removeprefix("--").replace("-", "_") if flag.startswith("--") else flag
        key = BARE.get(key, key)
        setting = setting_of(key)
        if setting is None:
            near = nearest(key, [name_of(each) for each in SETTINGS], most=1)
            raise InvalidValue("a flag", flag, "a setting" + (f" (did you mean {near[0]!r}?)" if near else ""))
        value = value_of(setting, given, flag) if isinstance(given, str) else given
        if not setting.takes(value):
            raise InvalidValue(flag, value, setting.expected)
        flat[key] = Value(value, "flags", flag)
    return with_preset(flat)


def value_of(setting: Setting, text: str, name: str) -> Any:
    """Return the value of a text: as it is where the setting is a text, else as YAML, so that "1" is a number."""
    if setting.kind.reads_text:
        return None if setting.null and text in ("null", "~") else text
    return parse(text, name).values
