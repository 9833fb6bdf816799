"""A value of a setting with its origin: the layer and the place that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import SourceError


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its origin."""

    value: Any
    origin: str
    """The layer: defaults, user, project, profile, flow, step, env or flags."""
    where: str = ""
    """The file and line, the environment variable or the flag; empty for defaults."""

    @property
    def is_override(self) -> bool:
        """Whether it comes from a layer above the files of the project and the user."""
        return self.origin in ("profile", "flow", "step", "env", "flags")


Values = Mapping[str, Value]
"""The settings of one layer by their keys."""


def error_at(where: str, problem: str) -> SourceError:
    """Return the error about a problem at a place: a file and line, an environment variable or a flag."""
    path, _, line = where.rpartition(":")
    return SourceError(path, problem, line=int(line)) if path and line.isdigit() else SourceError(where, problem)
