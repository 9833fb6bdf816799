"""A summary by the model of the conversation is asked for in the conversation that its provider has cached."""

import json

import pytest

import brim
from brim.llm import LLM

TOOLS = {
    "openai": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}],
    "anthropic": [{"name": "read", "input_schema": {"type": "object", "properties": {}}}],
}
SYSTEM = {
    "openai": "You are a careful engineer.",
    "anthropic": [{"type": "text", "text": "You are a careful engineer.", "cache_control": {"type": "ephemeral"}}],
}
MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
SUMMARY = "The user wants all parts read. The parts are in services/pay."


@pytest.fixture
def asked(monkeypatch):
    """The bodies of the requests for summaries."""
    bodies = []

    def post(self, body, key):
        bodies.append(json.loads(body))
        said = {"choices": [{"message": {"content": SUMMARY}, "finish_reason": "stop"}]}
        said |= {"content": [{"type": "text", "text": SUMMARY}], "stop_reason": "end_turn"}
        return 200, json.dumps(said).encode()

    monkeypatch.setattr(LLM, "_post", post)
    return bodies


def talk(session, api, turns=40):
    """Talk until a summary was made; return the prompt before it."""
    last = None
    for at in range(turns):
        session.add({"role": "user", "content": f"Read part {at} of services/pay, and say what is in it."})
        fitted = session.prompt(system=SYSTEM[api], tools=TOOLS[api])
        if session.status().compactions:
            return last, fitted
        last = json.loads(json.dumps(fitted.messages))
        session.add({"role": "assistant", "content": f"Part {at} holds " + "the rules for refunds and cards. " * 20})
    raise AssertionError("nothing was summarised")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_the_summary_is_the_next_message_of_the_last_prompt(asked, api):
    model = LLM("http://127.0.0.1:1/v1", MODELS[api], api=api)
    window = brim.Window(6_000, reserve=1_500)
    session = brim.Session(window, model=MODELS[api], summarise=model, format=api)
    last, fitted = talk(session, api)
    (body,) = asked
    assert body["messages"][: len(last)] == last, "what the provider has in its cache"
    assert len(body["messages"]) == len(last) + 1
    assert "Summarise the conversation so far" in body["messages"][-1]["content"]
    assert body["tools"] == TOOLS[api]
    assert body["model"] == MODELS[api]
    if api == "anthropic":
        assert body["system"] == SYSTEM[api]
    assert any(SUMMARY in json.dumps(message) for message in fitted.messages)


@pytest.mark.parametrize(
    ("model", "window"),
    [("gpt-4o-mini", brim.Window(6_000, reserve=1_500)), ("gpt-4o", brim.Window(4_000))],
    ids=["another model", "no room"],
)
def test_another_model_or_a_full_window_reads_the_conversation_as_a_text(asked, model, window):
    session = brim.Session(window, model="gpt-4o", summarise=LLM("http://127.0.0.1:1/v1", model), compact_at=0.97)
    talk(session, "openai")
    (body,) = asked
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "tools" not in body
