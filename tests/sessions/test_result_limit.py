"""The limit on one tool result: it holds for results in every format, and for nothing that stands beside one."""

import pytest

import brim
from brim.sessions.session_step import bounded
from brim.wire import wire
from talk import answer, gives

METER = brim.meter("o200k_base")
LONG = "\n".join(f"{i:04} the queue is drained" for i in range(400))


def test_a_document_beside_a_result_is_not_one():
    source = {"type": "text", "media_type": "text/plain", "data": LONG}
    message = gives(answer("a", LONG), {"type": "document", "source": source})
    made = bounded(message, 0, wire("anthropic"), 100, METER)
    assert made.raw["content"][1] == message["content"][1]
    assert METER.count(made.raw["content"][0]["content"]) <= 100
    assert list(made.texts.values()) == [LONG]


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
    made = bounded(message, 0, wire(format), 100, METER)
    assert made.texts
    assert allowed(made.raw)
    assert METER.count_messages([made.raw], format=format) <= 120
