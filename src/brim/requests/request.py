"""The result of fitting a request: the provider's own arguments, and the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from brim.receipts.receipt import Receipt


@dataclass(slots=True)
class Request:
    """A fitted request."""

    body: dict[str, Any]
    """The arguments for the provider's client: `client.chat.completions.create(**request.body)`."""
    messages: list[Any]
    """The messages of the body. Unchanged messages of the history are the caller's own objects."""
    system: str
    """The text of the system sections; in some formats, it is also one of the messages."""
    tools: list[Any] | None
    """The tools that are offered, in the order given."""
    used: int
    """Tokens of the whole request."""
    budget: int
    receipt: Receipt
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The text of each section that is present, by name."""


KeepTools = Literal["all", "relevant"]
