"""A store that fails and writers that meet: each call took effect, or raised and changed nothing, and the next works."""

import pytest

import brim
from brim.errors import Conflict, SessionPurged, StoreError, UnknownName
from brim.sessions import Session
from faulty import AFTER, FaultyStore
from sessions.talking import asked, turn, window


def messages_in(store, session):
    return [entry.body["message"] for entry in store.entries(session, kinds=["message"])]


def dropped(session):
    """Return the handles of all that a session keeps, each of which must be found."""
    found = {each[:11] for each in session._journal.dropped.handles()}
    assert all(session.recall(each) for each in found)
    return found


def talk(store, turns=12, **more):
    session = Session(**asked(store=store, compact_at="never", **more))
    for i in range(turns):
        session.add(turn(i))
    return session


def test_texts_that_were_dropped_while_the_store_failed_once_can_be_recalled(store):
    broken = FaultyStore(store)
    session, never = talk(broken), talk(None)
    broken.fail_next()
    with pytest.raises(StoreError):
        session.prompt()
    assert session.prompt().messages == never.prompt().messages
    assert len(dropped(never)) > 4
    assert dropped(session) == dropped(never)
    assert session.search("line of m3.py")


def test_a_prompt_that_could_not_be_written_does_not_hold_the_cut_of_the_next(store):
    broken = FaultyStore(store)
    session, never = talk(broken), talk(None)
    assert session.prompt().messages == never.prompt().messages
    broken.fail_next()
    with pytest.raises(StoreError):
        session.prompt(budget=1_000)
    for each in (session, never):
        each.add(turn(12))
    assert session.prompt().messages == never.prompt().messages


@pytest.mark.parametrize("call", ["add", "prompt", "usage", "compact", "restart", "refused"])
def test_a_write_that_arrived_though_it_failed_counts_once(store, call):
    broken = FaultyStore(store)
    session, never = talk(broken, id="s"), talk(None)
    for each in (session, never):
        each.prompt()

    def act(each):
        if call == "add":
            each.add(turn(99))
        elif call == "prompt":
            each.prompt(budget=1_000)
        elif call == "usage":
            each.record_usage(input_tokens=1_900)
        elif call == "compact":
            each.compact()
        elif call == "restart":
            each.restart(turn(100), trigger="sub_tick")
        else:
            each.refused(brim.is_overflow({"error": {"message": "prompt is too long: 2100 tokens > 2000 maximum"}}))

    act(never)
    calls, before = broken.calls, session.number
    broken.faults = {calls + i: AFTER for i in range(1, 9)}
    with pytest.raises(StoreError):  # It is not known whether it was written, as the store does not answer.
        act(session)
    broken.faults = {}
    assert session.number == before
    act(session)
    assert {**session.status().to_dict(), "session": ""} == {**never.status().to_dict(), "session": ""}
    assert session.prompt().messages == never.prompt().messages
    assert Session.open("s", store=store).status() == session.status()


def test_a_failed_write_that_is_followed_by_another_call_is_taken_as_the_log_has_it(store):
    broken = FaultyStore(store)
    session = talk(broken, turns=1, id="s")
    broken.fail_next(AFTER, calls=2)
    with pytest.raises(StoreError):
        session.add({"role": "user", "content": "It arrived."})
    session.add({"role": "user", "content": "Another one."})
    assert [each["content"] for each in session.messages[-2:]] == ["It arrived.", "Another one."]
    assert messages_in(store, "s") == session.messages


def test_what_another_writer_adds_is_taken_over(store):
    first = Session(**asked(store=store, id="s"))
    second = Session.open("s", store=store)
    first.add(turn(1))
    second.add(turn(2))
    assert second.messages == [*turn(1), *turn(2)]
    first.record_usage(input_tokens=1)
    assert first.messages == second.messages == messages_in(store, "s")
    second.prompt()
    assert first.prompt().messages == second.messages
    opened = Session.open("s", store=store)
    assert opened.status() == first.status()
    assert opened.status().prompts == 2


def test_a_session_that_must_be_the_only_writer_is_told_of_others(store):
    session = talk(store, id="s")
    session.prompt()
    session.sole_writer = True
    Session.open("s", store=store).add(turn(21))
    with pytest.raises(Conflict):
        session.add(turn(22))
    with pytest.raises(Conflict):
        session.prompt()
    session.reload()
    session.add(turn(22))
    assert messages_in(store, "s") == session.messages


@pytest.mark.parametrize("call", ["add", "prompt", "usage", "restart", "refresh"])
def test_a_purge_is_not_undone_by_a_session_that_is_still_alive(store, call):
    session = talk(store, id="s")
    session.prompt()
    store.purge(session="s")
    calls = {"add": lambda: session.add(turn(30)), "prompt": session.prompt, "restart": lambda: session.restart([])}
    calls |= {"usage": lambda: session.record_usage(input_tokens=900), "refresh": session.reload}
    for _ in range(2):
        with pytest.raises(SessionPurged, match="session 's' was purged: begin a new one"):
            calls[call]()
    assert store.sessions() == []
    with pytest.raises(UnknownName):
        Session.open("s", store=store)
    Session.open("s", store=store, create=True, meter="o200k_base", window=window()).add(turn(30))
    assert messages_in(store, "s") == turn(30)


def test_the_store_that_cannot_be_read_again_after_a_conflict_leaves_the_session_as_it_was(store):
    broken = FaultyStore(store)
    session = talk(broken, turns=2, id="s")
    Session.open("s", store=store).add(turn(9))
    broken.fail_next(skip=1)
    with pytest.raises(StoreError):
        session.add(turn(10))
    assert session.messages == [*turn(0), *turn(1)]
    session.add(turn(10))
    assert session.messages == [*turn(0), *turn(1), *turn(9), *turn(10)]


def test_a_recall_while_the_store_fails_is_answered_by_a_sentence(store):
    broken = FaultyStore(store)
    session = talk(broken)
    session.prompt()
    handle = session.search("line srv")[0].handle
    for asked_for in ({"query": "line srv"}, {"handle": handle}):
        broken.fail_next()
        assert session.answer_recall(asked_for) == "Dropped texts cannot be read right now: call again."
        assert "line of" in session.answer_recall(asked_for)
