"""Sessions and conversations in the formats of Gemini and Bedrock: within the window, legal, the same after a reopen."""

import pytest

import brim
from provider_server import bedrock_fault, gemini_fault

WINDOW = 1_500


def gemini(rounds):
    """Return contents with a call and its result in each round."""
    said = [{"role": "user", "parts": [{"text": "Find out why the harbour is silting up."}]}]
    for i in range(rounds):
        call = {"functionCall": {"name": "look", "args": {"number": i}}, "thoughtSignature": "s"}
        said.append({"role": "model", "parts": [call]})
        answer = {"functionResponse": {"name": "look", "response": {"result": f"place {i}: " + "muddy water " * 80}}}
        said.append({"role": "user", "parts": [answer]})
    return said


def bedrock(rounds):
    """Return the same as messages of Converse."""
    said = [{"role": "user", "content": [{"text": "Find out why the harbour is silting up."}]}]
    for i in range(rounds):
        said.append(
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": f"t{i}", "name": "look", "input": {}}}]}
        )
        text = {"text": f"place {i}: " + "muddy water " * 80}
        said.append({"role": "user", "content": [{"toolResult": {"toolUseId": f"t{i}", "content": [text]}}]})
    return said


FORMATS = {
    "gemini": (gemini, {"parts": [{"text": "You are careful."}]}, gemini_fault),
    "bedrock": (bedrock, [{"text": "You are careful."}], lambda messages: bedrock_fault(messages, thinks=False)),
}


@pytest.mark.parametrize("format", FORMATS)
def test_a_session_stays_legal_within_its_window_and_after_a_reopen(format, store):
    make, system, fault = FORMATS[format]
    session = brim.Session(window=brim.Window(WINDOW), model="gpt-5", store=store, id="one")
    for message in make(12):
        session.add(message)
        if message["role"] == "user":
            fitted = session.prompt(system=system, memory="the dredger is at work")
            assert (fault(fitted.messages), fitted.used <= WINDOW) == ("", True)
    again = brim.Session.open("one", store=store).prompt(system=system, memory="the dredger is at work")
    assert again.messages == fitted.messages
    assert session.status().compactions > 0


@pytest.mark.parametrize("format", FORMATS)
def test_a_system_prompt_may_be_a_text(format):
    make, system, _ = FORMATS[format]
    session = brim.Session(window=WINDOW, model="gpt-5", format=format)
    session.add(make(1))
    sizes = {session.prompt(system=each).used for each in (system, "You are careful.")}
    assert len(sizes) == 1
    assert sizes.pop() > session.prompt().used


@pytest.mark.parametrize("format", FORMATS)
def test_requests_that_bring_their_whole_history_stay_legal_within_the_window(format):
    make, system, fault = FORMATS[format]
    messages, conversations = make(12), brim.Conversations(brim.Window(WINDOW), model="gpt-5")
    for length in range(1, len(messages) + 1, 2):
        request = conversations.request(messages[:length], system=system)
        assert (fault(request.messages), request.used <= WINDOW) == ("", True)
    assert request.changed
