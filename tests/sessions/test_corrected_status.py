"""A provider counts more than brim: prompts stay within the window, and the status has the provider's numbers."""

import pytest

import brim
from brim.sessions.conversations import Conversations
from sessions.talking import Seen

WINDOW = 10_000
TRUE = brim.meter("gpt-4o")


def counted(messages):
    """Return the tokens that the provider counts: 1.3 times those of brim."""
    return TRUE.count_messages(messages) * 13 // 10


def turn(i):
    return [
        {"role": "user", "content": f"Question {i}: why did build {i} fail? " + "Please look at the log again. " * 10},
        {
            "role": "assistant",
            "content": f"Build {i} failed in /srv/m{i}.py. " + "The disk of the host was full. " * 30,
        },
    ]


def test_a_session_stays_within_the_window_of_a_provider_that_counts_more():
    seen = Seen()
    session = brim.Session(WINDOW, model="gpt-4o", observers=[seen])
    sizes = []
    for i in range(60):
        question, answer = turn(i)
        session.add(question)
        estimate = session.estimate()
        fitted = session.prompt()
        assert fitted.used <= fitted.budget == session.budget
        sizes.append(counted(fitted.messages))
        status = session.status()
        assert status.used == fitted.used == seen.of("prompt_assembled")[-1]["used_tokens"]
        assert sum(status.categories.values()) == status.used
        if i and not fitted.receipt.losses:
            assert estimate == fitted.used
        if i > 5:  # Before, a prompt is several times the reported one.
            assert sizes[-1] * 0.95 <= fitted.used <= sizes[-1] * 1.08  # After a cut, all the excess may be left.
            assert not status.exact
        session.record_usage(input_tokens=sizes[-1])
        session.add(answer)
    assert max(sizes) <= WINDOW
    assert WINDOW * 0.9 < session.status().peak <= WINDOW
    assert session.status().peak == pytest.approx(max(sizes), rel=0.01)
    assert "by brim's count" in fitted.receipt.history["correction"]


def test_a_reopened_session_is_corrected_like_one_that_was_never_closed(store):
    whole = brim.Session(WINDOW, model="gpt-4o")
    brim.Session(WINDOW, model="gpt-4o", store=store, id="a")
    for i in range(25):
        other = brim.Session.open("a", store=store)
        sent = []
        for each in (whole, other):
            each.add(turn(i)[0])
            sent.append(each.prompt())
            each.record_usage(input_tokens=counted(sent[-1].messages))
            each.add(turn(i)[1])
        assert sent[0].used == sent[1].used
        assert sent[0].messages == sent[1].messages
        status = brim.Session.open("a", store=store).status().to_dict()
        assert {**status, "session": ""} == {**whole.status().to_dict(), "session": ""}


def test_another_model_forgets_what_was_reported(store):
    session = brim.Session(WINDOW, model="gpt-4o", store=store, id="a")
    session.add(turn(0))
    session.prompt()
    session.record_usage(input_tokens=counted(session.messages))
    assert session.estimate() == counted(session.messages)
    session = brim.Session.open("a", store=store, model="gpt-5")
    assert session.estimate() == brim.meter("gpt-5").count_messages(session.messages)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_the_status_of_a_conversation_has_the_numbers_of_the_provider(model):
    seen = Seen()
    conversations = Conversations(window=WINDOW, model=model, observers=[seen])
    history, peak = [], 0
    for i in range(40):
        history.append(turn(i)[0])
        request = conversations.request(history)
        size = counted(request.messages)
        status = request.session.status()
        peak = max(peak, request.used)
        assert (status.used, status.peak) == (request.used, peak)
        assert sum(status.categories.values()) == status.used <= WINDOW
        assert seen.of("prompt_assembled")[-1]["used_tokens"] == request.used
        if i > 5:
            assert size <= WINDOW
            assert request.used == pytest.approx(size, rel=0.1)
        request.answered({"prompt_tokens": size, "completion_tokens": 5})
        peak = max(peak, size)
        history.append(turn(i)[1])
    assert status.used > WINDOW * 0.8
    assert "by brim's count" in request.receipt.history["correction"]
