"""What the upstreams of `make test-agents` refuse, by cases that each break one rule."""

import sys
from copy import deepcopy

import pytest

from checkout import ROOT

sys.path.append(str(ROOT))

from scripts.agents.gemini_api import check_gemini
from scripts.agents.messages_api import check_messages
from scripts.agents.openai_api import check_chat
from scripts.agents.responses_api import check_responses
from scripts.agents.upstream import IllegalRequest, sealed, signature

MARK = {"type": "ephemeral"}
NEWER = "claude-opus-4-8"


def thought(text="so"):
    return {"type": "thinking", "thinking": text, "signature": signature(text)}


def call(name="t1"):
    return {"type": "tool_use", "id": name, "name": "bash", "input": {}}


def result(name="t1"):
    return {"type": "tool_result", "tool_use_id": name, "content": "done"}


def text(said="go on"):
    return {"type": "text", "text": said}


def messages(*turns, **fields):
    names = {"u": "user", "a": "assistant", "s": "system"}
    said = [{"role": names[role], "content": list(blocks)} for role, *blocks in turns]
    return {"max_tokens": 100, "tools": [{"name": "bash"}], "messages": said} | fields


LEGAL = messages(
    ("u", text()),
    ("s", text("a reminder")),
    ("a", thought(), call(), call("t2")),
    ("u", result(), result("t2"), text()),
    ("s", text("a reminder")),
    ("a", thought(), call("t3")),
    ("u", result("t3")),
    thinking={"type": "enabled", "budget_tokens": 99},
    model=NEWER,
)


def test_a_conversation_as_claude_code_sends_it_is_legal():
    check_messages(LEGAL)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (messages(), "at least one message"),
        (messages(("a", text())), "first message must use the"),
        (messages(("u", text()), ("u", text())), "roles must alternate"),
        (messages(("u", text()), ("s", text())), "Input should be 'user' or 'assistant'"),
        (messages(("u",)), "non-empty content"),
        (messages(("u", text(" \n"))), "non-whitespace text"),
        (messages(("u", text()), ("a", call())), "without `tool_result` blocks immediately after: t1"),
        (messages(("u", text()), ("a", call()), ("u", text())), "without `tool_result`"),
        (messages(("u", text()), ("a", text()), ("u", result())), "unexpected `tool_use_id`"),
        (messages(("u", result())), "unexpected `tool_use_id`"),
        (messages(("u", text()), ("a", call()), ("u", text(), result())), "must come first"),
        (messages(("u", text()), ("a", call()), ("u", result(), result())), "single result"),
        (
            messages(("u", text()), ("a", call()), ("u", result()), ("a", call()), ("u", result())),
            "ids must be unique",
        ),
        (messages(("u", call())), "only be in `assistant`"),
        (messages(("u", text()), ("a", result())), "only be in `user`"),
        (messages(("u", text()), ("a", call()), ("u", result()), tools=[]), "must define tools"),
        (messages(("u", *[{**text(), "cache_control": MARK} for _ in range(5)])), "maximum of 4 blocks"),
        (messages(("u", text()), ("a", {**thought(), "thinking": "other"}), ("u", text())), "Invalid `signature`"),
        (messages(("u", text()), ("a", {**thought(), "cache_control": MARK}), ("u", text())), "Extra inputs"),
        (messages(("u", text()), thinking={"type": "enabled", "budget_tokens": 100}), "greater than"),
        (messages(("u", text()), ("a", text()), thinking={"type": "adaptive"}), "prefill"),
        (
            messages(("u", text()), ("a", call()), ("u", result()), thinking={"type": "enabled", "budget_tokens": 1}),
            "Expected `thinking`",
        ),
    ],
)
def test_messages_that_anthropic_refuses(request_, said):
    with pytest.raises(IllegalRequest, match=said):
        check_messages(request_)


def test_a_system_message_in_the_middle_may_not_part_a_call_from_its_result():
    broken = messages(("u", text()), ("a", call()), ("s", text("a reminder")), ("u", result()), model=NEWER)
    with pytest.raises(IllegalRequest, match="must come first"):
        check_messages(broken)


USER = {"role": "user", "content": "hi"}
ASKED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "function": {}}, {"id": "c2", "function": {}}],
}
ONE, TWO = ({"role": "tool", "tool_call_id": name, "content": "done"} for name in ("c1", "c2"))


def test_a_chat_with_parallel_calls_is_legal():
    check_chat({"messages": [{"role": "system", "content": "be kind"}, USER, ASKED, TWO, ONE, USER]})


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ([], "empty array"),
        ([USER, ONE], "must be a response to a preceeding"),
        ([USER, ASKED, ONE, ONE, TWO], "must be a response to a preceeding"),
        ([USER, ASKED, ONE], "did not have response messages: c2"),
        ([USER, ASKED, ONE, USER, TWO], "did not have response messages: c2"),
        ([USER, {"role": "assistant", "content": None}], "got null"),
        ([USER, {"role": "assistant", "content": "x", "tool_calls": []}], "empty array"),
        ([USER, {"role": "robot", "content": "x"}], "Invalid value: 'robot'"),
        ([{"role": "system", "content": "be kind"}], "No user query"),
    ],
)
def test_chats_that_are_refused(said, refused):
    with pytest.raises(IllegalRequest, match=refused):
        check_chat({"messages": said})


ITEMS = [
    {"type": "message", "role": "user", "content": "hi"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed("so")},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": "reading"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_reasoned_1", "name": "shell", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_reasoned_1", "output": "done"},
]


def test_reasoning_with_what_it_led_to_is_legal():
    check_responses({"input": ITEMS})
    check_responses({"input": "hi"})


def without(*indexes, **changes):
    items = deepcopy(ITEMS)
    for name, value in changes.items():
        items[int(name[1:])] |= value
    return [item for i, item in enumerate(items) if i not in indexes]


@pytest.mark.parametrize(
    ("items", "refused"),
    [
        ([], "must be provided"),
        (without(4), "No tool output found for function call call_reasoned_1"),
        (without(1, 2, 3), "No tool call found for function call output"),
        (without(1), "without its required 'reasoning' item"),
        (without(2, 3, 4), "without its required following item"),
        (without(_1={"encrypted_content": sealed("so") + "x"}), "could not be verified"),
        (without(_4={"type": "custom_tool_call_output"}), "No tool output found"),
        (without(_3={"id": "rs_1"}), "Duplicate item found with id rs_1"),
        ([*ITEMS, {"type": "riddle"}], "Invalid value: 'riddle'"),
    ],
)
def test_items_that_are_refused(items, refused):
    with pytest.raises(IllegalRequest, match=refused):
        check_responses({"input": items})


ASK = {"role": "user", "parts": [{"text": "hi"}]}
ACT = {"role": "model", "parts": [{"functionCall": {"id": "g1", "name": "shell", "args": {}}}]}
DONE = {"role": "user", "parts": [{"functionResponse": {"id": "g1", "name": "shell", "response": {}}}]}


def test_a_call_of_gemini_with_its_response_is_legal():
    check_gemini([ASK, ACT, DONE, {"role": "model", "parts": [{"text": "so"}]}, ASK])


@pytest.mark.parametrize(
    ("contents", "refused"),
    [
        ([], "contents is not specified"),
        ([{"role": "robot", "parts": [{"text": "x"}]}], "valid role"),
        ([ASK, {"role": "user", "parts": []}], "must not be empty"),
        ([ACT, DONE], "begin with a user turn"),
        ([ASK, ACT], "end with a user role"),
        ([ASK, ACT, ASK], "number of function response parts"),
        ([ASK, ACT, ACT, DONE, ASK], "number of function response parts"),
        ([ASK, ACT, {"role": "user", "parts": [{"functionResponse": {"id": "g2"}}]}], "ids do not match"),
        ([ASK, DONE], "immediately after a function call turn"),
    ],
)
def test_contents_that_gemini_refuses(contents, refused):
    with pytest.raises(IllegalRequest, match=refused):
        check_gemini(contents)
