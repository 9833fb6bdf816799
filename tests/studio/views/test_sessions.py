"""The list of sessions."""

import brim


def test_a_store_that_appears_later_is_found(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.prompt()
    rows = alone.get("sessions", workspace="mine")[1]["sessions"]
    assert [row["id"] for row in rows] == ["s"]
