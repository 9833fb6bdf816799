"""Find the flow that a file describes: one of a project, or one that stands alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brim.errors import InvalidValue, SourceError, UnknownName
from brim.settings import load_config

if TYPE_CHECKING:
    from brim.settings.config import Config

_PROJECTS = ("brim.yaml", "pyproject.toml")
_FOLDERS = (("swarm", "config", "flows"), ("flows",))
"""Where a project keeps the files of its flows."""


def flow_of(path: str, name: str | None = None, *, flags: Mapping[str, Any] | None = None) -> tuple[Config, str]:
    """Return the settings that hold for a flow, and its name.

    The file is a project's own (`brim.yaml`, then `name` says which flow unless there is but one), one of a project's
    `flows`, or one that stands alone, for which the settings around it hold.

    Raises:
        SourceError: it cannot be read or understood.
        UnknownName: the project has no flow of that name.
        InvalidValue: the project has several flows and none is named.
    """
    if os.path.isdir(path) or os.path.basename(path) in _PROJECTS:
        config = load_config(path, flags=flags)
        return config, _only(config, path) if name is None else _known(config, name)
    folder = os.path.dirname(os.path.abspath(path))
    stem = os.path.basename(path).rpartition(".")[0]
    for parts in _FOLDERS:
        if folder.split(os.sep)[-len(parts) :] == list(parts):
            config = load_config(os.sep.join(folder.split(os.sep)[: -len(parts)]) or os.sep, flags=flags)
            if stem in config.flows:
                return config, _named(path, stem, name)
    return _alone(path, stem, name, flags)


def _alone(path: str, stem: str, name: str | None, flags: Mapping[str, Any] | None) -> tuple[Config, str]:
    """Return the flow of a file that no project lists, together with the settings of the directory it is in."""
    from brim.files.source import load
    from brim.settings.flow import read_flow
    from brim.settings.layer import Reader

    source = load(path)
    if isinstance(source.values, dict) and "flows" in source.values:
        config = load_config(path, flags=flags)
        return config, _only(config, path) if name is None else _known(config, name)
    called = source.values.get("flow", stem) if isinstance(source.values, dict) else stem
    reader = Reader(source)
    flow = read_flow(reader, called if isinstance(called, str) and called else stem, source.values)
    reader.finish()
    config = load_config(os.path.dirname(os.path.abspath(path)), flags=flags)
    return replace(config, _flows={**config._flows, flow.name: flow}), _named(path, flow.name, name)


def _named(path: str, found: str, asked: str | None) -> str:
    if asked not in (None, found):
        raise SourceError(path, f"the flow in it is {found!r}, not {asked!r}")
    return found


def _known(config: Config, name: str) -> str:
    config.flow(name)
    return name


def _only(config: Config, path: str) -> str:
    if not config.flows:
        raise UnknownName("flow", path, [], "The project has none: put one under flows, or into flows/NAME.yaml.")
    if len(config.flows) > 1:
        raise InvalidValue("flow", path, f"one of {', '.join(config.flows)}: name it")
    return config.flows[0]
