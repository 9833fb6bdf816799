"""The messages of a prompt as the log keeps them: those that are the conversation's own by their places alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.sessions.view import jsonable


def kept(sent: Sequence[Any], conversation: Sequence[Any]) -> list[Any]:
    """Return the place of each message that was sent as it came, and any other message whole."""
    places = {id(raw): at for at, raw in enumerate(conversation)}
    return [places[id(raw)] if id(raw) in places else jsonable(raw) for raw in sent]


def unfolded(lines: Sequence[Any], conversation: Sequence[Any]) -> list[tuple[int | None, Any]]:
    """Return the messages that `kept` wrote, each with its place in the conversation if it was sent as it came.

    Raises:
        InvalidValue: a place that the conversation does not have.
    """
    found: list[tuple[int | None, Any]] = []
    for line in lines:
        if not isinstance(line, int):
            found.append((None, line))
        elif 0 <= line < len(conversation):
            found.append((line, conversation[line]))
        else:
            raise InvalidValue("sent", line, f"a place below {len(conversation):,}, the messages of the conversation")
    return found
