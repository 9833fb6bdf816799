"""Where settings are found: the project's file, the user's file, and the project's flows and profiles.

The search upward ends at the root of a repository, at the home folder, and before a folder of another user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from brim.settings import trust

NAME = "brim.yaml"

_FOLDERS = {
    "flow": (("flows", ".yaml"), ("flows", ".yml"), ("swarm/config/flows", ".yaml")),
    "profile": (("profiles", ".yaml"), ("profiles", ".yml"), ("swarm/profiles", ".swarm_profile.yaml")),
}
"""The directories of flows and profiles, and the endings of their files."""

_OWN = ("swarm/config", "swarm/profiles")
"""Directories that identify a project without a settings file."""

SHIPPED = (
    "forge",
    "forge-architect",
    "forge-reflector",
    "forge-literal",
    "ecology",
    "flow",
    "session",
    "broker",
    "broker-base",
    "broker-literal",
)
"""The profiles that come with brim."""


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of a project."""

    path: str
    """The settings file; empty if there is none."""
    root: str
    """The directory with its flows and profiles."""


def find(path: str | None) -> ProjectFiles:
    """Return the project of a file or directory, or the nearest one from the current directory upward."""
    if path is None:
        return above(".")
    if os.path.isdir(path):
        return ProjectFiles(_in(path), path)
    return ProjectFiles(path, os.path.dirname(path) or ".")


def above(folder: str) -> ProjectFiles:
    """Return the nearest project in a directory or above it; its fields are empty if there is none."""
    for each in _upward(folder):
        found = _in(each)
        if found or any(os.path.isdir(os.path.join(each, below)) for below in _OWN):
            return ProjectFiles(os.path.normpath(found) if found else "", each)
    return ProjectFiles("", "")


def _upward(folder: str) -> Iterator[str]:
    """Yield a directory and those above it, up to the end of the search."""
    yield folder
    at, home = os.path.abspath(folder), os.path.expanduser("~")
    while (upper := os.path.dirname(at)) != at and at != home and not os.path.lexists(os.path.join(at, ".git")):
        if not _is_own(upper):
            return
        yield upper
        at = upper


def _is_own(folder: str) -> bool:
    """Return whether a folder belongs to the user; always true on systems without file owners."""
    try:
        return not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def runtime_file(root: str) -> str | None:
    """Return the file of a project's runtime defaults, or `None`."""
    path = os.path.normpath(os.path.join(root, "swarm", "config", "runtime.yaml"))
    return path if os.path.isfile(path) else None


def around_flow(path: str) -> ProjectFiles:
    """Return the project of a flow's file: the nearest one above it, or its directory."""
    found = above(os.path.dirname(path) or ".")
    if found.root:
        return found
    folder = os.path.dirname(os.path.abspath(path))
    endings = (os.sep + os.path.normpath(below) for below, _ in _FOLDERS["flow"])
    return ProjectFiles("", next((folder.removesuffix(end) for end in endings if folder.endswith(end)), folder))


def _in(folder: str) -> str:
    """Return the file of settings in a directory; empty if there is none."""
    own = os.path.join(folder, NAME)
    return own if os.path.lexists(own) else ""


def is_inside(path: str, root: str) -> bool:
    """Return whether a file is inside the project or its repository after following links."""
    inside, real = os.path.realpath(root), os.path.realpath(path)
    top = next((each for each in _upward(inside) if os.path.lexists(os.path.join(each, ".git"))), inside)
    return os.path.commonpath([top, real]) == top


def user_file(environ: Mapping[str, str]) -> str | None:
    """Return the file of settings of the user, or `None`."""
    folder = trust.folder(environ)
    path = os.path.join(folder, NAME) if folder else ""
    return path if path and os.path.lexists(path) else None


def files_in(root: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the names and files of a project's flows or profiles."""
    for folder, ending in _FOLDERS[kind]:
        at = os.path.normpath(os.path.join(root, folder))
        for name in sorted(os.listdir(at)) if os.path.isdir(at) else ():
            stem = name.removesuffix(ending)
            if stem and stem != name and not name.startswith("."):
                yield stem, os.path.join(at, name)


def name_in(path: str) -> str:
    """Return the name of the flow or profile in a file, from the file's name."""
    name = os.path.basename(path)
    endings = sorted({ending for places in _FOLDERS.values() for _, ending in places}, key=len, reverse=True)
    return next((name.removesuffix(ending) for ending in endings if name.endswith(ending)), name)


def kind_of(path: str) -> str:
    """Return the kind of a file of settings by its directory: `top`, `flow` or `profile`."""
    whole = os.path.abspath(path)
    if os.path.basename(whole) == NAME:
        return "top"
    folder = os.path.dirname(whole)
    for kind, places in _FOLDERS.items():
        for below, ending in places:
            if folder.endswith(os.sep + os.path.normpath(below)) and whole.endswith(ending):
                return kind
    return "top"


def shipped(name: str) -> str:
    """Return the file of a profile that comes with brim."""
    return os.path.join(os.path.dirname(__file__), "profiles", f"{name}.yaml")


def is_shipped(where: str) -> bool:
    """Return whether a place is in a profile that comes with brim."""
    return where.startswith(os.path.dirname(shipped("")))
