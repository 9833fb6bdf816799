"""The SDK's own runner and models, against a server whose window is hard."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from agents import (
    Agent,
    Model,
    ModelBehaviorError,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.models.interface import ModelTracing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI
from pydantic import BaseModel

import brim
from brim.integrations.openai_agents import BrimProvider
from integrations.pictures import PICTURE

SYSTEM = "You look things up. Answer with one word when you are done."
TASK = "Look at all the numbers, one by one, and remember 7341."
KINDS = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDK leaves the closing of clients to the end
set_tracing_disabled(True)


@function_tool
def look(number: int) -> str:
    """Return all that is known of a number."""
    return f"Of {number} it is known: " + "it follows the one before it, and more is known of it still. " * 12


def agent(server, fit, kind="responses", **more):
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    model = fit.model(KINDS[kind](model="gpt-5", openai_client=client))
    asked = {"name": "Looker", "instructions": SYSTEM, "model": model, "tools": [look], **more}
    return Agent(**{"model_settings": ModelSettings(max_tokens=200, include_usage=True), **asked})


def run(server, fit, task=TASK, kind="responses", **more):
    return Runner.run_sync(agent(server, fit, kind), task, max_turns=60, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_with_brim_forty_calls_fit_and_the_run_keeps_them_all(upstream, kind):
    server = upstream(window=3_000, calls=40)
    fit = BrimProvider(3_000)
    told = run(server, fit, kind=kind)
    assert (server.made, server.refused, server.illegal) == (40, 0, [])
    assert told.final_output == "Well done."
    assert len(told.to_input_list()) == 82
    last = server.requests[-1]
    if kind == "responses":
        assert (last["instructions"], last["input"][0]["content"]) == (SYSTEM, TASK)
    else:
        assert [each["content"] for each in last["messages"][:2]] == [SYSTEM, TASK]
    status = fit.conversations.sessions[-1].status()
    assert len(fit.conversations) == 1
    assert (status.prompts, status.reported) == (41, server.sizes[-1])
    if kind == "responses":
        assert fit.conversations.last.receipt.used == server.sizes[-1]


def test_a_streamed_run_fits_as_well_and_two_at_a_time_do_not_mix(upstream):
    server = upstream(window=3_000, calls=64)
    fit = BrimProvider(3_000)

    async def streamed(task):
        told = Runner.run_streamed(agent(server, fit), task, max_turns=80)
        texts = []
        async for event in told.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                texts.append(event.data.delta)
        return "".join(texts)

    async def both():
        return await asyncio.gather(streamed(TASK), streamed("Look at the even ones."))

    assert asyncio.run(both()) == ["Well done.", "Well done."]
    assert (server.made, server.refused, server.illegal) == (64, 0, [])
    statuses = [session.status() for session in fit.conversations.sessions]
    assert sum(status.prompts for status in statuses) == 66
    assert all(status.reported in server.sizes for status in statuses)
    assert server.requests[-1]["input"][0]["content"] in (TASK, "Look at the even ones.")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_answered_by_a_smaller_request_once(upstream, kind, stream):
    server = upstream(window=3_000, calls=40)
    fit = BrimProvider(100_000)
    one = agent(server, fit, kind)

    async def run():
        if not stream:
            return await Runner.run(one, TASK, max_turns=60)
        told = Runner.run_streamed(one, TASK, max_turns=60)
        async for _ in told.stream_events():
            pass
        return told

    assert asyncio.run(run()).final_output == "Well done."
    assert (server.made, server.illegal) == (40, [])
    assert 1 <= server.refused <= 3
    status = fit.conversations.sessions[-1].status()
    assert status.budget <= 3_000
    assert (status.overflows, status.reported) == (server.refused, server.sizes[-1])


def test_the_models_of_a_provider_fit_and_another_error_goes_through(upstream):
    server = upstream(window=3_000, calls=40)
    server.script = [(401, {"error": {"message": "no such key", "type": "invalid_request_error"}})]
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    fit = BrimProvider(3_000, provider=OpenAIProvider(openai_client=client))
    one = Agent(name="Looker", instructions=SYSTEM, model="gpt-5", tools=[look])

    async def run():
        with pytest.raises(Exception, match="no such key"):
            await Runner.run(one, TASK, run_config=RunConfig(model_provider=fit))
        return await Runner.run(one, TASK, max_turns=60, run_config=RunConfig(model_provider=fit))

    assert asyncio.run(run()).final_output == "Well done."
    assert server.refused == 0
    assert fit.conversations.sessions[-1].status().reported == server.sizes[-1]


def test_a_call_whose_history_the_provider_keeps_is_sent_as_it_is(upstream):
    server = upstream(window=3_000)
    fit = BrimProvider(3_000)
    run(server, fit, previous_response_id="resp_0")
    assert server.requests[-1]["previous_response_id"] == "resp_0"
    assert len(fit.conversations) == 0


def test_a_session_in_the_store_goes_on_in_the_next_process(upstream, tmp_path):
    server = upstream(window=3_000, calls=40)
    url = f"sqlite:///{tmp_path / 'brim.db'}"
    fit = BrimProvider(3_000, store=url, session="talk-7")
    run(server, fit, session=SQLiteSession("talk-7", tmp_path / "items.db"))
    again = BrimProvider(3_000, store=url, session="talk-7")
    told = run(server, again, task="And what was it?", session=SQLiteSession("talk-7", tmp_path / "items.db"))
    assert told.final_output == "Well done."
    assert (server.refused, server.illegal) == (0, [])
    assert again.conversations.sessions[0].status().prompts == 42
    assert server.requests[-1]["input"][0]["content"] == TASK
    from brim.sessions.log.overview import overview

    assert [row.id for row in overview(brim.open_store(url)).recent] == ["talk-7"]


def test_tools_handoffs_and_the_form_of_the_answer_are_counted(upstream):
    class Found(BaseModel):
        """What was found."""

        numbers: list[int]

    def used(**more):
        server, fit = upstream(window=3_000), BrimProvider(3_000)
        with contextlib.suppress(ModelBehaviorError):  # The server knows one answer.
            Runner.run_sync(agent(server, fit, **{"tools": [], **more}), TASK)
        return fit.conversations.last.receipt.used

    bare = used()
    tools = used(tools=[look])
    both = used(tools=[look], handoffs=[Agent(name="Other", handoff_description="Knows the rest of the numbers.")])
    assert bare < tools < both < used(tools=[look], output_type=Found) + (both - tools)
    assert used(tools=[look], output_type=str) == tools


texts = st.text(min_size=1, max_size=40)  # brim leaves out messages without content
unknown = st.dictionaries(st.sampled_from(["odd", "phase"]), texts | st.integers(), max_size=1)
inputs = st.one_of(
    texts,
    st.lists(
        st.builds(lambda text: {"type": "input_text", "text": text}, texts)
        | st.just({"type": "input_image", "image_url": PICTURE, "detail": "low"}),
        min_size=1,
        max_size=3,
    ),
)


@st.composite
def histories(draw):
    items = [{"role": "user", "content": draw(texts.filter(str.strip))}]
    for turn in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            thought = {"type": "reasoning", "id": f"rs_{turn}", "summary": [{"type": "summary_text", "text": "so"}]}
            items.append({**thought, "encrypted_content": draw(texts)})
        calls = draw(st.integers(0, 3))
        said = {"type": "output_text", "text": draw(texts), "annotations": []}
        items.append({"type": "message", "role": "assistant", "id": f"msg_{turn}", "content": [said], **draw(unknown)})
        for i in range(calls):
            call = {"type": "function_call", "call_id": f"{turn}-{i}", "name": "look", "arguments": '{"number": 1}'}
            items.append({**call, "id": f"fc_{turn}_{i}", **draw(unknown)})
        for i in range(calls):
            output = draw(inputs | st.just("many words " * 60))
            items.append({"type": "function_call_output", "call_id": f"{turn}-{i}", "output": output, **draw(unknown)})
        items.append({"role": "user", "content": draw(inputs)})
    return items


class Recorder(Model):
    """A model that keeps its input."""

    model = "gpt-5"

    async def get_response(self, **fields):
        self.input = fields["input"]
        return ModelResponse([], Usage(), None)

    async def stream_response(self, **fields):
        raise NotImplementedError


def fitted(items, budget):
    inner = Recorder()
    model = BrimProvider(budget).model(inner)
    asyncio.run(model.get_response(SYSTEM, items, ModelSettings(), [], None, [], ModelTracing.DISABLED))
    return inner.input


@given(items=histories(), budget=st.integers(80, 400))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_cut_stays_legal_and_keeps_all_else(items, budget):
    try:
        sent = fitted(items, budget)
    except brim.DoesNotFit:
        return
    calls = [item["call_id"] for item in sent if item.get("type") == "function_call"]
    results = [item["call_id"] for item in sent if item.get("type") == "function_call_output"]
    assert calls == results or sorted(calls) == sorted(results)
    known = {(item.get("type"), item.get("id") or item.get("call_id")): item for item in items}
    for item in sent:
        before = known.get((item.get("type"), item.get("id") or item.get("call_id")))
        if before is not None and "content" not in item:
            rest = {key: value for key, value in before.items() if key not in ("output", "arguments")}
            assert {key: item[key] for key in rest} == rest
