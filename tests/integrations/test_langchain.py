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
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

import brim
from brim.integrations.langchain import TRANSLATION, BrimMiddleware, _request
from integrations.pictures import PICTURE
from integrations.translations import fitted, rewritten

SYSTEM = "You look things up. Answer with one word when you are done."
TASK = "Look at all the numbers, one by one, and remember 7341."


@tool
def look(number: int) -> str:
    """Return all that is known of a number."""
    return f"Of {number} it is known: " + "it follows the one before it, and more is known of it still. " * 12


def agent(server, *middleware, **more):
    model = ChatOpenAI(
        model="gpt-5", base_url=f"{server.url}/v1", api_key="none", max_retries=0, stream_usage=True, max_tokens=200
    )
    return create_agent(model, [look], system_prompt=SYSTEM, middleware=list(middleware), **more)


def asked(config=None, task=TASK):
    return {"messages": [HumanMessage(task)]}, {"recursion_limit": 200, **(config or {})}


def test_with_brim_forty_calls_fit_and_the_state_keeps_them_all(upstream):
    server = upstream(window=3_000, calls=40)
    mine = BrimMiddleware(window=3_000)
    told = agent(server, mine).invoke(*asked())
    assert (server.made, server.refused, server.illegal) == (40, 0, [])
    assert len(told["messages"]) == 82
    assert told["messages"][-1].content == "Well done."
    last = server.requests[-1]["messages"]
    assert last[0] == {"role": "system", "content": SYSTEM}
    assert last[1]["content"] == TASK
    assert max(server.sizes) <= 2_800
    session = mine.conversations.sessions[-1]
    assert len(mine.conversations) == 1
    assert (session.status().prompts, session.status().reported) == (41, server.sizes[-1])
    assert mine.conversations.last.receipt.used == server.sizes[-1]


def test_an_async_run_and_a_streamed_one_fit_as_well(upstream):
    server = upstream(window=3_000, calls=32)

    async def run():
        mine = BrimMiddleware(window=3_000)
        await agent(server, mine).ainvoke(*asked())
        server.made = 0
        messages = []
        again = agent(server, mine).astream(*asked(task="Again."), stream_mode=["messages", "updates"])
        async for kind, part in again:
            if kind == "messages":
                messages.append(part[0])
        return mine, messages

    mine, messages = asyncio.run(run())
    assert (server.refused, server.illegal) == (0, [])
    assert len(server.requests) == 66
    assert "".join(each.text for each in messages if isinstance(each, AIMessage)).endswith("Well done.")
    status = mine.conversations.sessions[-1].status()
    assert (status.prompts, status.reported) == (33, server.sizes[-1])


def test_a_refusal_is_answered_by_a_smaller_request_once(upstream):
    server = upstream(window=3_000, calls=40)
    mine = BrimMiddleware(window=100_000)
    agent(server, mine).invoke(*asked())
    assert (server.made, server.illegal) == (40, [])
    assert 1 <= server.refused <= 3
    assert mine.conversations.sessions[-1].budget <= 3_000


def test_the_thread_names_the_session_and_the_next_process_goes_on_with_it(upstream, tmp_path):
    server = upstream(window=3_000, calls=40)
    store = f"sqlite:///{tmp_path / 'brim.db'}"
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "thread-7"}}
    agent(server, BrimMiddleware(window=3_000, store=store), checkpointer=saver).invoke(*asked(config))
    again = BrimMiddleware(window=3_000, store=store)
    agent(server, again, checkpointer=saver).invoke({"messages": [HumanMessage("And what was it?")]}, config)
    assert [session.id for session in again.conversations.sessions] == ["thread-7"]
    rows = brim.open_store(store).sessions()
    assert [row.id for row in rows] == ["thread-7"]
    assert again.conversations.sessions[0].status().prompts == 42
    assert (server.refused, server.illegal) == (0, [])
    assert server.requests[-1]["messages"][1]["content"] == TASK


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


def test_a_missing_framework_says_what_to_install():
    from brim.integrations import missing

    told = str(missing("langchain", ImportError("No module named 'langchain_core'")))
    assert told == "No module named 'langchain_core'; install it: pip install 'brim[langchain]'"


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


@given(messages=histories(), format=st.sampled_from(["openai", "anthropic"]), budget=st.integers(60, 400))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_cut_stays_legal_and_its_own(messages, format, budget):
    said = TRANSLATION._replace(say=lambda text: HumanMessage(text, id="brim"))
    try:
        back = fitted(said, messages, budget, format, tool_limit="25%")
    except brim.DoesNotFit:
        return
    waiting: list[str] = []
    for message in back:
        if isinstance(message, ToolMessage):
            waiting.remove(message.tool_call_id)
            original = next(m for m in messages if getattr(m, "tool_call_id", "") == message.tool_call_id)
            assert message.artifact == original.artifact
        elif isinstance(message, AIMessage):
            assert not waiting
            waiting = [call["id"] for call in message.tool_calls]
            json.dumps([call["args"] for call in message.tool_calls])
    assert not waiting
    own = [int(message.id) for message in back if message.id != "brim"]
    assert own == sorted(set(own))
    assert "0" in {message.id for message in back}
    for message in back:
        if message.id != "brim":
            original = messages[int(message.id)]
            assert (type(message), message.name) == (type(original), original.name)
