"""Which shape messages are in: told by what only one shape has, and by nothing that all of them have."""

from dataclasses import asdict, dataclass
from typing import Any

import pytest

import brim
from brim.errors import InvalidType, InvalidValue
from brim.testing import CharMeter
from brim.wire import format_of, wire
from brim.wire.base import changed, lowered_limits
from talk import (
    Dumped,
    answer,
    calling,
    gives,
    item_call,
    item_output,
    model,
    picture,
    reasoning,
    result,
    says,
    sealed,
    system,
    text,
    thinking,
    use,
    user,
)

CHAT = [
    calling("a"),
    result("a"),
    {"role": "function", "name": "old", "content": "x"},
    {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]},
    {"role": "assistant", "content": "x", "refusal": None},
    {"role": "assistant", "content": "x", "reasoning_content": "hm"},
    Dumped(role="assistant", content=None, tool_calls=[Dumped(id="a", type="function", function=Dumped(name="f"))]),
]
RESPONSES = [
    item_call("a"),
    item_output("a"),
    reasoning(),
    {"type": "message", "role": "user", "content": "x"},
    {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": []}]},
    {"type": "item_reference", "id": "i"},
    {"type": "custom_tool_call", "call_id": "a", "name": "p", "input": "x"},
    {"type": "local_shell_call_output", "id": "a", "output": "x"},
    {"type": "compaction", "encrypted_content": "x"},
    Dumped(type="function_call", call_id="a", name="f", arguments="{}"),
]
ANTHROPIC = [
    says(use("a")),
    gives(answer("a")),
    says(thinking(), text("x")),
    says(sealed(), text("x")),
    gives(text("x"), picture()),
    {"role": "user", "content": (answer("a"),)},
    {
        "role": "assistant",
        "content": [Dumped(type="text", text="x"), Dumped(type="tool_use", id="a", name="f", input={})],
    },
    {"role": "assistant", "content": [Dumped(type="thinking", thinking="hm", signature="sig")]},
]
TELLING = [
    *(("openai", raw) for raw in CHAT),
    *(("responses", raw) for raw in RESPONSES),
    *(("anthropic", raw) for raw in ANTHROPIC),
]
ANY = [user("x"), model("x"), {"role": "user", "content": [text("x")]}, {"role": "assistant", "content": None}]


@pytest.mark.parametrize(("format", "raw"), TELLING, ids=[f"{format}-{i}" for i, (format, _) in enumerate(TELLING)])
def test_one_message_that_only_one_shape_has_is_enough(format, raw):
    assert format_of([raw]) == format
    assert format_of([*ANY, raw, *ANY]) == format
    for role in ("system", "developer"):  # Every shape has one.
        assert format_of([system(role=role), user(), raw]) == format


@pytest.mark.parametrize("messages", [[], [user()], ANY])
def test_messages_that_could_be_in_any_shape_are_in_none(messages):
    assert format_of(messages) is None


def test_a_history_waits_with_its_decision_until_something_tells():
    history = brim.History(meter=CharMeter())
    history.extend([system(), user()])
    history.extend([item_call("a"), item_output("a")])
    assert [m.get("type") for m in history.fit(1_000).messages] == [None, None, "function_call", "function_call_output"]


def test_what_could_be_in_any_shape_is_read_as_that_of_the_model():
    fitted = brim.fit_messages([model("hello"), user("hi")], 1_000, model="claude-sonnet-4-5")
    assert [repair["reason"] for repair in fitted.receipt.history["repairs"]] == [
        "the first message must be the user's"
    ]
    assert brim.fit_messages([model("hello"), user("hi")], 1_000, model="gpt-4o").receipt.history["repairs"] == []


def test_a_shape_that_is_given_is_not_guessed():
    messages = [model("hello"), user("hi")]
    fitted = brim.fit_messages(messages, 1_000, meter=CharMeter(), format="anthropic")
    assert fitted.messages == [user("hi")]


@pytest.mark.parametrize("value", ["hello", b"hello", {"role": "user"}, None, 5, {1, 2}, iter([user()])])
def test_only_a_list_of_messages_has_a_shape(value):
    with pytest.raises(InvalidType, match=r"^messages must be a list of messages"):
        format_of(value)


@pytest.mark.parametrize("name", ["chat", "OpenAI", "", None, 5, ["openai"]])
def test_a_name_that_is_none_of_the_shapes_is_refused_and_the_shapes_are_listed(name):
    with pytest.raises(InvalidValue, match=r"^format must be one of 'openai', 'responses', 'anthropic'"):
        wire(name)


@dataclass
class Said:
    role: str
    content: Any = None
    tool_calls: Any = None
    tool_call_id: Any = None


def test_a_message_may_be_a_dataclass():
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = [Said("user", "The task."), Said("assistant", None, [call]), Said("tool", "a line " * 90, None, "a")]
    fitted, expected = (brim.fit_messages(each, 200, meter=CharMeter()) for each in (said, [*map(asdict, said)]))
    assert fitted.messages[0] is said[0]  # What is not changed stays the caller's own.
    assert [each if isinstance(each, dict) else asdict(each) for each in fitted.messages] == expected.messages
    assert fitted.receipt == expected.receipt


def test_a_shorter_answer_takes_its_thinking_along():
    """`max_tokens` must be greater than `thinking.budget_tokens`."""
    body = {"thinking": {"type": "enabled", "budget_tokens": 31_999}, "max_tokens": 32_000}
    lowered = lowered_limits(body, 9_000)
    assert lowered == {("max_tokens",): 9_000, ("thinking", "budget_tokens"): 8_999}
    assert lowered_limits(changed(body, lowered), 9_000) == {}
