"""Bedrock Converse: what is read, how it is cut, and what is left as it came."""

import pytest

import brim
from brim.errors import InvalidValue
from brim.testing import CharMeter
from brim.wire import format_of, wire

CHARS = CharMeter()
BEDROCK = wire("bedrock")


def user(*blocks):
    return {"role": "user", "content": [{"text": each} if isinstance(each, str) else each for each in blocks]}


def uses(*ids, thought=None):
    calls = [{"toolUse": {"toolUseId": i, "name": "read", "input": {"path": f"{i}.py"}}} for i in ids]
    thoughts = [{"reasoningContent": {"reasoningText": {"text": thought, "signature": "s"}}}] if thought else []
    return {"role": "assistant", "content": [*thoughts, *calls]}


def result(call, *content):
    return {"toolResult": {"toolUseId": call, "content": list(content), "status": "success"}}


def test_each_block_is_read_as_what_it_is():
    message = BEDROCK.read(
        user(
            "hi",
            {"cachePoint": {"type": "default"}},
            result("a", {"text": "one"}, {"json": {"k": [1]}}),
            {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
            {"searchResult": {"title": "novel"}},
        ),
        0,
    )
    kinds = [(piece.kind, piece.text) for piece in message.pieces]
    assert kinds == [
        ("text", "hi"),
        ("result", ""),
        ("output", "one"),
        ("output", '{"k":[1]}'),
        ("image", "iVBORw=="),
        ("opaque", '{"searchResult":{"title":"novel"}}'),
    ]
    assert message.results == ("a",)


def test_thinking_may_be_sealed():
    sealed = {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": b"abc"}}]}
    assert [(p.kind, p.text, p.name) for p in BEDROCK.read(sealed, 0).pieces] == [("thinking", "YWJj", "sealed")]


def test_the_format_is_recognised_by_blocks_without_a_type():
    assert format_of([user("hi")]) == "bedrock"
    assert format_of([uses("a")]) == "bedrock"
    assert format_of([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"role": "tool", "content": []},
        {"role": "user", "content": "text"},
        {"role": "user", "content": [{"toolResult": {"content": []}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "input": {}}}]},
    ],
)
def test_what_cannot_be_read_is_named(broken):
    with pytest.raises(InvalidValue, match=r"messages\[3\]"):
        BEDROCK.read(broken, 3)


def test_a_cut_result_stays_json_and_keeps_its_id_and_status():
    messages = [user("task"), uses("a"), user(result("a", {"json": {"rows": ["x" * 900]}}))]
    sent = brim.fit_messages(messages, 300, meter=CHARS).messages
    block = sent[-1]["content"][0]["toolResult"]
    assert (block["toolUseId"], block["status"]) == ("a", "success")
    assert isinstance(block["content"][0]["json"]["rows"], list)
    assert len(str(block["content"][0]["json"])) < 300


def test_an_excerpt_of_a_result_is_a_block_too():
    messages = [user("task")]
    for i in range(8):
        messages += [uses(f"c{i}"), user(result(f"c{i}", {"text": f"row {i} of the listing\n" * 40}))]
    sent = brim.fit_messages(messages, 3_000, meter=CHARS).messages
    blocks = [
        block["toolResult"]["content"] for message in sent for block in message["content"] if "toolResult" in block
    ]
    assert len(blocks) == 8
    assert min(len(content[0]["text"]) for content in blocks) < 500
    assert all([*map(list, content)] == [["text"]] for content in blocks)


def test_arguments_stay_an_object():
    call = {"toolUse": {"toolUseId": "a", "name": "write", "input": {"path": "a.py", "body": "word " * 200}}}
    messages = [user("task"), {"role": "assistant", "content": [call]}, user(result("a", {"text": "ok"}))]
    sent = brim.fit_messages(messages, 200, meter=CHARS).messages
    assert isinstance(sent[1]["content"][0]["toolUse"]["input"], dict)


def test_the_last_call_keeps_its_thinking_and_older_thinking_after_an_edit_goes():
    messages = [user("task")]
    for i in range(6):
        messages += [uses(f"c{i}", thought=f"thought {i}"), user(result(f"c{i}", {"text": f"{i} " * 100}))]
    sent = brim.fit_messages(messages, 700, meter=CHARS).messages
    kept = [i for i, message in enumerate(sent) if "reasoningContent" in message["content"][0]]
    change = next(i for i, (old, new) in enumerate(zip(messages, sent, strict=False)) if old is not new)
    assert [at for at in kept if at >= change] == [len(sent) - 2]


def test_the_system_prompt_and_the_tools_are_counted():
    tools = [
        {"toolSpec": {"name": "read", "description": "d" * 400, "inputSchema": {"json": {"type": "object"}}}},
        {"cachePoint": {"type": "default"}},
    ]
    plain = brim.fit_messages([user("hi")], 10_000, meter=CHARS).used
    fitted = brim.fit_messages(
        [user("hi")], 10_000, meter=CHARS, tools=tools, system=[{"text": "s" * 50}, {"cachePoint": {"type": "default"}}]
    )
    assert fitted.used > plain + 450


def test_a_cache_mark_alone_is_no_message():
    messages = [user("task"), uses("a"), user(result("b", {"text": "x"}), {"cachePoint": {"type": "default"}})]
    sent = brim.fit_messages(messages, 10_000, meter=CHARS).messages
    assert sent == [messages[0]]
