"""The list of sessions."""

import brim
from brim.studio.session_list import SessionList


def test_a_store_that_appears_later_is_found(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.prompt()
    rows = alone.get("sessions")[1]["sessions"]
    assert [row["id"] for row in rows] == ["s"]


def test_sessions_are_filtered_ordered_and_paged(alone):
    window = brim.Window(5_000, reserve=1_000)
    status = brim.Session(window, model="gpt-5").status().to_dict()
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store, store.transaction():
        for i in range(450):
            shown = {**status, "peak": 10 * i, "warnings": int(i % 9 == 0), "overflows": int(i == 7)}
            store.append(f"session-{i:03d}", [], meta={"kind": "session", "status": shown})
    told = alone.get("sessions")[1]
    assert (told["found"], told["all"], len(told["sessions"])) == (450, 450, 200)
    last = alone.get("sessions", start="400")[1]["sessions"]
    assert len(last) == 50
    fullest = alone.get("sessions", order="peak")[1]["sessions"]
    assert [row["peak"] for row in fullest[:3]] == [4_490, 4_480, 4_470]
    assert "over its budget" in fullest[0]["problems"]
    wrong = alone.get("sessions", only="problems")[1]
    assert wrong["found"] == sum(i % 9 == 0 or i == 7 or 10 * i > 4_000 for i in range(450))
    assert alone.get("sessions", text="session-007 gpt")[1]["sessions"][0]["problems"] == ["refused as too long"]
    with brim.open_store(f"sqlite:///{alone.folder}/brim.db") as store:
        shown = {**status, "peak": 4_001, "budget": 4_000, "warnings": 1, "overflows": 2}
        store.append("worst", [], meta={"kind": "session", "status": shown})
        store.append("full", [], meta={"kind": "session", "status": {**shown, "peak": 4_000, "overflows": 0}})
    # The list is kept for a moment, so another studio is asked.
    problems = {row["id"]: row["problems"] for row in SessionList(alone.workspace.stores).rows()}
    assert problems["worst"] == ["refused 2 times", "over its budget", "warned"]
    assert problems["full"] == ["warned"]


def test_the_filter_finds_a_title_that_was_shown(alone):
    """A person searches for what the list shows, and it shows the task, not the id."""
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": "The Checkout answers with 500."})
    session.prompt()
    assert "Checkout" in alone.get("sessions")[1]["sessions"][0]["title"]
    assert alone.get("sessions", text="checkout")[1]["found"] == 1
    assert alone.get("sessions", text="basket")[1]["found"] == 0
