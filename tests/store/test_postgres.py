"""What only PostgreSQL has: connections that break, and several machines at once."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from brim.errors import StoreError
from brim.store import open_store
from brim.store.texts import handle_of


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'brim\[postgres\]'"):
        open_store("postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.services
def test_a_server_that_does_not_answer_is_told_without_the_password():
    with pytest.raises(
        StoreError, match=r"postgresql://ann@127\.0\.0\.1:1/db: no connection \(.*is the server running"
    ) as told:
        open_store("postgresql://ann:geheim@127.0.0.1:1/db")
    assert "geheim" not in str(told.value)


@pytest.mark.services
def test_a_connection_that_was_lost_is_made_again_and_a_transaction_is_not_continued(database):
    import psycopg

    def hang_up():
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database()"
            )

    def write_and_lose():
        with store.transaction():
            store.append("a", [("note", {"n": 2})])
            hang_up()
            store.append("a", [("note", {"n": 3})])

    with open_store(database) as store:
        store.append("a", [("note", {"n": 1})])
        with pytest.raises(StoreError, match="the connection was lost"):
            write_and_lose()
        assert [entry.body for entry in store.entries("a")] == [{"n": 1}]
        hang_up()
        assert store.append("a", [("note", {"n": 2})], after=1) == 2
        hang_up()
        assert len(store.entries("a")) == 2


@pytest.mark.services
def test_a_commit_that_the_server_turned_into_a_rollback_is_told(database):
    def write():
        with store.transaction():
            store.append("a", [("note", {})])
            with pytest.raises(StoreError):
                store._rows("SELECT nonsense")

    with open_store(database) as store:
        with pytest.raises(StoreError, match="nothing was written, because an earlier statement failed"):
            write()
        assert store.entries("a") == []


@pytest.mark.services
def test_a_session_that_is_written_while_it_is_purged_is_whole_or_gone(database):
    together = Barrier(2, timeout=30)
    with open_store(database) as first, open_store(database) as second:

        def write():
            for _ in range(60):
                together.wait()
                first.append("a", [("text", {"text": "one text"}), ("note", {})])

        def purge():
            for _ in range(60):
                together.wait()
                second.purge(session="a")

        with ThreadPoolExecutor(2) as pool:
            for task in (pool.submit(write), pool.submit(purge)):
                task.result()
        found = first.entries("a")
        assert [entry.number for entry in found] == list(range(1, len(found) + 1))
        assert first.purge(session="a").entries == len(found)
        assert first._rows("SELECT count(*) FROM brim_entries") == [(0,)]


@pytest.mark.services
def test_writers_of_one_session_wait_for_each_other(database):
    stores = [open_store(database) for _ in range(4)]

    def write(store):
        for _ in range(10):
            store.append("shared", [("note", {}), ("note", {})])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, stores))
    assert [entry.number for entry in stores[0].entries("shared")] == list(range(1, 81))
    for store in stores:
        store.close()


@pytest.mark.services
def test_a_text_with_more_words_than_postgres_can_index_is_kept(database):
    text = "needle " + " ".join(f"w{i}" for i in range(120_000))
    with open_store(database) as store:
        store.append("a", [("text", {"text": text})])
        assert store.text(handle_of(text)) == text
        assert store.search("needle")[0].handle == handle_of(text)
