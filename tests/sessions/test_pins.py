"""Texts that left the prompt, pinned so that every prompt holds them."""

import pytest

import brim
from brim.errors import InvalidValue, UnknownName

GOLD = "The vault code is heron-4711 and nobody else may know it."


def filled(store, turns=60, budget=1_000, **more):
    session = brim.Session(window=budget, model="gpt-5", store=store, id="s", **more)
    for i in range(turns):
        answer = f"Item {i} is fine. " * 6
        session.add({"role": "user", "content": f"Note {i}: it is about item {i}, and about the one after it."})
        session.add({"role": "assistant", "content": f"{answer * 4}{GOLD}" if i == turns // 2 else answer})
        session.prompt()
    return session


@pytest.mark.parametrize("kept", [True, False], ids=["store", "memory"])
def test_a_pinned_text_is_in_every_prompt_until_it_is_unpinned(tmp_path, kept):
    store = brim.open_store(f"sqlite:///{tmp_path}/brim.db") if kept else None
    session = filled(store, compact_at="never")
    handle = next(found.handle for found in session.search("vault heron") if "heron" in session.recall(found.handle))
    assert "heron" not in session.prompt().text
    session.pin(handle[:11])
    for i in range(12):
        fitted = session.prompt(system="Be brief.", memory=["It is Sunday."])
        assert "heron-4711" in fitted.text
        assert "It is Sunday." in fitted.text
        assert fitted.used <= session.budget
        assert session.status().categories["memory"] > 0
        session.add({"role": "user", "content": f"Go on with part {i}. " * 5})
        session.add({"role": "assistant", "content": f"Part {i} is done. " * 8})
    assert list(session.pins) == [handle]
    session.unpin(handle)
    assert "heron" not in session.prompt().text
    assert "heron" in session.recall(handle)


def test_pins_outlast_a_compaction_a_fresh_context_and_the_process(tmp_path):
    store = brim.open_store(f"sqlite:///{tmp_path}/brim.db")
    session = filled(store)
    assert session.status().compactions > 0
    handle = next(found.handle for found in session.search("vault heron") if "heron" in session.recall(found.handle))
    session.pin(handle)
    session.compact()
    session.restart([{"role": "user", "content": "Begin again."}], trigger="sub_tick")
    opened = brim.Session.open("s", store=brim.open_store(f"sqlite:///{tmp_path}/brim.db"))
    assert opened.pins == session.pins
    assert list(opened.pins) == [handle]
    assert "heron-4711" in opened.prompt().text


def test_a_pin_that_would_take_too_much_is_refused_with_the_numbers(tmp_path):
    session = filled(None, compact_at="never")
    long = brim.Session(window=1_000, model="gpt-5", tool_limit=64)
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    long.add({"role": "assistant", "content": None, "tool_calls": [call]})
    long.add({"role": "tool", "tool_call_id": "c", "content": "word " * 900})
    handle = next(iter(long.dropped.handles()))
    with pytest.raises(InvalidValue, match=r"within 250 tokens \(they would take 905"):
        long.pin(handle)
    assert long.pins == {}
    with pytest.raises(UnknownName):
        session.pin("b2:nothing-of-that")
    with pytest.raises(UnknownName):
        session.unpin("b2:nothing-of-that")
