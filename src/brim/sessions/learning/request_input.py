"""A request before it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.history.history import Tools
from brim.wire import Format


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestInput:
    """A request before it is fitted."""

    messages: Sequence[Any]
    """The whole history."""
    model: str = ""
    """The requested model; empty if the request does not name one."""
    owner: tuple[str, ...] = ()
    """The owner; different owners share neither conversations nor what is learned."""
    tools: Tools | None = None
    system: Any = None
    """The system prompt, if it is not one of the messages."""
    fields: Mapping[str, Any] | None = None
    """The other fields of the body, such as `response_format`."""
    format: Format | None = None
    """The format of the messages; `None` if it is to be detected."""
    answer: int | None = None
    """The limit on the answer in tokens; `None` if the request does not set one."""
    pin: tuple[int | str, ...] = ()
    """Indexes of messages that stay whole."""
    name: str | None = None
    """The name of its conversation; `None` if it is found by its messages."""
    changes: bool = False
    """Whether the caller may change its messages later, so that copies are recorded."""
