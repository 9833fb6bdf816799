"""Requests that each bring their whole history: which session they belong to, what is sent, what is learnt."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.history.envelopes import COMPACTIONS
from brim.sessions.compaction import NOTICE
from brim.sessions.conversations import Conversations
from brim.sessions.learning.scope import LearningScope
from brim.sessions.log import tolerant_store
from brim.wire.overflow import Overflow
from faulty import AFTER, BEFORE, FaultyStore
from properties import examples

SYSTEM = {"role": "system", "content": "You are a careful engineer."}
TASK = {"role": "user", "content": "Find out why the nightly build fails, and say so in one sentence."}
TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 1200 tokens. However, your messages resulted in 1500 tokens.",
        "code": "context_length_exceeded",
    }
}


def step(i: int, words: int = 40) -> list[dict]:
    call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"line": i})}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{i}", "content": f"line {i}: " + "worker ok " * words},
    ]


def history(steps: int, task: dict = TASK) -> list[dict]:
    return [SYSTEM, task] + [message for i in range(steps) for message in step(i)]


def legal(messages: list[dict]) -> bool:
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return False
            open_calls.discard(message["tool_call_id"])
        else:
            if open_calls:
                return False
            open_calls = {call["id"] for call in message.get("tool_calls") or ()}
    return not open_calls


def test_what_was_not_changed_is_the_callers_own_object_of_this_request():
    conversations = Conversations(1_500, model="gpt-4o")
    conversations.request(history(30))
    given = history(31)
    request = conversations.request(given)
    assert request.changed
    kept = [(raw, place) for raw, place in zip(request.messages, request.places, strict=True) if place is not None]
    assert kept
    assert all(raw is given[place] for raw, place in kept)


def test_written_gives_back_the_callers_own_kind_of_messages():
    given = history(30)
    request = Conversations(1_500, model="gpt-4o", summarise=lambda text, _: text[:200]).request(given)
    own = [f"message {i}" for i in range(len(given))]
    written = request.written(own, lambda raw: raw["role"])
    assert written[:2] == own[:2]
    assert "user" in written, "the summary of what left, made of what brim made"


def marked(messages: list[dict], at: int) -> list[dict]:
    """Return messages of Anthropic's shape with a mark for the cache on one of them."""
    made = [{**raw, "content": [dict(part) for part in raw["content"]]} for raw in messages]
    made[at]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return made


def test_marks_for_the_cache_that_move_are_no_other_conversation():
    said = [{"role": "user", "content": [{"type": "text", "text": "task " * 20}]}]
    conversations = Conversations(1_200, model="gpt-4o")
    for i in range(14):
        use = {"type": "tool_use", "id": f"t{i}", "name": "read", "input": {"line": i}}
        result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": "worker ok " * 60}
        said += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        given = marked(said, -1)
        request = conversations.request(given, format="anthropic")
        assert (500 if i > 8 else 0) < request.fitted.used <= 1_200
        assert request.messages[-1] is given[-1], "the newest has its mark"
        assert str(request.messages).count("cache_control") == 1 + request.changed, "the newest, and where cuts begin"
    assert len(conversations) == 1
    assert request.changed


def test_the_answer_that_is_asked_for_has_room():
    given = history(6, TASK)
    whole = Conversations(1_500, model="gpt-4o").request(given)
    unsure = Conversations(1_500, model="gpt-4o")
    assert whole.fitted.used > 600
    assert 600 < unsure.request(given, answer=900).fitted.used <= 1_125
    refused = Overflow(reason="both are too long", limit=1_500, sent=1_000, reply=900)
    unsure.windows.refused(LearningScope("gpt-4o"), refused, 1_000, 1_500)
    assert 200 < unsure.request(given, answer=900).fitted.used <= 600


def test_a_system_prompt_and_tools_apart_are_counted_and_not_sent_twice():
    tools = [{"type": "function", "function": {"name": f"f{i}", "description": "d " * 50}} for i in range(6)]
    given = history(10)[1:]
    request = Conversations(1_500, model="gpt-4o").request(given, system=SYSTEM["content"], tools=tools)
    assert all(message["role"] != "system" for message in request.messages)
    full = brim.meter("gpt-4o").count_messages([SYSTEM, *request.messages], tools=tools)
    assert full <= request.fitted.used <= 1_500


def test_a_refusal_is_answered_by_a_smaller_request_once():
    conversations = Conversations(2_000, model="gpt-4o")
    request = conversations.request(history(12))
    smaller = request.refused(TOO_LONG)
    assert smaller.fitted.used < request.fitted.used
    assert legal(smaller.messages)
    assert smaller.refused(TOO_LONG) is None
    assert conversations.sessions[0].status().overflows == 1


def test_the_usage_of_an_older_request_is_not_taken_for_that_of_the_newest():
    conversations = Conversations(8_000, model="gpt-4o")
    first = conversations.request(history(1))
    conversations.request(history(2))
    first.answered({"prompt_tokens": 7, "completion_tokens": 1})
    assert conversations.sessions[0].status().reported is None


def test_a_named_conversation_goes_on_in_another_process(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    whole = Conversations(1_500, model="gpt-4o")
    for steps in (20, 25, 30):
        expected = whole.request(history(steps))
        request = Conversations(1_500, model="gpt-4o", store=url).request(history(steps), session="nightly")
        assert request.messages == expected.messages
        assert request.places == expected.places


def test_a_named_conversation_whose_history_was_changed_begins_anew_under_its_name(tmp_path):
    conversations = Conversations(4_000, model="gpt-4o", store=f"sqlite:///{tmp_path}/brim.db")
    conversations.request(history(5), session="nightly")
    request = conversations.request(history(2, {"role": "user", "content": "Something else."}), session="nightly")
    assert not request.changed
    assert len(conversations) == 1
    assert request.session.id == "nightly"


@examples(25)
@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=12), window=st.integers(400, 2_000), stable=st.booleans()
)
def test_every_request_of_any_conversation_fits_and_is_legal(sizes, window, stable):
    conversations, messages = Conversations(window, model="gpt-4o", stable=stable), [SYSTEM, TASK]
    for i, words in enumerate(sizes):
        messages = [*messages, *step(i, words)]
        request = conversations.request(messages)
        assert brim.meter("gpt-4o").count_messages(request.messages) <= window
        assert legal(request.messages)
        changed = [a for a, place in zip(request.messages, request.places, strict=True) if place is None]
        assert request.changed == bool(changed or len(request.messages) != len(messages))
        assert request.messages[0] == SYSTEM
        assert request.messages[1]["role"] == "user"
    assert len(conversations) == 1
    assert conversations.sessions[0].status().messages == len(messages)


def test_a_named_conversation_that_another_model_goes_on_with_is_that_models_own(tmp_path):
    store = brim.open_store(f"sqlite:///{tmp_path / 'brim.db'}")
    said = [{"role": "user", "content": "Hello"}]
    blocks = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    for _ in range(2):
        conversations = Conversations(2_000, store=store)
        first = conversations.request(said, model="gpt-5", format="openai", session="talk")
        other = conversations.request(blocks, model="claude-sonnet-4-5", format="anthropic", session="talk")
        again = conversations.request(said, model="gpt-5", format="openai", session="talk")
        assert [each.session.id for each in (first, other, again)] == ["talk", "talk/claude-sonnet-4-5", "talk"]
        assert other.session.format == "anthropic"
    assert {row.id for row in store.sessions()} == {"talk", "talk/claude-sonnet-4-5"}


def test_a_reopened_conversation_has_the_window_and_the_settings_of_its_program(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    first = Conversations(4_000, model="gpt-4o", store=url).request(history(30), session="nightly")
    assert first.room.window == 4_000
    smaller = Conversations(brim.Window(2_000, reserve=200), model="gpt-4o", store=url, keep_turns=1)
    request = smaller.request(history(31), session="nightly")
    assert request.session.settings.window == brim.Window(2_000, reserve=200)
    assert request.session.settings.options["keep_turns"] == 1
    assert request.session.budget == 1_800
    assert request.used <= 1_800
    larger = Conversations(8_000, model="gpt-4o", store=url).request(history(32), session="nightly")
    assert larger.session.budget == 8_000
    grown = Conversations(8_000, model="gpt-4o", store=url)
    used = [grown.request(history(steps), session="nightly").used for steps in range(33, 110, 2)]
    assert 7_000 < max(used) <= 8_000
    with brim.open_store(url) as store:
        assert brim.Session.open("nightly", store=store).settings.window.size == 8_000, "the studio sees it too"


def test_the_window_of_one_model_is_not_given_to_the_session_of_another(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    Conversations(store=url).request(history(3), model="gpt-4o", session="nightly")
    request = Conversations(store=url).request(history(3), model="gpt-5", session="nightly")
    assert request.session.id == "nightly/gpt-5"
    with brim.open_store(url) as store:
        assert brim.Session.open("nightly", store=store).settings.window.size == brim.Window.of("gpt-4o").size


def logged(store, session):
    return [entry.body["message"] for entry in store.entries(session, kinds=["message"])]


def test_requests_go_on_while_the_store_fails_and_what_they_said_is_written_later(tmp_path):
    store = FaultyStore(brim.open_store(f"sqlite:///{tmp_path}/brim.db"))
    conversations, never = Conversations(1_500, model="gpt-4o", store=store), Conversations(1_500, model="gpt-4o")
    for steps in range(1, 30):
        if steps in (9, 20):
            store.fail_next(calls=7)
        request = conversations.request(history(steps), session="nightly")
        expected = never.request(history(steps))
        for each in (request, expected):
            each.answered({"prompt_tokens": each.used, "completion_tokens": 3})
        assert request.messages == expected.messages
    assert store.raised == conversations.store.failures == 14
    assert logged(store, "nightly") == history(29)
    mine, its = ({name[:11] for name in each.sessions[0].dropped.handles()} for each in (conversations, never))
    assert len(its) > 10
    assert mine == its
    assert all(request.session.recall(each) for each in its)
    opened = brim.Session.open("nightly", store=store)
    assert opened.status() == request.session.status()


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_usage_is_not_lost_if_another_process_continues_after_a_failure(tmp_path, when):
    store = FaultyStore(brim.open_store(f"sqlite:///{tmp_path}/brim.db"))
    engines = [Conversations(1_500, model="gpt-4o", store=store) for _ in range(2)]
    for steps in range(1, 13):
        request = engines[steps // 3 % 2].request(history(steps), session="nightly")
        store.fail_next(when, calls=2)
        request.answered({"prompt_tokens": 1_000 + steps, "completion_tokens": 3})
    usages = store.entries("nightly", kinds=["usage"])
    assert [each.body["input"] for each in usages] == [*range(1_001, 1_013)]


def test_a_store_that_kept_a_request_waiting_is_not_asked_again_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(tolerant_store, "_PATIENCE", -1.0)
    store = FaultyStore(brim.open_store(f"sqlite:///{tmp_path}/brim.db"))
    conversations = Conversations(1_500, model="gpt-4o", store=store)
    conversations.request(history(3), session="nightly")
    store.fail_next(calls=40)
    conversations.request(history(4), session="nightly")
    assert store.raised == 1


def test_a_request_goes_on_without_its_log_while_that_cannot_be_opened(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    Conversations(1_500, model="gpt-4o", store=url).request(history(5), session="nightly")
    store = FaultyStore(brim.open_store(url))
    conversations = Conversations(1_500, model="gpt-4o", store=store)
    store.faults = dict.fromkeys(range(1, 99), BEFORE)
    request = conversations.request(history(30), session="nightly")
    assert request.changed
    assert request.used <= 1_500
    assert request.session is None
    store.faults = {}
    assert conversations.request(history(31), session="nightly").session.id == "nightly"
    assert logged(store, "nightly") == history(31)


@pytest.mark.slow
def test_processes_that_take_turns_in_one_conversation_add_each_message_once(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    workers = [Conversations(1_500, model="gpt-4o", store=url) for _ in range(3)]
    for steps in range(1, 25):
        request = workers[steps % 3].request(history(steps), session="chat")
        assert legal(request.messages)
        assert request.used <= 1_500
        assert request.messages[-1] == history(steps)[-1]
        request.answered({"prompt_tokens": request.used, "completion_tokens": 3})
    with brim.open_store(url) as store:
        assert logged(store, "chat") == history(24)
        assert len(store.entries("chat", kinds=["usage"])) == 24


def test_two_histories_under_one_name_are_never_mixed(tmp_path):
    url, other = f"sqlite:///{tmp_path}/brim.db", {"role": "user", "content": "Something else."}
    mine, its = (Conversations(8_000, model="gpt-4o", store=url) for _ in range(2))
    for steps in range(1, 8):
        assert mine.request(history(steps), session="chat").messages == history(steps)
        assert its.request(history(steps, other), session="chat").messages == history(steps, other)


@dataclass
class Characters:
    """A meter of the user's own; as a dataclass with values, it cannot be hashed."""

    exact: bool = True

    def count(self, text):
        return len(text)


def test_a_meter_that_cannot_be_hashed_counts_all_requests():
    conversations = Conversations(10_000, meter=Characters())
    first, second = (conversations.request(history(steps), session="one") for steps in (2, 4))
    meter = brim.meter(Characters())
    assert (first.used, second.used) == tuple(meter.count_messages(history(steps)) for steps in (2, 4))


TALK = [{"role": "user", "content": "task"}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go"}]
LOGGED = pytest.mark.parametrize("log", [True, False], ids=["with a log", "without"])


@LOGGED
def test_the_list_of_the_caller_stays_its_own(log):
    conversations, messages = Conversations(brim.Window(10_000), meter="chars", log=log), list(TALK)
    for _ in range(2):
        made = conversations.request(messages)
        assert made.messages == messages
        assert made.messages is not messages
        messages = [*messages, {"role": "assistant", "content": "done"}]


@LOGGED
def test_a_change_before_a_message_that_is_the_same_object_is_noticed(log):
    conversations = Conversations(brim.Window(10_000), meter="chars", log=log)
    conversations.request(list(TALK), session="one")
    changed = [TALK[0], {"role": "assistant", "content": "ok " * 50}, *TALK[2:], {"role": "assistant", "content": "a"}]
    made, alone = (
        each.request(changed, session="one")
        for each in (conversations, Conversations(brim.Window(10_000), meter="chars", log=log))
    )
    assert made.messages == changed
    assert made.before == alone.before


@LOGGED
def test_a_longer_system_message_is_counted_in_what_a_request_had_before(log):
    conversations = Conversations(brim.Window(10_000), meter="chars", log=log)
    before = conversations.request([SYSTEM, *TALK], session="one").before
    longer = {**SYSTEM, "content": SYSTEM["content"] + "x" * 50}
    assert conversations.request([longer, *TALK], session="one").before == before + 50


@pytest.mark.parametrize("words", COMPACTIONS)
@pytest.mark.parametrize("log", [True, False])
def test_the_summary_that_an_agent_asks_for_sees_as_much_of_the_past_as_there_is_room_for(words, log):
    """ "A summary of a cut history makes the loss final"."""
    asks = {"role": "user", "content": f"Stop here. {words} the conversation above. Answer in text alone."}
    conversations, given, sizes = Conversations(3_000, model="gpt-4o", log=log), history(8), [0]
    while True:  # Until a cut was made just now, when the prompt is at its shortest.
        given += step(len(given))
        request = conversations.request(given)
        sizes.append(request.used)
        if request.changed and sizes[-1] < sizes[-2]:
            break
    made = conversations.request([*given, asks])
    assert made.summary_of == COMPACTIONS[words]
    assert sizes[-1] + 300 < made.used <= 3_000
    assert made.used > 2_500
    assert made.messages[-1] == asks
    after = conversations.request([*given, *step(500)])
    assert after.conversation == request.conversation
    assert after.messages[: len(request.messages)] == request.messages, "the cut that is held is not moved"


@pytest.mark.parametrize(("options", "notices"), [({}, 1), ({"log": False}, 1), ({"summarise": "extract"}, 3)])
def test_a_conversation_gives_a_notice_at_its_first_cut_and_with_each_summary(options, notices):
    """ "on_notice speaks at every cut." """
    told = []
    conversations = Conversations(1_500, model="gpt-4o", on_notice=told.append, **options)
    for conversation in (1, 2):
        given, cut = [{"role": "user", "content": f"Task {conversation}"}], 0
        while cut < 3:
            given += step(len(given))
            cut = max(cut, conversations.request(given).cut)
        assert told == [NOTICE] * notices * conversation


def test_a_window_of_50_is_a_budget_of_50_even_if_only_the_estimate_fits():
    """ "`window=50` is reported as a budget of 80." """
    rules = {"role": "system", "content": "hello world what " * 14}
    request = Conversations(50).request([rules, {"role": "user", "content": "hi"}])
    assert (request.room.target, request.session.status().budget) == (50, 50)
    assert 0 < request.used <= 50
    told = request.receipt.history["correction"]
    assert told.startswith(
        f"a budget of 50 is {request.receipt.budget} by brim's count: what must stay fits by the estimate"
    )
