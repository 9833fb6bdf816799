"""LlamaIndex against an OpenAI server with a hard window: agents, chat engines, and messages there and back."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai_like import OpenAILike

import brim
from brim.integrations.calls import TranslatedCall
from brim.integrations.llama_index import TRANSLATION, BrimLLM
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)
from integrations.translations import rewritten
from properties import examples


def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def llm_of(server):
    asked = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 1_000_000, "max_retries": 0}
    return OpenAILike(model="gpt-5", api_base=f"{server.url}/v1", api_key="none", **asked)


def everything():
    """Return a memory that keeps everything."""
    return ChatMemoryBuffer.from_defaults(token_limit=10**9)


def run(server, window, *, stream=False, **options):
    llm, memory = BrimLLM(llm_of(server), window, **options), everything()
    agent = FunctionAgent(llm=llm, tools=[look], system_prompt=SYSTEM, streaming=stream)

    async def whole():
        running = agent.run(TASK, memory=memory, max_iterations=100)
        said = [event.delta async for event in running.stream_events() if isinstance(event, AgentStream)]
        return str(await running), "".join(said)

    answer, said = asyncio.run(whole())
    assert said == (answer if stream else "")
    assert len(memory.get_all()) == 2 * server.calls + 2
    return answer, llm.conversations


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
def test_sync_calls_are_fitted_and_tried_again(upstream, streaming):
    server = upstream(4_000)
    llm = BrimLLM(llm_of(server), 8_000)
    messages = [ChatMessage(role="system", content=SYSTEM)]
    for number in range(30):
        messages.append(ChatMessage(role="user", content=look(number)))
        messages.append(ChatMessage(role="assistant", content="Noted."))
    messages.append(ChatMessage(role="user", content=TASK))
    answer = [*llm.stream_chat(messages)][-1] if streaming else llm.chat(messages)
    assert answer.message.content == "Well done."
    assert server.refused == 1
    assert len(messages) == 62


def test_a_chat_engine_stays_within_its_window(upstream):
    server = upstream(1_000)
    memory = everything()
    engine = SimpleChatEngine.from_defaults(llm=BrimLLM(llm_of(server), 1_000), memory=memory, system_prompt=SYSTEM)
    for number in range(30):
        assert str(engine.chat(look(number)[:300])) == "Well done."
    said = asyncio.run(engine.achat(TASK))
    assert str(said) == "Well done."
    assert server.refused == 0
    assert max(server.sizes) <= 1_000
    assert server.requests[-1]["messages"][0]["content"] == SYSTEM
    assert server.requests[-1]["messages"][-1]["content"] == TASK
    assert len(memory.get_all()) == 62
    engine.reset()
    assert memory.get_all() == memory.get() == []


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)
texts = st.text(max_size=30)
values = st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=2)), max_size=3)
blocks = st.one_of(
    texts.map(lambda text: TextBlock(text=text)),
    st.just(ImageBlock(image=PICTURE, detail="low")),
    st.just(ImageBlock(url="https://a.b/c.png")),
    st.just(AudioBlock(audio=b"\0" * 30, format="wav")),
    st.just(DocumentBlock(data=b"%PDF-1.4", title="t")),
    st.just(CachePoint(cache_control={"type": "ephemeral"})),
    texts.map(lambda text: CitableBlock(title="t", source="s", content=text)),
)
thoughts = texts.map(lambda text: ThinkingBlock(content=text, additional_information={"signature": "s"}))


@st.composite
def histories(draw):
    """Messages as LlamaIndex has them: several calls at a time, as blocks or beside them, with ids or without."""
    messages = [ChatMessage(role="system", content=draw(texts))]
    messages.append(ChatMessage(role="user", blocks=draw(st.lists(blocks, max_size=3)), additional_kwargs={"mine": 1}))
    for turn in range(draw(st.integers(0, 4))):
        way = draw(st.sampled_from(["blocks", "nameless", "beside"]))
        keys = [f"{turn}-{i}" for i in range(draw(st.integers(0, 3)))]
        said = [*draw(st.lists(thoughts, max_size=1)), *draw(st.lists(blocks, max_size=2))]
        more = {}
        if way == "beside":
            made = [{"name": "look", "arguments": json.dumps(draw(values))} for _ in keys]
            calls = zip(keys, made, strict=True)
            more = {"mine": 1, "tool_calls": [{"id": key, "type": "function", "function": each} for key, each in calls]}
        else:
            named = [key if way == "blocks" else None for key in keys]
            said += [ToolCallBlock(tool_call_id=key, tool_name="look", tool_kwargs=draw(values)) for key in named]
        messages.append(ChatMessage(role="assistant", blocks=said, additional_kwargs=more))
        for key in keys:
            told = {"tool_call_id": key} if way != "nameless" else {}
            messages.append(
                ChatMessage(role="tool", blocks=draw(st.lists(blocks, max_size=2)), additional_kwargs={**told, "x": 1})
            )
        messages.append(ChatMessage(role="user", blocks=draw(st.lists(blocks, min_size=1, max_size=2))))
    return messages


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@examples(60)
@given(messages=histories())
def test_messages_come_back_as_they_were(format, messages):
    before = [message.model_copy(deep=True) for message in messages]
    assert rewritten(TRANSLATION, messages, format) == messages == before


def test_what_is_cut_keeps_all_else():
    long = "mud and sand; " * 2_000
    call = ToolCallBlock(tool_call_id="1", tool_name="look", tool_kwargs={"note": long})
    messages = [
        ChatMessage(role="user", content=TASK),
        ChatMessage(role="assistant", blocks=[TextBlock(text="so"), call], additional_kwargs={"kept": 1}),
        ChatMessage(role="tool", content=long, additional_kwargs={"tool_call_id": "1", "name": "look"}),
    ]
    sent = TranslatedCall(brim.Conversations(1_000), TRANSLATION, messages, model="gpt-5").messages
    assert sent[0] is messages[0]
    assert sent[1].additional_kwargs == {"kept": 1}
    assert sent[1].blocks[1].tool_call_id == "1"
    assert len(sent[1].blocks[1].tool_kwargs.get("note", "")) < len(long)
    assert sent[2].additional_kwargs == {"tool_call_id": "1", "name": "look"}
    assert len(sent[2].content) < len(long)
    assert messages[2].content == call.tool_kwargs["note"] == long
