"""`brim.wrap`: the plain clients, real ones, against a server with a hard window."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import anthropic
import openai
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.cli import main
from brim.errors import DoesNotFit, InvalidType
from brim.integrations.calls import ClientCall
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.identity import bare
from properties import examples

WINDOW, CALLS, ANSWER = 3_000, 20, 100
SYSTEM, TASK = "You are a careful engineer.", "Find out why the nightly build fails."
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}}
CHAT_TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
FLAT_TOOL = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}
OWN_TOOL = {"name": "look", "input_schema": SCHEMA}


def seen(number: int) -> str:
    """What the tool says."""
    return f"line {number}: " + "the worker is fine " * 60


class Chat:
    """A growing tool loop on Chat Completions."""

    def __init__(self) -> None:
        self.messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]

    def asked(self) -> dict:
        return {
            "model": "gpt-5",
            "messages": self.messages,
            "tools": [CHAT_TOOL],
            "max_completion_tokens": ANSWER,
        }

    def ask(self, client):
        return client.chat.completions.create(**self.asked())

    def take(self, answer) -> str | None:
        message = answer.choices[0].message
        self.messages.append(message)
        for call in message.tool_calls or ():
            number = json.loads(call.function.arguments)["number"]
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": seen(number)})
        return None if message.tool_calls else message.content


class Responses:
    """The same on Responses."""

    def __init__(self) -> None:
        self.items = [{"role": "user", "content": TASK}]

    def asked(self) -> dict:
        return {
            "model": "gpt-5",
            "instructions": SYSTEM,
            "input": self.items,
            "tools": [FLAT_TOOL],
            "max_output_tokens": ANSWER,
        }

    def ask(self, client):
        return client.responses.create(**self.asked())

    def take(self, answer) -> str | None:
        self.items += answer.output
        calls = [item for item in answer.output if item.type == "function_call"]
        for call in calls:
            said = seen(json.loads(call.arguments)["number"])
            self.items.append({"type": "function_call_output", "call_id": call.call_id, "output": said})
        return None if calls else answer.output_text


class Messages:
    """The same on Messages, the mark of the cache moving along as the documents of the provider advise."""

    def __init__(self) -> None:
        self.messages = [{"role": "user", "content": TASK}]

    def asked(self) -> dict:
        return {
            "model": "claude-sonnet-5",
            "system": [{"type": "text", "text": SYSTEM}],
            "messages": self.messages,
            "tools": [OWN_TOOL],
            "max_tokens": ANSWER,
        }

    def ask(self, client):
        return client.messages.create(**self.asked())

    def take(self, answer) -> str | None:
        self.messages.append({"role": "assistant", "content": answer.content})
        for message in self.messages[:-1]:
            if isinstance(message["content"], list) and isinstance(message["content"][-1], dict):
                message["content"][-1].pop("cache_control", None)
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return answer.content[0].text
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": seen(call.input["number"])} for call in calls
        ]
        results[-1]["cache_control"] = {"type": "ephemeral"}
        self.messages.append({"role": "user", "content": results})
        return None


LOOPS = {"chat": Chat, "responses": Responses, "messages": Messages}
CLIENTS = {
    "chat": (openai.OpenAI, openai.AsyncOpenAI),
    "responses": (openai.OpenAI, openai.AsyncOpenAI),
    "messages": (anthropic.Anthropic, anthropic.AsyncAnthropic),
}


def made(route, server, *, asynchronous=False):
    base = server.url if route == "messages" else f"{server.url}/v1"
    return CLIENTS[route][asynchronous](base_url=base, api_key="none", max_retries=0)


def meter(route):
    return "claude-sonnet-5" if route == "messages" else "gpt-5"


def run(loop, client):
    for _ in range(CALLS + 1):
        if (text := loop.take(loop.ask(client))) is not None:
            return text
    return None


def well(server, route) -> None:
    """Look at what the server saw: all of it fits, is legal, and still has the task and the instructions."""
    assert server.refused == 0
    assert server.illegal == []
    assert len(server.requests) == CALLS + 1
    assert WINDOW * 0.7 < max(server.sizes) + ANSWER <= WINDOW
    assert server.sizes[-1] > WINDOW * 0.3
    last = json.dumps(server.requests[-1])
    assert TASK in last
    assert SYSTEM in last
    assert seen(CALLS)[:40] in last


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    """Close every client that a test makes: a socket that is left open is the fault of a later test."""
    made = []
    for kind in (openai.OpenAI, anthropic.Anthropic):

        def begin(self, *given, _begin=kind.__init__, **options):
            _begin(self, *given, **options)
            made.append(self)

        monkeypatch.setattr(kind, "__init__", begin)
    yield
    for client in made:
        client.close()


@pytest.fixture(params=list(LOOPS))
def route(request):
    return request.param


@pytest.fixture
def server(route, upstream):
    return upstream(WINDOW, calls=CALLS, meter=meter(route))


def test_with_brim_it_goes_on_to_its_end(route, server):
    client = made(route, server)
    wrapped = brim.wrap(client, WINDOW, meter=server.meter)
    assert run(LOOPS[route](), wrapped) == "Well done."
    well(server, route)
    status = wrapped.brim.sessions[-1].status()
    assert len(wrapped.brim) == 1, "one conversation is one session"
    assert status.prompts == CALLS + 1
    assert status.reported == server.sizes[-1]
    assert wrapped.brim.last.receipt.used >= server.sizes[-1], "exact, or an estimate on the safe side"


def test_a_wrapped_client_is_of_the_same_class_and_the_old_one_is_as_it_was(route, server):
    client = made(route, server)
    wrapped = brim.wrap(client)
    assert type(wrapped) is type(client)
    assert not hasattr(client, "brim")
    assert wrapped._client is client._client, "they share their connections"


@pytest.mark.parametrize("route", ["chat"], indirect=True)
def test_copies_of_a_wrapped_client_are_fitted_too(route, server):
    wrapped = brim.wrap(made(route, server), WINDOW, meter=server.meter).with_options(timeout=9).copy(max_retries=1)
    assert wrapped.timeout == 9
    assert run(LOOPS[route](), wrapped) == "Well done."
    well(server, route)
    assert len(wrapped.brim) == 1


@pytest.mark.parametrize("route", ["messages"], indirect=True)
def test_a_client_that_is_wrapped_twice_is_fitted_once(route, server):
    once = brim.wrap(made(route, server), 100)
    twice = brim.wrap(once, WINDOW, meter=server.meter)
    assert run(LOOPS[route](), twice) == "Well done."
    assert len(once.brim) == 0


def drained(loop, client):
    """Ask with a stream, and return what it adds up to."""
    if isinstance(loop, Chat):
        with client.chat.completions.stream(**loop.asked(), stream_options={"include_usage": True}) as stream:
            return [event.type for event in stream], stream.get_final_completion()
    if isinstance(loop, Responses):
        with client.responses.stream(**loop.asked()) as stream:
            return [event.type for event in stream], stream.get_final_response()
    with client.messages.stream(**loop.asked()) as stream:
        return [event.type for event in stream], stream.get_final_message()


def test_streams_of_the_async_client(route, server):
    async def main():
        loop = LOOPS[route]()
        async with brim.wrap(made(route, server, asynchronous=True), WINDOW, meter=server.meter) as client:
            asked = {**loop.asked(), "stream": True}
            if route == "chat":
                stream = await client.chat.completions.create(**asked, stream_options={"include_usage": True})
            elif route == "responses":
                stream = await client.responses.create(**asked)
            else:
                stream = await client.messages.create(**asked)
            events = [event async for event in stream]
            return len(events), client.brim.sessions[-1].status()

    events, status = asyncio.run(main())
    assert events > 1
    assert status.reported == server.sizes[-1]


def test_a_chat_stream_that_reports_nothing_is_left_so(upstream):
    server = upstream(WINDOW)
    wrapped = brim.wrap(made("chat", server), WINDOW)
    asked = Chat().asked()
    events = list(wrapped.chat.completions.create(**asked, stream=True))
    assert [event.usage for event in events] == [None] * len(events)
    assert "stream_options" not in server.requests[0]
    assert wrapped.brim.sessions[-1].status().reported is None


def test_raw_and_streamed_responses_are_the_clients_own(route, server):
    wrapped = brim.wrap(made(route, server), WINDOW, meter=server.meter)
    loop = LOOPS[route]()
    part = {"chat": "chat.completions", "responses": "responses", "messages": "messages"}[route]
    resource = wrapped
    for name in part.split("."):
        resource = getattr(resource, name)
    raw = resource.with_raw_response.create(**loop.asked())
    assert raw.headers["content-type"] == "application/json"
    assert loop.take(raw.parse()) is None
    assert wrapped.brim.sessions[-1].status().reported == server.sizes[-1]
    with resource.with_streaming_response.create(**loop.asked()) as response:
        assert loop.take(response.parse()) is None
    assert wrapped.brim.sessions[-1].status().reported == server.sizes[-1]
    assert server.illegal == []


def test_structured_output_is_parsed(upstream):
    class Finding(pydantic.BaseModel):
        reason: str

    server = upstream(WINDOW)
    server.text = '{"reason": "disk"}'
    wrapped = brim.wrap(made("chat", server), WINDOW)
    chat = wrapped.chat.completions.parse(model="gpt-5", messages=Chat().messages, response_format=Finding)
    assert chat.choices[0].message.parsed == Finding(reason="disk")
    items = wrapped.responses.parse(model="gpt-5", input=TASK, text_format=Finding)
    assert items.output_parsed == Finding(reason="disk")


def test_the_beta_of_messages_is_fitted(upstream):
    server = upstream(WINDOW, meter="claude-sonnet-5")
    wrapped = brim.wrap(made("messages", server), WINDOW, meter=server.meter)
    loop = Messages()
    loop.messages[0]["content"] = TASK + " " + "really " * 5_000
    answer = wrapped.beta.messages.create(**loop.asked(), betas=["context-1m-2025-08-07"])
    assert answer.content[0].text == "Well done."
    assert server.headers[-1]["anthropic-beta"] == "context-1m-2025-08-07"
    assert wrapped.brim.last.changed


def test_the_clients_own_tool_runner_goes_on_to_its_end(upstream):
    server = upstream(WINDOW, calls=CALLS, meter="claude-sonnet-5")
    wrapped = brim.wrap(made("messages", server), WINDOW, meter=server.meter)

    @anthropic.beta_tool
    def look(number: int) -> str:
        """Look at a line."""
        return seen(number)

    asked = {**Messages().asked(), "tools": [look]}
    runner = wrapped.beta.messages.tool_runner(**asked, thread=False)
    assert runner.until_done().content[0].text == "Well done."
    well(server, "messages")


def test_kin_for_a_cloud_are_fitted(upstream):
    server = upstream(WINDOW, meter="claude-sonnet-5")
    foundry = anthropic.AnthropicFoundry(base_url=server.url, api_key="none", max_retries=0)
    loop = Messages()
    loop.messages[0]["content"] = TASK + " " + "really " * 5_000
    assert loop.take(loop.ask(brim.wrap(foundry, WINDOW, meter=server.meter))) == "Well done."
    azure = openai.AzureOpenAI(base_url=f"{server.url}/v1", api_key="none", api_version="2025-01-01", max_retries=0)
    chat = Chat()
    chat.messages[1]["content"] = TASK + " " + "really " * 5_000
    wrapped = brim.wrap(azure, WINDOW, meter=server.meter)
    assert type(wrapped) is openai.AzureOpenAI
    assert chat.take(chat.ask(wrapped)) == "Well done."


def test_other_refusals_are_the_clients_own_errors(upstream):
    server = upstream(WINDOW)
    server.script.append((400, {"error": {"message": "no such parameter: heat", "type": "invalid_request_error"}}))
    with pytest.raises(openai.BadRequestError, match="no such parameter"):
        Chat().ask(brim.wrap(made("chat", server), WINDOW))
    assert len(server.bodies) == 1


def test_what_has_to_stay_and_is_too_big_is_refused_before_the_call(upstream):
    server = upstream(WINDOW)
    asked = {**Chat().asked(), "tools": [{"type": "function", "function": {"name": "f", "description": "d " * 9_000}}]}
    with pytest.raises(DoesNotFit):
        brim.wrap(made("chat", server), WINDOW).chat.completions.create(**asked)
    assert server.bodies == []


def test_the_clients_own_retries_send_what_fits(upstream):
    server = upstream(WINDOW)
    server.script += [(500, {"error": {"message": "try again"}})] * 2
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=2)
    chat = Chat()
    chat.messages[1]["content"] = TASK + " " + "really " * 5_000
    wrapped = brim.wrap(client, WINDOW)
    wrapped._calculate_retry_timeout = lambda *_, **__: 0.0
    chat.ask(wrapped)
    assert len(server.bodies) == 3
    assert server.bodies[0] == server.bodies[1] == server.bodies[2]
    assert WINDOW * 0.6 < server.sizes[0] + ANSWER <= WINDOW


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_what_the_provider_holds_is_passed_on(upstream, key):
    server = upstream(WINDOW)
    wrapped = brim.wrap(made("responses", server), WINDOW)
    wrapped.responses.create(model="gpt-5", input="Go on.", **{key: "resp_1"})
    assert server.requests[0]["input"] == "Go on."
    assert len(wrapped.brim) == 0


@pytest.mark.parametrize(
    ("asked", "fitted"),
    [
        ({"modelId": "amazon.nova-pro-v1:0"}, True),
        ({"modelId": "arn:aws:bedrock:us-east-1:1:prompt/ABC:2"}, False),
        ({"modelId": "amazon.nova-pro-v1:0", "promptVariables": {"place": {"text": "here"}}}, False),
    ],
    ids=["a model", "a stored prompt", "variables of one"],
)
def test_a_call_of_bedrock_with_a_stored_prompt_is_passed_on(asked, fitted):
    class Client:
        meta = SimpleNamespace(service_model=SimpleNamespace(service_name="bedrock-runtime"))

        def _make_api_call(self, operation, values):
            return {"operation": operation, "sent": values}

    messages = [{"role": "user", "content": [{"text": "word " * 9_000}]}]
    asked = {**asked, "messages": messages}
    answer = brim.wrap(Client(), WINDOW, meter="gpt-5")._make_api_call("Converse", asked)
    assert answer["operation"] == "Converse"
    assert (answer["sent"] == asked) is not fitted


def test_an_input_of_one_text_stays_one(upstream):
    server = upstream(WINDOW)
    wrapped = brim.wrap(made("responses", server), WINDOW)
    wrapped.responses.create(model="gpt-5", input="Hello.")
    assert server.requests[0]["input"] == "Hello."
    wrapped.responses.create(model="gpt-5", input="Hello. " * 5_000)
    assert WINDOW * 0.7 < server.sizes[-1] <= WINDOW
    assert "Hello. Hello. " in json.dumps(server.requests[-1]["input"])


def test_counting_counts_what_is_given(upstream):
    server = upstream(WINDOW, meter="claude-sonnet-5")
    wrapped = brim.wrap(made("messages", server), WINDOW)
    given = [{"role": "user", "content": "really " * 9_000}]
    assert wrapped.messages.count_tokens(model="claude-sonnet-5", messages=given).input_tokens > WINDOW


def test_marks_of_the_cache_do_not_begin_a_new_conversation_and_do_not_pile_up(upstream):
    server = upstream(WINDOW, calls=CALLS, meter="claude-sonnet-5")
    wrapped = brim.wrap(made("messages", server), WINDOW, meter=server.meter)
    assert run(Messages(), wrapped) == "Well done."
    assert len(wrapped.brim) == 1
    marks = [json.dumps(body).count("cache_control") for body in server.requests[1:]]
    assert len(marks) == CALLS
    assert marks == sorted(marks)
    assert set(marks) == {1, 2}, "the client's, and after the first cut the one where cuts begin"


def test_a_message_that_is_cut_leaves_its_mark_of_the_cache():
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"cache_control": "the model's own words"}}
    said = {"type": "tool_result", "tool_use_id": "c1", "content": seen(1) * 20, "cache_control": {"type": "ephemeral"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": TASK, "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [said]},
    ]
    made = ClientCall.of({"model": "claude-sonnet-5", "messages": messages}, "anthropic", Conversations(WINDOW))
    task, spoken, cut = made.fields["messages"]
    assert task is messages[0]
    assert spoken is messages[1]
    assert made.request.places == [0, 1, None]
    assert "cache_control" not in cut["content"][0]
    assert cut["content"][0]["tool_use_id"] == "c1"
    assert spoken["content"][0]["input"] == call["input"]


def test_a_request_that_fits_is_sent_byte_for_byte(route, server):
    plain, wrapped = made(route, server), brim.wrap(made(route, server), WINDOW, meter=server.meter)
    LOOPS[route]().ask(plain)
    LOOPS[route]().ask(wrapped)
    assert server.bodies[0] == server.bodies[1]


def sessions_in(url, capsys) -> list[dict]:
    """What `brim status` shows of a store."""
    assert main(["status", "--store", url, "--json"]) == 0
    return [row["status"] for row in json.loads(capsys.readouterr().out)["sessions"]]


def test_status_shows_where_the_tokens_went(upstream, tmp_path, capsys):
    server = upstream(WINDOW, calls=CALLS)
    url = f"sqlite:///{tmp_path}/brim.db"
    run(Chat(), brim.wrap(made("chat", server), WINDOW, store=url, session="nightly"))
    (row,) = sessions_in(url, capsys)
    assert row["session"] == "nightly"
    assert row["prompts"] == CALLS + 1
    assert row["reported"] == server.sizes[-1]
    assert sum(row["categories"].values()) == server.sizes[-1]


def test_the_store_of_the_settings_is_taken(upstream, tmp_path, capsys, monkeypatch):
    server = upstream(WINDOW)
    url = f"sqlite:///{tmp_path}/set.db"
    monkeypatch.setenv("BRIM_STORE__URL", url)
    Chat().ask(brim.wrap(made("chat", server), WINDOW))
    assert len(sessions_in(url, capsys)) == 1


def test_something_else_is_no_client():
    for other in (None, object(), openai, openai.OpenAI):
        with pytest.raises(InvalidType, match="an openai, anthropic, google-genai or boto3"):
            brim.wrap(other)


def texts():
    return st.text(max_size=60)


def chat_messages():
    image = st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}})
    parts = st.lists(
        st.one_of(st.builds(lambda t: {"type": "text", "text": t}, texts()), image), min_size=1, max_size=3
    )
    user = st.builds(lambda c, x: {"role": "user", "content": c, **x}, st.one_of(texts(), parts), extras())
    return st.lists(st.one_of(user.map(lambda each: [each]), st.integers(1, 3).flatmap(turns)), max_size=8).map(flat)


def extras():
    return st.sampled_from([{}, {"name": "ann"}, {"unknown": {"deep": [1, None, "é"]}}, {"cache_control": {"a": 1}}])


def turns(calls):
    """Return a model's message with some calls, and their results."""

    def turn(text, said, more):
        ids = [f"c{i}{abs(hash(text)) % 97}" for i in range(calls)]
        listed = [
            {"id": i, "type": "function", "function": {"name": "look", "arguments": '{"cache_control": 1}'}}
            for i in ids
        ]
        first = {"role": "assistant", "content": text or None, "tool_calls": listed, **more}
        return [first, *({"role": "tool", "tool_call_id": i, "content": said} for i in ids)]

    return st.builds(turn, texts(), st.one_of(texts(), st.just("much " * 800)), extras())


def flat(lists):
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
        *(m for each in lists for m in each),
    ]


@examples(40)
@given(messages=chat_messages())
def test_what_is_sent_whole_is_the_callers_own_and_what_is_cut_keeps_the_rest(messages):
    before = json.dumps(messages)
    conversations = Conversations(1_200, model="gpt-5")
    call = ClientCall.of({"model": "gpt-5", "messages": messages, "seed": 3}, "openai", conversations)
    request, written = call.request, call.fields
    assert json.dumps(messages) == before, "what was given is not changed"
    assert written["seed"] == 3
    assert brim.meter("gpt-5").count_messages([bare(raw) for raw in written["messages"]]) <= 1_200
    by_id = {raw["tool_call_id"]: raw for raw in messages if raw["role"] == "tool"}
    for raw, place in zip(written["messages"], request.places, strict=True):
        if place is not None:
            assert raw is messages[place]
        elif raw.get("role") == "tool":
            own = by_id[raw["tool_call_id"]]
            assert {key: raw[key] for key in raw if key != "content"} == {k: own[k] for k in own if k != "content"}
    if not request.changed:
        assert written["messages"] == messages


def test_what_extra_body_adds_is_counted_and_what_it_replaces_is_cut(upstream):
    """The client puts it into the body itself, so that a prompt of 6,174 tokens went to a window of 4,096."""
    server = upstream(WINDOW, calls=1, meter="gpt-5")
    client = brim.wrap(made("chat", server), WINDOW, meter="o200k_base")
    said = [{"role": "user" if i % 2 == 0 else "assistant", "content": f"{i} " + "word " * 80} for i in range(61)]
    asked = {"model": "gpt-5", "max_tokens": ANSWER}
    client.chat.completions.create(messages=said[:1], extra_body={"messages": said}, **asked)
    sent = server.requests[-1]["messages"]
    assert (len(sent) > 1, len(sent) < len(said), sent[0]) == (True, True, said[0])
    before = client.brim.last.used
    note = {"prediction": {"type": "content", "content": "and so on " * 300}}
    client.chat.completions.create(messages=said, extra_body=note, **asked)
    assert server.requests[-1]["prediction"] == note["prediction"]
    assert client.brim.last.used <= WINDOW
    assert len(server.requests[-1]["messages"]) < len(sent) or client.brim.last.used > before
    assert server.refused == 0
