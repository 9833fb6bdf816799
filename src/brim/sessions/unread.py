"""The messages at the end of a history that the model has not read yet."""

from __future__ import annotations

from brim.history.turns import Turns


def unread_messages(turns: Turns) -> int:
    """Return how many messages at the end the model has not answered: results of its calls, or words of the user.

    A result is kept together with its call, since no provider accepts one without the other.
    """
    count = 0
    for turn in range(len(turns.starts) - 1, -1, -1):
        start, stop = turns.span(turn)
        members = turns.messages[start:stop]
        if members[-1].role == "assistant":
            break
        count += stop - start
        if any(message.role == "assistant" or message.results for message in members):
            break
    return count
