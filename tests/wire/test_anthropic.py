import pytest

from brim.errors import InvalidType, InvalidValue
from brim.wire import wire
from talk import Dumped, answer, gives, picture, png, says, sealed, text, thinking, use, user

ANTHROPIC = wire("anthropic")


@pytest.mark.parametrize(
    ("raw", "role", "expected"),
    [
        (user("hello"), "user", [("text", "hello")]),
        ({"role": "system", "content": "rules"}, "system", [("text", "rules")]),
        ({"role": "assistant", "content": None}, "assistant", []),
        ({"role": "assistant", "content": []}, "assistant", []),
        ({"role": "user", "content": ""}, "user", [("text", "")]),
        (gives(text("a"), text("b")), "user", [("text", "a"), ("text", "b")]),
        ({"role": "user", "content": (text("a"),)}, "user", [("text", "a")]),
        (says(thinking("hm"), text("so")), "assistant", [("thinking", "hm"), ("text", "so")]),
        (says(sealed("xxxx")), "assistant", [("thinking", "xxxx")]),
        (says(use("a", x=1)), "assistant", [("call", '{"x":1}')]),
        (says({"type": "tool_use", "id": "a", "name": "f", "input": {}}), "assistant", [("call", "{}")]),
        (gives(answer("a", "out")), "user", [("result", ""), ("output", "out")]),
        (gives({"type": "tool_result", "tool_use_id": "a"}), "user", [("result", "")]),
        (gives(answer("a", [])), "user", [("result", "")]),
        (gives(answer("a", [text("x"), text("y")])), "user", [("result", ""), ("output", "x"), ("output", "y")]),
        (gives(answer("a", [picture("AAAA")])), "user", [("result", ""), ("image", "AAAA")]),
        (gives(answer("a"), text("and go on")), "user", [("result", ""), ("output", "ok"), ("text", "and go on")]),
        (gives(picture("AAAA")), "user", [("image", "AAAA")]),
        (
            gives({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}),
            "user",
            [("image", "https://a.example/b.png")],
        ),
        (
            gives({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}),
            "user",
            [("file", "JVBE")],
        ),
        (
            says({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            "assistant",
            [("opaque", '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}')],
        ),
        (gives({"type": "hologram", "at": 3}), "user", [("opaque", '{"type":"hologram","at":3}')]),
    ],
)
def test_a_message_is_read_into_its_pieces(raw, role, expected):
    message = ANTHROPIC.read(raw, 0)
    assert message.role == role
    assert [(piece.kind, piece.text) for piece in message.pieces] == expected
    assert message.raw is raw


def test_a_document_of_plain_text_counts_as_text():
    block = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word " * 50}}
    said, rest = ANTHROPIC.read(gives(block), 0).pieces
    assert (said.kind, said.text, said.at) == ("output", "word " * 50, ("content", 0, "source", "data"))
    assert (rest.kind, rest.at) == ("remainder", ("content", 0))
    assert rest.text == '{"type":"document","source":{"type":"text","media_type":"text/plain","data":""}}'


def test_calls_and_results_are_joined_by_their_ids():
    assert ANTHROPIC.read(says(use("a"), text("x"), use("b")), 0).calls == ("a", "b")
    assert ANTHROPIC.read(gives(answer("b"), answer("a"), text("x")), 0).results == ("b", "a")


def test_what_a_server_did_by_itself_waits_for_no_result():
    used = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    message = ANTHROPIC.read(says(used, found), 0)
    assert (message.calls, message.results) == ((), ())


def test_sealed_thinking_is_told_from_thinking_that_can_be_read():
    open_, closed = ANTHROPIC.read(says(thinking(), sealed()), 0).pieces
    assert (open_.name, closed.name) == ("", "sealed")


def test_the_blocks_of_a_client_library_are_read_like_their_fields():
    blocks = [
        Dumped(type="thinking", thinking="hm", signature="sig"),
        Dumped(type="text", text="so", citations=None),
        Dumped(type="tool_use", id="a", name="f", input={"x": 1}, caller=None),
    ]
    message = ANTHROPIC.read({"role": "assistant", "content": blocks}, 0)
    assert [(p.kind, p.text) for p in message.pieces] == [("thinking", "hm"), ("text", "so"), ("call", '{"x":1}')]
    assert message.calls == ("a",)


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (None, "messages[7]"),
        ({"role": "tool", "content": "x"}, "messages[7] role"),
        ({"role": "developer", "content": "x"}, "messages[7] role"),
        ({"content": "x"}, "messages[7] role"),
        ({"role": "user", "content": 5}, "messages[7] content"),
        ({"role": "user", "content": {"type": "text", "text": "x"}}, "messages[7] content"),
        (gives(5), "messages[7] content[0]"),
        (gives(text("x"), {"type": "text"}), "messages[7] content[1] text"),
        (gives({"type": "text", "text": None}), "messages[7] content[0] text"),
        (gives({"type": "tool_result", "content": "x"}), "messages[7] content[0] tool_use_id"),
        (gives(answer("a", 5)), "messages[7] content[0] content"),
        (gives(answer("a", [text("x"), {"type": "text"}])), "messages[7] content[0] content[1] text"),
        (says({"type": "tool_use", "name": "f", "input": {}}), "messages[7] content[0] id"),
        (says({"type": "tool_use", "id": "a", "input": {}}), "messages[7] content[0] name"),
        (says({"type": "tool_use", "id": "a", "name": "f", "input": {"x": {1}}}), "messages[7] content[0] input"),
        (says({"type": "thinking", "signature": "sig"}), "messages[7] content[0] thinking"),
        (says({"type": "odd", "x": object()}), "messages[7] content[0]"),
    ],
)
def test_a_message_that_cannot_be_is_refused_by_its_index_and_what_is_wrong(raw, place):
    with pytest.raises(InvalidValue) as caught:
        ANTHROPIC.read(raw, 7)
    assert caught.value.place == place


def test_the_wrong_kind_is_told_from_the_wrong_value():
    with pytest.raises(InvalidType):
        ANTHROPIC.read({"role": "user", "content": 5}, 0)
    with pytest.raises(InvalidValue) as caught:
        ANTHROPIC.read({"role": "tool", "content": "x"}, 0)
    assert not isinstance(caught.value, InvalidType)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("said", [text("said"), text("more")]),
        ([answer("a")], [answer("a"), text("more")]),
        (None, [text("more")]),
    ],
)
def test_text_is_put_after_what_a_message_says(content, expected):
    raw = {"role": "user", "content": content, "extra": 1}
    assert ANTHROPIC.append(raw, "more") == {"role": "user", "content": expected, "extra": 1}
    assert raw["content"] == content


def test_a_block_that_stays_is_the_callers_own_when_text_is_put_after_it():
    block = answer("a", [picture(png())])
    assert ANTHROPIC.append(gives(block), "more")["content"][0] is block


def test_a_text_that_is_empty_leaves_no_empty_block_behind():
    """'messages: text content blocks must be non-empty', answers the provider."""
    assert ANTHROPIC.append(user(""), "more")["content"] in ("more", [text("more")])
