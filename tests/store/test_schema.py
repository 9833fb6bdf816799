"""Stores of every version open, and a change of the tables happens whole or not at all."""

import json
import sqlite3
from pathlib import Path

import pytest

from brim.errors import StoreError
from brim.store import open_store
from brim.store.repeated_text import handle_of
from brim.store.schema import VERSIONS, Version

GOLDEN = Path(__file__).parent / "golden"
NEXT = Version(
    common=("ALTER TABLE brim_sessions ADD COLUMN colour {name}", "UPDATE brim_sessions SET colour = 'green'"),
    sqlite=("CREATE INDEX brim_next ON brim_sessions (colour)",),
    postgres=("CREATE INDEX brim_next ON brim_sessions (colour)",),
)
BROKEN = Version(common=(*NEXT.common, "UPDATE brim_nowhere SET x = 1"))


def made(path, version):
    with sqlite3.connect(path) as connection:
        connection.executescript((GOLDEN / f"v{version}.sqlite.sql").read_text(encoding="utf-8"))
    connection.close()


def tables(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    connection.close()
    return found


def check(store, version):
    """See that a store has what `golden/make.py` wrote."""
    assert [(row.id, row.entries, row.meta) for row in store.sessions()] == [
        ("other", {1: 1, 2: 1, 3: 2}.get(version, 5), {} if version < 4 else {"title": "Belém"}),
        ("trip", 4, {"title": "Lisbon"}),
    ]
    if version >= 3:
        assert store.text(f"b2:{7:032x}", session="other") == store.entries("other")[1].body["content"]
        assert [each.handle for each in store.search("ferries")] == [f"b2:{7:032x}"]
    if version >= 4:
        *_, asked, answered, about = store.entries("other")
        assert (about.kind, about.at, about.body) == ("meta", answered.at, {"title": "Belém"})
        said = [asked.body["message"], answered.body["message"]]
        found = {each.turn: store.text(each.handle, session="other") for each in store.repeats("other")}
        assert found == {True: json.dumps(said, separators=(",", ":")), False: "A tram at 7:15."}
        assert store.text(handle_of("At 7:15.")) == "At 7:15."
        assert len(store.search("trams")) == 2
    assert [(entry.kind, entry.body) for entry in store.entries("trip")] == [
        ("meta", {"title": "Lisbon"}),
        ("message", {"role": "user", "content": "Book a flight."}),
        ("usage", {"input_tokens": 12}),
        ("note", {"odd": "\0 \ud800 \ud83d\ude00 数据"}),
    ]
    assert store.text("b2:odd") == "\0 \ud800 数据库"
    assert [(each.handle, each.session) for each in store.search("flights at gate")] == [("b2:one", "other")]
    assert [each.handle for each in store.search("数据")] == ["b2:odd"]
    assert (store.load("loop", "l1").version, store.load("loop", "l1").body) == (2, {"iteration": 2})
    assert (store.result("ticks", "done"), store.result("ticks", "held")) == ({"ok": True}, None)
    taken = store.lease("ticks", "w3", 60)
    assert (taken.id, taken.attempt) == ("held", 2)
    assert store.lease("ticks", "w3", 60).id == "open"
    assert store.append("trip", [("note", {})], after=4) == 5
    store.keep("trip", {"b2:new": "a new text"})
    assert store.search("new")[0].handle == "b2:new"
    store.enqueue("ticks", "more", {})


def test_there_is_a_golden_file_of_every_version():
    for database in ("sqlite", "postgres"):
        found = sorted(int(path.name.split(".")[0][1:]) for path in GOLDEN.glob(f"v*.{database}.sql"))
        assert found == list(range(1, len(VERSIONS) + 1))


@pytest.mark.parametrize("version", range(1, len(VERSIONS) + 1))
def test_a_store_of_every_version_opens_with_everything_in_it(tmp_path, version):
    made(tmp_path / "old.db", version)
    with open_store(f"sqlite:///{tmp_path}/old.db") as store:
        check(store, version)
    open_store(f"sqlite:///{tmp_path}/new.db").close()
    assert tables(tmp_path / "old.db") == tables(tmp_path / "new.db")


@pytest.mark.services
@pytest.mark.parametrize("version", range(1, len(VERSIONS) + 1))
def test_a_postgres_store_of_every_version_opens_with_everything_in_it(database, version):
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute((GOLDEN / f"v{version}.postgres.sql").read_text(encoding="utf-8"))
        counted = [("brim_texts", "id"), ("brim_jobs", "number"), *([("brim_sessions", "key")] if version >= 3 else [])]
        for table, serial in counted:
            connection.execute(f"ALTER TABLE {table} ALTER COLUMN {serial} RESTART WITH 100")
    with open_store(database) as store:
        check(store, version)


@pytest.fixture
def opened(url):
    """A function that opens a store that has one entry."""
    with open_store(url) as store:
        store.append("a", [("note", {"n": 1})])
    made = []

    def again():
        made.append(open_store(url))
        return made[-1]

    yield again
    for each in made:
        each.close()


def test_a_migration_keeps_what_is_there(opened):
    store = opened()
    store._migrate((*VERSIONS, NEXT))
    assert store._rows("SELECT id, colour FROM brim_sessions") == [("a", "green")]
    assert store._version() == len(VERSIONS) + 1
    store._migrate((*VERSIONS, NEXT))


def test_a_migration_that_fails_leaves_everything_as_it_was(opened):
    store = opened()
    with pytest.raises(StoreError, match="brim_nowhere"):
        store._migrate((*VERSIONS, BROKEN))
    assert not store._inside()
    assert store._version() == len(VERSIONS)
    assert store.entries("a")[0].body == {"n": 1}
    with pytest.raises(StoreError, match="colour"):
        store._rows("SELECT colour FROM brim_sessions")


def test_a_brim_of_today_refuses_the_tables_of_tomorrow(opened, url):
    opened()._migrate((*VERSIONS, NEXT))
    with pytest.raises(StoreError, match="written by a newer brim"):
        open_store(url)


def test_two_that_migrate_at_the_same_time_do_it_once(opened):
    from concurrent.futures import ThreadPoolExecutor

    stores = [opened(), opened(), opened()]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda each: each._migrate((*VERSIONS, NEXT)), stores))
    assert [each._version() for each in stores] == [len(VERSIONS) + 1] * 3
