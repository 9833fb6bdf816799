"""Who opens a session, and when: two at once, by an address, read-only, again with other bytes, and closed."""

import gc
import os
import sqlite3
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import brim
from brim.errors import InvalidValue, StoreError, UnknownName
from brim.sessions import Session
from sessions.talking import asked, turn


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/brim.db"


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def at_once(count, act):
    """Return what some threads return that begin together."""
    together = threading.Barrier(count)

    def begin(number):
        together.wait()
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def test_a_session_that_many_open_or_begin_at_once_is_begun_once(url):
    """ "new in this store: brim.Session.open(id, store=...) continues a session", of 23 in 80 callers."""
    stores = [brim.open_store(url) for _ in range(4)]
    for name in map(str, range(12)):
        found = at_once(4, lambda i, name=name: Session.open(name, store=stores[i], create=True, **asked()))
        for i, session in enumerate(found):
            session.add({"role": "user", "content": f"from {i}"})
        found[0].refresh()
        assert {message["content"] for message in found[0].messages} == {f"from {i}" for i in range(4)}
        assert len(stores[0].entries(name, kinds=["note"])) == 1
    for store in stores:
        store.close()


def test_a_named_conversation_that_many_begin_at_once_is_begun_once(url):
    with ThreadPoolExecutor(1):
        programs = [brim.Conversations(8_000, meter="o200k_base", store=url) for _ in range(4)]
    for name in map(str, range(12)):
        said = [{"role": "user", "content": f"Question {name}"}]
        made = at_once(4, lambda i, name=name, said=said: programs[i].request(said, session=name))
        assert [each.messages for each in made] == [said] * 4
        assert all(each.session is not None for each in made)
    for each in programs:
        each.close()
    with brim.open_store(url) as store:
        for name in map(str, range(12)):
            assert [entry.kind for entry in store.entries(name)].count("message") == 1


def test_a_store_is_named_by_its_address_wherever_one_is_asked_for(url):
    """ "AttributeError: 'str' object has no attribute 'load'"."""
    before = descriptors()
    with Session(**asked(store=url, id="s")) as session:
        session.add(turn(1))
    with Session.open("s", store=url) as opened:
        assert opened.messages == turn(1)
    with Session.open("t", store=url, create=True, **asked()) as begun:
        begun.add(turn(2))

    def act(tick):
        return brim.Step(messages=[{"role": "assistant", "content": "Done."}], end="iteration", result=tick.iteration)

    with brim.Loop("Mend it", act, window=4_000, meter="o200k_base", store=url, id="l") as loop:
        assert loop.run(ticks=2).results == [1, 2]
    with brim.Loop.resume("l", act=act, store=url) as loop:
        assert loop.run(ticks=1).results == [1, 2, 3]
    with brim.Conversations(8_000, meter="o200k_base", store=url) as program:
        program.request(turn(3), session="c")
    assert descriptors() == before
    for closed in (lambda: opened.add(turn(4)), lambda: loop.run(ticks=1)):
        with pytest.raises(StoreError, match="the store is closed"):
            closed()


def test_a_session_leaves_the_store_of_its_caller_open(url):
    with brim.open_store(url) as store:
        with Session(**asked(store=store, id="s")) as session, brim.Conversations(8_000, model="gpt-4o", store=store):
            session.add(turn(1))
        assert len(store.entries("s", kinds=["message"])) == 4


def test_a_store_that_nobody_closed_is_collected(url):
    before = descriptors()
    for i in range(40):
        session = Session(**asked(store=url, id=str(i)))
        session.add(turn(i))
    seen = weakref.ref(session._owned)
    del session
    assert descriptors() == before
    assert seen() is None


def look(url):
    """Look at a store, and try to write to it."""
    with brim.open_store(url) as store:
        opened = Session.open("s", store=store)
        told = [len(opened.messages), opened.status().messages, *{hit.session for hit in store.search("build")}]
        try:
            opened.add({"role": "user", "content": "Hello"})
        except StoreError as error:
            told.append(error.problem)
        return str(told)


def as_nobody(act, *given):
    """Return what a function returns to another user, who may read and not write."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            told = act(*given)
        except BaseException as error:  # Whatever it is, the parent tells it.
            told = repr(error)
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as end:
        return end.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("closed", ["file", "folder"])
def test_a_store_that_may_only_be_read_is_read(tmp_path, url, closed):
    with Session(**asked(store=url, id="s")) as session:
        session.add(turn(1))
        session.prompt()
    look("sqlite:///" + str(tmp_path / "brim.db"))  # Whatever it imports, the other user may not.
    with Session.open("s", store=url) as session:
        session.add(turn(2))
    path = tmp_path / "brim.db"
    path.chmod(0o444 if closed == "file" else 0o666)
    for each in (tmp_path, *tmp_path.parents[:3]):
        each.chmod(each.stat().st_mode | 0o055)
    before = path.read_bytes()
    told = "it is read-only: you need the right to write the file and its folder"
    assert as_nobody(look, url) == str([9, 9, "s", told])
    assert path.read_bytes() == before


def test_a_purged_conversation_begins_anew_with_what_its_next_request_brings(url):
    with brim.open_store(url) as store:
        program = brim.Conversations(8_000, meter="o200k_base", store=store)
        first = program.request([*turn(1), *turn(2)], session="c")
        store.purge(session="c")
        first.answered({"prompt_tokens": 900})
        assert store.sessions() == []
        again = program.request([*turn(2), *turn(3)], session="c")
        assert again.messages == [*turn(2), *turn(3)]
        assert [entry.body["message"] for entry in store.entries("c", kinds=["message"])] == [*turn(2), *turn(3)]
        program.request([*turn(2), *turn(3), *turn(4)], session="c")
        assert len(store.entries("c", kinds=["message"])) == 12


@pytest.mark.slow
def test_a_locked_store_delays_a_request_by_about_a_second(tmp_path, url):
    """It took ten seconds; before, every thread waited for all those before it, each three times as long."""
    program = brim.Conversations(8_000, meter="o200k_base", store=url)
    other = sqlite3.connect(tmp_path / "brim.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    def ask(number):
        began = time.monotonic()
        made = program.request([{"role": "user", "content": f"Question {number}"}], session=str(number))
        return made.messages[0]["content"], time.monotonic() - began

    with ThreadPoolExecutor(1) as pool:
        asked_for = pool.submit(at_once, 4, ask)
        time.sleep(0.2)
        began = time.monotonic()
        assert (len(program), program.sessions) == (0, [])
        assert time.monotonic() - began < 0.5
        found = asked_for.result()
    other.close()
    assert [text for text, _ in found] == [f"Question {i}" for i in range(4)]
    assert max(took for _, took in found) < 2.5
    program.request([{"role": "user", "content": "Question 0"}], session="0")
    assert len(program.sessions) == 1
    program.close()


def test_a_log_that_no_session_wrote_is_told_as_that(url):
    """ "no session is called 'trip'; did you mean 'trip'"."""
    with brim.open_store(url) as store:
        store.append("trip", [("message", {"message": {"role": "user", "content": "Hello"}})])
        for create in (False, True):
            with pytest.raises(InvalidValue, match="this log was not written by one"):
                Session.open("trip", store=store, create=create)
        with pytest.raises(InvalidValue, match="brim.Session.open"):
            Session(**asked(store=store, id="trip"))
        with pytest.raises(UnknownName, match="trip"):
            Session.open("tripp", store=store)
        Session(**asked(store=store, id="talk"))
        with pytest.raises(UnknownName) as unknown:
            brim.Loop.resume("talk", act=print, store=store)
        assert "did you mean 'talk'" not in str(unknown.value)
