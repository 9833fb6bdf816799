"""What a caller is about to send to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from brim.history.history import Tools
from brim.receipts.receipt import Part
from brim.wire import Format


@dataclass(kw_only=True, slots=True, eq=False)
class RequestInput:
    """What a caller is about to send."""

    messages: Sequence[Any]
    """The whole history."""
    model: str = ""
    """The model that is called; empty if the request names none."""
    owner: tuple[str, ...] = ()
    """Whose request it is; different owners share nothing, neither conversations nor what is learned."""
    tools: Tools | None = None
    system: Any = None
    """The system prompt, if it is not one of the messages."""
    fields: Mapping[str, Any] | None = None
    """The other fields of the body, such as `response_format`."""
    format: Format | None = None
    """The format of the messages; `None` if it is to be detected."""
    answer: int | None = None
    """Tokens that the answer may take; `None` if the request does not say."""
    extra: int = 0
    """Tokens of the request that the caller has counted itself."""
    parts: tuple[Part, ...] = ()
    """The parts of the receipt that these tokens are."""
    pin: tuple[int | str, ...] = ()
    """Indexes of messages that stay whole."""
    recall: bool = False
    """Whether the model is offered the recall tool if anything is dropped."""
    changes: bool = False
    """Whether the caller may change its messages after the request, so that they are recorded as copies."""
