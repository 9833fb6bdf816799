"""What only a SQLite file has: its mode, its journal, its locks, and what can be wrong with it."""

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing

import pytest

from brim.errors import StoreError
from brim.store import open_store
from brim.store import store as stores


@pytest.fixture
def path(tmp_path):
    return tmp_path / "brim.db"


@pytest.fixture
def url(path):
    return f"sqlite:///{path}"


def mode(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.close()
    return found


def test_the_file_has_a_rollback_journal_and_every_commit_is_synced(path, url):
    with open_store(url) as store:
        store.append("a", [("note", {})])
        asked = store._rows
        assert asked("PRAGMA journal_mode") == [("persist",)]
        assert asked("PRAGMA synchronous") == [(3,)]
        assert asked("PRAGMA secure_delete") == [(1,)]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = wal")
    other.close()
    with open_store(url) as store:
        assert store.append("a", [("note", {})]) == 2
    assert mode(path) == "delete"


def test_a_sqlite_that_is_too_old_is_refused(url, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 0))
    with pytest.raises(StoreError, match=r"and 3\.35\.0 is needed"):
        open_store(url)


def test_the_file_and_what_stands_beside_it_are_for_the_owner_alone(path, url):
    old = os.umask(0)
    try:
        with open_store(url) as store, store.transaction():
            store.append("a", [("note", {})])
            store._rows("PRAGMA cache_size = 1")
            beside = sorted(path.parent.iterdir())
            assert len(beside) > 1
            assert {stat.S_IMODE(each.stat().st_mode) for each in beside} == {0o600}
    finally:
        os.umask(old)


def test_a_path_may_be_relative_and_leads_to_the_same_file_after_a_move(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///mine.db") as store:
        monkeypatch.chdir("/")
        store.append("a", [("note", {})])
    assert (tmp_path / "mine.db").exists()


def test_a_file_that_is_no_store_is_refused_and_left_as_it_was(path, url):
    path.write_text("Dear diary, " * 1_000)
    with pytest.raises(StoreError, match="it is neither a brim store nor a SQLite file"):
        open_store(url)
    assert path.read_text() == "Dear diary, " * 1_000


def test_the_database_of_another_program_is_refused(path, url):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()
    with pytest.raises(StoreError, match=r"it is not a brim store: it has tables of another program \(bookmarks\)"):
        open_store(url)


@pytest.mark.parametrize("name", ["missing/brim.db", "a\0b.db", "."])
def test_a_place_that_cannot_be_written_is_told(tmp_path, name):
    with pytest.raises(StoreError, match="does the folder exist, and can you write to it"):
        open_store(f"sqlite:///{tmp_path}/{name}")


def test_a_writer_that_waits_too_long_is_told_who_is_in_the_way(url, path, monkeypatch, caplog):
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.02)
    monkeypatch.setattr(stores, "_TELL_SECONDS", 0.005)
    with open_store(url) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another program has been writing"):
            store.append("a", [("note", {})])
        assert caplog.messages == [f"{url} is locked by another program; waiting"]
        other.close()
        assert store.append("a", [("note", {})]) == 1


@pytest.mark.slow
def test_calls_do_not_wait_one_after_the_other_for_a_database_that_stays_locked(url, path, monkeypatch):
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.5)
    with open_store(url) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(StoreError, match="another program has been writing"):
                store.append("a", [("note", {})])
        assert 0.5 <= time.monotonic() - began < 5
        other.close()
        assert store.append("a", [("note", {})]) == 1


def test_a_full_disk_is_told_and_nothing_is_written(url):
    with open_store(url) as store:
        store.append("a", [("note", {})])
        pages = store._rows("PRAGMA page_count")[0][0]
        store._rows(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="the disk is full: free some space; nothing was written"):
            store.append("a", [("note", {}), ("note", {"text": os.urandom(50_000).hex()})])
        assert len(store.entries("a")) == 1
        assert store.append("a", [("note", {})], after=1) == 2


def test_a_transaction_that_the_database_gave_up_does_not_go_on(url):
    with open_store(url) as store:

        def write():
            with store.transaction():
                store.append("a", [("note", {})])
                store._rows("ROLLBACK")  # What SQLite does by itself after some errors.
                store.append("a", [("note", {})])

        with pytest.raises(StoreError, match="ended the transaction: start it again"):
            write()
        assert store.entries("a") == []


def test_a_transaction_that_was_left_open_by_an_interruption_is_undone(url):
    with open_store(url) as store:
        store._begin(alone=False)
        store._rows("INSERT INTO brim_documents VALUES ('loop', '1', 1, 0, x'7b7d')")
        assert store.append("a", [("note", {})]) == 1
        assert store.ids("loop") == []


def test_a_body_that_somebody_else_wrote_is_told(url, path):
    with open_store(url) as store:
        store.append("a", [("note", {})])
        for body in (b"\xff", b"[1]"):
            with sqlite3.connect(path) as other:
                other.execute("UPDATE brim_entries SET body = ?", [body])
            other.close()
            with pytest.raises(StoreError, match="the store was changed by another program"):
                store.entries("a")


def test_a_damaged_file_is_told(url, path):
    with open_store(url) as store:
        store.append("a", [("note", {"text": "x" * 20_000})])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), open_store(url) as store:
        store.append("b", [("note", {})])


@pytest.mark.parametrize("rows", [[], [(1,), (1,)], [("one",)]], ids=["none", "two", "a text"])
def test_a_version_table_without_a_version_is_told(path, url, rows):
    """ "IndexError: list index out of range"."""
    open_store(url).close()
    with sqlite3.connect(path) as other:
        other.execute("DELETE FROM brim_store")
        other.executemany("INSERT INTO brim_store VALUES (?)", rows)
    other.close()
    with pytest.raises(StoreError, match=f"its table brim_store should have one row .* and has {len(rows)} rows"):
        open_store(url)


def test_a_row_that_sqlite_cannot_return_is_told(path, url):
    """ "sqlite3.OperationalError: Could not decode to UTF-8 column 'body'"."""
    with open_store(url) as store:
        store.append("a", [("note", {})])
        for body in ("CAST(x'7bff7d' AS TEXT)", "7"):
            with sqlite3.connect(path) as other:
                other.execute(f"UPDATE brim_entries SET body = {body}")
            other.close()
            with pytest.raises(StoreError):
                store.entries("a")


def test_in_a_request_a_call_waits_a_moment_for_another_program_and_later_ones_do_not_wait(url, path):
    """A locked file delayed the first cut by ten seconds."""
    with open_store(url) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        for _ in range(5):
            with stores.patience(0.2), pytest.raises(StoreError, match=r"writing for more than 0\.2 s"):
                store.append("a", [("note", {})])
        assert 0.2 <= time.monotonic() - began < 1
        other.execute("ROLLBACK")
        assert store.append("a", [("note", {})]) == 1
        other.execute("BEGIN EXCLUSIVE")
        again = time.monotonic()
        with stores.patience(0.2), pytest.raises(StoreError):
            store.append("a", [("note", {})])
        assert time.monotonic() - again >= 0.2, "a new lock is waited for again"


def test_after_a_purge_no_word_of_it_can_be_read_on_the_disk(path, url):
    secret = "xylophonequartz"
    with open_store(url) as store:
        for i in range(5):
            said = {"role": "user", "content": f"{secret}{i} {secret} in a text of {secret}"}
            store.append("old", [("message", {"message": said})], meta={"title": secret})
        store.append("new", [("text", {"text": "still here"})])
        assert any(secret.encode() in left.read_bytes() for left in path.parent.iterdir())
        store.purge(session="old")
        assert not any(secret.encode() in left.read_bytes() for left in path.parent.iterdir())
        assert [hit.excerpt for hit in store.search("still")] == ["still here"]
        assert not store.search(secret)


_WRITER = """
import sys
from brim.store import open_store
from brim.errors import Conflict
url, who = sys.argv[1:]
with open_store(url) as store:
    for i in range(15):
        store.append("shared", [("note", {"by": who, "n": i})])
        while True:
            saved = store.load("count", "1")
            version, n = (saved.version, saved.body["n"]) if saved else (0, 0)
            try:
                store.save("count", "1", {"n": n + 1}, version=version)
                break
            except Conflict:
                pass
"""


def test_processes_that_make_and_write_one_file_lose_nothing(url):
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, url, str(i)]) for i in range(2)]
    assert [each.wait(60) for each in running] == [0, 0]
    with open_store(url) as store:
        found = store.entries("shared")
        assert [entry.number for entry in found] == list(range(1, 31))
        assert [e.body["n"] for e in found if e.body["by"] == "1"] == list(range(15))
        assert store.load("count", "1").body == {"n": 30}


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_removed_or_replaced_takes_nothing_more_and_the_error_says_so(tmp_path, path, url, how):
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    other.close()
    with open_store(url) as store:
        store.save("note", "a", {"text": "first"}, version=0)
        for each in tmp_path.glob("brim.db*"):
            each.unlink()
        if how == "replaced":
            (tmp_path / "other.db").rename(path)
        with pytest.raises(StoreError, match="the file was removed or replaced while the store was open"):
            store.save("note", "b", {"text": "second"}, version=0)
    with open_store(url) as store:
        store.save("note", "b", {"text": "third"}, version=0)
