from types import MappingProxyType

import pytest

from brim.errors import InvalidType, InvalidValue
from brim.wire import wire
from brim.wire.message import Piece
from talk import Dumped, calling, result, user

CHAT = wire("openai")


def pieces(raw):
    return [(piece.kind, piece.text) for piece in CHAT.read(raw, 0).pieces]


@pytest.mark.parametrize(
    ("raw", "role", "expected"),
    [
        (user("hello"), "user", [("text", "hello")]),
        ({"role": "system", "content": "rules"}, "system", [("text", "rules")]),
        ({"role": "developer", "content": "rules"}, "system", [("text", "rules")]),
        ({"role": "assistant", "content": "well"}, "assistant", [("text", "well")]),
        ({"role": "assistant", "content": None}, "assistant", []),
        ({"role": "assistant"}, "assistant", []),
        ({"role": "user", "content": ""}, "user", [("text", "")]),
        ({"role": "user", "content": []}, "user", []),
        ({"role": "user", "content": ("a", "b")}, "user", [("text", "a"), ("text", "b")]),
        ({"role": "user", "content": [{"type": "text", "text": "\ud800"}]}, "user", [("text", "\ud800")]),
        ({"role": "assistant", "content": None, "refusal": "no"}, "assistant", [("text", "no")]),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, "assistant", [("text", "no")]),
        (
            {"role": "assistant", "content": "so", "reasoning_content": "hm"},
            "assistant",
            [("text", "so"), ("thinking", "hm")],
        ),
        (result("c", "out"), "tool", [("result", ""), ("output", "out")]),
        (
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "out"}]},
            "tool",
            [("result", ""), ("output", "out")],
        ),
        ({"role": "function", "name": "old", "content": "out"}, "tool", [("result", ""), ("output", "out")]),
        (calling("a", "b", text="I call"), "assistant", [("text", "I call"), ("call", "{}"), ("call", "{}")]),
        (
            {"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}},
            "assistant",
            [("call", "{}")],
        ),
        (
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "AAAA"}}]},
            "user",
            [("file", "AAAA")],
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
            "user",
            [("audio", "AAAA")],
        ),
        (
            {"role": "user", "content": [{"type": "video", "at": 3}]},
            "user",
            [("opaque", '{"type":"video","at":3}')],
        ),
        (MappingProxyType(user("hello")), "user", [("text", "hello")]),
    ],
)
def test_a_message_is_read_into_its_pieces(raw, role, expected):
    message = CHAT.read(raw, 0)
    assert message.role == role
    assert [(piece.kind, piece.text) for piece in message.pieces] == expected
    assert message.raw is raw


def test_a_legacy_call_is_joined_to_its_result_by_its_name():
    call = CHAT.read({"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}, 0)
    assert call.calls == ("old",)
    assert CHAT.read({"role": "function", "name": "old", "content": "out"}, 0).results == ("old",)


def test_a_custom_call_is_a_call_whose_input_is_plain_text():
    raw = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "p", "input": "*** x"}}],
    }
    (piece,) = CHAT.read(raw, 0).pieces
    assert (piece.kind, piece.text, piece.id, piece.name) == ("call", "*** x", "a", "p")


def test_a_call_without_arguments_is_a_call():
    raw = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]}
    assert CHAT.read(raw, 0).pieces == (
        Piece("call", "", ("tool_calls", 0, "function", "arguments"), "a", "f", ("tool_calls", 0)),
    )


def test_the_object_of_a_client_library_is_read_like_its_fields():
    call = Dumped(id="a", type="function", function=Dumped(name="f", arguments='{"x":1}'))
    raw = Dumped(role="assistant", content=None, refusal=None, audio=None, function_call=None, tool_calls=[call])
    message = CHAT.read(raw, 0)
    assert message.raw is raw
    assert [(p.kind, p.text, p.id, p.name) for p in message.pieces] == [("call", '{"x":1}', "a", "f")]


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (None, "messages[7]"),
        ("hello", "messages[7]"),
        (5, "messages[7]"),
        (["role", "user"], "messages[7]"),
        ({}, "messages[7] role"),
        ({"content": "hi"}, "messages[7] role"),
        ({"role": None, "content": "hi"}, "messages[7] role"),
        ({"role": 5, "content": "hi"}, "messages[7] role"),
        ({"role": ["user"], "content": "hi"}, "messages[7] role"),
        ({"role": "human", "content": "hi"}, "messages[7] role"),
        ({"role": "User", "content": "hi"}, "messages[7] role"),
        ({"role": "user", "content": 5}, "messages[7] content"),
        ({"role": "user", "content": {"type": "text", "text": "hi"}}, "messages[7] content"),
        ({"role": "user", "content": [5]}, "messages[7] content[0]"),
        ({"role": "user", "content": ["hi", None]}, "messages[7] content[1]"),
        ({"role": "user", "content": [{"type": "odd", "x": {1, 2}}]}, "messages[7] content[0]"),
        ({"role": "user", "content": "hi", "name": 5}, "messages[7] name"),
        ({"role": "tool", "content": "hi"}, "messages[7] tool_call_id"),
        ({"role": "tool", "tool_call_id": 5, "content": "hi"}, "messages[7] tool_call_id"),
        ({"role": "function", "content": "hi"}, "messages[7] name"),
        ({"role": "assistant", "tool_calls": "f"}, "messages[7] tool_calls"),
        ({"role": "assistant", "tool_calls": {}}, "messages[7] tool_calls"),
        ({"role": "assistant", "tool_calls": [None]}, "messages[7] tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}, "messages[7] tool_calls[0] function"),
        (
            {"role": "assistant", "tool_calls": [*calling("a")["tool_calls"], {"id": "b", "function": {}}]},
            "messages[7] tool_calls[1] function name",
        ),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
            "messages[7] tool_calls[0] id",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]},
            "messages[7] tool_calls[0] function arguments",
        ),
        ({"role": "assistant", "function_call": {"arguments": "{}"}}, "messages[7] function_call name"),
    ],
)
def test_a_message_that_cannot_be_is_refused_by_its_index_and_what_is_wrong(raw, place):
    with pytest.raises(InvalidValue) as caught:
        CHAT.read(raw, 7)
    assert caught.value.place == place
    assert str(caught.value).startswith(f"{place} must be ")


def test_what_is_deeper_than_anybody_can_write_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidType, match=r"messages\[7\] content\[0\]"):
        CHAT.read({"role": "user", "content": [{"type": "odd", "deep": deep}]}, 7)
