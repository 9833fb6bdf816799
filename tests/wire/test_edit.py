"""One message is changed in one place, and everything else in it is the caller's own."""

import copy
from types import MappingProxyType

import pytest

from brim.wire import wire
from brim.wire.base import GONE, changed, without
from talk import Dumped, answer, calling, gives, picture, result, says, text, thinking, use, user


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


CHANGES = {
    "several places go": (says(text("a"), text("b"), text("c")), {("content", 0): GONE, ("content", 2): GONE}, says(text("b"))),
    "one goes, a later one changes": (says(text("a"), text("b")), {("content", 0): GONE, ("content", 1, "text"): "B"}, says(text("B"))),
    "a key goes": (calling("a", text="so"), {("tool_calls",): GONE}, {"role": "assistant", "content": "so"}),
    "tuples and other mappings": (MappingProxyType({"role": "user", "content": (text("a"), text("b"))}), {("content", 1, "text"): "B"},
                                  gives(text("a"), text("B"))),
    "a null stays": ({**calling("a"), "audio": None}, {("tool_calls", 0, "function", "arguments"): "[]"},
                     {**calling("a", arguments="[]"), "audio": None}),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "edits", "expected"), CHANGES.values(), ids=CHANGES)
def test_places_go_or_change_and_the_rest_stays(raw, edits, expected):
    assert changed(raw, edits) == expected


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


def test_a_block_that_is_an_object_stays_the_callers_own_where_it_is_not_changed():
    block = Dumped(type="text", text="so", citations=None)
    raw = {"role": "assistant", "content": [block, use("a", x=1)]}
    assert changed(raw, {("content", 1, "input"): {}})["content"][0] is block


OLD = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
SO = {"role": "assistant", "content": "so"}
RESULTS = gives(answer("a", [text("x"), picture()]), answer("b"), text("go on"))
NOVELTY = {"type": "novelty", "x": 1}
REMOVALS = {
    "one of several calls": ("openai", calling("a", "b", "c"), "call", "b", calling("a", "c")),
    # '[] is too short - messages.1.tool_calls', answers the provider to an empty list.
    "the list of calls with the last": ("openai", calling("a", "b", text="so"), "call", None, SO),
    "a message that only called": ("openai", {**calling("a"), "content": None}, "call", None, None),
    "and had an empty text": ("openai", {**calling("a"), "content": ""}, "call", None, None),
    "and had an empty list": ("openai", {**calling("a"), "content": []}, "call", None, None),
    "a call in the old way": ("openai", OLD, "call", None, None),
    "and what was said stays": ("openai", {**OLD, "content": "so"}, "call", None, SO),
    "a result with its message": ("openai", result("a"), "result", None, None),
    "a result with all that is in it": ("anthropic", RESULTS, "result", "a", gives(answer("b"), text("go on"))),
    "all results": ("anthropic", RESULTS, "result", None, gives(text("go on"))),
    "a picture is something to say": ("anthropic", gives(answer("a"), picture()), "result", None, gives(picture())),
    "thinking": ("anthropic", says(thinking(), text("so"), use("a")), "thinking", None, says(text("so"), use("a"))),
    "thinking that was all": ("anthropic", says(thinking()), "thinking", None, None),
    "thinking alone is nothing to say": ("anthropic", says(thinking(), use("a")), "call", None, None),
    "something unknown is": ("anthropic", says(NOVELTY, use("a")), "call", None, says(NOVELTY)),
    "unknown fields stay": ("openai", {**calling("a", "b"), "m": {"n": 1}}, "call", "a", {**calling("b"), "m": {"n": 1}}),
}  # fmt: skip


@pytest.mark.parametrize(("format", "raw", "kind", "ids", "expected"), REMOVALS.values(), ids=REMOVALS)
def test_a_piece_goes_with_all_that_it_needs(format, raw, kind, ids, expected):
    message = wire(format).read(raw, 0)
    gone = [piece for piece in message.pieces if piece.kind == kind and (ids is None or piece.id in ids)]
    assert without(message, gone) == expected


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
