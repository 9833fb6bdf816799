"""What a provider has compacted: where its newest compaction stands, and which messages it still reads.

A compaction takes the place of all that stands before it. The provider does not read that any more, so it neither
counts nor has to be sent. OpenAI documents two ways: a compaction that came with an answer covers every item before it,
while the window that `/responses/compact` returns, the messages of the user and then the item, is sent back as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from brim.wire.base import Wire
from brim.wire.message import Message


def still_read(messages: Sequence[Message], format: Wire) -> Sequence[int]:
    """Return the indexes of the messages that the provider reads: all of them, or those since its newest compaction.

    System messages at the start stay, and so does a call that is answered after the compaction.
    """
    found = (at for at in range(len(messages) - 1, -1, -1) if messages[at].any("compaction"))
    at = next(found, None)
    if at is None:
        return range(len(messages))
    first = next((i for i, message in enumerate(messages) if message.role != "system"), at)
    return [*range(first), *range(_start(messages, first, at) if format.batches else at, len(messages))]


def _start(messages: Sequence[Message], first: int, at: int) -> int:
    """Return where the window of an OpenAI compaction begins; `first` is the first message that is not the system's."""
    if all(message.role in ("user", "system") for message in messages[first:at]):
        return first  # As `/responses/compact` returned it.
    start = at
    while start > first and messages[start - 1].role == "assistant":
        start -= 1
    calls = {call for message in messages[start:at] for call in message.calls}
    answers = {call for message in messages[at + 1 :] for call in message.results}
    return at if calls.isdisjoint(answers) else start
