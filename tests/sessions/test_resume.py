"""With a store every call is durable, and a session that was closed goes on as one that never was."""

import random

import pytest

import brim
from brim.errors import InvalidType, InvalidValue, StoreError, UnknownName
from brim.sessions import Session
from brim.sessions.session_step import SessionStep
from faulty import FaultyStore
from sessions.talking import SYSTEM, TURNS, Seen, asked, session, turn, window


@pytest.mark.slow
@pytest.mark.requirement("X9")
@pytest.mark.parametrize(
    ("more", "format"),
    [
        *(({}, format) for format in TURNS),
        ({"compact_at": "never"}, "openai"),
        ({"stable": False}, "anthropic"),
        ({"compact_at": "warning"}, "responses"),
        ({"tool_limit": 70}, "anthropic"),
    ],
    ids=str,
)
def test_a_session_that_is_closed_again_and_again_is_one_that_never_was(store, format, more):
    kept, never = session(store=store, **more), session(**more)
    chance = random.Random(7)
    for i in range(11):
        for message in TURNS[format](i, lines=80):
            kept.add(message)
            never.add(message)
            mine, its = (each.prompt(system=SYSTEM, memory=["tea"]) for each in (kept, never))
            assert mine.messages == its.messages
            assert kept.notices == never.notices
            prefix = {} if kept.settings.options["stable"] else {"stable_prefix": 0}
            assert {**mine.receipt.to_dict(), **prefix} == {**its.receipt.to_dict(), **prefix}
            if chance.random() < 0.3:
                kept = Session.open(kept.id, store=store)
                assert {**kept.status().to_dict(), "session": never.id} == never.status().to_dict()


def test_what_was_added_is_in_the_store_before_the_call_returns(store):
    talk = session(store=store, id="s1")
    talk.add(turn(1))
    talk.prompt()
    talk.record_usage(input_tokens=9)
    kinds = [entry.kind for entry in store.entries("s1")]
    assert kinds == ["note", *["message"] * 4, "held", "prompt", "usage"]
    row = store.sessions()[0]
    assert row.id == "s1"
    assert row.meta["status"]["used"] == talk.status().used


def test_the_log_holds_no_text_beside_the_messages_and_what_was_compacted(store):
    talk = session(store=store, id="s1")
    talk.add(turn(1))
    talk.prompt(system=SYSTEM, memory="likes tea")
    told = str([entry.body for entry in store.entries("s1") if entry.kind != "message"])
    assert "careful engineer" not in told
    assert "likes tea" not in told
    captured = session(store=store, id="s2", capture=True)
    captured.add(turn(1))
    captured.prompt(system=SYSTEM)
    body = store.entries("s2", kinds=["prompt"])[0].body
    again = brim.replay(brim.Receipt.from_dict(body["receipt"]))
    assert again.messages[0]["content"].startswith("Question 1")


def test_a_tool_answers_with_what_left_in_the_room_it_has(store):
    talk = session(store=store)
    for i in range(30):
        talk.add(turn(i))
        talk.prompt()
    m = brim.meter("o200k_base")
    for format, key in (("openai", "function"), ("responses", "parameters"), ("anthropic", "input_schema")):
        tool = talk.recall_tool(format)
        assert key in tool
        assert "brim_recall" in (tool.get("name"), tool.get("function", {}).get("name"))
    found = talk.answer_recall('{"query": "queue 3"}')
    handle = found.split(":")[1].split()[0]
    assert talk.answer_recall({"handle": f"b2:{handle}"})
    for limit in (5, 20, 100):
        assert 0.5 * limit <= m.count(talk.answer_recall({"query": "queue"}, limit)) <= limit
    rows = talk.answer_recall({"query": "queue"}, 200).splitlines()
    assert len(rows) > 1
    assert all(row.startswith("b2:") and "omitted" not in row for row in rows)
    assert "Give" in talk.answer_recall("no json")
    assert "Give" in talk.answer_recall({})
    assert "no kept text" in talk.answer_recall({"handle": "b2:ffffffffff"})
    assert "No dropped text" in talk.answer_recall({"query": "zebra"})


def test_a_store_that_cannot_be_written_leaves_the_session_as_it_was_and_tells_of_no_event(store):
    broken, seen = FaultyStore(store), Seen()
    talk, never = session(store=broken, observers=[seen]), session()

    def fails(call, *given):
        before = len(seen.events)
        broken.fail_next()
        with pytest.raises(StoreError):
            call(*given)
        assert len(seen.events) == before

    for i in range(30):
        for message in turn(i):
            fails(talk.add, message)
            talk.add(message)
            never.add(message)
            if i % 3 == 0:
                fails(talk.prompt)
            assert talk.prompt().messages == never.prompt().messages
    assert {**talk.status().to_dict(), "session": never.id} == never.status().to_dict()


def test_a_meter_of_the_callers_own_has_to_be_given_again(store):
    talk = Session(window=window(), meter=len, store=store)
    talk.add(turn(1))
    with pytest.raises(InvalidType, match="passed again"):
        Session.open(talk.id, store=store)
    assert Session.open(talk.id, store=store, meter=len).estimate() == talk.estimate()
    usual = Session(window=window(), store=store)
    assert Session.open(usual.id, store=store).meter.name == "o200k_base"


@pytest.mark.parametrize("known", [True, False], ids=["opened", "begun"])
def test_an_unknown_option_is_an_error_with_the_nearest_ones(store, known):
    if known:
        session(store=store, id="a")
    with pytest.raises(InvalidValue, match="keep_turns") as refused:
        Session.open("a", store=store, create=True, keep_turn=2, **asked())
    assert refused.value.value == "keep_turn"
    with pytest.raises(InvalidValue, match="tool_limit"):
        brim.Conversations(brim.Window(8_000), tools_limit=70)


def long_talk(store, **more):
    talk = Session(model="gpt-4o", store=store, id="a", **more)
    for i in range(120):
        talk.add(
            [{"role": "user", "content": f"Question {i}: " + "why so? " * 40}, {"role": "assistant", "content": "So."}]
        )
    return talk


def counted(fitted, model):
    return brim.meter(model).count_messages(fitted.messages)


def test_a_session_that_is_opened_for_another_model_fits_that_model(store):
    before = long_talk(store)
    assert counted(before.prompt(), "gpt-4o") > 8_192
    opened = Session.open("a", store=store, create=True, model="gpt-4")
    assert (opened.settings.model, opened.budget) == ("gpt-4", 8_192 - 1_024)
    assert 3_000 < counted(opened.prompt(), "gpt-4") <= 8_192
    again = Session.open("a", store=store)
    assert (again.settings.model, again.budget) == ("gpt-4", 8_192 - 1_024)
    assert again.prompt().messages == opened.prompt().messages
    assert Session.open("a", store=store, model="gpt-4o").prompt().messages == before.messages, "nothing is lost"


def test_a_window_of_the_callers_own_stays_with_another_model(store):
    long_talk(store, window=9_000)
    assert Session.open("a", store=store, model="gpt-4").budget == 9_000
    assert Session.open("a", store=store, model="gpt-4o", window=5_000).budget == 5_000
    with pytest.raises(UnknownName):
        Session.open("a", store=store, model="no-such-model")
    assert Session.open("a", store=store).settings.model == "gpt-4o"


def test_another_model_is_taken_over_beside_another_writer(store, monkeypatch):
    other, write = long_talk(store), SessionStep.change_settings

    def slow(self, *given):
        monkeypatch.setattr(SessionStep, "change_settings", write)
        other.add({"role": "user", "content": "And this?"})
        return write(self, *given)

    monkeypatch.setattr(SessionStep, "change_settings", slow)
    opened = Session.open("a", store=store, model="gpt-4")
    for each in (opened, Session.open("a", store=store)):
        assert (each.settings.model, each.budget, each.messages[-1]["content"]) == ("gpt-4", 8_192 - 1_024, "And this?")
    other.add({"role": "user", "content": "Which model?"})
    assert other.settings.model == "gpt-4"


def test_a_session_keeps_the_format_of_its_messages(store):
    session(store=store, id="a").add(TURNS["anthropic"](1))
    with pytest.raises(InvalidValue, match="format must be 'anthropic', the format of the session, or omitted"):
        Session.open("a", store=store, format="openai")
    assert Session.open("a", store=store, format="anthropic").format == "anthropic"
    assert Session.open("a", store=store).format == "anthropic"


def test_a_format_is_taken_if_the_messages_could_be_in_any(store):
    session(store=store, id="a").add({"role": "user", "content": "Why?"})
    Session.open("a", store=store, format="anthropic")
    opened = Session.open("a", store=store)
    opened.add({"role": "assistant", "content": "It was the disk."})
    assert opened.format == "anthropic"
    assert [each["role"] for each in opened.prompt(system=SYSTEM).messages] == ["user", "assistant"]
