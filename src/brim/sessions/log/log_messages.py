"""Messages as a log keeps them: as values that a store takes; of a prompt, an unchanged one is only its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.wire import plain
from brim.wire.base import jsonable


def storable(value: Any) -> Any:
    """Return a message as values that a store takes: a client library's own objects become the fields that were set."""
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: each if type(each) is str else storable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [storable(each) for each in known]
    return known


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
