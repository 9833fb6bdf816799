"""Settings: read from files, environment and flags, resolved for a profile, a flow and a step."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
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
    """Return the settings of a project; use `resolve` to get those of a profile, a flow and a step.

    Args:
        path: `brim.yaml`, the file of a flow, or a directory; by default the nearest project, searched from the current
            directory upward. Without a file, the settings are the defaults. A mapping replaces the file.
        environ: the environment with `BRIM_*` variables; by default that of the process.
        flags: settings by key, such as command-line options, that override all others.

    Raises:
        SourceError: a file cannot be read, or is invalid; the message lists every problem with its line.
        InvalidValue: a flag is invalid.
    """
    from brim.settings.loader import load

    source = path if path is None or isinstance(path, Mapping) else os.fspath(path)
    return load(source, os.environ if environ is None else environ, flags or {})


def _accessor(key: str) -> Callable[..., int]:
    def get(
        config: Config | None = None,
        *,
        profile: str | None = None,
        flow: str | None = None,
        step: str | int | None = None,
    ) -> int:
        return int((config or load_config()).resolve(profile, flow, step).value(key))

    get.__name__ = get.__qualname__ = f"get_{key}"
    get.__doc__ = f"Return `{key}`; without a config, of the project in the current directory."
    return get


get_context_budget_chars = _accessor("context_budget_chars")
get_history_max_recent_chars = _accessor("history_max_recent_chars")
get_history_max_older_chars = _accessor("history_max_older_chars")
