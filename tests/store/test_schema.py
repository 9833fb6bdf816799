"""A store of every version opens, and its sessions go on."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import brim
from brim.errors import StoreError
from brim.store import open_store
from brim.store.schema import VERSION, statements
from brim.store.texts import handle_of
from store.golden.make import ODD, SYSTEM, asked, step

GOLDEN = Path(__file__).parent / "golden"
TOLD = json.loads((GOLDEN / f"v{VERSION}.json").read_text(encoding="utf-8"))


def tables(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    connection.close()
    return found


def check(store):
    """See that a store has what `golden/make.py` wrote, and that what it has goes on."""
    rows = {row.id: row for row in store.sessions()}
    assert sorted(rows) == ["odd", "trams", "trip"]
    assert (rows["odd"].entries, rows["odd"].meta) == (2, {"title": "Belém"})
    assert [entry.body for entry in store.entries("odd")] == [{"odd": ODD, "raw": b"\x89PNG"}, {"text": ODD}]
    assert store.text(handle_of(ODD)) == ODD
    assert [hit.session for hit in store.search("数据")] == ["odd"]

    opened = brim.Session.open("trip", store=store)
    assert {"status": opened.status().to_dict(), "messages": opened.messages} == TOLD
    fitted = opened.prompt(system=SYSTEM)
    assert 500 < fitted.used <= opened.budget
    said = [entry.body["message"] for entry in store.entries("trip", kinds=["message"])]
    assert said == [message for day in range(14) for message in asked(day)]
    whole = asked(2)[2]["content"]
    assert opened.recall(handle_of(whole)[:11]) == whole
    assert handle_of(whole) in {hit.handle for hit in opened.search("ferry 2", limit=50)}
    opened.add(asked(14))
    assert opened.prompt(system=SYSTEM).messages[-4:] == asked(14)

    loop = brim.Loop.resume("trams", act=step, store=store)
    assert loop.run(ticks=1).results == [{"checked": number} for number in (1, 2, 3, 4)]

    assert (store.load("calibration", "m1").version, store.load("calibration", "m1").body) == (2, {"calls": 2})
    store.purge(session="odd")
    assert not store.search("数据")


def test_a_store_of_this_version_opens_with_everything_in_it(tmp_path):
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.executescript((GOLDEN / f"v{VERSION}.sqlite.sql").read_text(encoding="utf-8"))
    connection.close()
    with open_store(f"sqlite:///{tmp_path}/old.db") as store:
        check(store)
        store._rows("INSERT INTO brim_words (brim_words) VALUES ('integrity-check')")
    open_store(f"sqlite:///{tmp_path}/new.db").close()
    assert tables(tmp_path / "old.db") == tables(tmp_path / "new.db")


@pytest.mark.services
def test_a_postgres_store_of_this_version_opens_with_everything_in_it(database):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute((GOLDEN / f"v{VERSION}.postgres.sql").read_text(encoding="utf-8"))
        connection.execute("ALTER TABLE brim_sessions ALTER COLUMN key RESTART WITH 100")
    with open_store(database) as store:
        check(store)


def test_a_store_of_another_version_is_refused(url):
    with open_store(url) as store:
        store._rows("UPDATE brim_store SET version = 99")
    with pytest.raises(StoreError, match=r"tables of version 99; this one reads 1\): update brim, or open another"):
        open_store(url)


def test_tables_that_cannot_all_be_made_leave_nothing_behind(url, monkeypatch):
    broken = [*statements("postgres" if url.startswith("postgres") else "sqlite"), "UPDATE brim_nowhere SET x = 1"]
    monkeypatch.setattr("brim.store.store.statements", lambda _: broken)
    with pytest.raises(StoreError, match="brim_nowhere"):
        open_store(url)
    monkeypatch.undo()
    with open_store(url) as store:
        assert store.append("a", [("note", {})]) == 1


def test_many_that_make_the_tables_at_the_same_time_make_them_once(url):
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_store(url), range(4)))
    assert [each.append("a", [("note", {})]) for each in stores] == [1, 2, 3, 4]
    for each in stores:
        each.close()
