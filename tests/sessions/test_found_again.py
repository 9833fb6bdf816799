"""A request finds its conversation among many, in memory or in the store, by how its messages begin."""

from __future__ import annotations

import copy
from random import Random

import pytest

from brim.sessions.conversations import Conversations
from brim.testing import MemoryStore

MODEL = {"model": "gpt-4o", "format": "openai"}


def opening(number):
    return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Task {number}"}]


def answered(history, text="Done."):
    history += [{"role": "assistant", "content": text}, {"role": "user", "content": f"More after {len(history)}"}]


def interleaved(known, count, rounds, order=None):
    histories, names = [opening(number) for number in range(count)], {}
    for _ in range(rounds):
        places = list(range(count))
        if order is not None:
            order.shuffle(places)
        for at in places:
            made = known.request(copy.deepcopy(histories[at]), **MODEL)
            names.setdefault(at, set()).add(made.conversation)
            answered(histories[at], f"Done {at}.")
    return names


@pytest.mark.parametrize(("bound", "most"), [({"most": 3}, 3), ({"memory": 200_000}, 11), ({}, 12)], ids=str)
def test_no_session_is_opened_twice_however_many_conversations_take_turns(bound, most):
    store = MemoryStore()
    known = Conversations(8_000, store=store, **bound)
    names = interleaved(known, 12, 4, Random(5))
    assert 1 <= len(known) <= most
    assert all(len(each) == 1 for each in names.values())
    assert len(store.sessions(limit=100)) == 12
    written = [len(store.entries(row.id, kinds=["message"])) for row in store.sessions(limit=100)]
    assert set(written) == {2 + 2 * 3}, "no message is logged twice"


def test_conversations_that_begin_alike_are_told_apart_by_what_follows():
    known = Conversations(8_000)
    ways = []
    for answer in ("one", "two", "three"):
        history = opening(1)
        answered(history, answer)
        ways.append((history, known.request(copy.deepcopy(history), **MODEL).conversation))
    assert len({name for _, name in ways}) == 3
    for history, name in ways:
        answered(history, "and on")
        assert known.request(copy.deepcopy(history), **MODEL).conversation == name


def test_one_that_the_caller_names_is_continued_by_its_name_alone():
    known, first, then = Conversations(8_000), opening(1), opening(2)
    for history in (first, then):
        answered(history)
        answered(history)
        assert known.request(list(history), session="mine", **MODEL).conversation == "mine"
    for history in (first, then):
        answered(history)
        assert known.request(list(history), **MODEL).conversation != "mine"
    answered(then)
    assert known.request(list(then), session="mine", **MODEL).conversation == "mine"


def test_one_that_left_memory_is_not_taken_over_by_another_that_begins_as_it_does():
    store = MemoryStore()
    known = Conversations(8_000, store=store, most=1)
    first = opening(1)
    name = known.request(copy.deepcopy(first), **MODEL).conversation
    answered(first, "as planned")
    known.request(copy.deepcopy(first), **MODEL)
    known.request(opening(2), **MODEL)  # The first one leaves memory.
    answered(first, "goes on")
    assert known.request(copy.deepcopy(first), **MODEL).conversation == name
    other = opening(1)
    answered(other, "another answer")
    assert known.request(other, **MODEL).conversation != name


@pytest.mark.parametrize(
    ("change", "continued"),
    [
        (lambda history: history.__setitem__(4, {"role": "user", "content": "Another question"}), False),
        (lambda history: history.__setitem__(0, {"role": "system", "content": "It is ten o'clock."}), True),
        (lambda history: history.__setitem__(3, dict(history[3])), True),
        (lambda history: history.__delitem__(slice(2, 4)), False),
        (lambda history: history.__delitem__(slice(-6, None)), False),
    ],
    ids=["another message", "another system prompt", "an equal message", "a gap", "shorter"],
)
def test_a_history_of_the_same_objects_is_continued_only_if_none_of_them_was_replaced(change, continued):
    known, history = Conversations(8_000), opening(1)
    for at in range(6):
        answered(history, f"Step {at}")
    name = known.request(list(history), **MODEL).conversation
    change(history)
    assert (known.request(list(history), **MODEL).conversation == name) is continued


def test_the_places_of_what_is_sent_are_those_of_the_objects_however_alike_they_are():
    kept, anew, history = Conversations(1_000), Conversations(1_000), opening(1)
    cuts = 0
    for at in range(60):
        history += [{"role": "assistant", "content": "word " * (at % 3 * 20)}, {"role": "user", "content": "Go on"}]
        one, other = kept.request(list(history), **MODEL), anew.request(copy.deepcopy(history), **MODEL)
        assert (one.messages, one.places) == (other.messages, other.places)
        places = {id(raw): place for place, raw in enumerate(history)}
        assert one.places == [places.get(id(raw)) for raw in one.fitted.messages]
        cuts += one.changed
    assert cuts > 20


def test_a_message_that_changed_deep_in_a_long_history_is_seen():
    known, history = Conversations(4_000), opening(1)
    for at in range(400):
        answered(history, f"Step {at}")
    name = known.request(copy.deepcopy(history), changes=True, **MODEL).conversation
    history[500]["content"] = "Something else"
    answered(history)
    again = known.request(history, changes=True, **MODEL)
    assert again.conversation != name


def test_objects_of_a_client_library_are_the_messages_that_they_stand_for():
    class Said:
        def __init__(self, **fields):
            self.fields = fields

        def model_dump(self, **_):
            return dict(self.fields)

    store = MemoryStore()
    history = [Said(**each) for each in opening(1)]
    for known in (Conversations(4_000, store=store), Conversations(4_000, store=store, most=1)):
        for _ in range(2):
            known.request(list(history), changes=True, **MODEL)
            history += [Said(role="assistant", content="Done."), Said(role="user", content=f"More {len(history)}")]
        assert len(known) == 1
        log = store.entries(known.sessions[-1].id, kinds=["message"])
        assert [entry.body["message"]["role"] for entry in log[:2]] == ["system", "user"]
        assert len(log) == len(history) - 2


def process(store):
    return Conversations(1_000, store=store)


def grown(history, steps):
    for _ in range(steps):
        answered(history, "What it found out. " * 20)
    return history


@pytest.mark.parametrize("steps", [1, 2, 13], ids=["one request", "whole", "cut"])
@pytest.mark.parametrize("same", [True, False], ids=["the same request", "the next request"])
def test_the_next_process_finds_a_conversation_by_how_its_messages_begin(steps, same):
    """ "After a restart the next process continues the conversation only if session= is given."."""
    store, history = MemoryStore(), opening(1)
    first = process(store)
    for _ in range(steps):
        made = first.request(grown(history, 1), **MODEL)
    again = process(store).request(history if same else grown(history, 1), **MODEL)
    assert again.conversation == made.conversation
    assert len(store.sessions(limit=9)) == 1
    prefix = made.messages[: len(made.messages) - 1]
    assert again.messages[: len(prefix)] == prefix, "its cut is kept"
    written = [entry.body["message"] for entry in store.entries(made.conversation, kinds=["message"])]
    assert written == history, "no message is logged twice"


def test_processes_whose_conversations_begin_with_the_same_message_have_their_own_sessions():
    store, ways = MemoryStore(), {}
    for name in ("one", "two"):
        known, history = process(store), opening(1)
        ways[name] = known, history, known.request(list(history), **MODEL).conversation
    for _ in range(5):
        for name, (known, history, begun) in ways.items():
            answered(history, f"The answer {name}")
            assert known.request(list(history), **MODEL).conversation == begun
    assert len({begun for _, _, begun in ways.values()}) == 2
    assert all(not store.entries(row.id, kinds=["compaction"]) for row in store.sessions(limit=9))


def test_a_process_leaves_a_session_that_another_has_continued_with_other_messages():
    store, history = MemoryStore(), grown(opening(1), 2)
    first = process(store)
    name = first.request(list(history), **MODEL).conversation
    second, other = process(store), grown(list(history), 1)
    assert second.request(list(other), **MODEL).conversation == name
    for _ in range(3):
        answered(history, "Another way")
        assert first.request(list(history), **MODEL).conversation != name
        assert second.request(list(grown(other, 1)), **MODEL).conversation == name
    assert len(store.sessions(limit=9)) == 2


def test_a_store_has_one_beginning_for_each_conversation():
    store = MemoryStore()
    known = process(store)
    for number in range(3):
        history = opening(number)
        for _ in range(6):
            known.request(list(grown(history, 1)), **MODEL)
    assert len(store.ids("conversation-prefix")) == 3
