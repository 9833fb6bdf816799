"""Whose conversation a request continues: the rule, and that no text of one user reaches another; see `shared_beginnings`."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import httpx2
import openai
import pytest

import brim
import shared_beginnings
from brim.errors import UnknownName
from brim.sessions.conversations.identity import (
    Candidate,
    RequestEnd,
    continuation,
    fingerprints,
    says_same,
    with_request,
)
from brim.testing import MemoryStore

SYSTEM = {"role": "system", "content": "Help."}
HELLO, HI = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi! How can I help?"}
PRIVATE = {"role": "user", "content": "My account is PELICAN-4711. " + "It was opened in spring. " * 160}
OTHER = {"role": "user", "content": "What is the time?"}


def conversations(**options):
    return brim.Conversations(600, model="gpt-4o", **options)


@pytest.mark.parametrize("stored", [True, False], ids=["in a store", "in memory"])
def test_a_user_who_says_hello_does_not_take_over_the_session_of_another(stored):
    """ "If user 2 says Hello as user 1 did, `answer_recall({"query": "PELICAN"})` returns user 1's account number."."""
    engine = conversations(store=MemoryStore() if stored else None)
    engine.request([SYSTEM, HELLO])
    greeted = engine.request([SYSTEM, HELLO])
    first = engine.request([SYSTEM, HELLO, HI, PRIVATE])
    second = engine.request([SYSTEM, HELLO, HI, OTHER])
    assert first.changed
    assert "PELICAN" in first.session.answer_recall({"query": "PELICAN"})
    for request in (greeted, second):
        assert "PELICAN" not in request.session.answer_recall({"query": "PELICAN"})
        assert "PELICAN" not in str(request.session.messages)
        for handle in first.session.dropped.handles():
            with pytest.raises(UnknownName):
                request.session.recall(handle)
    assert first.conversation != second.conversation
    assert engine.request([SYSTEM, HELLO, HI, PRIVATE, HI, OTHER]).conversation == first.conversation
    assert engine.request([SYSTEM, HELLO, HI, OTHER, HI, OTHER]).conversation == second.conversation


def test_what_an_edit_replaced_is_not_recalled_by_the_next_request():
    """It may have been the message of another user, who had sent the same beginning to another process."""
    store = MemoryStore()
    engine = conversations(store=store)
    asked = [SYSTEM, HELLO, HI, {"role": "user", "content": "I am Ann."}, HI, PRIVATE]
    before = engine.request(asked)
    after = engine.request([*asked[:-1], OTHER])
    assert after.conversation == before.conversation
    assert before.session.search("PELICAN")
    assert not after.session.search("PELICAN")
    assert after.session.messages[-1] == OTHER
    with brim.Session.open(after.session.id, store=store) as opened:
        assert not opened.search("PELICAN")
        with pytest.raises(UnknownName):
            opened.recall(before.session.dropped.handles()[0])


def test_a_name_keeps_what_its_edits_replaced_and_nobody_else_continues_it():
    engine = conversations()
    engine.request([SYSTEM, HELLO, HI, PRIVATE], session="ann")
    edited = engine.request([SYSTEM, HELLO, HI, OTHER], session="ann")
    assert "PELICAN" in edited.session.answer_recall({"query": "PELICAN"})
    for name in (None, "bob"):
        stranger = engine.request([SYSTEM, HELLO, HI, OTHER], session=name)
        assert stranger.conversation != "ann"
        assert "PELICAN" not in stranger.session.answer_recall({"query": "PELICAN"})


def test_users_with_system_prompts_of_their_own_have_their_own_sessions():
    engine = conversations()
    ann, bob = ({"role": "system", "content": f"You serve {name}."} for name in ("Ann", "Bob"))
    first, second = engine.request([ann, HELLO]), engine.request([bob, HELLO])
    assert first.conversation != second.conversation
    for prompt, before in ((bob, second), (ann, first)):
        assert engine.request([prompt, HELLO, HI, OTHER]).conversation == before.conversation


def test_fields_that_brim_does_not_know_tell_messages_apart():
    engine = conversations()
    first = engine.request([SYSTEM, {**HELLO, "name": "PELICAN"}, HI, PRIVATE])
    second = engine.request([SYSTEM, HELLO, HI, PRIVATE, HI, OTHER])
    assert first.conversation != second.conversation
    assert "name" not in json.dumps(second.messages)


def web(bodies, headers):
    def answer(request):
        bodies.append(json.loads(request.read()))
        headers.append(request.headers)
        return httpx2.Response(500)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def test_a_call_of_a_wrapped_client_names_its_conversation_and_the_name_is_not_sent():
    """ "`wrap` has no owner or session for a call"."""
    bodies, headers = [], []
    client = openai.OpenAI(api_key="k", base_url="http://m/v1", http_client=web(bodies, headers), max_retries=0)
    shared = conversations()
    wrapped = brim.wrap(client, conversations=shared)
    named = brim.wrap(client, conversations=shared, session="cem")
    ways = {
        "ann": (wrapped, {"extra_headers": {"x-brim-session-id": "ann"}}),
        "bob": (wrapped.with_options(default_headers={"x-app": "1"}), {"extra_headers": {"X-Brim-Session-Id": "bob"}}),
        "cem": (named, {}),
    }
    for name, (used, more) in ways.items():
        with pytest.raises(openai.InternalServerError):
            used.chat.completions.create(model="gpt-4o", messages=[SYSTEM, HELLO, HI, PRIVATE], **more)
        assert shared.last.conversation == name
    assert len(shared) == len(bodies) == 3
    assert not any("x-brim-session-id" in each for each in headers)


@pytest.mark.parametrize("door", shared_beginnings.DOORS)
def test_no_text_of_a_user_reaches_another_who_begins_with_the_same_words(door):
    """Some of the 5,000 pairs of `make prove`."""
    ends = Counter(shared_beginnings.check(seed, door) for seed in range(25))
    assert ends["cut"] > 5


def test_nearly_all_conversations_that_go_on_are_recognised():
    counts = [shared_beginnings.going_on(seed) for seed in range(6)]
    recognised, lost = map(sum, zip(*counts, strict=True))
    assert recognised > 800
    assert lost <= 0.02 * recognised


def candidate(name="a", *, ends=((3, 1),), known=3, shared=3, same=True):
    return Candidate(name, tuple(RequestEnd(*each) for each in ends), known, shared, 1, same)


A = candidate()
RULES = {
    "the request contains it": ([A], 5, "a"),
    "it is repeated": ([A], 3, "a"),
    "another system prompt": ([candidate(same=False)], 5, "a"),
    "more in common with one of another system prompt": ([A, candidate("b", known=5, shared=5, same=False)], 7, "b"),
    "the same as another of another system prompt": ([A, candidate("b", known=5, shared=5, same=False)], 5, "a"),
    "two are contained": ([A, candidate("b")], 5, None),
    "two are contained, and one has the same system prompt": ([A, candidate("b", same=False)], 5, "a"),
    "the longer one": ([A, candidate("b", known=5, shared=5)], 7, "b"),
    "first words with another system prompt": ([candidate(known=2, shared=2, same=False)], 2, None),
    "an edited last message": ([candidate(known=4)], 4, "a"),
    "an edited answer and question": ([candidate(known=5)], 5, "a"),
    "three edited messages": ([candidate(known=6)], 6, None),
    "an edit after the first words, sent once": ([candidate(ends=((2, 1), (4, 1)), known=4, shared=2)], 4, "a"),
    "an edit after the first words, not seen": ([candidate(ends=((4, 1),), known=4, shared=2)], 4, None),
    "an edit after the first words, repeated": ([candidate(ends=((2, 2), (4, 1)), known=4, shared=2)], 4, None),
    "an edit after a repeated request": ([candidate(ends=((3, 2), (4, 1)), known=4)], 4, None),
    "an edit after one that was sent once": ([candidate(ends=((2, 1), (3, 2), (4, 1)), known=4)], 4, "a"),
    "nothing": ([], 3, None),
    "only the system prompt": ([candidate(known=3, shared=1)], 3, None),
}


@pytest.mark.parametrize(("candidates", "length", "name"), RULES.values(), ids=RULES)
def test_a_request_continues_what_it_contains_or_an_edited_end_of_it(candidates, length, name):
    found = continuation(candidates, length)
    assert (None if found is None else found.name) == name


def test_the_requests_that_were_repeated_are_remembered_until_one_that_was_not():
    ends = ()
    for length in (2, 2, 4, 4, 6, 8, 8, 10):
        ends = with_request(ends, length)
    assert ends == (RequestEnd(2, 2), RequestEnd(4, 2), RequestEnd(6, 1), RequestEnd(10, 1))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (HELLO, {**HELLO, "cache_control": {"type": "ephemeral"}}, True),
        (HELLO, {"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": {}}]}, True),
        (HELLO, {**HELLO, "refusal": None, "tool_calls": []}, True),
        (HELLO, SimpleNamespace(model_dump=lambda **_: dict(HELLO)), True),
        (HELLO, {**HELLO, "name": "Ann"}, False),
        (HELLO, {**HELLO, "content": "hello"}, False),
        (HELLO, {**HELLO, "role": "assistant"}, False),
        (
            {"role": "user", "content": [{"text": "a"}, {"cachePoint": {}}]},
            {"role": "user", "content": [{"text": "a"}]},
            True,
        ),
        ({"role": "user", "content": [{"text": "a"}]}, {"role": "user", "content": [{"image": "a"}]}, False),
    ],
)
def test_messages_are_the_same_if_they_differ_in_what_says_nothing(one, other, same):
    assert says_same(one, other) is same
    assert (fingerprints([one]) == fingerprints([other])) is same


@pytest.mark.parametrize("again", [True, False], ids=["in the same process", "in the next one"])
def test_a_conversation_that_the_caller_names_later_is_nobody_elses_from_then_on(again):
    store = MemoryStore()
    engine = conversations(store=store)
    asked = [SYSTEM, HELLO, HI, PRIVATE]
    name = engine.request(asked).conversation
    engine = engine if again else conversations(store=store)
    asked += [HI, OTHER]
    assert engine.request(asked, session=name).conversation == name
    for process in (engine, conversations(store=store)):
        assert process.request([*asked, HI, OTHER]).conversation != name


class Raced(brim.Conversations):
    """Conversations in which another thread is faster once."""

    faster = None

    def _find(self, request, plan):
        found = super()._find(request, plan)
        if (faster := self.faster) is not None:
            self.faster = None
            faster()
        return found


def test_a_thread_that_finds_a_conversation_leaves_it_to_another_that_continues_it_first():
    engine = Raced(600, model="gpt-4o")
    engine.request([SYSTEM, HELLO])
    engine.request([SYSTEM, HELLO])
    made = []
    engine.faster = lambda: made.append(engine.request([SYSTEM, HELLO, HI, PRIVATE]))
    slower = engine.request([SYSTEM, HELLO, HI, OTHER])
    assert slower.conversation != made[0].conversation
    assert engine.request([SYSTEM, HELLO, HI, PRIVATE, HI, OTHER]).conversation == made[0].conversation
