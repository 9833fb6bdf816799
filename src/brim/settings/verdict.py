"""Whether files of settings can be used: read to their ends, and every place that they name resolved once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from brim.errors import SourceError
from brim.settings import load_config
from brim.settings.config import Config
from brim.settings.resolved import Resolved


def judged(path: str | None) -> dict[str, Any]:
    """Return what was read and what it warns of.

    Raises:
        SourceError: something cannot be used; the error has its file and line.
    """
    config = load_config(path, environ=os.environ)
    problems: dict[str, SourceError] = {}
    warnings: dict[str, None] = {}
    for settings in _every(config):
        try:
            settings.meter()
            settings.sections(dict.fromkeys(settings.names(), ""))
            warnings.update(dict.fromkeys(settings.warnings))
        except SourceError as error:
            problems.setdefault(str(error), error)
    if problems:
        first, *others = problems.values()
        more = "".join(f"; {error}" for error in others)
        raise SourceError(first.path, first.problem + more, line=first.line)
    return {"read": list(config.files), "warnings": list(warnings)}


def _every(config: Config) -> Iterator[Resolved]:
    """Yield the settings of every place: the project, each profile of its own, each flow and each of its steps."""
    yield config.resolve()
    for name in config.own_profiles:
        yield config.resolve(profile=name)
    for name in config.flows:
        yield config.resolve(flow=name)
        for step in config.flow(name).steps:
            if step.settings:
                yield config.resolve(flow=name, step=step.id)
