"""LangChain's own agent, with ChatOpenAI against a server whose window is hard."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from brim.integrations.langchain import TRANSLATION, BrimMiddleware, _request
from integrations.pictures import PICTURE
from integrations.runs import (  # noqa: F401
    SYSTEM,
    TASK,
    seen,
    test_a_long_run_fits_to_its_end,
    test_a_refused_call_is_sent_again_and_smaller,
    test_a_session_has_the_name_that_is_set,
)
from integrations.translations import fitted, rewritten


@tool
def look(number: int) -> str:
    """Look at a place in the harbour."""
    return seen(number)


def agent(server, *middleware, **more):
    model = ChatOpenAI(
        model="gpt-5", base_url=f"{server.url}/v1", api_key="none", max_retries=0, stream_usage=True, max_tokens=200
    )
    return create_agent(model, [look], system_prompt=SYSTEM, middleware=list(middleware), **more)


def asked(config=None):
    return {"messages": [HumanMessage(TASK)]}, {"recursion_limit": 200, **(config or {})}


def run(server, window, *, stream=False, **options):
    mine = BrimMiddleware(window, **options)

    async def whole():
        parts = agent(server, mine).astream(*asked(), stream_mode="messages")
        return "".join([part.text async for part, _ in parts if isinstance(part, AIMessage)])

    if stream:
        return asyncio.run(whole()), mine.conversations
    told = agent(server, mine).invoke(*asked())
    assert len(told["messages"]) == 2 * server.calls + 2
    return told["messages"][-1].content, mine.conversations


def test_an_agent_inside_of_a_graph_has_a_name_of_its_own(upstream):
    server = upstream(window=3_000, calls=32)
    mine = BrimMiddleware(window=3_000)
    graph = StateGraph(MessagesState)
    graph.add_node("looker", agent(server, mine))
    graph.add_edge(START, "looker")
    graph.add_edge("looker", END)
    graph.compile().invoke(*asked({"configurable": {"thread_id": "t"}}))
    assert [session.id for session in mine.conversations.sessions] == ["t/looker"]
    assert (server.refused, server.illegal) == (0, [])


def test_a_node_of_your_own_asks_with_what_fits(upstream):
    server = upstream(window=3_000)
    model = ChatOpenAI(model="gpt-5", base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    mine = BrimMiddleware(window=3_000)
    messages = [SystemMessage(SYSTEM), HumanMessage(TASK)]
    for i in range(40):
        messages += [AIMessage("", tool_calls=[{"id": f"c{i}", "name": "look", "args": {"number": i}}])]
        messages += [ToolMessage(look.invoke({"number": i}), tool_call_id=f"c{i}", name="look", artifact={"n": i})]
    assert mine.invoke(model, messages, [look]).content == "Well done."
    assert asyncio.run(mine.ainvoke(model, messages, [look])).content == "Well done."
    assert server.requests[0]["messages"][0]["content"] == SYSTEM
    assert server.requests[0]["tools"][0]["function"]["name"] == "look"
    assert (server.refused, server.illegal, len(server.requests)) == (0, [], 2)


def test_a_cut_result_keeps_its_id_its_name_and_its_artifact(upstream):
    mine = BrimMiddleware(window=600)
    call = {"id": "c1", "name": "look", "args": {"number": 1}}
    result = ToolMessage(
        "word " * 5_000, tool_call_id="c1", name="look", artifact={"rows": [1]}, id="m3", status="error"
    )
    server = upstream(window=600)
    model = ChatOpenAI(model="gpt-5", base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    sent = []

    def keep(request):
        sent.append(request)
        return model.invoke(request.messages)

    mine.wrap_model_call(_request(model, [HumanMessage(TASK), AIMessage("", tool_calls=[call]), result], []), keep)
    cut = sent[0].messages[-1]
    assert len(cut.content) < 3_000
    assert (cut.tool_call_id, cut.name, cut.artifact, cut.id, cut.status) == (
        "c1",
        "look",
        {"rows": [1]},
        "m3",
        "error",
    )
    assert len(result.content) == 25_000


def test_cut_arguments_are_cut_wherever_they_stand():
    args = {"number": 1, "note": "word " * 5_000}
    call = {"id": "c1", "name": "look", "args": args}
    block = {"type": "tool_use", "id": "c1", "name": "look", "input": args, "cache_control": {"type": "ephemeral"}}
    raw = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": json.dumps(args)}}
    said = AIMessage([block], tool_calls=[call], additional_kwargs={"tool_calls": [raw], "seen": 1}, id="m2")
    sent = []
    asked = _request(
        SimpleNamespace(model="gpt-5"), [HumanMessage(TASK), said, ToolMessage("ok", tool_call_id="c1")], []
    )
    BrimMiddleware(window=600).wrap_model_call(asked, sent.append)
    cut = sent[0].messages[1]
    assert len(str(cut.tool_calls[0]["args"])) < 3_000
    assert cut.content == [{**block, "input": cut.tool_calls[0]["args"]}]
    assert (cut.additional_kwargs, cut.id) == ({"seen": 1}, "m2")
    assert said.tool_calls[0]["args"] == args


def test_the_form_of_the_answer_is_counted():
    class Answer(BaseModel):
        """What was found out, in detail."""

        found: list[str]

    request = replace(_request(SimpleNamespace(model="gpt-5"), [HumanMessage(TASK)], [look]), response_format=None)
    formed = replace(request, response_format=ToolStrategy(Answer))
    mine = BrimMiddleware(window=3_000)
    mine.wrap_model_call(request, lambda sent: None)
    plain = mine.conversations.last.receipt.used
    mine.wrap_model_call(formed, lambda sent: None)
    assert mine.conversations.last.receipt.used > plain


texts = st.text(min_size=1, max_size=40)  # brim leaves out messages without content
values = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=2)
unknown = st.dictionaries(st.sampled_from(["cache_control", "extras", "odd"]), values, max_size=2)
blocks = st.one_of(
    texts,
    st.builds(lambda text, more: {**more, "type": "text", "text": text}, texts, unknown),
    st.just({"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}}),
    st.just({"type": "image", "base64": PICTURE.split(",")[1], "mime_type": "image/png"}),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, texts),
    st.builds(lambda text: {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}, texts),
    st.builds(lambda more: {**more, "type": "strange"}, unknown),
)
contents = texts | st.lists(blocks, min_size=1, max_size=3)


@st.composite
def histories(draw) -> list[AnyMessage]:
    messages: list[AnyMessage] = [HumanMessage(draw(texts.filter(str.strip)))]
    long = contents | st.just("many words " * 60)
    for turn in range(draw(st.integers(0, 3))):
        calls = [
            {"id": f"{turn}-{i}", "name": "look", "args": draw(st.dictionaries(texts, values, max_size=2))}
            for i in range(draw(st.integers(0, 3)))
        ]
        more = draw(st.sampled_from([{}, {"reasoning_content": "so"}, {"tool_calls": [{"id": "raw"}]}]))
        said = draw(contents)
        if isinstance(said, list) and calls and draw(st.booleans()):
            said = [*said, {"type": "tool_use", "id": calls[0]["id"], "name": "look", "input": calls[0]["args"]}]
        messages.append(AIMessage(said, tool_calls=calls, additional_kwargs=more, id=f"a{turn}"))
        for call in calls:
            messages.append(ToolMessage(draw(long), tool_call_id=call["id"], artifact=draw(values)))
        messages.append(HumanMessage(draw(long), name=draw(st.none() | st.just("Ann"))))
    for place, message in enumerate(messages):
        message.id = str(place)
    return messages


@given(messages=histories(), format=st.sampled_from(["openai", "anthropic"]))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_was_not_cut_comes_back_as_it_was(messages, format):
    assert rewritten(TRANSLATION, messages, format) == messages
    back = fitted(TRANSLATION, messages, 100_000, format)
    assert all(after is before for before, after in zip(messages, back, strict=True))
