"""`brim.wrap`, the frameworks and the gateway ask one engine: what it decides is the same with a log and without."""

import json
from copy import deepcopy
from itertools import pairwise

import pytest

from brim import meter, open_store
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.identity import ConversationKey, beginnings
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import WindowLimits
from brim.testing import MemoryStore
from sessions.test_conversations import TOO_LONG, history, legal

LOGS = pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])


def marked(messages, at):
    """Return copies of messages, with a mark for the provider's cache on one of them."""
    made = deepcopy(messages)
    made[at]["cache_control"] = {"type": "ephemeral"}
    return made


@LOGS
def test_a_request_is_counted_and_bounded_alike(log):
    engine = Conversations(2_000, model="gpt-4o", log=log)
    short, long = engine.request(history(3)), engine.request(history(30))
    assert (short.changed, long.changed) == (False, True)
    assert short.before == brim_count(history(3))
    assert long.before == brim_count(history(30))
    assert 400 < long.used == brim_count(long.messages) <= 2_000
    assert legal(long.messages)


def brim_count(messages):
    return meter("gpt-4o").count_messages(messages)


@LOGS
def test_an_answer_of_unknown_length_has_room_unless_what_must_stay_needs_it(log):
    engine = Conversations(model="gpt-4o", log=log)
    request = RequestInput(messages=history(30), model="gpt-4o")
    plan = engine.plan(request, WindowLimits(size=2_000))
    made = engine.fit(request, plan)
    assert 400 < made.used <= 1_750
    assert made.messages[-1] == request.messages[-1]
    task = {"role": "user", "content": "why does it fail? " * 370}
    large = RequestInput(messages=[history(0)[0], {"role": "user", "content": "hello"}, task], model="gpt-4o")
    made = engine.fit(large, engine.plan(large, WindowLimits(size=1_880)))
    assert 1_880 - 235 < made.used <= 1_880


@LOGS
def test_the_cut_is_kept_as_the_conversation_grows(log):
    engine = Conversations(2_000, model="gpt-4o", log=log, compact_at="never")
    last, kept = None, 0
    for steps in range(30, 44):
        request = engine.request(history(steps))
        if last is not None:
            kept += request.messages[: len(last)] == last
        last = request.messages
    assert kept >= 9
    assert len(engine) == 1


@LOGS
@pytest.mark.parametrize("kind", ["text", "input_text"])
def test_a_text_that_becomes_a_block_to_carry_a_mark_does_not_make_another_conversation(log, kind):
    engine = Conversations(2_000, model="gpt-4o", log=log)
    said, last, kept = [{"role": "user", "content": "Find the fault."}], [], 0
    for turn in range(20):
        said += [
            {"role": "assistant", "content": f"Part {turn}: " + "all is well there. " * 30},
            {"role": "user", "content": f"And part {turn + 1}?"},
        ]
        sent = deepcopy(said)
        for raw in (sent[-1], sent[-3]):
            raw["content"] = [{"type": kind, "text": raw["content"], "cache_control": {"type": "ephemeral"}}]
        request = engine.request(sent, format="openai" if kind == "text" else "responses")
        assert request.messages[-1] is sent[-1]
        kept += bool(request.changed and last and request.receipt.stable_prefix > 0.8 * last[0])
        last = [request.used]
    assert len(engine) == 1
    assert kept >= 6, "the cut is held"


@LOGS
def test_a_mark_inside_a_result_does_not_make_another_conversation(log):
    engine = Conversations(20_000, model="claude-sonnet-4-5", log=log)
    said = [{"role": "user", "content": "Find the fault."}]
    for turn in range(6):
        use = {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": [{"type": "text", "text": "ok"}]}
        said += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        sent = deepcopy(said)
        for raw in [raw for raw in sent if isinstance(raw["content"], list)][1::2][-2:]:
            raw["content"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}
        engine.request(sent, format="anthropic")
    assert len(engine) == 1


@LOGS
def test_a_system_prompt_that_became_longer_takes_its_room(log):
    engine = Conversations(2_000, model="gpt-4o", log=log)
    assert engine.request(history(30)).changed
    messages = history(31)
    messages[0] = {"role": "system", "content": "It is noon, and here is what you must know. " * 90}
    request = engine.request(messages)
    assert request.messages[0] == messages[0]
    assert brim_count(request.messages) <= 2_000
    assert len(engine) == 1


def test_beginnings_ignore_marks_for_the_cache_and_tell_owners_apart():
    messages, key, other = history(3), ConversationKey("m", "openai", ("a",)), ConversationKey("m", "openai", ("b",))
    assert beginnings(messages, key) == beginnings(marked(messages, 2), key)
    assert not set(beginnings(messages, key)) & set(beginnings(messages, other))
    alone = beginnings(messages[:4], key)
    assert beginnings(messages, key)[: len(alone)] == alone
    clock = {"role": "system", "content": "It is 10:31."}
    assert beginnings([clock, *messages[1:]], key) == beginnings(messages, key)
    assert beginnings([clock], key) != beginnings([messages[0]], key)


@LOGS
def test_conversations_of_different_owners_share_nothing(log):
    engine = Conversations(2_000, model="gpt-4o", log=log)
    for owner in (("a",), ("b",), ("a",)):
        request = RequestInput(messages=history(30), model="gpt-4o", owner=owner)
        engine.fit(request, engine.plan(request))
    assert len(engine) == 2


@LOGS
def test_what_a_refusal_teaches_holds_for_the_next_conversation(log):
    engine = Conversations(model="mystery-1", meter="o200k_base", log=log)
    first = engine.request(history(40))
    assert first.room is None
    assert not first.changed
    smaller = first.refused(TOO_LONG)
    assert 250 < smaller.used <= 1_200
    other = engine.request([{"role": "user", "content": "Another task."}, *history(40)[2:]])
    assert other.room.window == 1_200
    assert 400 < other.used <= 1_200
    assert engine.windows.learned(LearningScope("mystery-1")).size == 1_200


@LOGS
def test_a_refused_request_becomes_smaller_though_a_longer_one_was_accepted(log):
    engine = Conversations(50_000, model="gpt-4o", log=log)
    longer = engine.request([{"role": "user", "content": "Another task."}, *history(60)[2:]])
    longer.answered({"prompt_tokens": longer.used, "completion_tokens": 1})
    request = engine.request(history(40))
    smaller = request.refused({"error": {"code": "context_length_exceeded", "message": "too long"}})
    assert 250 < smaller.used <= request.used * 0.75
    assert legal(smaller.messages)


def test_two_engines_on_one_store_keep_the_same_cut_without_a_log(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        engines = [Conversations(2_000, model="gpt-4o", store=store, log=False) for _ in range(2)]
        prompts = [engines[steps % 2].request(history(steps)).messages for steps in range(30, 44)]
    kept = sum(later[: len(earlier)] == earlier for earlier, later in pairwise(prompts))
    assert kept >= 9


def test_the_text_of_a_conversation_without_a_log_is_not_stored():
    with MemoryStore() as store:
        engine = Conversations(2_000, model="gpt-4o", store=store, log=False)
        messages = history(40)
        messages[1] = {"role": "user", "content": "The code word is heliotrope."}
        engine.request(messages, session="one")
        entries = store.entries("one")
    assert entries
    assert "heliotrope" not in json.dumps([entry.body for entry in entries])


def test_conversations_are_forgotten_by_their_number_and_their_size():
    engine = Conversations(2_000, model="gpt-4o", log=False, most=3)
    for name in "abcdef":
        engine.request(history(30), session=name)
    assert [each.name for each in engine._known] == ["d", "e", "f"]
    engine = Conversations(2_000, model="gpt-4o", log=False, memory=400_000)
    for name in ("one", "two", "three"):
        engine.request([{"role": "user", "content": f"{name} " * 25_000}], session=name)
    assert [each.name for each in engine._known] == ["two", "three"]
