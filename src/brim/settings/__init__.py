"""Settings: read from files, environment and flags, resolved for a profile, a flow and a step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brim.settings.config import Config

__all__ = [
    "get_context_budget_chars",
    "get_history_max_older_chars",
    "get_history_max_recent_chars",
    "load_config",
]


def load_config(
    path: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Return the settings of a project; its `resolve` returns those of a profile, a flow and a step.

    Args:
        path: `brim.yaml`, a flow's file, or a directory; without it, the nearest project from the
            current directory upward. Without a file, the settings are the defaults. The values of a file as a mapping
            are accepted too; no file is read then.
        environ: the environment with `BRIM_*` variables, if not that of the process.
        flags: settings by key that override all others, such as those of a command line.

    Raises:
        SourceError: a file cannot be read, or is invalid; the message lists every problem with its line.
        InvalidValue: a flag is invalid.
    """
    from brim.settings.loader import load

    source = path if path is None or isinstance(path, Mapping) else os.fspath(path)
    return load(source, os.environ if environ is None else environ, flags or {})


def get_context_budget_chars(
    config: Config | None = None, *, profile: str | None = None, flow: str | None = None, step: str | int | None = None
) -> int:
    """Return the characters of a step's whole history; without a config, of the project here.

    Raises:
        UnknownName: no profile, flow or step has that name.
    """
    return int((config or load_config()).resolve(profile, flow, step).value("context_budget_chars"))


def get_history_max_recent_chars(
    config: Config | None = None, *, profile: str | None = None, flow: str | None = None, step: str | int | None = None
) -> int:
    """Return the characters of the newest step; without a config, of the project here.

    Raises:
        UnknownName: no profile, flow or step has that name.
    """
    return int((config or load_config()).resolve(profile, flow, step).value("history_max_recent_chars"))


def get_history_max_older_chars(
    config: Config | None = None, *, profile: str | None = None, flow: str | None = None, step: str | int | None = None
) -> int:
    """Return the characters of each older step; without a config, of the project here.

    Raises:
        UnknownName: no profile, flow or step has that name.
    """
    return int((config or load_config()).resolve(profile, flow, step).value("history_max_older_chars"))
