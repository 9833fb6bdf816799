"""How the tests of all frameworks check a translation."""

from __future__ import annotations

import json

from brim.integrations.calls import TranslatedCall
from brim.integrations.messages import KeptPart, Translation, to_wire
from brim.sessions.conversations import Conversations


def rewritten(translation: Translation, messages, format="openai") -> list:
    """Return copies of messages with all of their parts; what a meter would read of them is JSON."""
    read = translation.read(messages)
    wire = to_wire(read, format)
    assert json.loads(json.dumps(wire)) == wire
    pairs = zip(messages, read, strict=True)
    return [
        translation.write(each, [KeptPart(at) for at in range(len(own if isinstance(own, list) else own.parts))])
        for each, own in pairs
    ]


def fitted(translation: Translation, messages, window, format="anthropic", **settings) -> list:
    """Return the messages that fit a window.

    Raises:
        DoesNotFit: the required messages exceed the window.
    """
    conversations = Conversations(window, meter="gpt-5", **settings)
    return TranslatedCall(conversations, translation, messages, model=None, format=format).messages
