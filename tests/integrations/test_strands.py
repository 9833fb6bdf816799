"""Strands Agents against an OpenAI server with a hard window, and messages as Bedrock has them there and back."""

from __future__ import annotations

import asyncio
import copy
from types import SimpleNamespace

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager
from strands.types.events import ModelStopReason
from strands.types.exceptions import ContextWindowOverflowException

import brim
from brim.integrations.strands import BrimConversationManager, _usage
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)
from properties import examples


@tool
def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def agent_of(server, manager, **more):
    client = openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    model = OpenAIModel(client=client, model_id="gpt-5")
    asked = {"tools": [look], "system_prompt": SYSTEM, "callback_handler": None}
    return Agent(model=model, conversation_manager=manager, **asked, **more)


def run(server, window, *, stream=False, **options):
    manager = BrimConversationManager(window, **options)
    agent = agent_of(server, manager)

    async def whole():
        return [event["data"] async for event in agent.stream_async(TASK) if "data" in event]

    answer = "".join(asyncio.run(whole())) if stream else str(agent(TASK)).strip()
    assert len(agent.messages) == 2 * server.calls + 2
    return answer, manager.conversations


def test_the_agent_of_a_session_names_the_conversation(upstream, tmp_path):
    manager = BrimConversationManager()
    kept = FileSessionManager(session_id="s1", storage_dir=str(tmp_path))
    agent_of(upstream(), manager, session_manager=kept, agent_id="surveyor")(TASK)
    assert [session.id for session in manager.conversations.sessions] == ["s1/surveyor"]


def test_a_call_that_is_refused_twice_ends_the_run(upstream):
    server = upstream(4_000)
    server.script = [lambda values: (400, server.refusal("chat", 4_100, 0))] * 2
    with pytest.raises(ContextWindowOverflowException):
        agent_of(server, BrimConversationManager(4_000))(TASK * 50)
    assert server.script == []


def stopped(usage):
    return ModelStopReason("end_turn", {"role": "assistant", "content": []}, usage, {"latencyMs": 1})


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"inputTokens": 90, "outputTokens": 10, "totalTokens": 100, "cacheReadInputTokens": 40}, 90),
        ({"inputTokens": 50, "outputTokens": 10, "totalTokens": 100, "cacheReadInputTokens": 40}, 90),
    ],
    ids=["cached-within", "cached-apart"],
)
def test_the_whole_prompt_is_counted_wherever_the_cache_is(usage, told):
    assert _usage(stopped(usage))["input_tokens"] == told


texts = st.text(max_size=30)
values = st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=2)), max_size=3)
image = st.just({"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n" + bytes(40)}}})
document = st.just(
    {"document": {"format": "pdf", "name": "a", "source": {"location": {"type": "s3", "uri": "s3://a/b"}}}}
)
returned = st.one_of(texts.map(lambda text: {"text": text}), values.map(lambda each: {"json": each}), image, document)
blocks = st.one_of(
    texts.map(lambda text: {"text": text}),
    image,
    document,
    st.just({"video": {"format": "mp4", "source": {"bytes": b"\0" * 30}}}),
    st.just({"cachePoint": {"type": "default"}}),
    texts.map(lambda text: {"guardContent": {"text": {"text": text}}}),
    texts.map(lambda text: {"unknown": {"says": text}}),
)
thoughts = st.one_of(
    texts.map(lambda text: {"reasoningContent": {"reasoningText": {"text": text, "signature": "s"}}}),
    st.just({"reasoningContent": {"redactedContent": b"sealed"}}),
)


@st.composite
def histories(draw):
    """Messages as Strands keeps them: several calls at a time, results with text, values and media."""
    messages = [{"role": "user", "content": draw(st.lists(blocks, min_size=1, max_size=3)), "tracking_id": "0"}]
    for turn in range(draw(st.integers(0, 4))):
        keys = [f"{turn}-{i}" for i in range(draw(st.integers(0, 3)))]
        calls = [{"toolUse": {"toolUseId": key, "name": "look", "input": draw(values)}} for key in keys]
        said = [*draw(st.lists(thoughts, max_size=1)), *draw(st.lists(blocks, max_size=2)), *calls]
        messages.append({"role": "assistant", "content": said or [{"text": "so"}], "metadata": {"custom": {"a": turn}}})
        results = [
            {"toolResult": {"toolUseId": key, "status": "success", "content": draw(st.lists(returned, max_size=3))}}
            for key in keys
        ]
        messages.append({"role": "user", "content": results or draw(st.lists(blocks, min_size=1, max_size=2))})
    return messages


def fitted(messages, window):
    """Return the messages that a manager sends."""
    model = SimpleNamespace(get_config=dict)
    context = SimpleNamespace(messages=messages, model=model, tool_specs=[], system_prompt=None, agent=None)
    return BrimConversationManager(window, meter="gpt-5")._call(context).messages


@examples(80)
@given(histories(), st.integers(60, 2_000))
def test_what_is_left_is_legal_and_takes_turns(messages, window):
    before = copy.deepcopy(messages)
    try:
        sent = fitted(messages, window)
    except brim.DoesNotFit:
        return
    assert messages == before
    waiting: list[str] = []
    for place, message in enumerate(sent):
        assert message["role"] == ("user", "assistant")[place % 2]
        assert message["content"]
        assert [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block] == waiting
        waiting = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
    assert waiting == []


def test_what_is_cut_keeps_all_else():
    long = "mud and sand; " * 2_000
    result = {"toolUseId": "1", "status": "error", "content": [{"text": long}, {"json": {"rows": ["mud"] * 3_000}}]}
    messages = [
        {"role": "user", "content": [{"text": TASK}], "tracking_id": "a"},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "look", "input": {"number": 1}}}]},
        {"role": "user", "content": [{"toolResult": result}], "tracking_id": "b"},
    ]
    sent = fitted(messages, 1_000)
    assert sent[0] is messages[0]
    assert sent[1] is messages[1]
    left = sent[2]["content"][0]["toolResult"]
    assert sent[2]["tracking_id"] == "b"
    assert (left["toolUseId"], left["status"]) == ("1", "error")
    assert len(left["content"][0]["text"]) < len(long)
    rows = left["content"][1]["json"]["rows"]
    assert (rows[0], len(rows) < 3_000) == ("mud", True)
    assert any(row.endswith(" items omitted]") for row in rows)
    assert result["content"][0]["text"] == long
