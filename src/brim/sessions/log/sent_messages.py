"""The messages of a prompt as the log keeps them: an unchanged message is only its index in the history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.wire.base import jsonable


def folded(sent: Sequence[Any], history: Sequence[Any]) -> list[Any]:
    """Return the index of each message that was sent as it came, and any other message whole."""
    places = {id(raw): at for at, raw in enumerate(history)}
    return [places[id(raw)] if id(raw) in places else jsonable(raw) for raw in sent]


def unfolded(lines: Sequence[Any], history: Sequence[Any]) -> list[tuple[int | None, Any]]:
    """Return the messages that `folded` wrote, each with its index in the history if it was sent as it came.

    Raises:
        InvalidValue: the history has no message at an index.
    """
    found: list[tuple[int | None, Any]] = []
    for line in lines:
        if not isinstance(line, int):
            found.append((None, line))
        elif 0 <= line < len(history):
            found.append((line, history[line]))
        else:
            raise InvalidValue("sent", line, f"an index below {len(history):,}, the number of messages")
    return found
