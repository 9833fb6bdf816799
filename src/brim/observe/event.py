"""One thing that happened to a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brim.errors import check_choice

NAMES = ("prompt_assembled", "compacted", "warning", "sub_tick", "overflow")
"""What can happen: a prompt was made; older turns became a summary; the warning line was crossed; a loop went on in a
fresh context; a provider refused a prompt as too long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened."""

    name: str
    """One of `NAMES`."""
    at: float
    """When, in seconds since 1970, by the clock of whoever tells."""
    session: str | None = None
    """The session or loop that it happened in."""
    model: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, names and handles; no text of a prompt."""

    def __post_init__(self) -> None:
        check_choice("event name", self.name, NAMES)

    def to_dict(self) -> dict[str, Any]:
        """Return the event as JSON values."""
        return {"event": self.name, "at": self.at, "session": self.session, "model": self.model, **self.fields}
