"""LiteLLM, the real one: its SDK and a Router, against a server with a hard window."""

from __future__ import annotations

import asyncio
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would be fetched

import litellm
import pytest

import brim
from brim.errors import DoesNotFit, InvalidType
from brim.integrations.litellm import BrimHook
from integrations.test_wrap import ANSWER, SYSTEM, TASK, WINDOW, Chat, seen

litellm.suppress_debug_info = True

CALLS = 32


@pytest.fixture(autouse=True)
def clean():
    """Forget the callbacks of other tests; LiteLLM has them in globals."""
    yield
    litellm.logging_callback_manager._reset_all_callbacks()
    litellm.callbacks = []


def registered(*given, **asked):
    hook = BrimHook(*given, **asked)
    litellm.callbacks = [hook]
    return hook


class Loop(Chat):
    """A growing tool loop."""

    def __init__(self, server, **more):
        super().__init__()
        self.server, self.more = server, more

    def asked(self):
        served = {"model": "openai/gpt-5", "api_base": f"{self.server.url}/v1", "api_key": "none", "max_retries": 0}
        return {**super().asked(), **served, **self.more}

    def take(self, answer):
        text = super().take(answer)
        self.messages = [raw if isinstance(raw, dict) else raw.model_dump(exclude_none=True) for raw in self.messages]
        return text

    def run(self, ask):
        for _ in range(CALLS + 1):
            if (text := self.take(ask(**self.asked()))) is not None:
                return text
        return None

    async def arun(self, ask):
        for _ in range(CALLS + 1):
            if (text := self.take(await ask(**self.asked()))) is not None:
                return text
        return None


def well(server):
    assert server.refused == 0
    assert server.illegal == []
    assert len(server.requests) == CALLS + 1
    assert max(server.sizes) + ANSWER <= WINDOW
    last = json.dumps(server.requests[-1])
    assert all(each in last for each in (SYSTEM, TASK, seen(CALLS)[:30]))


@pytest.fixture
def server(upstream):
    return upstream(WINDOW, calls=CALLS)


def test_as_a_callback_it_goes_on_to_its_end(server):
    hook = registered(WINDOW)
    assert asyncio.run(Loop(server).arun(litellm.acompletion)) == "Well done."
    well(server)
    status = hook.conversations.sessions[-1].status()
    assert len(hook.conversations) == 1
    assert status.prompts == CALLS + 1
    assert status.reported == server.sizes[-1] <= hook.conversations.last.receipt.used
    assert not hook._open, "every call was answered"


def test_what_is_not_async_goes_on_with_the_hooks_own_completion(server):
    hook = BrimHook(WINDOW)
    assert Loop(server).run(hook.completion) == "Well done."
    well(server)
    assert hook.conversations.sessions[-1].status().reported == server.sizes[-1]


def test_a_router_goes_on_as_well(server):
    hook = registered(WINDOW)
    asked = {"model": "openai/gpt-5", "api_base": f"{server.url}/v1", "api_key": "none"}
    router = litellm.Router(model_list=[{"model_name": "ours", "litellm_params": asked}], num_retries=0)
    loop = Loop(server, model="ours")
    loop.asked = lambda: {**{k: v for k, v in Loop.asked(loop).items() if not k.startswith("api_")}}
    assert asyncio.run(loop.arun(router.acompletion)) == "Well done."
    well(server)
    assert hook.conversations.sessions[-1].settings.model == "openai/gpt-5", (
        "the model of the deployment, not of the group"
    )


def test_a_plain_completion_with_a_callback_is_warned_of(server):
    registered(WINDOW)
    with pytest.warns(UserWarning, match="hook.completion"):
        litellm.completion(**Loop(server).asked())


def test_messages_by_place_are_refused_instead_of_passed_over(server):
    registered(WINDOW)
    asked = Loop(server).asked()
    model, messages = asked.pop("model"), asked.pop("messages")
    with pytest.raises(InvalidType, match="passed by name"):
        asyncio.run(litellm.acompletion(model, messages, **asked))


def test_an_overflow_is_tried_once_more_and_learned_from(server):
    hook = registered(4 * WINDOW)
    assert Loop(server).run(hook.completion) == "Well done."
    assert server.refused >= 1
    assert server.illegal == []
    assert len(server.requests) == CALLS + 1
    assert hook.conversations.sessions[-1].status().overflows == server.refused


def test_a_callback_learns_from_a_refusal_though_it_cannot_try_again(server):
    hook = registered(4 * WINDOW)
    loop, refusals = Loop(server), 0

    async def asking(**asked):
        nonlocal refusals
        try:
            return await litellm.acompletion(**asked)
        except litellm.ContextWindowExceededError:
            refusals += 1
            return await litellm.acompletion(**asked)

    assert asyncio.run(loop.arun(asking)) == "Well done."
    assert 1 <= refusals == server.refused <= 3
    assert hook.conversations.sessions[-1].status().overflows == refusals


def test_streams_are_fitted_and_learned_from_where_the_provider_reports(server):
    hook = registered(WINDOW)

    async def main(**more):
        stream = await litellm.acompletion(**{**Loop(server).asked(), "stream": True, **more})
        chunks = [chunk async for chunk in stream]
        await asyncio.sleep(0.3)  # LiteLLM tells of a stream's end from a task of its own
        return len(chunks)

    server.made = CALLS
    assert asyncio.run(main()) > 1
    assert hook.conversations.sessions[-1].status().reported is None, "what LiteLLM makes up is not taken"
    assert asyncio.run(main(stream_options={"include_usage": True})) > 1
    assert hook.conversations.sessions[-1].status().reported == server.sizes[-1]


@pytest.mark.parametrize(
    ("asked", "usage", "told"),
    [
        ({}, {"prompt_tokens": 9}, True),
        ({}, {"prompt_tokens": 0}, False),
        ({"stream": True}, {"prompt_tokens": 9}, False),
        ({"stream": True, "optional_params": {"stream_options": {"include_usage": True}}}, {"prompt_tokens": 9}, True),
        ({"stream": True}, {"input_tokens": 9}, True),
    ],
)
def test_what_litellm_makes_up_itself_is_not_taken_for_a_report(asked, usage, told):
    hook = BrimHook(WINDOW)
    kwargs = {"model": "gpt-5", "messages": [{"role": "user", "content": TASK}], "litellm_call_id": "one"}
    asyncio.run(hook.async_pre_call_deployment_hook(kwargs, "acompletion"))
    hook.log_success_event({**asked, "litellm_call_id": "one"}, {"usage": usage}, None, None)
    assert hook.conversations.sessions[-1].status().reported == (9 if told else None)


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
def test_responses_are_fitted(server, asynchronous):
    hook = registered(WINDOW)
    server.made = CALLS
    asked = {
        "model": "openai/gpt-5",
        "input": TASK + " really" * 5_000,
        "instructions": SYSTEM,
        "max_output_tokens": ANSWER,
        "api_base": f"{server.url}/v1",
        "api_key": "none",
    }
    answer = asyncio.run(litellm.aresponses(**asked)) if asynchronous else litellm.responses(**asked)
    assert answer.output[0].content[0].text == "Well done."
    assert server.sizes[-1] + ANSWER <= WINDOW
    assert hook.conversations.last.changed


def test_messages_of_anthropic_are_fitted(upstream):
    server = upstream(WINDOW, meter="claude-sonnet-5")
    hook = registered(WINDOW)
    asked = {
        "model": "anthropic/claude-sonnet-5",
        "messages": [{"role": "user", "content": TASK + " really" * 5_000}],
        "max_tokens": ANSWER,
        "api_base": server.url,
        "api_key": "none",
    }
    answer = asyncio.run(litellm.anthropic_messages(**asked))
    assert answer["content"][0]["text"] == "Well done."
    assert server.sizes[-1] + ANSWER <= WINDOW
    assert hook.conversations.sessions[-1].format == "anthropic"


def test_what_has_to_stay_and_is_too_big_is_refused_before_the_call(server):
    hook = registered(WINDOW)
    asked = {
        **Loop(server).asked(),
        "tools": [{"type": "function", "function": {"name": "f", "description": "d " * 9_000}}],
    }
    with pytest.raises(DoesNotFit):
        hook.completion(**asked)
    with pytest.raises(Exception, match="the parts that must stay"):
        asyncio.run(litellm.acompletion(**asked))
    assert server.bodies == []


def test_a_session_that_the_call_names_is_kept_in_the_store(server, tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    registered(WINDOW, store=url)
    asyncio.run(litellm.acompletion(**Loop(server, litellm_session_id="nightly").asked()))
    with brim.open_store(url) as store:
        assert [row.id for row in store.sessions()] == ["nightly"]
