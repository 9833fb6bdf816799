"""Which conversations are forgotten: by number, and by what they take."""

import pytest

from brim.sessions.conversations import remembered
from brim.sessions.conversations.conversation import Conversation, ConversationKey
from brim.sessions.conversations.remembered import RememberedConversations
from brim.sessions.session import Session


def conversation(name):
    return Conversation(Session(8_000, id=name, log="cuts"), ConversationKey("gpt-4o", "openai", ()))


def filled(sizes, *, logged=False, most=10):
    known = RememberedConversations(most)
    for name, size in sizes.items():
        one = conversation(name)
        known.put(name, one)
        known.forget(one, size, logged=logged)
    return [each.name for each in known]


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        ({"a": 60, "b": 60, "c": 20}, ["a", "b", "c"]),
        ({"a": 60, "b": 60, "c": 21}, ["b", "c"]),
        ({"a": 40, "b": 40, "c": 70, "d": 70}, ["c", "d"]),
        ({"a": 40, "b": 71}, ["a"]),
    ],
    ids=["all fit", "the oldest goes", "two take all", "one that is more than half is not remembered"],
)
def test_the_size_of_all_is_bounded(monkeypatch, sizes, left):
    monkeypatch.setattr(remembered, "_MOST_BYTES", 140)
    assert filled(sizes) == left


def test_a_session_with_a_log_stays_however_large_it_is(monkeypatch):
    monkeypatch.setattr(remembered, "_MOST_BYTES", 140)
    assert filled({"a": 40, "b": 141}, logged=True) == ["b"]


def test_their_number_is_bounded():
    assert filled({"a": 1, "b": 1, "c": 1}, most=2) == ["b", "c"]


def test_one_at_work_is_not_forgotten(monkeypatch):
    monkeypatch.setattr(remembered, "_MOST_BYTES", 140)
    known = RememberedConversations(10)
    busy, newest = conversation("busy"), conversation("newest")
    known.put("busy", busy)
    known.forget(busy, 70, logged=False)
    with busy.lock:
        known.put("newest", newest)
        known.forget(newest, 70, logged=False)
    assert [each.name for each in known] == ["busy", "newest"]


def test_one_that_has_grown_may_take_more(monkeypatch):
    monkeypatch.setattr(remembered, "_MOST_BYTES", 100)
    known, one = RememberedConversations(10), conversation("one")
    known.put("one", one)
    for size in (50, 75):
        known.forget(one, size, logged=False)
        assert [*known] == [one]
    known.forget(one, 76, logged=False)
    assert [*known] == []
