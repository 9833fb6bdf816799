"""Input that no provider would take: repaired, and the receipt says how."""

import copy

import pytest

import brim
from brim.testing import CharMeter, PieceMeter
from talk import (
    answer,
    calling,
    gives,
    item_call,
    item_output,
    model,
    picture,
    reasoning,
    refusal,
    result,
    same,
    says,
    system,
    text,
    thinking,
    use,
    user,
)

LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
SAID = {"type": "message", "role": "assistant", "content": "so"}

CASES = {
    # name: shape, messages, what is left, (index, action, words of the reason) of each repair
    "a result that answers nothing": (
        "openai",
        [user(), result("x"), model()],
        [user(), model()],
        [(1, "dropped", "there is no call for the result 'x'")],
    ),
    "a result before its call": (
        "openai",
        [user(), result("a"), calling("a"), user("go on")],
        [user(), user("go on")],
        [(1, "dropped", "there is no call for the result 'a'"), (2, "dropped", "there is no result for the call 'a'")],
    ),
    "a message that answers calls of two turns": (
        "anthropic",
        [user(), says(use("a")), user("wait"), says(use("b")), gives(answer("b"), answer("a"))],
        [user(), user("wait"), says(use("b")), gives(answer("b"))],
        [(4, "changed", "there is no call for the result 'a'"), (1, "dropped", "there is no result for the call 'a'")],
    ),
    "one of three calls has no answer": (
        "openai",
        [user(), calling("a", "b", "c"), result("c"), result("a")],
        [user(), calling("a", "c"), result("c"), result("a")],
        [(1, "changed", "there is no result for the call 'b'")],
    ),
    "a result after other messages": (
        "openai",
        [user(), calling("a"), user("wait"), model(), result("a"), user("go on")],
        [user(), calling("a"), result("a"), user("wait"), model(), user("go on")],
        [(4, "moved", "a result must follow its call")],
    ),
    "a call of the old kind that nothing answers": (
        "openai",
        [user(), LEGACY],
        [user()],
        [(1, "dropped", "there is no result for the call 'old'")],
    ),
    "the model speaks first": (
        "anthropic",
        [says(text("hello")), user()],
        [user()],
        [(0, "dropped", "the first message must be the user's")],
    ),
    "an orphan beside words": (
        "anthropic",
        [user(), says(text("so")), gives(answer("x", [text("out"), picture()]), text("and go on"))],
        [user(), says(text("so")), gives(text("and go on"))],
        [(2, "changed", "there is no call for the result 'x'")],
    ),
    "a call item that nothing answers": (
        "responses",
        [user(), item_call("a"), item_call("b"), item_output("a")],
        [user(), item_call("a"), item_output("a")],
        [(2, "dropped", "there is no result for the call 'b'")],
    ),
}
BY_NAME = pytest.mark.parametrize(("format", "messages", "left", "told"), list(CASES.values()), ids=list(CASES))


def fitted(messages, format, budget=10_000, meter=None, **options):
    return brim.fit_messages(messages, budget, meter=meter or PieceMeter(), format=format, **options)


@BY_NAME
def test_what_no_provider_would_take_is_left_out(format, messages, left, told):
    before = copy.deepcopy(messages)
    assert refusal(messages, format)
    assert fitted(messages, format).messages == left
    assert refusal(left, format) == ""
    assert messages == before


@BY_NAME
def test_the_receipt_says_what_was_repaired_and_why(format, messages, left, told):
    repairs = fitted(messages, format).receipt.history["repairs"]
    assert [(r["index"], r["action"]) for r in repairs] == [(index, action) for index, action, _ in told]
    for repair, (_, _, words) in zip(repairs, told, strict=True):
        assert words in repair["reason"]


@BY_NAME
def test_it_is_repaired_where_there_is_little_room_too(format, messages, left, told):
    for budget in range(4, 120):
        try:
            result_ = fitted(messages, format, budget, meter=CharMeter())
        except brim.DoesNotFit:
            continue
        assert refusal(result_.messages, format) == ""
        assert result_.used <= budget


LEGAL = [
    ("openai", [system(), user(), calling("a", "b"), result("b"), result("a"), model()]),
    ("openai", [user(), LEGACY, {"role": "function", "name": "old", "content": "out"}]),
    ("openai", [model("I may begin"), user(), calling("a"), result("a"), calling("a"), result("a")]),
    ("anthropic", [user(), says(thinking(), use("a"), use("b")), gives(answer("b"), answer("a"), text("so"))]),
    ("anthropic", [user(), says(use("a"), use("b")), gives(answer("a")), gives(answer("b"))]),
    ("anthropic", [system(), user(), says(text("so"))]),
    ("responses", [user(), reasoning(), item_call("a"), item_call("b"), item_output("b"), item_output("a"), SAID]),
    ("responses", [user(), item_call("a"), user("wait"), item_output("a")]),
    (
        "responses",
        [
            user(),
            {
                "type": "local_shell_call",
                "id": "i",
                "call_id": "c",
                "action": {"type": "exec", "command": ["ls"], "env": {}},
            },
            {"type": "local_shell_call_output", "id": "c", "output": "files"},
        ],
    ),
    ("responses", [user(), {"type": "tool_search_call", "call_id": None, "arguments": {}}, SAID]),
]


def test_calls_in_two_messages_of_the_model_may_be_answered_together():
    """A provider that combines messages of one role reads them as one."""
    messages = [
        user(),
        says(use("a")),
        says(use("b")),
        gives(answer("a"), answer("b")),
        says(text("so")),
        user("go on"),
    ]
    fitted = brim.fit_messages(messages, 1_000, meter=CharMeter(), format="anthropic")
    assert fitted.messages == messages


@pytest.mark.parametrize(("format", "messages"), LEGAL)
def test_what_a_provider_takes_is_not_repaired(format, messages):
    got = fitted(messages, format)
    assert same(messages, got.messages)
    assert got.receipt.history["repairs"] == []
    assert not got.receipt.truncated


def test_a_call_that_is_answered_later_is_only_left_out_until_then():
    history = brim.History(meter=PieceMeter())
    messages = [user(), calling("a", text="I look")]
    history.extend(messages)
    assert history.fit(1_000).messages == [user(), model("I look")]
    history.extend([result("a")])
    later = history.fit(1_000)
    assert later.messages[1] is messages[1]
    assert later.receipt.history["repairs"] == []


# --- what is left must be something that a provider takes


def test_reasoning_goes_with_the_call_that_nothing_answers():
    """'Item rs of type reasoning was provided without its required following item', answers the provider."""
    got = fitted([user(), reasoning(), item_call("a"), user("go on")], "responses")
    assert refusal(got.messages, "responses") == ""
    assert got.messages == [user(), user("go on")]
    assert sum(part.size for part in got.receipt.parts) > sum(part.used for part in got.receipt.parts)


def test_reasoning_that_nothing_follows_is_left_out():
    for after in ([], [user("go on")]):
        got = fitted([user(), reasoning(), *after], "responses")
        assert got.messages == [user(), *after]
        assert [repair["index"] for repair in got.receipt.history["repairs"]] == [1]


def test_thinking_does_not_stay_alone():
    """'The final block in an assistant message cannot be thinking', answers the provider."""
    messages = [user(), says(thinking(), use("a")), user("go on")]
    for chosen in ({"meter": PieceMeter()}, {"model": "claude-sonnet-4-5"}):
        got = brim.fit_messages(messages, 10_000, format="anthropic", **chosen)
        assert refusal(got.messages, "anthropic") == ""
        assert len(got.receipt.history["repairs"]) == 1


def test_reasoning_beside_the_content_does_not_stay_alone():
    """'Invalid value for content: expected a string, got null', answers the provider."""
    got = fitted([user(), {**calling("a"), "reasoning_content": "hm"}, user("go on")], "openai")
    assert refusal(got.messages, "openai") == ""
    assert len(got.receipt.history["repairs"]) == 1


def test_duplicate_ids_in_one_message_are_answered_one_by_one():
    messages = [user(), calling("a", "a"), result("a", "first"), result("a", "second")]
    got = fitted(messages, "openai")
    assert len(got.messages) == 4
    got = fitted(messages[:3], "openai")
    assert [len(m.get("tool_calls") or []) for m in got.messages] == [0, 1, 0]
