"""Messages of a framework as a fit reads them, and what was cut of them back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.integrations.content import part_of, told
from brim.integrations.parts import MessagePart, Spoken, format_for, unwired, wired
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest

LONG = "mud and sand; " * 2_000
FORMATS = ("openai", "anthropic")


def change(of, texts):
    return ("changed", of, list(texts))


def say(text):
    return ("said", text)


def sent(spoken, format, window=1_000, **settings):
    request = Conversations(window, meter="gpt-5", **settings).request(wired(spoken, format), format=format)
    return unwired(request, spoken, range(len(spoken)), change, say)


def loop(*results):
    calls = [MessagePart("call", '{"a": 1}', str(i), "look") for i in range(len(results))]
    said = Spoken("assistant", (MessagePart("thinking", "so"), MessagePart("text", "I look."), *calls))
    answers = [Spoken("tool", parts, str(i)) for i, parts in enumerate(results)]
    return [Spoken("user", (MessagePart("text", "why?"),), name="Ann"), said, *answers]


@pytest.mark.parametrize("format", FORMATS)
def test_what_fits_is_the_callers_own(format):
    assert sent(
        loop((MessagePart("text", "mud"),), (MessagePart("text", "sand"), MessagePart("other", "{}"))), format
    ) == [0, 1, 2, 3]


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_result_is_told_by_its_place_and_its_part(format):
    first, second, third, (kind, of, texts) = sent(
        loop((MessagePart("text", "mud"),), (MessagePart("text", LONG),)), format
    )
    assert (first, second, third, kind, of) == (0, 1, 2, "changed", 3)
    assert texts[0].startswith("mud and sand;")
    assert len(texts[0]) < len(LONG)


@pytest.mark.parametrize("format", FORMATS)
def test_of_several_parts_only_the_long_one_is_cut(format):
    parts = (MessagePart("text", "short"), MessagePart("image", "https://example.org/a.png"), MessagePart("text", LONG))
    *_, (_, of, texts) = sent(loop(parts), format, window=3_000)
    assert of == 2
    assert texts[:2] == ["short", "https://example.org/a.png"]
    assert texts[2].startswith("mud and sand;")


@pytest.mark.parametrize("format", FORMATS)
def test_arguments_that_were_cut_are_json_and_thinking_stays_where_it_may(format):
    spoken = loop((MessagePart("text", "mud"),), (MessagePart("text", "sand"),))
    calls = [MessagePart("call", json.dumps({"note": LONG}), "0", "look"), spoken[1].parts[3]]
    spoken[1] = Spoken("assistant", (*spoken[1].parts[:2], *calls))
    (_, of, texts) = next(each for each in sent(spoken, format) if not isinstance(each, int))
    assert of == 1
    assert texts[:2] == ["so" if format == "openai" else None, "I look."]
    assert isinstance(json.loads(texts[2]), dict)
    assert len(texts[2]) < len(LONG)
    assert texts[3] == '{"a": 1}'


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("first", [MessagePart("text", "short"), MessagePart("other", "{}")], ids=["text", "no text"])
def test_a_result_that_was_cleared_has_one_text_in_the_place_of_all(format, first):
    spoken = loop((first, MessagePart("image", "https://example.org/a.png")))
    *rest, raw = wired(spoken, format)
    stub = "[cleared: 9 tokens, b2:abc]"
    inner = raw["content"][0] if format == "anthropic" else raw
    inner["content"] = stub
    request = FittedRequest(messages=[*rest, raw], places=[0, 1, None], changed=True)
    assert unwired(request, spoken, range(3), change, say) == [0, 1, ("changed", 2, [stub, None])]


def test_a_note_in_a_message_of_the_user_is_said_after_it():
    spoken = [Spoken("user", (MessagePart("text", "why?"),))]
    for i in range(30):
        spoken += [
            Spoken("assistant", (MessagePart("text", f"{i} so " * 20),)),
            Spoken("user", (MessagePart("text", "and? " * 20),)),
        ]
    made = sent(spoken, "anthropic", window=500, compact_at="never")
    assert made[0] == ("changed", 0, ["why?"])
    assert made[1][0] == "said"
    assert made[1][1].startswith("[CONTEXT_TRUNCATED]")
    assert made[-1] == 60


def test_thinking_after_a_change_is_gone_in_the_shape_that_binds_it():
    spoken = [Spoken("user", (MessagePart("text", "why?"),))]
    for i in range(20):
        thought = (
            MessagePart("thinking", "hm " * 20),
            MessagePart("thinking", "sealed", name="sealed"),
            MessagePart("call", "{}", f"{i}", "look"),
        )
        spoken += [Spoken("assistant", thought), Spoken("tool", (MessagePart("text", "word " * 50),), f"{i}")]
    changed = [each for each in sent(spoken, "anthropic") if not isinstance(each, int) and each[0] == "changed"]
    assert changed
    assert all(texts[:2] == [None, None] for _, of, texts in changed if of % 2)


@pytest.mark.parametrize("format", FORMATS)
def test_places_and_parts_are_not_counted(format):
    spoken = loop((MessagePart("text", "mud"), MessagePart("text", "sand")))
    raws = wired(spoken, format)

    def bare(value):
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key not in ("place", "part")}
        return [*map(bare, value)] if isinstance(value, list) else value

    count = brim.meter("gpt-5").count_messages
    assert count(raws) == count(bare(raws))
    assert bare(raws) != raws


def test_the_shape_is_that_of_the_models_maker():
    assert [format_for(name) for name in ("gpt-5", "claude-opus-5-5", "anthropic.Claude-3", None)] == [
        "openai",
        "anthropic",
        "anthropic",
        "openai",
    ]


texts = st.text(max_size=30) | st.just("many words " * 50)
parts = st.builds(MessagePart, st.sampled_from(["text", "thinking", "other", "image", "audio", "file"]), texts)


@given(st.data(), st.sampled_from(FORMATS), st.integers(60, 400))
@settings(max_examples=80, deadline=None)
def test_every_part_is_told_of_and_calls_keep_their_results(data, format, window):
    spoken = [Spoken("user", (MessagePart("text", "why?"),))]
    for turn in range(data.draw(st.integers(0, 4))):
        calls = [MessagePart("call", "{}", f"{turn}-{i}", "look") for i in range(data.draw(st.integers(0, 2)))]
        spoken.append(Spoken("assistant", (*data.draw(st.lists(parts, max_size=2)), MessagePart("text", "so"), *calls)))
        spoken += [Spoken("tool", tuple(data.draw(st.lists(parts, max_size=2))), call.id) for call in calls]
        spoken.append(Spoken("user", (MessagePart("text", "and?"),)))
    try:
        made = sent(spoken, format, window)
    except brim.DoesNotFit:
        return
    open_calls: list[str] = []
    for each in made:
        if not isinstance(each, int) and each[0] == "said":
            continue
        at, left = (each, [part.text for part in spoken[each].parts]) if isinstance(each, int) else each[1:]
        assert len(left) == len(spoken[at].parts)
        if spoken[at].role == "tool":
            open_calls.remove(spoken[at].answers)
            continue
        assert not open_calls
        pairs = zip(spoken[at].parts, left, strict=True)
        open_calls = [part.id for part, text in pairs if part.kind == "call" and text is not None]
    assert not open_calls


CALLS = {"1": {"name": "look", "args": {"a": 1}}}
BLOCKS = [
    ("hello", MessagePart("text", "hello")),
    ({"type": "text", "text": "hello", "cache_control": {}}, MessagePart("text", "hello")),
    ({"type": "output_text", "text": "hello"}, MessagePart("text", "hello")),
    ({"type": "tool_use", "id": "1", "name": "look", "input": {"a": 1}}, MessagePart("call", '{"a": 1}', "1", "look")),
    ({"type": "function_call", "call_id": "1", "arguments": "{}"}, MessagePart("call", '{"a": 1}', "1", "look")),
    ({"type": "thinking", "thinking": "hm", "signature": "s"}, MessagePart("thinking", "hm")),
    ({"type": "reasoning", "reasoning": "hm"}, MessagePart("thinking", "hm")),
    ({"type": "redacted_thinking", "data": "x"}, MessagePart("thinking", "x", name="sealed")),
    ({"type": "image_url", "image_url": {"url": "u", "detail": "low"}}, MessagePart("image", "u", name="low")),
    ({"type": "image_url", "image_url": "u"}, MessagePart("image", "u")),
    ({"type": "image", "base64": "eA==", "mime_type": "image/png"}, MessagePart("image", "data:image/png;base64,eA==")),
    ({"type": "image", "source": {"type": "url", "url": "u"}}, MessagePart("image", "u")),
    (
        {"type": "image", "source": {"data": "eA==", "media_type": "image/png"}},
        MessagePart("image", "data:image/png;base64,eA=="),
    ),
    ({"type": "input_audio", "input_audio": {"data": "eA=="}}, MessagePart("audio", "eA==")),
    (
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,eA=="}},
        MessagePart("file", "data:application/pdf;base64,eA=="),
    ),
    (
        {"type": "tool_use", "id": "9", "input": {}},
        MessagePart("other", '{"type": "tool_use", "id": "9", "input": {}}'),
    ),
    ({"type": "strange"}, MessagePart("other", '{"type": "strange"}')),
]


@pytest.mark.parametrize(("block", "part"), BLOCKS, ids=lambda each: str(each)[:40])
def test_a_block_of_any_provider_is_a_part(block, part):
    assert part_of(block, CALLS) == part


@pytest.mark.parametrize(
    ("block", "text", "after"),
    [
        ("hello", "he", "he"),
        ({"type": "text", "text": "hello", "odd": 1}, "he", {"type": "text", "text": "he", "odd": 1}),
        ({"type": "tool_use", "id": "1", "input": {"a": 1}}, "{}", {"type": "tool_use", "id": "1", "input": {}}),
        (
            {"type": "function_call", "call_id": "1", "arguments": "x"},
            "{}",
            {"type": "function_call", "call_id": "1", "arguments": "{}"},
        ),
        ({"type": "image_url", "image_url": "u"}, "[cleared]", {"type": "text", "text": "[cleared]"}),
    ],
)
def test_a_block_that_says_something_else_keeps_the_rest(block, text, after):
    assert told(block, part_of(block, CALLS), text) == after
