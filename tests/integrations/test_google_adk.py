"""Google ADK with a model of its own kind behind a hard window: it counts each request, and refuses what is too long.

400 INVALID_ARGUMENT. The input token count (4294) exceeds the maximum number of tokens allowed (4096).
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import errors, types
from hypothesis import given
from hypothesis import strategies as st
from pydantic import PrivateAttr

import brim
from brim.integrations.google_adk import BrimPlugin
from properties import examples

WINDOW = 4_000
GOAL = "Find out why the harbour is silting up."
SYSTEM = "You are a careful surveyor."


class Scripted(BaseLlm):
    """A model that calls `look` so many times and then answers; its window is hard."""

    window: int = WINDOW
    calls: int = 0
    _made: int = PrivateAttr(default=0)
    _seen: list = PrivateAttr(default_factory=list)
    _sizes: list = PrivateAttr(default_factory=list)
    _refused: int = PrivateAttr(default=0)
    _more: int = PrivateAttr(default=0)
    _fails: Exception | None = PrivateAttr(default=None)

    async def generate_content_async(self, llm_request, stream=False):
        if self._fails is not None:
            raise self._fails
        size = self.size(llm_request) + self._more
        check(llm_request.contents)
        if size > self.window:
            self._refused += 1
            told = f"The input token count ({size}) exceeds the maximum number of tokens allowed ({self.window})."
            raise errors.ClientError(400, {"error": {"code": 400, "message": told, "status": "INVALID_ARGUMENT"}})
        self._seen.append(list(llm_request.contents))
        self._sizes.append(size)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=size, candidates_token_count=3)
        if self._made < self.calls:
            self._made += 1
            call = types.FunctionCall(name="look", args={"number": self._made})
            part = types.Part(function_call=call, thought_signature=b"signed")
        else:
            part = types.Part(text="Well done.")
        if stream and part.text:
            early = types.GenerateContentResponseUsageMetadata(prompt_token_count=1)
            said = types.Content(role="model", parts=[types.Part(text="Well ")])
            yield LlmResponse(content=said, partial=True, usage_metadata=early)
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)

    def size(self, asked) -> int:
        """Count a request as the body that the client would send."""
        values = asked.model_dump(mode="json", exclude_none=True)
        tools, system = values["config"].get("tools"), values["config"].get("system_instruction")
        return brim.meter("gpt-5").count_messages(values["contents"], tools, system=system, format="gemini")


def check(contents) -> None:
    """Fail where Gemini would: roles, calls and their responses, signatures."""
    assert contents[0].role == "user"
    waiting: list[str] = []
    for content in contents:
        assert content.parts
        answers = [part.function_response.name for part in content.parts if part.function_response]
        assert answers == waiting
        waiting = [part.function_call.name for part in content.parts if part.function_call]
        assert all(part.thought_signature for part in content.parts if part.function_call)
    assert waiting == []


def look(number: int) -> str:
    """Look at a place in the harbour."""
    return f"Place {number}: " + "mud, sand and shells over old chains; " * 20


def run(model, plugins=(), *, streaming=StreamingMode.NONE, asks=(GOAL,)):
    """Run an agent to its end, and return its session's events and the answer."""
    agent = LlmAgent(name="surveyor", model=model, instruction=SYSTEM, tools=[look])
    runner = InMemoryRunner(app=App(name="harbour", root_agent=agent, plugins=list(plugins)))

    async def whole():
        session = await runner.session_service.create_session(app_name="harbour", user_id="u", session_id="s1")
        said = ""
        for ask in asks:
            message = types.Content(role="user", parts=[types.Part(text=ask)])
            asked = {"user_id": "u", "session_id": session.id, "new_message": message}
            async for event in runner.run_async(**asked, run_config=RunConfig(streaming_mode=streaming)):
                if event.content and event.content.parts and not event.partial:
                    said = event.content.parts[-1].text or said
        kept = await runner.session_service.get_session(app_name="harbour", user_id="u", session_id="s1")
        return kept.events, said

    return asyncio.run(whole())


@pytest.mark.parametrize("streaming", [StreamingMode.NONE, StreamingMode.SSE], ids=["whole", "stream"])
def test_with_brim_it_runs_to_its_end(streaming):
    model, plugin = Scripted(model="scripted", calls=36), BrimPlugin(WINDOW, meter="gpt-5")
    events, said = run(model, [plugin], streaming=streaming)
    assert said == "Well done."
    assert model._refused == 0
    assert len(model._sizes) == 37
    assert max(model._sizes) <= WINDOW
    assert plugin.conversations.sessions[-1].status().reported == model._sizes[-1]
    last = model._seen[-1]
    assert last[0].parts[0].text == GOAL
    assert last[-1].parts[0].function_response.response == {"result": look(36)}
    assert sum(bool(event.get_function_responses()) for event in events) == 36
    assert {len(event.get_function_responses()[0].response["result"]) for event in events[2::2]} == {
        len(look(1)),
        len(look(36)),
    }


def test_a_refused_request_is_sent_once_more_and_smaller():
    model, plugin = Scripted(model="scripted", calls=36), BrimPlugin(2 * WINDOW, meter="gpt-5")
    _, said = run(model, [plugin])
    assert said == "Well done."
    assert model._refused >= 1
    assert plugin.conversations.sessions[-1].status().overflows == model._refused


def test_a_model_that_takes_nothing_is_told_by_the_sum():
    model = Scripted(model="scripted", calls=1)
    model._more = 100_000  # No prompt is small enough.
    with pytest.raises(RuntimeError, match="the parts that must stay take"):
        run(model, [BrimPlugin(WINDOW, meter="gpt-5")])
    assert model._refused == 1


def test_a_session_goes_on_over_several_questions():
    model, plugin = Scripted(model="scripted", calls=0), BrimPlugin(1_000, meter="gpt-5")
    asks = [f"{number}: " + "What does the chart say of the channel? " * 10 for number in range(20)]
    run(model, [plugin], asks=asks)
    assert max(model._sizes) <= 1_000
    assert len(plugin.conversations) == 1


IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(40)
texts = st.text(max_size=30)
values = st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=2)), max_size=3)
parts = st.one_of(
    texts.map(lambda text: types.Part(text=text)),
    texts.map(lambda text: types.Part(text=text, thought=True, thought_signature=b"s")),
    st.just(types.Part(thought_signature=b"only")),
    st.just(types.Part(inline_data=types.Blob(data=IMAGE, mime_type="image/png", display_name="x"))),
    st.just(types.Part(inline_data=types.Blob(data=b"\0" * 20, mime_type="audio/wav"))),
    st.just(types.Part(file_data=types.FileData(file_uri="gs://a/b.pdf", mime_type="application/pdf"))),
    st.just(types.Part(executable_code=types.ExecutableCode(code="1+1", language="PYTHON"))),
    texts.map(lambda text: types.Part(text=text, part_metadata={"unknown": text})),
)


@st.composite
def histories(draw):
    """Contents as ADK sends them: several calls at a time, with ids or without, media in what they return."""
    contents = [types.Content(role="user", parts=draw(st.lists(parts, min_size=1, max_size=3)))]
    for turn in range(draw(st.integers(0, 4))):
        named = draw(st.booleans())
        count = draw(st.integers(0, 3))
        calls, answers = [], []
        for i in range(count):
            key = f"{turn}-{i}" if named else None
            name = draw(st.sampled_from(["look", "dig"]))
            call = types.FunctionCall(id=key, name=name, args=draw(values))
            calls.append(types.Part(function_call=call, thought_signature=b"sig"))
            media = types.FunctionResponsePart.from_bytes(data=IMAGE, mime_type="image/png")
            response = draw(st.one_of(values, texts.map(lambda text: {"result": text})))
            more = {"parts": [media]} if draw(st.booleans()) else {}
            answers.append(
                types.Part(function_response=types.FunctionResponse(id=key, name=name, response=response, **more))
            )
        said = draw(st.lists(parts, max_size=2))
        contents.append(types.Content(role="model", parts=[*said, *calls] or [types.Part(text="so")]))
        contents.append(types.Content(role="user", parts=answers or draw(st.lists(parts, min_size=1, max_size=2))))
    return contents


def fitted(contents, window):
    """Return the contents that a plugin sends."""
    request = LlmRequest(contents=contents)
    context = SimpleNamespace(session=SimpleNamespace(id="s"), branch=None, agent_name="surveyor")
    plugin = BrimPlugin(window, meter="gpt-5")
    asyncio.run(plugin.before_model_callback(callback_context=context, llm_request=request))
    return request.contents


@examples(60)
@given(histories(), st.integers(60, 2_000))
def test_what_is_left_is_legal_and_of_the_same_kind(contents, window):
    try:
        sent = fitted(contents, window)
    except brim.DoesNotFit:
        return
    check_pairs(sent)
    assert all(isinstance(part, types.Part) for content in sent for part in content.parts)
    own = [part.function_call for content in contents for part in content.parts if part.function_call]
    for content in sent:
        for part in content.parts:
            if part.function_call:
                assert part.thought_signature == b"sig"
                assert any((part.function_call.id, part.function_call.name) == (call.id, call.name) for call in own)


def check_pairs(contents) -> None:
    waiting: list = []
    for content in contents:
        answers = [part.function_response for part in content.parts if part.function_response]
        assert [(each.id, each.name) for each in answers] == waiting
        calls = [part.function_call for part in content.parts if part.function_call]
        waiting = [(each.id, each.name) for each in calls]
    assert waiting == []


def test_what_is_cut_keeps_all_else():
    long = "mud and sand; " * 2_000
    response = types.FunctionResponse(id="1", name="look", response={"result": long}, scheduling="SILENT")
    contents = [
        types.Content(role="user", parts=[types.Part(text=GOAL)]),
        types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id="1", name="look"))]),
        types.Content(role="user", parts=[types.Part(function_response=response, part_metadata={"kept": 1})]),
    ]
    sent = fitted(contents, 1_000)
    assert sent[0] is contents[0]
    assert sent[1] is contents[1]
    part = sent[2].parts[0]
    assert part.part_metadata == {"kept": 1}
    assert part.function_response.scheduling == response.scheduling
    assert len(part.function_response.response["result"]) < len(long)
    assert response.response == {"result": long}
