"""What was dropped from the prompts of a session, and only that, is found again."""

import pytest

import brim
from brim.sessions.conversations import Conversations
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.log.dropped_texts import DroppedTexts
from sessions.talking import SYSTEM, turn, window


def told(store, id, *, summarise, turns=40):
    """Return the prompts of a session, and the texts that it dropped, by handle."""
    session = brim.Session(window=window(3_000), meter="o200k_base", store=store, id=id, summarise=summarise)
    prompts = []
    for i in range(turns):
        session.add(turn(i))
        prompts.append(session.prompt(system=SYSTEM).messages)
    return session, prompts, dropped(store, id)


def dropped(store, id):
    """Return the handles of the turns that a session dropped."""
    return DroppedTexts(store, id).handles()


def test_a_text_that_is_still_in_the_prompt_is_not_found_among_the_dropped():
    with brim.open_store("sqlite:///:memory:") as store:
        session = brim.Session(window=brim.Window(3_000), meter="o200k_base", store=store)
        session.add([{"role": "user", "content": "The password of the zebra house is heliotrope."}])
        for i in range(30):
            session.add(turn(i))
            if session.status().used * 2 > 3_000:
                break
        session.add(turn(99))
        session.prompt()
        assert not session.status().compactions
        assert store.search("heliotrope")
        assert not session.search("heliotrope")


def test_a_session_that_was_opened_again_finds_only_what_was_dropped():
    with brim.open_store("sqlite:///:memory:") as store:
        session, _, _ = told(store, "run", summarise=None)
        again = brim.Session.open("run", store=store)
        for each in (session, again):
            found = each.search("why did build 39 fail", limit=20)
            assert 10 <= len(found) <= 20
            told_of = {
                number
                for entry in store.entries("run", kinds=["dropped"])
                for numbers in entry.body["turns"].values()
                for number in numbers
            }
            assert all(hit.kind == "turn" or hit.number in told_of for hit in found)


def test_turns_that_a_late_result_joins_are_dropped_as_one():
    """A result that comes after other questions joins their turns with that of its call."""
    with brim.open_store("sqlite:///:memory:") as store:
        session = brim.Session(window=window(3_000), meter="o200k_base", store=store, id="run")
        for i in range(40):
            call = {"type": "function_call", "call_id": f"c{i}", "name": "read", "arguments": "{}"}
            output = {"type": "function_call_output", "call_id": f"c{i}", "output": f"/srv/m{i}.py: line\n" * 9}
            session.add([{"role": "user", "content": f"Question {i}: why did build {i * 7} fail?"}, call])
            for n in range(3):
                session.add([{"role": "user", "content": f"And remember {i}.{n}: " + "word " * 20}])
            session.add([output])
            session.prompt(system=SYSTEM)
        names = dropped(store, "run")
        assert len(names) > 20
        assert all(store.text(name, session="run") for name in names)


@pytest.mark.parametrize("stored", [True, False], ids=["in a store", "in memory"])
def test_what_was_dropped_is_recalled_after_another_meter_counts_the_conversation(stored):
    with brim.open_store("sqlite:///:memory:") as store:
        engine = Conversations(window(3_000), meter="o200k_base", store=store if stored else None)
        said = []
        for i in range(20):
            said += turn(i)
            request = RequestInput(messages=said, model="gpt-4o")
            engine.fit(request, engine.plan(request, meter="chars/4" if 8 < i < 14 else None))
        session = engine.sessions[0]
        handles = session.dropped.handles()
        assert len(handles) > 20
        assert [handle for handle in handles if not session.recall(handle)] == []


@pytest.mark.slow
@pytest.mark.parametrize("summarise", [None, "extract"], ids=["excerpts", "summaries"])
@pytest.mark.parametrize("stored", [True, False], ids=["in a store", "in memory"])
def test_all_that_a_search_finds_and_all_that_receipts_name_can_be_recalled(stored, summarise):
    with brim.open_store("sqlite:///:memory:") as store:
        session = brim.Session(
            window=window(3_000), meter="o200k_base", store=store if stored else None, summarise=summarise
        )
        named = set()
        for i in range(60):
            session.add(turn(i))
            fitted = session.prompt(system=SYSTEM)
            named |= {loss.handle for loss in fitted.receipt.losses}
        found = session.search("why did the build fail", limit=50)
        assert len(found) > 30
        assert all(session.recall(hit.handle) for hit in found)
        assert summarise or len(named) > 20
        assert all(session.recall(name) for name in named)


def test_a_loop_in_memory_recalls_what_its_contexts_dropped():
    """The entries of a loop beside its messages are not in memory, and are not counted there."""
    told = iter(range(10**6))

    def act(_):
        return brim.Step(messages=turn(next(told)), end="iteration", result={"n": 1})

    loop = brim.Loop("Mend it", act, window=4_000, meter="o200k_base", tick_cap=0.5, max_iterations=30)
    outcome = loop.run()
    assert outcome.sub_ticks > 1
    handles = loop.session.dropped.handles()
    assert len(handles) > 10
    assert all(loop.session.recall(handle) for handle in handles)
