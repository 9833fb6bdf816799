"""Which settings of a project apply only after the user has trusted it.

A project may be a clone or an archive from a stranger, so that its settings may only change prompts. All others, such
as an address, a variable with a key, a store or a limit on costs, apply after `brim config trust`, or if the user names
the settings file explicitly. The user's configuration folder lists what is trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from brim.errors import SourceError
from brim.files.writer import put
from brim.meter import is_file

VARIABLE = "BRIM_TRUST"
"""The variable with trusted folders, separated as in `PATH`, for machines without an interactive user."""
NAME = "trusted.json"

GUARDED = (
    *("store.", "gateway.", "models."),
    *("curator.model", "curator.url", "curator.api", "loop.max_", "session.capture"),
)
"""How the settings begin that do more than change prompts: where brim connects, what it stores and what it costs."""
METERS = ("meter", "unknown_model", "model")
"""Settings that may name a tokenizer file."""


def refusal(key: str, value: object, root: str) -> str:
    """Return why an untrusted project may not set a value; empty if it may."""
    if not (isinstance(value, str) and is_file(value) if key in METERS else key.startswith(GUARDED)):
        return ""
    folder = os.path.abspath(root or ".")
    return (
        f"{key} is set by a project that you have not trusted; if you trust its content, run: brim config trust"
        f" {folder}, or set it by flag or environment"
    )


def is_trusted(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether the user has trusted a file, or a folder that contains it."""
    place = os.path.realpath(path)
    named = filter(None, environ.get(VARIABLE, "").split(os.pathsep))
    trusted = (os.path.realpath(each) for each in (*named, *_listed(environ)))
    return any(os.path.commonpath([each, place]) == each for each in trusted)


def trust(path: str, environ: Mapping[str, str]) -> str:
    """Trust a file of settings or a folder with everything in it, and return its path.

    Raises:
        SourceError: it does not exist, or the user has no configuration folder.
    """
    place = os.path.realpath(path)
    if not os.path.exists(place):
        raise SourceError(path, "no such file or directory")
    kept = folder(environ)
    if kept is None:
        raise SourceError(path, f"your settings have no directory: set HOME, or {VARIABLE}={place}")
    os.makedirs(kept, mode=0o700, exist_ok=True)
    listed = sorted({*_listed(environ), place})
    put(os.path.join(kept, NAME), (json.dumps({"trusted": listed}, indent=1) + "\n").encode())
    return place


def folder(environ: Mapping[str, str]) -> str | None:
    """Return the user's configuration folder for brim, or `None`."""
    home = environ.get("HOME") or environ.get("USERPROFILE")  # Windows has the second only.
    above = environ.get("XDG_CONFIG_HOME") or (home and os.path.join(home, ".config"))
    return os.path.join(above, "brim") if above else None


def _listed(environ: Mapping[str, str]) -> list[str]:
    """Return the paths that the user has trusted."""
    try:
        with open(os.path.join(folder(environ) or os.devnull, NAME), encoding="utf-8") as file:
            return [path for path in json.load(file)["trusted"] if isinstance(path, str)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
