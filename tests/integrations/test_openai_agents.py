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
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)

KINDS = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDK leaves the closing of clients to the end
set_tracing_disabled(True)


@function_tool
def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def agent(server, fit, kind="responses", **more):
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    model = fit.model(KINDS[kind](model="gpt-5", openai_client=client))
    asked = {"name": "Looker", "instructions": SYSTEM, "model": model, "tools": [look], **more}
    return Agent(**{"model_settings": ModelSettings(max_tokens=200, include_usage=True), **asked})


def run(server, window, *, stream=False, kind="responses", **options):
    fit = BrimProvider(window, **options)

    async def streamed(task=TASK):
        told = Runner.run_streamed(agent(server, fit, kind), task, max_turns=80)
        events = [event.data async for event in told.stream_events() if event.type == "raw_response_event"]
        return "".join([each.delta for each in events if each.type == "response.output_text.delta"])

    if stream:
        return asyncio.run(streamed()), fit.conversations
    told = Runner.run_sync(agent(server, fit, kind), TASK, max_turns=60)
    assert len(told.to_input_list()) == 2 * server.calls + 2
    return told.final_output, fit.conversations


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions_fit_too(upstream, stream):
    server = upstream(3_000, calls=32)
    assert run(server, 3_000, stream=stream, kind="chat")[0] == "Well done."
    assert (server.refused, server.illegal) == (0, [])


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
    Runner.run_sync(agent(server, fit), TASK, previous_response_id="resp_0")
    assert server.requests[-1]["previous_response_id"] == "resp_0"
    assert len(fit.conversations) == 0


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
