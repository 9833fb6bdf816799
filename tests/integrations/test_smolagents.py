"""smolagents against an OpenAI server with a hard window: agents that call tools and agents that write code."""

from __future__ import annotations

import copy
import itertools
import json

import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smolagents import ActionStep, CodeAgent, OpenAIModel, PlanningStep, ToolCallingAgent, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.monitoring import LogLevel

import brim
from brim.integrations.messages import to_wire
from brim.integrations.smolagents import TRANSLATION, fit_steps
from brim.sessions.conversations import Conversations
from integrations.runs import (  # noqa: F401
    TASK,
    WINDOW,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)
from integrations.translations import fitted, rewritten
from properties import examples


@tool
def look(number: int) -> str:
    """Look at a place in the harbour.

    Args:
        number: which place.
    """
    return f"Place {number}: " + "mud, sand and shells over old chains; " * 30 + "no end."


def model_of(server):
    return OpenAIModel(model_id="gpt-5", api_base=f"{server.url}/v1", api_key="none", client_kwargs={"max_retries": 0})


def calling(server, steps=36, **more):
    """Return an agent that calls tools, and whose model calls `look` so many times and then gives its answer."""
    server.calls, whole = steps, server._whole
    call = {"name": "final_answer", "arguments": json.dumps({"answer": "Well done."})}
    end = {"role": "assistant", "content": None, "tool_calls": [{"id": "end", "type": "function", "function": call}]}

    def called(route, values, size):
        over, made = server.made >= steps, whole(route, values, size)
        return {**made, "choices": [{"index": 0, "message": end, "finish_reason": "tool_calls"}]} if over else made

    server._whole = called
    quiet = {"verbosity_level": LogLevel.OFF, "max_steps": 100}
    return ToolCallingAgent(tools=[look], model=model_of(server), **quiet, **more)


def writing(server, steps=36, **more):
    """Return an agent that writes code, and whose model looks so many times and then gives its answer."""
    said = [f"Thought: look.\n<code>\nprint(look({number}))\n</code>" for number in range(1, steps + 1)]
    texts = itertools.chain(said, itertools.repeat('<code>\nfinal_answer("Well done.")\n</code>'))
    whole = server._whole

    def spoken(route, values, size):
        server.text = next(texts)
        return whole(route, values, size)

    server._whole = spoken
    quiet = {"verbosity_level": LogLevel.OFF, "max_steps": 100}
    return CodeAgent(tools=[look], model=model_of(server), **quiet, **more)


def run(server, window, *, stream=False, make=None, **options):
    steps, server.calls = server.calls, 0
    agent = fit_steps((make or calling)(server, steps, stream_outputs=stream), window, **options)
    answer = agent.run(TASK)
    seen_steps = [step for step in agent.memory.steps if isinstance(step, ActionStep)]
    assert len(seen_steps) == steps + 1
    assert all(seen(number + 1) in seen_steps[number].observations for number in range(steps))
    return answer, agent.model.conversations


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_agent_that_writes_code_fits_too(upstream, stream):
    server = upstream(WINDOW)
    server.calls = 36
    answer, _ = run(server, WINDOW, stream=stream, make=writing)
    assert (answer, server.refused, server.illegal) == ("Well done.", 0, [])


def test_what_a_step_observed_never_stands_without_its_call(upstream):
    server = upstream(WINDOW)
    agent = fit_steps(calling(server), WINDOW)
    agent.run(TASK)
    for step in agent.memory.steps:
        roles = [message.role for message in getattr(step, "model_input_messages", None) or ()]
        for before, role in itertools.pairwise(roles):
            assert role != MessageRole.TOOL_RESPONSE or before == MessageRole.TOOL_CALL


def test_plans_and_the_last_answer_fit_too(upstream, tmp_path):
    server = upstream(WINDOW)
    store = brim.open_store(f"sqlite:///{tmp_path / 'brim.db'}")
    agent = fit_steps(writing(server, 80, planning_interval=7), WINDOW, session="harbour", store=store)
    agent.run(TASK, max_steps=30)
    assert server.refused == 0
    assert sum(isinstance(step, PlanningStep) for step in agent.memory.steps) == 5
    assert len(server.requests) == 30 + 5 + 1
    kept = list(store.entries("harbour", kinds=["prompt"]))
    assert len(kept) == 30  # Plans and the last answer have other system prompts, and so conversations of their own.
    assert any(entry.body.get("cut") for entry in kept)


def test_the_agent_is_saved_as_it_was(upstream):
    server = upstream(WINDOW)
    plain = writing(server)
    before = plain.to_dict()
    agent = fit_steps(fit_steps(plain, WINDOW), WINDOW)
    assert agent is plain
    assert isinstance(agent.model, OpenAIModel)
    assert type(agent.model.inner) is OpenAIModel
    assert agent.to_dict() == before
    assert copy.copy(agent.model).inner is agent.model.inner


def test_a_model_that_cannot_stream_still_cannot(upstream):
    class Whole:
        model_id = "gpt-5"

        def generate(self, messages, **kwargs):
            return ChatMessage(role=MessageRole.ASSISTANT, content="so")

    agent = writing(upstream(WINDOW))
    agent.model = Whole()
    fit_steps(agent, WINDOW)
    assert not hasattr(agent.model, "generate_stream")
    assert agent.model([{"role": "user", "content": "a plain mapping"}]).content == "so"


texts = st.text(max_size=30)
picture = st.just({"type": "image", "image": PIL.Image.new("RGB", (640, 480))})
contents = st.one_of(
    texts.map(lambda text: {"type": "text", "text": text, "mine": 1}),
    picture,
    st.just({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}),
    texts.map(lambda text: {"type": "unknown", "says": text}),
)


def said(role, content):
    return ChatMessage(role=role, content=content, raw={"kept": 1})


@st.composite
def histories(draw):
    """Messages as a memory writes them: thoughts, calls, images, observations and errors."""
    messages = [said(MessageRole.SYSTEM, [{"type": "text", "text": draw(texts)}])]
    messages.append(said(MessageRole.USER, draw(st.one_of(texts, st.lists(contents, max_size=3), st.none()))))
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            messages.append(said(MessageRole.ASSISTANT, draw(st.one_of(texts, st.lists(contents, max_size=2)))))
        if draw(st.booleans()):
            messages.append(said(MessageRole.TOOL_CALL, [{"type": "text", "text": f"Calling tools:\n{draw(texts)}"}]))
            if draw(st.booleans()):
                messages.append(said(MessageRole.USER, draw(st.lists(picture, min_size=1, max_size=2))))
        for _ in range(draw(st.integers(0, 2))):
            messages.append(said(MessageRole.TOOL_RESPONSE, [{"type": "text", "text": f"Observation:\n{draw(texts)}"}]))
    messages.append(said(MessageRole.USER, [{"type": "text", "text": "go on"}]))
    return messages


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@examples(80)
@given(messages=histories())
def test_messages_come_back_as_they_were(format, messages):
    before = copy.deepcopy(messages)
    back = rewritten(TRANSLATION, messages, format)
    for message, each in zip(messages, back, strict=True):
        assert each == (message if message.content is not None else said(MessageRole.USER, []))
    assert messages == before


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@examples(60)
@given(messages=histories(), window=st.integers(60, 2_000))
def test_what_is_left_keeps_calls_and_what_came_of_them_together(format, messages, window):
    before = copy.deepcopy(messages)
    told = TRANSLATION.read(messages)
    try:
        sent = fitted(TRANSLATION, messages, window, format)
    except brim.DoesNotFit:
        return
    assert messages == before
    calls = sum(each.role == "assistant" and any(part.kind == "call" for part in each.parts) for each in told)
    left = [each for each in TRANSLATION.read(sent) if any(part.kind == "call" for part in each.parts)]
    assert len(left) <= calls
    for message in sent:
        assert message.role in (MessageRole.USER, MessageRole.SYSTEM) or message.raw == {"kept": 1}


def test_a_picture_is_counted_by_its_size():
    def units(width, height):
        content = [{"type": "image", "image": PIL.Image.new("RGB", (width, height))}]
        raws = to_wire(TRANSLATION.read([said(MessageRole.USER, content)]), "openai")
        return Conversations(100_000, model="gpt-4o").request(raws, format="openai").receipt.used

    assert units(2_000, 1_000) > units(200, 100) > 85
