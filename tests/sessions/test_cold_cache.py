"""A request that comes after the provider's cache has expired costs the same however it begins: it is cut anew."""

import pytest

import brim
from brim.sessions.learning.models import lifetime
from brim.testing import MemoryStore
from sessions.talking import turn

HOUR = {"type": "ephemeral", "ttl": "1h"}


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def talk(clock, store=None, model="claude-sonnet-4-5", **more):
    """Return a session that was cut some prompts ago."""
    session = brim.Session(brim.Window(3_000), model=model, store=store, id="talk", clock=clock, **more)
    cuts = [0]
    while cuts[-1] < 2 or cuts[-1] != cuts[-2]:
        session.add(turn(len(cuts)))
        session.prompt()
        cuts.append(session.status().compactions)
    return session


@pytest.mark.parametrize(("gap", "anew"), [(299, False), (301, True)])
def test_the_cut_is_made_anew_once_the_cache_has_expired(gap, anew):
    clock = Clock()
    session = talk(clock)
    before, cuts = session.prompt(), session.status().compactions
    clock.now += gap
    after = session.prompt()
    assert (session.status().compactions == cuts + 1) is anew
    assert (after.messages == before.messages) is not anew
    told = after.receipt.history.get("anew", "")
    assert told == (f"the cache had expired: the last prompt was {gap} seconds ago, the lifetime is 300" * anew)
    assert told in after.receipt.headline
    assert told in str(after.receipt)
    clock.now += 1
    assert session.prompt().messages == after.messages, "the new cut is held"


def test_what_a_request_asks_for_counts():
    clock = Clock()
    session = talk(clock)
    before = session.prompt().messages
    clock.now += 3_000
    system = [{"type": "text", "text": "Be brief.", "cache_control": HOUR}]
    assert session.prompt(system=system).messages[1:] == before


@pytest.mark.parametrize("model", ["gpt-4o", "mistral-large-latest"])
def test_a_cut_is_held_where_no_lifetime_is_published(model):
    clock = Clock()
    session = talk(clock, model=model)
    before = session.prompt().messages
    clock.now += 10_000_000
    assert session.prompt().messages == before


def test_a_session_that_is_opened_again_knows_when_its_last_prompt_was():
    clock, store = Clock(), MemoryStore()
    session = talk(clock, store)
    before = session.prompt().messages
    written = store.entries("talk", kinds=["prompt"])[-1].at
    for gap, same in ((299, True), (600, False)):
        opened = brim.Session.open("talk", store=store, clock=lambda gap=gap: written + gap)
        assert (opened.prompt().messages == before) is same


@pytest.mark.parametrize("log", [True, False])
def test_requests_are_cut_anew_too(log):
    clock = Clock()
    conversations = brim.Conversations(brim.Window(3_000), model="claude-sonnet-4-5", clock=clock, log=log)
    history = [message for i in range(30) for message in turn(i)]
    first = conversations.request(history)
    assert first.changed
    assert conversations.request(history).messages == first.messages
    clock.now += 400
    after = conversations.request([*history, *turn(30)])
    assert after.receipt.history["anew"].startswith("the cache had expired: the last prompt was 400 seconds ago")
    assert "anew" not in conversations.request([*history, *turn(30), *turn(31)]).receipt.history


@pytest.mark.parametrize(
    ("model", "given", "seconds"),
    [
        ("claude-sonnet-4-5", {}, 300),
        ("claude-sonnet-4-5", {"fields": {"cache_control": HOUR}}, 3_600),
        ("claude-sonnet-4-5", {"tools": [{"name": "read", "cache_control": {"type": "ephemeral"}}]}, 300),
        ("claude-sonnet-4-5", {"tools": [{"name": "read", "cache_control": HOUR}]}, 3_600),
        (
            "claude-sonnet-4-5",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "Why?", "cache_control": HOUR}]}]},
            3_600,
        ),
        ("gpt-5.6", {}, 1_800),
        ("gpt-5.6", {"fields": {"prompt_cache_options": {"ttl": "12h"}}}, 43_200),
        ("gpt-5.6", {"fields": {"prompt_cache_options": {"ttl": "soon"}}}, 1_800),
        ("gpt-4o", {}, None),
        ("a-model-of-ours", {}, None),
        (None, {}, None),
    ],
)
def test_the_lifetime_is_that_of_the_provider_and_of_what_was_asked_for(model, given, seconds):
    asked = {"tools": None, "system": None, "fields": None, "messages": (), **given}
    assert lifetime(model, **asked) == seconds
