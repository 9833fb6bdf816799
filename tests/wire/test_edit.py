"""One message is changed in one place, and everything else in it is the caller's own."""

import copy
from types import MappingProxyType

import pytest

from brim.wire import wire
from brim.wire.base import GONE, changed, without
from talk import Dumped, answer, calling, gives, picture, result, says, text, thinking, use, user


def pieces_of(format, raw, *kinds, ids=None):
    message = wire(format).read(raw, 0)
    return message, [p for p in message.pieces if p.kind in kinds and (ids is None or p.id in ids)]


def test_only_the_place_that_is_named_changes():
    raw = {"role": "user", "content": "long", "name": "ann", "metadata": {"step": 1}}
    edited = changed(raw, {("content",): "short"})
    assert edited == {**raw, "content": "short"}
    assert edited["metadata"] is raw["metadata"]
    assert raw["content"] == "long"


def test_the_way_to_the_place_is_copied_and_what_stands_beside_it_is_not():
    kept, cut = text("kept"), answer("a", "long")
    raw = gives(kept, cut)
    edited = changed(raw, {("content", 1, "content"): "short"})
    assert edited["content"] == [kept, answer("a", "short")]
    assert edited["content"][0] is kept
    assert raw == gives(kept, cut)
    assert cut["content"] == "long"


def test_several_places_of_a_list_can_go_at_once():
    raw = says(text("a"), text("b"), text("c"), text("d"))
    edited = changed(raw, {("content", 0): GONE, ("content", 2): GONE})
    assert edited == says(text("b"), text("d"))
    assert len(raw["content"]) == 4


def test_one_place_can_go_and_a_later_one_change():
    edited = changed(says(text("a"), text("b")), {("content", 0): GONE, ("content", 1, "text"): "B"})
    assert edited == says(text("B"))


def test_a_key_can_go():
    assert changed(calling("a", text="so"), {("tool_calls",): GONE}) == {"role": "assistant", "content": "so"}


def test_tuples_and_mappings_of_any_kind_can_be_changed():
    raw = MappingProxyType({"role": "user", "content": (text("a"), text("b"))})
    assert changed(raw, {("content", 1, "text"): "B"}) == gives(text("a"), text("B"))


def test_the_object_of_a_client_library_comes_back_as_its_fields_without_those_that_are_unset():
    call = Dumped(id="a", type="function", function=Dumped(name="f", arguments='{"x":1}'))
    raw = Dumped(role="assistant", content=None, refusal=None, audio=None, tool_calls=[call])
    edited = changed(raw, {("tool_calls", 0, "function", "arguments"): "{}"})
    assert edited == {"role": "assistant", "tool_calls": calling("a")["tool_calls"]}
    assert call.function.arguments == '{"x":1}'


def test_what_is_unset_inside_an_object_goes_too():
    """The types of the clients allow these fields to be absent, and not to be null."""
    block = Dumped(type="tool_use", id="a", name="f", input={"x": "long"}, caller=None)
    edited = changed({"role": "assistant", "content": [block]}, {("content", 0, "input"): {}})
    assert edited == says(use("a"))
    said = Dumped(type="message", role="assistant", content=[Dumped(type="output_text", text="long", logprobs=None)])
    edited = changed(said, {("content", 0, "text"): "short"})
    assert edited["content"] == [{"type": "output_text", "text": "short"}]


def test_a_null_that_was_said_stays():
    block = Dumped(type="tool_use", id="a", name="f", input={"x": None, "y": "long"}, caller=None)
    raw = {"role": "assistant", "content": [Dumped(type="text", text="long"), block]}
    assert changed(raw, {("content", 0, "text"): "short"})["content"][1] is block
    whole = Dumped(role="assistant", content=[Dumped(type="text", text="long"), block])
    edited = changed(whole, {("content", 0, "text"): "short"})
    assert edited == says(text("short"), use("a", x=None, y="long"))


def test_what_a_caller_set_to_null_in_a_plain_message_stays_null():
    raw = {"role": "assistant", "content": None, "tool_calls": calling("a")["tool_calls"], "audio": None}
    edited = changed(raw, {("tool_calls", 0, "function", "arguments"): "[]"})
    assert (edited["content"], edited["audio"]) == (None, None)


def test_a_block_that_is_an_object_stays_the_callers_own_where_it_is_not_changed():
    block = Dumped(type="text", text="so", citations=None)
    raw = {"role": "assistant", "content": [block, use("a", x=1)]}
    assert changed(raw, {("content", 1, "input"): {}})["content"][0] is block


def test_a_call_is_taken_out_and_the_others_stay():
    message, gone = pieces_of("openai", calling("a", "b", "c"), "call", ids="b")
    assert without(message, gone) == calling("a", "c")


def test_a_list_of_calls_goes_with_its_last_call():
    """'[] is too short - messages.1.tool_calls', answers the provider to an empty list."""
    message, gone = pieces_of("openai", calling("a", "b", text="so"), "call")
    assert without(message, gone) == {"role": "assistant", "content": "so"}


@pytest.mark.parametrize("content", [None, "", []])
def test_nothing_is_left_of_a_message_that_only_called(content):
    message, gone = pieces_of("openai", {**calling("a"), "content": content}, "call")
    assert without(message, gone) is None


def test_nothing_is_left_of_a_message_that_only_called_in_the_old_way():
    raw = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
    message, gone = pieces_of("openai", raw, "call")
    assert without(message, gone) is None
    message, gone = pieces_of("openai", {**raw, "content": "so"}, "call")
    assert without(message, gone) == {"role": "assistant", "content": "so"}


def test_a_result_goes_with_its_message():
    message, gone = pieces_of("openai", result("a"), "result")
    assert without(message, gone) is None


def test_a_result_goes_with_all_that_is_in_it_and_the_words_beside_it_stay():
    raw = gives(answer("a", [text("x"), picture()]), answer("b"), text("go on"))
    message, gone = pieces_of("anthropic", raw, "result", ids="a")
    assert without(message, gone) == gives(answer("b"), text("go on"))
    message, gone = pieces_of("anthropic", raw, "result")
    assert without(message, gone) == gives(text("go on"))
    assert len(raw["content"]) == 3


def test_a_picture_is_something_to_say():
    message, gone = pieces_of("anthropic", gives(answer("a"), picture()), "result")
    assert without(message, gone) == gives(picture())


def test_thinking_goes_and_what_was_said_stays():
    message, gone = pieces_of("anthropic", says(thinking(), text("so"), use("a")), "thinking")
    assert without(message, gone) == says(text("so"), use("a"))
    message, gone = pieces_of("anthropic", says(thinking()), "thinking")
    assert without(message, gone) is None
    message, gone = pieces_of("anthropic", says(thinking(), use("a")), "call")
    assert without(message, gone) is None, "thinking alone is nothing to say"


def test_something_unknown_is_something_to_say():
    raw = says({"type": "novelty", "x": 1}, use("a"))
    message, gone = pieces_of("anthropic", raw, "call")
    assert without(message, gone) == says({"type": "novelty", "x": 1})


def test_fields_that_nobody_knows_stay():
    raw = {**calling("a", "b"), "metadata": {"step": 1}}
    message, gone = pieces_of("openai", raw, "call", ids="a")
    assert without(message, gone) == {**calling("b"), "metadata": {"step": 1}}


@pytest.mark.parametrize(
    ("format", "raw"),
    [
        ("openai", calling("a", "b", text="so")),
        ("openai", user("hello")),
        ("anthropic", says(thinking(), text("so"), use("a", x=[1, {"y": 2}]))),
        ("anthropic", gives(answer("a", [text("x")]), text("so"))),
    ],
)
def test_no_edit_touches_what_the_caller_gave(format, raw):
    before = copy.deepcopy(raw)
    message = wire(format).read(raw, 0)
    for piece in message.pieces:
        without(message, [piece])
        if piece.at:
            changed(raw, {piece.at: "other"})
    wire(format).append(raw, "more")
    assert raw == before
