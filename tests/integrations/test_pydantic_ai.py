"""Pydantic AI's own agent, with its OpenAI models against a server whose window is hard."""

from __future__ import annotations

import asyncio
import contextlib
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_ai import Agent, UnexpectedModelBehavior, messages
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

import brim
from brim.integrations.pydantic_ai import Brim
from integrations.pictures import PICTURE
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)

KINDS = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
FREE = UsageLimits(request_limit=None)

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def agent(server, *capabilities, kind="chat", **more):
    provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="none")
    asked = {"instructions": SYSTEM, "tools": [look], "model_settings": {"max_tokens": 200}, **more}
    return Agent(KINDS[kind]("gpt-5", provider=provider), capabilities=list(capabilities), **asked)


def run(server, window, *, stream=False, kind="chat", **options):
    mine = Brim(window, **options)

    async def streamed():
        async with agent(server, mine).run_stream(TASK, usage_limits=FREE) as told:
            return "".join([text async for text in told.stream_text(delta=True)])

    if stream:
        return asyncio.run(streamed()), mine.conversations
    told = agent(server, mine, kind=kind).run_sync(TASK, usage_limits=FREE)
    assert len(told.all_messages()) == 2 * server.calls + 2
    return told.output, mine.conversations


def test_responses_fit_too(upstream):
    server = upstream(3_000, calls=32)
    assert run(server, 3_000, kind="responses")[0] == "Well done."
    assert (server.refused, server.illegal) == (0, [])


def test_the_conversation_names_the_session(upstream):
    mine = Brim()
    agent(upstream(), mine).run_sync(TASK, conversation_id="talk-7")
    assert [session.id for session in mine.conversations.sessions] == ["talk-7"]


def test_runs_at_the_same_time_do_not_mix(upstream):
    server = upstream(window=3_000, calls=64)
    mine = Brim(window=3_000)

    async def run():
        one = agent(server, mine)
        return await asyncio.gather(*(one.run(f"{TASK} {i}", usage_limits=FREE) for i in range(2)))

    assert [told.output for told in asyncio.run(run())] == ["Well done."] * 2
    assert (server.refused, server.illegal, len(mine.conversations)) == (0, [], 2)
    statuses = [session.status() for session in mine.conversations.sessions]
    assert sum(status.prompts for status in statuses) == 66
    assert all(status.reported in server.sizes for status in statuses)


def test_the_form_of_the_answer_is_counted(upstream):
    class Found(BaseModel):
        """What was found."""

        numbers: list[int]

    def used(**more):
        server = upstream(window=3_000)
        mine = Brim(window=3_000)
        with contextlib.suppress(UnexpectedModelBehavior):  # The server knows one answer.
            agent(server, mine, **more).run_sync(TASK)
        return mine.conversations.last.receipt.used

    assert used() < used(output_type=Found)


def fitted(history, budget, model="gpt-5"):
    mine = Brim(window=budget)
    context = ModelRequestContext(
        model=SimpleNamespace(model_name=model),
        messages=list(history),
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    return asyncio.run(mine.prepare_model_request(SimpleNamespace(conversation_id=None), context)).messages


def test_a_cut_result_keeps_its_id_and_its_metadata():
    call = ToolCallPart("look", {"number": 1}, "c1")
    result = ToolReturnPart("look", "word " * 5_000, "c1", metadata={"rows": [1]})
    history = [ModelRequest([UserPromptPart(TASK)]), ModelResponse([call]), ModelRequest([result], run_id="r")]
    cut = fitted(history, 600)[-1]
    assert cut.run_id == "r"
    assert len(cut.parts[0].content) < 3_000
    assert (cut.parts[0].tool_call_id, cut.parts[0].metadata) == ("c1", {"rows": [1]})
    assert len(result.content) == 25_000


texts = st.text(max_size=40)
pieces = st.one_of(
    texts,
    st.builds(lambda text: messages.TextContent(text, metadata={"a": 1}), texts),
    st.just(ImageUrl("https://example.org/a.png")),
    st.just(BinaryContent.from_data_uri(PICTURE)),
    st.just(messages.CachePoint()),
)
prompts = texts | st.lists(pieces, max_size=3) | st.just("many words " * 60)
results = st.one_of(texts, st.just("many words " * 60), st.dictionaries(texts, texts, max_size=2))
pictured = st.just(["see", BinaryContent.from_data_uri(PICTURE)])


@st.composite
def histories(draw):
    parts = [SystemPromptPart(SYSTEM)] if draw(st.booleans()) else []
    history = [ModelRequest([*parts, UserPromptPart(draw(texts.filter(str.strip)))], instructions="be kind")]
    for turn in range(draw(st.integers(0, 3))):
        calls = [f"{turn}-{i}" for i in range(draw(st.integers(0, 3)))]
        said = [ThinkingPart(draw(texts))] * draw(st.integers(0, 1)) + [TextPart(draw(texts))]
        args = draw(st.just('{"number": 1}') | st.dictionaries(texts, texts, max_size=2) | st.none())
        history.append(ModelResponse([*said, *(ToolCallPart("look", args, call) for call in calls)]))
        back = [
            ToolReturnPart(
                "look",
                draw(results | pictured),
                call,
                metadata=call,
                outcome=draw(st.sampled_from(["success", "failed"])),
            )
            for call in calls
        ]
        more = [UserPromptPart(draw(prompts))] if not calls or draw(st.booleans()) else []
        history.append(ModelRequest([*back, *more], metadata={"turn": turn}))
    return history


@given(history=histories(), model=st.sampled_from(["gpt-5", "claude-sonnet-4-5"]), budget=st.integers(80, 500))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_cut_stays_legal_and_its_own(history, model, budget):
    try:
        told = fitted(history, budget, model)
    except brim.DoesNotFit:
        return
    waiting: list[str] = []
    known = {part.tool_call_id: part for m in history for part in m.parts if isinstance(part, ToolReturnPart)}
    for message in told:
        if isinstance(message, ModelResponse):
            assert not waiting
            waiting = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                waiting.remove(part.tool_call_id)
                assert part.metadata == known[part.tool_call_id].metadata
            elif isinstance(part, UserPromptPart):
                assert not waiting
    assert not waiting
    turns = [message.metadata for message in told if isinstance(message, ModelRequest)]
    assert all(one != other or one is None for one, other in pairwise(turns))
    ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(told))
