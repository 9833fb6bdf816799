"""Messages of a framework in a wire format, and what a fit kept of them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.integrations.messages import (
    FrameworkMessage,
    KeptPart,
    MessagePart,
    Translation,
    format_for,
    from_wire,
    read_block,
    to_wire,
    write_block,
)
from integrations.translations import fitted
from properties import examples

LONG = "mud and sand; " * 2_000
FORMATS = ("openai", "anthropic")
PICTURE = MessagePart("image", "https://example.org/a.png")


def text(words):
    return MessagePart("text", words)


def user(*parts, name=""):
    return FrameworkMessage("user", parts, name=name)


def result(call, *parts):
    return FrameworkMessage("tool", parts, call)


WRITTEN = Translation(list, lambda message, kept: (message, list(kept)), lambda words: ("said", words))
"""A framework whose messages need no translation; a changed one is shown with what was kept of it."""


def sent(messages, format, window=1_000, **settings):
    """Return what is sent: for each message its place, or its place and its kept parts, or the text of a new one."""
    made = fitted(WRITTEN, messages, window, format, **settings)
    places = {id(message): at for at, message in enumerate(messages)}
    return [places[id(each)] if id(each) in places else (places.get(id(each[0]), each[0]), each[1]) for each in made]


def loop(*results, together=False):
    """Return a question, calls that are made at once, and their results, in one message or in several."""
    calls = [MessagePart("call", '{"a": 1}', str(i), "look") for i in range(len(results))]
    said = FrameworkMessage("assistant", (MessagePart("thinking", "so"), text("I look."), *calls))
    answers = [result(str(i), *parts) for i, parts in enumerate(results)]
    return [user(text("why?"), name="Ann"), said, *([answers] if together else answers)]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("together", [False, True])
def test_what_fits_is_the_callers_own(format, together):
    messages = loop([text("mud")], [text("sand"), MessagePart("other", "{}")], together=together)
    assert sent(messages, format) == [*range(len(messages))]


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_result_is_known_by_its_place_and_its_part(format):
    *rest, (place, [kept]) = sent(loop([text("mud")], [text(LONG)]), format)
    assert (rest, place, kept.at) == ([0, 1, 2], 3, 0)
    assert kept.text.startswith("mud and sand;")
    assert len(kept.text) < len(LONG)


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_result_is_found_among_several_of_one_message(format):
    *rest, (place, kept) = sent(loop([text("mud")], [text(LONG)], together=True), format)
    assert (rest, place, kept[0]) == ([0, 1], 2, KeptPart(0))
    [inner] = kept[1].inside
    assert (kept[1].at, inner.at) == (1, 0)
    assert inner.text.startswith("mud and sand;")
    assert len(inner.text) < len(LONG)


@pytest.mark.parametrize("format", FORMATS)
def test_of_several_parts_only_the_long_one_is_cut(format):
    *_, (place, kept) = sent(loop([text("short"), PICTURE, text(LONG)]), format, window=3_000)
    assert (place, kept[:2]) == (2, [KeptPart(0), KeptPart(1)])
    assert kept[2].text.startswith("mud and sand;")


@pytest.mark.parametrize("format", FORMATS)
def test_cut_arguments_are_json_and_thinking_stays_where_it_may(format):
    messages = loop([text("mud")], [text("sand")])
    long = MessagePart("call", json.dumps({"note": LONG}), "0", "look")
    messages[1] = messages[1]._replace(parts=(*messages[1].parts[:2], long, messages[1].parts[3]))
    place, kept = next(each for each in sent(messages, format) if not isinstance(each, int))
    assert place == 1
    assert [each.at for each in kept] == [0, 1, 2, 3]  # A provider asks for the thinking before the last call.
    *_, cut, whole = kept
    assert isinstance(json.loads(cut.text), dict)
    assert len(cut.text) < len(LONG)
    assert whole == KeptPart(3)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    ("first", "kept"),
    [(text("short"), KeptPart(0, "[cleared]")), (MessagePart("other", "{}"), KeptPart(None, "[cleared]"))],
    ids=["text", "no text"],
)
def test_a_cleared_result_has_one_text_in_place_of_all(format, together, first, kept):
    messages = loop([first, PICTURE], together=together)
    *rest, raw = to_wire(messages, format)
    (raw["content"][0] if format == "anthropic" else raw)["content"] = "[cleared]"
    request = SimpleNamespace(messages=[*rest, raw], places=[0, 1, None], changed=True)
    after = from_wire(request, messages, messages, WRITTEN)
    assert after == [*messages[:2], (messages[2], [KeptPart(0, inside=(kept,))] if together else [kept])]


def test_a_note_in_a_message_of_the_user_stays_in_it():
    messages = [user(text("why?"))]
    for i in range(30):
        messages += [FrameworkMessage("assistant", (text(f"{i} so " * 20),)), user(text("and? " * 20))]
    made = sent(messages, "anthropic", window=500, compact_at="never")
    place, (own, note) = made[0]
    assert (place, own, note.at, made[-1]) == (0, KeptPart(0), None, 60)
    assert note.text.startswith("[CONTEXT_TRUNCATED]")


def test_a_message_that_brim_added_is_said():
    for content in ("[a summary]", [{"type": "text", "text": "[a summary]"}]):
        request = SimpleNamespace(messages=[{"role": "user", "content": content}], places=[None], changed=True)
        assert from_wire(request, [], [], WRITTEN) == [("said", "[a summary]")]


def test_thinking_after_a_change_is_dropped_in_the_format_that_binds_it():
    messages = [user(text("why?"))]
    thought = MessagePart("thinking", "hm " * 20), MessagePart("thinking", "sealed", name="sealed")
    for i in range(20):
        said = FrameworkMessage("assistant", (*thought, MessagePart("call", "{}", f"{i}", "look")))
        messages += [said, result(f"{i}", text("word " * 50))]
    changed = [each for each in sent(messages, "anthropic") if not isinstance(each, int)]
    spoken = [kept for place, kept in changed if place != "said" and place % 2]
    assert spoken
    assert all(kept == [KeptPart(2)] for kept in spoken)


@pytest.mark.parametrize("format", FORMATS)
def test_places_and_parts_are_not_counted(format):
    raws = to_wire(loop([text("mud"), text("sand")], [text("clay")], together=True), format)

    def bare(value):
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items() if key not in ("place", "part")}
        return [*map(bare, value)] if isinstance(value, list) else value

    count = brim.meter("gpt-5").count_messages
    assert count(raws) == count(bare(raws))
    assert bare(raws) != raws


def test_the_format_is_that_of_the_models_provider():
    names = ("gpt-5", "claude-opus-5-5", "anthropic.Claude-3", None)
    assert [format_for(name) for name in names] == ["openai", "anthropic", "anthropic", "openai"]


texts = st.text(max_size=30) | st.just("many words " * 50)
parts = st.builds(MessagePart, st.sampled_from(["text", "thinking", "other", "image", "audio", "file"]), texts)


@st.composite
def histories(draw):
    messages = [user(text("why?"))]
    for turn in range(draw(st.integers(0, 4))):
        calls = [MessagePart("call", "{}", f"{turn}-{i}", "look") for i in range(draw(st.integers(0, 2)))]
        messages.append(FrameworkMessage("assistant", (*draw(st.lists(parts, max_size=2)), text("so"), *calls)))
        results = [result(call.id, *draw(st.lists(parts, max_size=2))) for call in calls]
        messages += [results] if results and draw(st.booleans()) else results
        messages.append(user(text("and?")))
    return messages


@given(histories(), st.sampled_from(FORMATS), st.integers(60, 400))
@examples(80)
def test_calls_keep_their_results(messages, format, window):
    try:
        made = fitted(WRITTEN, messages, window, format)
    except brim.DoesNotFit:
        return
    waiting: list[str] = []
    for each in made:
        if each[0] == "said":
            continue
        cut = type(each) is tuple
        own, kept = each if cut else (each, ())
        parts = own if isinstance(own, list) else own.parts
        parts = [parts[part.at] for part in kept if part.at is not None] if cut else parts
        answers = [part.call_id for part in (own, *parts) if getattr(part, "call_id", "")]
        assert all(call in waiting for call in answers)
        waiting = [call for call in waiting if call not in answers]
        calls = [part.id for part in parts if getattr(part, "kind", "") == "call"]
        assert not (waiting and calls)
        waiting += calls
    assert not waiting


@given(histories(), st.sampled_from(FORMATS))
@examples(80)
def test_what_was_not_touched_is_kept_whole(messages, format):
    raws = to_wire(messages, format)
    assert json.loads(json.dumps(raws)) == raws
    request = SimpleNamespace(messages=raws, places=[None] * len(raws), changed=True)
    back = from_wire(request, messages, messages, WRITTEN)
    assert all(after is before for before, after in zip(messages, back, strict=True))


CALLS = {"1": {"id": "1", "name": "look", "args": {"a": 1}}}
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
    assert read_block(block, CALLS) == part


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
    assert write_block(block, KeptPart(0, text)) == after
