"""What strangers write for brim: settings, prompt files and receipts, read with care and refused by line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brim.settings.config import Config

__all__ = ["load_config"]


def load_config(
    path: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Return the settings of a project: `resolve` tells what holds for a profile, a flow and a step.

    Args:
        path: `brim.yaml`, a `pyproject.toml`, or the directory of either; without it, the nearest from here upward.
            Where there is none, the defaults are the same.
        environ: the environment to read `BRIM_*` from, if not that of the process.
        flags: settings by key that stand above all others, such as those of a command line.

    Raises:
        SourceError: a file that cannot be read or understood; the error has every problem with its line.
        InvalidValue: a flag that cannot be.
    """
    from brim.settings.config import load

    return load(None if path is None else os.fspath(path), os.environ if environ is None else environ, flags or {})
