"""What is read ahead changes when the work is done, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.sessions import read_ahead
from brim.sessions.ahead_log import AHEAD, chosen_in, chosen_of, dropped_handles
from brim.sessions.read_ahead import ReadAhead
from sessions.talking import SYSTEM, turn, window


def told(store, id, *, summarise, turns=40, purge_at=None):
    """Return the prompts of a session, and the texts that it dropped, by handle."""
    session = brim.Session(window=window(3_000), meter="o200k_base", store=store, id=id, summarise=summarise)
    prompts = []
    for i in range(turns):
        session.add(turn(i))
        if i == purge_at:
            store.purge(session=id)
        prompts.append(session.prompt(system=SYSTEM).messages)
    return session, prompts, dropped(store, id)


def dropped(store, id):
    """Return the handles of the texts that a session dropped, as prompts show them."""
    return [name[:11] for _, names in dropped_handles(store, id) for name in names]


@pytest.mark.parametrize("summarise", [None, "extract"], ids=["excerpts", "summaries"])
def test_prompts_and_dropped_texts_are_those_of_a_session_that_reads_nothing_ahead(summarise, monkeypatch):
    with brim.open_store("sqlite:///:memory:") as store:
        _, prompts, kept = told(store, "ahead", summarise=summarise)
        ahead = {name: store.text(name, session="ahead") for name in kept}
        monkeypatch.setattr(ReadAhead, "run", lambda *_, **__: {})
        session, same, late = told(store, "late", summarise=summarise)
        assert prompts == same
        assert session.status().compactions
        assert set(kept) == set(late)
        assert ahead == {name: store.text(name, session="late") for name in late}
        assert None not in ahead.values()


@pytest.mark.parametrize("summarise", [None, "extract"], ids=["excerpts", "summaries"])
def test_a_purge_loses_no_text_that_is_dropped_after_it(summarise, monkeypatch):
    with brim.open_store("sqlite:///:memory:") as store:
        _, _, kept = told(store, "ahead", summarise=summarise, purge_at=25)
        monkeypatch.setattr(ReadAhead, "run", lambda *_, **__: {})
        _, _, late = told(store, "late", summarise=summarise, purge_at=25)
        assert kept
        assert set(kept) == set(late)
        assert all(store.text(name, session="ahead") is not None for name in kept)


def test_texts_that_were_read_for_a_summary_are_not_those_of_turns(monkeypatch):
    """A session that goes on without summaries drops turns, of which the store has the messages one by one."""
    found = []
    for _ in range(2):
        with brim.open_store("sqlite:///:memory:") as store:
            told(store, "run", summarise="extract", turns=20)
            again = brim.Session.open("run", store=store, summarise=None, window=window(1_400))
            again.prompt(system=SYSTEM)
            found.append({name: store.text(name, session="run") for name in dropped(store, "run")})
        monkeypatch.setattr(ReadAhead, "run", lambda *_, **__: {})
    assert found[0] == found[1]
    assert None not in found[0].values()


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


def test_a_text_is_noted_once():
    with brim.open_store("sqlite:///:memory:") as store:
        _, _, kept = told(store, "run", summarise=None, turns=60)
        assert len(kept) < 1.5 * len(set(kept))  # Once more when the session continues as it was last sent.


def test_a_session_that_was_opened_again_finds_only_what_was_dropped():
    with brim.open_store("sqlite:///:memory:") as store:
        session, _, kept = told(store, "run", summarise=None)
        again = brim.Session.open("run", store=store)
        for each in (session, again):
            found = [hit.handle[:11] for hit in each.search("why did build 39 fail", limit=20)]
            assert found
            assert set(found) <= set(kept)


def test_without_a_store_no_text_of_a_summary_is_lost():
    session = brim.Session(window=window(3_000), meter="o200k_base", summarise="extract")
    for i in range(40):
        session.add(turn(i))
        session.prompt(system=SYSTEM)
    assert session.status().compactions
    index = session.recall(session._state.compacted.index).splitlines()
    assert len(index) > 1
    assert all(session.recall(line.split()[0]) for line in index)


@pytest.mark.parametrize("summarise", [None, "extract"], ids=["excerpts", "summaries"])
def test_a_session_that_is_opened_before_each_prompt_makes_the_same_prompts(summarise):
    with brim.open_store("sqlite:///:memory:") as store:
        _, prompts, kept = told(store, "one", summarise=summarise)
        again = brim.Session(window=window(3_000), meter="o200k_base", store=store, id="many", summarise=summarise)
        for i, expected in enumerate(prompts):
            again.add(turn(i))
            again = brim.Session.open("many", store=store, summarise=summarise)
            assert again.prompt(system=SYSTEM).messages == expected
        assert set(dropped(store, "many")) == set(kept)
        ahead = {id: [len(str(entry.body)) for entry in store.entries(id, kinds=[AHEAD])] for id in ("one", "many")}
        assert sum(ahead["many"]) <= 1.1 * sum(ahead["one"])  # What the log has is not written again.
        repeats = [each.handle for each in store.repeats("many")]
        assert len(set(repeats)) == len(repeats) <= len(store.repeats("one"))


def test_a_cut_names_forms_that_the_log_has_and_is_read_back_the_same(monkeypatch):
    monkeypatch.setattr(read_ahead, "_LARGE", 0)
    with brim.open_store("sqlite:///:memory:") as store:
        session, _, _ = told(store, "run", summarise=None)
        cuts = [entry.body["held"] for entry in store.entries("run", kinds=["prompt"]) if entry.body["cut"]]
        assert any("1" in cut.get("edits_ahead", (0, ""))[1] for cut in cuts)
        again = brim.Session.open("run", store=store)
        held = [each._state.context.history.stable.held for each in (session, again)]
        assert held[0].to_dict() == held[1].to_dict()


def test_turns_that_a_late_result_joins_are_read_again():
    """Calls of one step are items of their own in Responses, and each result joins all turns since its call."""
    with brim.open_store("sqlite:///:memory:") as store:
        session = brim.Session(window=window(3_000), meter="o200k_base", store=store, id="run")
        for i in range(40):
            calls = [
                {"type": "function_call", "call_id": f"c{i}.{n}", "name": "read", "arguments": "{}"} for n in (1, 2)
            ]
            outputs = [
                {"type": "function_call_output", "call_id": f"c{i}.{n}", "output": f"/srv/m{i}_{n}.py: line\n" * 9}
                for n in (1, 2)
            ]
            session.add([{"role": "user", "content": f"Question {i}: why did build {i * 7} fail?"}, *calls])
            session.add(outputs)
            session.prompt(system=SYSTEM)
        assert session.status().compactions
        names = set(dropped(store, "run"))
        assert all(store.text(name, session="run") is not None for name in names)
        assert any("m3_1.py" in store.text(name) and "m3_2.py" in store.text(name) for name in names)


def test_turns_that_are_joined_after_they_were_read_are_read_again():
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
        late = {name for entry, _ in dropped_handles(store, "run") for name in entry.body["kept"]}
        names = set(dropped(store, "run"))
        assert len(names) > 50
        assert len(late) < len(names) / 10  # Those that were read as the cut came.


@given(known=st.sets(st.integers(0, 60)), some=st.sets(st.integers(0, 60)))
def test_chosen_positions_are_read_back(known, some):
    chosen = chosen_of(known, some)
    assert chosen_in(known, list(chosen)) == sorted(known & some)
