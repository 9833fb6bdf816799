"""A process that forks while its threads write: the child says what to do, and can open the file again."""

import os
import signal
import sqlite3
import threading
import time
from contextlib import contextmanager

import pytest

from brim.errors import StoreError
from brim.store import open_store

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]


def child(act):
    """Return what a function returns or raises in a forked child, as text; a child that hangs is killed."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        signal.alarm(30)  # A child that has not hung may be slow on a busy machine.
        try:
            told = str(act())
        except BaseException as error:  # Whatever it is, the parent tells it.
            told = repr(error)
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(process, 0)
    with os.fdopen(reading) as end:
        return end.read() if not status else f"it hung, and was killed by {os.WTERMSIG(status)}"


@contextmanager
def writing(store):
    """Let a thread be in a transaction for a while."""
    inside = threading.Event()

    def write():
        with store.transaction():
            store.append("parent", [("note", {})])
            inside.set()
            time.sleep(0.3)

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait()
    yield
    thread.join()


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/brim.db"


@pytest.fixture
def store(url):
    with open_store(url) as opened:
        yield opened


def test_a_child_of_a_process_whose_thread_writes_is_told_to_open_the_store_again(store):
    with writing(store):
        told = child(lambda: store.append("child", [("note", {})]))
    assert "the parent process opened it: open it again in the child" in told
    assert len(store.entries("parent")) == 1


def test_a_child_of_a_process_whose_thread_writes_can_open_the_file_again(store, url):
    """SQLite in the child would else take the file for locked by itself, for ever."""

    def act():
        with open_store(url) as own:
            return own.append("child", [("note", {})])

    with writing(store):
        assert child(act) == "1"
    assert [len(store.entries(name)) for name in ("parent", "child")] == [1, 1]


def test_a_fork_waits_for_a_connection_that_another_thread_opens(url, monkeypatch):
    """SQLite locks itself while it opens a file; a child forked in that moment would wait for ever."""
    connect, opening, opened = sqlite3.connect, threading.Event(), threading.Event()

    def slow(*arguments, **options):
        opening.set()
        time.sleep(0.3)
        made = connect(*arguments, **options)
        opened.set()
        return made

    monkeypatch.setattr(sqlite3, "connect", slow)
    thread = threading.Thread(target=lambda: open_store(url).close())
    thread.start()
    opening.wait()
    assert child(opened.is_set) == "True"
    thread.join()


def test_a_child_neither_writes_nor_ends_the_transaction_in_which_it_was_forked(store):
    def act():
        try:
            store.append("parent", [("note", {"by": "child"})])
        except StoreError as error:
            return error.problem

    with store.transaction():
        store.append("parent", [("note", {})])
        assert child(act) == "the parent process opened it: open it again in the child"
        store.append("parent", [("note", {})])
    process = 0
    try:
        with store.transaction():
            store.append("parent", [("note", {})])
            process = os.fork()
    except StoreError:  # Only the child leaves the block so.
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7
    assert len(store.entries("parent")) == 3


def test_a_fork_waits_for_no_transaction_of_its_own_thread_and_not_for_ever(store, monkeypatch):
    from brim.store import store as stores

    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.05)
    began = time.monotonic()
    with writing(store):
        told = child(store.sessions)
    assert "the parent process opened it" in told
    assert time.monotonic() - began < 5
