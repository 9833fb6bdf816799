"""Which files of a project are read, and which of their settings apply before the user trusts the project.

A project may be a clone or an archive from a stranger. Its files are read only if they belong to the user and nobody
else can write to them. Settings that name an address, a variable with a key, a store or a file apply after `brim config
trust`, or if the user names the settings file explicitly. Otherwise, a cloned project could make brim send a key to any
address. The user's configuration folder lists what is trusted, by path and owner.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from stat import S_ISDIR, S_ISREG, S_IWGRP, S_IWOTH

from brim.errors import SourceError
from brim.files.writer import put
from brim.meter import is_file

VARIABLE = "BRIM_TRUST"
"""The variable with trusted folders, separated as in `PATH`, for machines without an interactive user."""
NAME = "trusted.json"

GUARDED = (
    "store.url",
    "curator.url",
    "gateway.upstream",
    "gateway.upstream_messages",
    "gateway.upstream_key",
    "gateway.upstream_messages_key",
    "gateway.keys",
    "gateway.paths",
    "gateway.host",
    "gateway.hosts",
    "gateway.rules",
)
"""Settings that name an address, a variable, a store or a file."""
METERS = ("meter", "unknown_model", "model")
"""Settings that may name a tokenizer file."""


def refusal(key: str, value: object, root: str) -> str:
    """Return why an untrusted project may not set a value; empty if it may."""
    guarded = isinstance(value, str) and is_file(value) if key in METERS else key in GUARDED and value is not None
    if not guarded:
        return ""
    return f"{key} is set by a project that you have not trusted; {_advice(root)}, or set it by flag or environment"


def check_file(path: str, root: str, environ: Mapping[str, str]) -> None:
    """Check that a file of a project is trusted, or belongs to the user and is writable only by the user.

    Raises:
        SourceError: it is neither, or it is not a regular file.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise SourceError(path, (error.strerror or str(error)).lower()) from error
    if S_ISDIR(found.st_mode):
        return  # Reading it raises an error.
    if not S_ISREG(found.st_mode):
        raise SourceError(path, "not a regular file")
    if not hasattr(os, "getuid") or is_trusted(path, root, environ):
        return
    if found.st_uid not in _own_users(environ):
        raise SourceError(path, f"not read, because it belongs to another user; {_advice(root)}")
    if found.st_mode & S_IWOTH or (found.st_mode & S_IWGRP and not _is_private(found.st_gid, found.st_uid)):
        raise SourceError(path, f"not read, because other users can write it; run chmod go-w, or {_advice(root)}")


def is_trusted(path: str, root: str, environ: Mapping[str, str]) -> bool:
    """Return whether the user has trusted a file, or the folder of its project."""
    places = {os.path.realpath(each) for each in (path, root or os.path.dirname(path) or ".")}
    for each in filter(None, environ.get(VARIABLE, "").split(os.pathsep)):
        above = os.path.realpath(each)
        if any(os.path.commonpath([above, place]) == above for place in places):
            return True
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return False
    return any(row["path"] in places and row["owner"] == owner for row in _rows(environ))


def trust(path: str, environ: Mapping[str, str]) -> str:
    """Trust a file of settings or the folder of a project, and return its path.

    Raises:
        SourceError: it does not exist, or the user has no configuration folder.
    """
    place = os.path.realpath(path)
    try:
        owner = os.stat(place).st_uid
    except OSError as error:
        raise SourceError(path, (error.strerror or str(error)).lower()) from error
    kept = folder(environ)
    if kept is None:
        raise SourceError(path, f"your settings have no directory: set HOME, or {VARIABLE}={place}")
    rows = [row for row in _rows(environ) if row["path"] != place] + [{"path": place, "owner": owner}]
    os.makedirs(kept, mode=0o700, exist_ok=True)
    put(os.path.join(kept, NAME), (json.dumps({"trusted": rows}, indent=1) + "\n").encode())
    return place


def folder(environ: Mapping[str, str]) -> str | None:
    """Return the user's configuration folder for brim, or `None`."""
    home = environ.get("HOME") or environ.get("USERPROFILE")  # Windows has the second only.
    above = environ.get("XDG_CONFIG_HOME") or (home and os.path.join(home, ".config"))
    return os.path.join(above, "brim") if above else None


def _rows(environ: Mapping[str, str]) -> list[dict[str, object]]:
    kept = folder(environ)
    try:
        with open(os.path.join(kept or os.devnull, NAME), encoding="utf-8") as file:
            rows = json.load(file)["trusted"]
            return [row for row in rows if {"path", "owner"} <= row.keys()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _advice(root: str) -> str:
    return f"if you trust its content, run: brim config trust {os.path.abspath(root or '.')}"


def _own_users(environ: Mapping[str, str]) -> set[int]:
    """Return the id of the user and, under sudo, that of the user who called it."""
    caller = environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return {os.geteuid(), *([int(caller)] if caller.isdigit() else [])}


def _is_private(group: int, user: int) -> bool:
    """Return whether the user is the only member of a group, as on systems with one group per user."""
    import grp
    import pwd

    try:
        owner, found = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return owner.pw_gid == group and found.gr_name == owner.pw_name and set(found.gr_mem) <= {owner.pw_name}
