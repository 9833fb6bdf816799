"""Strands Agents against an OpenAI server with a hard window, and messages as Bedrock has them there and back."""

from __future__ import annotations

import asyncio
import copy
import json
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
from properties import examples

WINDOW = 4_000
GOAL = "Find out why the harbour is silting up."
SYSTEM = "You are a careful surveyor."


@tool
def look(number: int) -> str:
    """Look at a place in the harbour."""
    return f"Place {number}: " + "mud, sand and shells over old chains; " * 20


def agent_of(server, manager, **more):
    client = openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    model = OpenAIModel(client=client, model_id="gpt-5")
    asked = {"tools": [look], "system_prompt": SYSTEM, "callback_handler": None}
    return Agent(model=model, conversation_manager=manager, **asked, **more)


def test_with_brim_it_runs_to_its_end(upstream):
    server = upstream(WINDOW, calls=36)
    agent = agent_of(server, BrimConversationManager(WINDOW))
    assert str(agent(GOAL)).strip() == "Well done."
    assert (server.refused, server.illegal) == (0, [])
    assert len(server.sizes) == 37
    assert max(server.sizes) <= WINDOW
    last = server.requests[-1]["messages"]
    assert last[0]["role"] == "system"
    assert SYSTEM in json.dumps(last[0])
    assert last[1]["content"][0]["text"] == GOAL
    assert look(36) in json.dumps(last[-1])
    assert len(agent.messages) == 74
    results = [
        block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
    ]
    assert [result["content"][0]["text"] for result in results] == [look(number) for number in range(1, 37)]


def test_it_runs_async_and_streams(upstream):
    server = upstream(WINDOW, calls=33)
    agent = agent_of(server, BrimConversationManager(WINDOW))

    async def whole():
        return [event["data"] async for event in agent.stream_async(GOAL) if "data" in event]

    assert "".join(asyncio.run(whole())) == "Well done."
    assert server.refused == 0
    assert max(server.sizes) <= WINDOW


def test_a_refused_call_is_made_once_more_and_smaller(upstream):
    server = upstream(WINDOW, calls=36)
    manager = BrimConversationManager(2 * WINDOW)
    agent = agent_of(server, manager)
    assert str(agent(GOAL)).strip() == "Well done."
    assert server.refused >= 1
    assert server.illegal == []
    assert manager.conversations.sessions[-1].status().overflows == server.refused


def test_a_call_that_is_refused_twice_ends_the_run(upstream):
    server = upstream(WINDOW)
    server.script = [lambda values: (400, server.refusal("chat", 4_100, 0))] * 2
    with pytest.raises(ContextWindowOverflowException):
        agent_of(server, BrimConversationManager(WINDOW))(GOAL * 50)
    assert server.script == []


def test_the_session_shows_receipts_and_usage(upstream, tmp_path):
    server = upstream(WINDOW, calls=5)
    store = brim.open_store(f"sqlite:///{tmp_path / 'brim.db'}")
    manager = BrimConversationManager(WINDOW, session="harbour", store=store)
    agent_of(server, manager)(GOAL)
    [session] = manager.conversations.sessions
    assert session.id == "harbour"
    assert session.status().reported == server.sizes[-1]
    assert manager.conversations.last.receipt.used <= WINDOW
    kinds = [entry.kind for entry in store.entries("harbour")]
    assert kinds.count("prompt") == kinds.count("usage") == 6


def test_a_session_goes_on_in_another_process(upstream, tmp_path):
    store = f"sqlite:///{tmp_path / 'brim.db'}"

    def again(calls):
        server = upstream(WINDOW, calls=calls)
        manager = BrimConversationManager(WINDOW, store=store)
        kept = FileSessionManager(session_id="s1", storage_dir=str(tmp_path / "sessions"))
        agent = agent_of(server, manager, session_manager=kept, agent_id="surveyor")
        agent(GOAL)
        return server, manager, agent

    again(25)
    server, manager, agent = again(20)
    assert server.refused == 0
    assert len(agent.messages) == 52 + 42
    [session] = manager.conversations.sessions
    assert session.id == "s1/surveyor"
    assert session.status().prompts == 47


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
        {"role": "user", "content": [{"text": GOAL}], "tracking_id": "a"},
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
    assert rows[-1].endswith(" items omitted]")
    assert result["content"][0]["text"] == long
