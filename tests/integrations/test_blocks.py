"""Messages of blocks as a fit reads them, and what is left of each block after one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.integrations.blocks import BlockMessage, RemainingBlock, Result, blocks_wired, remains
from brim.integrations.parts import MessagePart
from brim.sessions.conversations import Conversations

LONG = "mud and sand; " * 2_000


def asked(spoken, window=1_000):
    return Conversations(window, meter="gpt-5").request(blocks_wired(spoken), format="anthropic")


def loop(*parts):
    """Return a question, two calls at once, and their results, the second of which has these parts."""
    calls = (
        MessagePart("text", "so"),
        MessagePart("call", '{"a": 1}', "1", "look"),
        MessagePart("call", "{}", "2", "look"),
    )
    results = (Result("1", (MessagePart("text", "mud"),)), Result("2", parts))
    return [
        BlockMessage("user", (MessagePart("text", "why?"),)),
        BlockMessage("assistant", calls),
        BlockMessage("user", results),
    ]


def test_a_cut_result_is_found_among_several():
    spoken = loop(MessagePart("text", LONG))
    request = asked(spoken)
    assert request.places == [0, 1, None]
    place, left = remains(request.messages[2], spoken)
    assert place == 2
    assert left[0] == RemainingBlock(0)
    [inner] = left[1].inside
    assert inner.at == 0
    assert inner.text.startswith("mud and sand;")
    assert len(inner.text) < len(LONG)


def test_arguments_that_were_cut_are_told_as_json():
    spoken = loop(MessagePart("text", "sand"))
    spoken[1] = BlockMessage(
        "assistant", (MessagePart("call", json.dumps({"note": LONG}), "1", "look"), *spoken[1].blocks[2:])
    )
    request = asked(spoken)
    _, left = remains(request.messages[1], spoken)
    assert isinstance(json.loads(left[0].text), dict)
    assert left[1] == RemainingBlock(1)


def test_what_brim_says_has_no_place():
    assert remains({"role": "user", "content": "[a summary]"}, []) == (None, [RemainingBlock(None, "[a summary]")])
    raw = {
        "role": "user",
        "content": [{"type": "text", "text": "own", "part": 0}, {"type": "text", "text": "more"}],
        "place": 0,
    }
    assert remains(raw, [BlockMessage("user", (MessagePart("text", "own"),))]) == (
        0,
        [RemainingBlock(0), RemainingBlock(None, "more")],
    )


def test_a_cleared_result_says_what_stands_for_it():
    raw = blocks_wired(loop(MessagePart("image", "https://a.b/c.png")))[2]
    raw["content"][1]["content"] = "[cleared]"
    _, left = remains(raw, loop(MessagePart("image", "https://a.b/c.png")))
    assert left == [RemainingBlock(0), RemainingBlock(1, None, (RemainingBlock(None, "[cleared]"),))]


texts = st.text(max_size=20)
parts = st.one_of(
    texts.map(lambda text: MessagePart("text", text)),
    texts.map(lambda text: MessagePart("thinking", text)),
    texts.map(lambda text: MessagePart("thinking", text, name="sealed")),
    texts.map(lambda text: MessagePart("other", text)),
    st.just(MessagePart("image", "https://a.b/c.png")),
    st.just(MessagePart("file", "data:application/pdf;base64,JVBERi0=")),
    texts.map(lambda text: MessagePart("call", json.dumps({"a": text}), "k", "look")),
)
blocks = st.one_of(parts, st.lists(parts, max_size=3).map(lambda inside: Result("k", tuple(inside))))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(blocks, max_size=4).map(lambda made: BlockMessage("user", tuple(made))), max_size=4))
def test_what_was_not_touched_is_as_it_was(spoken):
    for place, raw in enumerate(blocks_wired(spoken)):
        assert json.loads(json.dumps(raw)) == raw
        assert remains(raw, spoken) == (place, [RemainingBlock(at) for at in range(len(spoken[place].blocks))])


def test_room_is_left_for_what_the_caller_counts():
    messages = [{"role": "user", "content": "mud and sand"}]
    conversations = Conversations(1_000, meter="gpt-5")
    budget = conversations.request(messages).receipt.budget
    assert conversations.request(messages, aside=300).receipt.budget == budget - 300
    assert conversations.request(messages, aside=300, answer=400).receipt.budget == 300
    with pytest.raises(brim.DoesNotFit):
        conversations.request(messages, aside=2_000)
