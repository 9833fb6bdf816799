"""The framework's own agent and clients, against a server whose window is hard."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from agent_framework import Agent, Content, Message, tool
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brim
from brim.integrations.agent_framework import BrimCompaction
from integrations.pictures import PICTURE
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)

KINDS = {"chat": OpenAIChatCompletionClient, "responses": OpenAIChatClient}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@tool(approval_mode="never_require")
def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def agent(server, *middleware, kind="chat", **more):
    client = KINDS[kind](
        "gpt-5",
        base_url=f"{server.url}/v1",
        api_key="none",
        function_invocation_configuration={"max_iterations": 80},
    )
    options = {"max_tokens": 200, **({"store": False} if kind == "responses" else {})}
    asked = {"tools": [look], "default_options": options, "middleware": list(middleware), **more}
    return Agent(client, SYSTEM, name="Looker", **asked)


def run(server, window, *, stream=False, kind="chat", **options):
    mine = BrimCompaction(window, **options)

    async def whole():
        told = agent(server, mine, kind=kind).run(TASK, stream=stream)
        if not stream:
            return (await told).text
        text = "".join([part.text async for part in told])
        assert (await told.get_final_response()).text.endswith(text)
        return text

    return asyncio.run(whole()), mine.conversations


def test_responses_fit_too(upstream):
    server = upstream(3_000, calls=32)
    assert run(server, 3_000, kind="responses")[0] == "Well done."
    assert (server.refused, server.illegal) == (0, [])


def test_the_session_of_the_agent_names_that_of_brim(upstream):
    server, mine = upstream(), BrimCompaction()
    session = agent(server).create_session(session_id="talk-7")
    asyncio.run(agent(server, mine).run(TASK, session=session))
    assert [session.id for session in mine.conversations.sessions] == ["talk-7"]


def test_what_the_provider_keeps_is_sent_as_it_came(upstream):
    server = upstream(window=3_000)
    mine = BrimCompaction(window=3_000)
    asyncio.run(agent(server, mine, kind="responses").run(TASK, options={"conversation_id": "resp_1"}))
    assert len(mine.conversations) == 0


def fitted(given, budget, model="gpt-5"):
    mine = BrimCompaction(window=budget)
    return mine._call(given, model, {}, None).messages


def test_a_cut_result_keeps_its_id_and_its_properties():
    call = Content.from_function_call("c1", "look", arguments={"number": 1})
    more = {"rows": [1]}
    result = Content.from_function_result("c1", result="word " * 5_000, additional_properties=more)
    given = [Message("user", [TASK]), Message("assistant", [call]), Message("tool", [result], message_id="m3")]
    cut = fitted(given, 600)[-1]
    assert cut.message_id == "m3"
    assert len(cut.contents[0].result) < 3_000
    assert (cut.contents[0].call_id, cut.contents[0].additional_properties) == ("c1", more)
    assert len(result.result) == 25_000


texts = st.text(min_size=1, max_size=40)  # brim leaves out messages without content
more = st.dictionaries(st.sampled_from(["odd", "seen"]), texts | st.integers(), max_size=1)
pieces = st.one_of(
    st.builds(lambda text, more: Content.from_text(text, additional_properties=more), texts, more),
    st.builds(lambda: Content.from_uri(PICTURE, media_type="image/png")),
    st.builds(lambda: Content.from_uri("https://example.org/a.pdf", media_type="application/pdf")),
    st.builds(lambda: Content("hosted_file", file_id="f")),
)


@st.composite
def histories(draw):
    long = st.just([Content.from_text("many words " * 60)])
    given = [Message("user", [draw(texts.filter(str.strip))], message_id="0")]
    for turn in range(draw(st.integers(0, 3))):
        calls = [f"{turn}-{i}" for i in range(draw(st.integers(0, 3)))]
        said = [Content.from_text_reasoning(text=draw(texts))] * draw(st.integers(0, 1)) + draw(
            st.lists(pieces, min_size=not calls, max_size=2)
        )
        args = draw(st.just('{"number": 1}') | st.dictionaries(texts, texts, max_size=2))
        made = [Content.from_function_call(call, "look", arguments=args) for call in calls]
        given.append(Message("assistant", [*said, *made], author_name=draw(st.none() | st.just("Ann"))))
        results = [
            Content.from_function_result(
                call, result=draw(st.lists(pieces, max_size=2) | long), additional_properties={"call": call}
            )
            for call in calls
        ]
        groups = [results] if draw(st.booleans()) else [[result] for result in results]
        given += [Message("tool", group) for group in groups if group]
        given.append(
            Message("user", draw(st.lists(pieces, min_size=1, max_size=3) | long), additional_properties=draw(more))
        )
    for place, message in enumerate(given):
        message.message_id = str(place)
    return given


@given(history=histories(), model=st.sampled_from(["gpt-5", "claude-sonnet-4-5"]), budget=st.integers(80, 500))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_cut_stays_legal_and_its_own(history, model, budget):
    before = [message.to_dict() for message in history]
    try:
        told = fitted(history, budget, model)
    except brim.DoesNotFit:
        return
    waiting: list[str] = []
    for message in told:
        if message.role == "tool":
            for content in message.contents:
                waiting.remove(content.call_id)
                assert content.additional_properties["call"] == content.call_id
            continue
        assert not waiting
        waiting = [content.call_id for content in message.contents if content.type == "function_call"]
        if message.message_id is not None:
            original = history[int(message.message_id)]
            assert (message.role, message.author_name) == (original.role, original.author_name)
            assert message.additional_properties == original.additional_properties
        Message.from_dict(message.to_dict())
    assert not waiting
    assert all(one.message_id != other.message_id or one.message_id is None for one, other in pairwise(told))
    assert [message.to_dict() for message in history] == before
