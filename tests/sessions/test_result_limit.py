"""The limit on one tool result: it holds for results in every format, and for nothing that stands beside one."""

import json
import re

import pytest

import brim
from talk import answer, gives

METER = brim.meter("o200k_base")
LONG = "\n".join(f"{i:04} the queue is drained" for i in range(400))


def limited(message, format):
    """Return a message as a session keeps it, if a result may take 100 tokens, and the whole text of the result."""
    session = brim.Session(window=8_000, meter=METER, tool_limit=100, format=format)
    session.add(message)
    (raw,) = session.messages
    return raw, session.recall(re.search(r"the whole is (b2:\w+)", json.dumps(raw))[1])


def test_a_document_beside_a_result_is_not_one():
    source = {"type": "text", "media_type": "text/plain", "data": LONG}
    message = gives(answer("a", LONG), {"type": "document", "source": source})
    raw, whole = limited(message, "anthropic")
    assert raw["content"][1] == message["content"][1]
    assert METER.count(raw["content"][0]["content"]) <= 100
    assert whole == LONG


@pytest.mark.parametrize(
    ("format", "message", "allowed"),
    [
        (
            "bedrock",
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": {"rows": [LONG]}}]}}]},
            lambda raw: raw["content"][0]["toolResult"]["content"][0].keys() <= {"text", "json"},
        ),
        (
            "gemini",
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"rows": [LONG]}}}]},
            lambda raw: isinstance(raw["parts"][0]["functionResponse"]["response"], dict),
        ),
    ],
    ids=["bedrock", "gemini"],
)
def test_a_result_that_was_an_object_is_one_that_the_provider_takes(format, message, allowed):
    raw, whole = limited(message, format)
    assert "0399 the queue is drained" in whole
    assert allowed(raw)
    assert METER.count_messages([raw], format=format) <= 120
