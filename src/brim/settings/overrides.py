"""Settings from outside the files: environment variables and flags."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from brim.errors import InvalidValue, SourceError, nearest, shown
from brim.files.source import parse
from brim.settings.keys import BARE, SETTINGS, Setting, name_of, setting_of
from brim.settings.reader import with_preset
from brim.settings.trust import VARIABLE
from brim.settings.values import Value

PREFIX = "BRIM_"
SWARM = "SWARM_"
"""The prefix of a flow's own program, whose names of budgets are accepted."""
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Endings of variables that are no settings: the settings name them, and they have a key."""
_OTHERS = ("BRIM_CHROMIUM", VARIABLE)
"""Variables that are no settings: the browser that draws the pictures of the documentation, and what is trusted."""
_TYPO = 0.8
"""How similar a variable is to a known one if it is a typo."""


def from_environ(environ: Mapping[str, str]) -> tuple[dict[str, Value], list[str]]:
    """Return the settings of `BRIM_*` variables, and a warning for each that names none.

    Two underscores separate the parts of a key. Budgets may have their short names, also after `SWARM_`. An empty
    variable is ignored. One that names no setting may be somebody else's: Kubernetes sets `BRIM_SERVICE_HOST` in every
    pod for a service that is called brim.

    Raises:
        SourceError: a value is invalid.
    """
    flat: dict[str, Value] = {}
    warnings: list[str] = []
    for variable in sorted(environ):
        if not variable.startswith((PREFIX, SWARM)) or not environ[variable] or variable in _OTHERS:
            continue
        if variable.endswith(_SECRETS) and "__" not in variable:
            continue
        key = variable.removeprefix(PREFIX).removeprefix(SWARM).lower().replace("__", ".")
        if variable.startswith(SWARM) and not nearest(key, BARE, most=1, cutoff=_TYPO):
            continue  # It is another program's own.
        key = BARE.get(key, key)
        setting = SETTINGS.get(key) or setting_of(key)
        if setting is None:
            known = [PREFIX + name.upper() for name in BARE] if variable.startswith(SWARM) else []
            known += [each.variable for each in SETTINGS.values()]
            likely = nearest(variable, known, most=1, cutoff=_TYPO)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            warnings.append(f"{variable}: no setting has this name, so it is ignored{hint}")
            if likely:
                logging.getLogger("brim.settings").warning("%s", warnings[-1])
            continue
        value = value_of(setting, environ[variable], variable)
        if not setting.takes(value):
            raise SourceError(variable, f"{key} must be {setting.expected}, not {shown(value)}")
        value = setting.read(value)
        if key in flat and flat[key].value != value:
            raise SourceError(variable, f"it sets {key}, as {flat[key].where} does: keep one")
        flat[key] = Value(value, "env", variable)
    return with_preset(flat), warnings


def from_flags(flags: Mapping[str, Any]) -> dict[str, Value]:
    """Return the settings of flags: values by key, or the strings of a command line.

    Raises:
        InvalidValue: a key names no setting, or its value is invalid.
    """
    flat: dict[str, Value] = {}
    for flag, raw in flags.items():
        key = flag.removeprefix("--").replace("-", "_") if flag.startswith("--") else flag
        key = BARE.get(key, key)
        setting = setting_of(key)
        if setting is None:
            near = nearest(key, [name_of(each) for each in SETTINGS], most=1)
            raise InvalidValue("a flag", flag, "a setting" + (f" (did you mean {near[0]!r}?)" if near else ""))
        value = value_of(setting, raw, flag) if isinstance(raw, str) else raw
        if not setting.takes(value):
            raise InvalidValue(flag, value, setting.expected)
        flat[key] = Value(setting.read(value), "flags", flag)
    return with_preset(flat)


def value_of(setting: Setting, text: str, name: str) -> Any:
    """Return the value of a string: the string itself if the setting takes one, else parsed as YAML."""
    if setting.kind.reads_text:
        return None if setting.null and text in ("null", "~") else text
    return parse(text, name).values
