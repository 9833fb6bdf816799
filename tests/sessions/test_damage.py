"""A damaged SQLite file: at every door an error of brim, or an answer without the store, and never an endless wait."""

import random
import sqlite3
from contextlib import closing, suppress

import pytest

import brim
from brim.cli import main
from brim.errors import BrimError, StoreError
from brim.sessions import Session
from brim.sessions.loop import Loop, Step
from brim.studio import api
from brim.studio.workspace import Workspace
from sessions.talking import asked, turn

WINDOW = 2_500
PAGE = 2_048


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a store with a session, a loop, and conversations with and without a log."""
    path = tmp_path_factory.mktemp("whole") / "brim.db"
    with brim.open_store(f"sqlite:///{path}") as store:
        write(store)
    return path.read_bytes()


def write(store):
    session = Session(**asked(store=store, id="talk", capture=True))
    for i in range(10):
        session.add(turn(i))
        session.prompt()
    session.compact()
    session.add(turn(10))
    session.prompt()

    def act(tick):
        number = tick.state.get("number", 0) + 1
        said = {"role": "assistant", "content": f"I fixed part {number}. " + "word " * 60}
        end = "continue" if number % 3 else "iteration"
        return Step(messages=[said], end=end, result=None if number % 3 else number, state={"number": number})

    Loop("Port every module.", act, window=3_000, meter="o200k_base", store=store, id="loop", max_iterations=5).run()
    for log in (True, False):
        conversations = brim.Conversations(brim.Window(WINDOW), meter="o200k_base", store=store, log=log)
        for i in range(1, 7):
            conversations.request([each for k in range(i) for each in turn(k)], session=f"named {log}")


def store_calls(url):
    with brim.open_store(url) as store:
        yield lambda: [store.entries(row.id) for row in store.sessions()]
        yield lambda: store.search("build fail queue")
        yield lambda: store.append("new", [("text", {"text": "new words here"})], meta={})
        yield lambda: store.save("kind", "id", {}, version=0)
        yield lambda: store.purge(session="talk")


def session_calls(url):
    with brim.open_store(url) as store:
        session = Session.open("talk", store=store)
        yield from (session.prompt, session.compact, session.reload)
        yield lambda: session.add(turn(30))
        yield lambda: session.search("queue")


def loop_calls(url):
    with brim.open_store(url) as store:
        loop = Loop.resume("loop", act=lambda _: Step(end="goal"), store=store, max_iterations=30)
        yield loop.run


def conversation_calls(url, log):
    with brim.Conversations(brim.Window(WINDOW), meter="o200k_base", store=url, log=log) as conversations:
        for name in (f"named {log}", None):
            messages = [each for k in range(8) for each in turn(k)]
            fitted = conversations.request(messages, session=name)
            assert fitted.used <= WINDOW
            assert fitted.messages[-1] == messages[-1]
        yield lambda: None


def view_calls(url):
    with closing(Workspace(url=url, config=".")) as workspace:
        for session in ("talk", "loop", "named True"):
            for view in ("sessions", "prompt", "timeline", "cache", "ledger"):
                yield lambda view=view, session=session: api.call(api.READS[view], workspace, {"session": session})


def command_calls(url):
    for arguments in (["status"], ["status", "--session", "talk"]):
        yield lambda arguments=arguments: main([*arguments, "--store", url])


DOORS = {
    "store": store_calls,
    "session": session_calls,
    "loop": loop_calls,
    "conversations": lambda url: conversation_calls(url, log=True),
    "conversations without a log": lambda url: conversation_calls(url, log=False),
    "studio": view_calls,
    "command line": command_calls,
}


def damaged(content, page, how):
    chance, start = random.Random(f"{page} {how}"), page * PAGE
    was = content[start : start + PAGE]
    made = {
        "zeros": bytes(PAGE),
        "noise": chance.randbytes(PAGE),
        "another page": content[(start + 3 * PAGE) % len(content) :][:PAGE],
        "single bits": bytes(byte ^ (1 << chance.randrange(8)) if chance.random() < 0.01 else byte for byte in was),
    }[how]
    return content[:start] + made + content[start + PAGE :]


def check(url, door):
    """Make the calls of a door, each of which may raise an error of brim."""
    with suppress(BrimError):  # It may not even open.
        for call in DOORS[door](url):
            with suppress(StoreError) if door in ("store", "session", "loop") else suppress(BrimError):
                call()


@pytest.mark.parametrize("door", DOORS)
def test_every_door_works_on_a_whole_file(tmp_path, content, door):
    (tmp_path / "brim.db").write_bytes(content)
    for call in DOORS[door](f"sqlite:///{tmp_path}/brim.db"):
        call()


@pytest.mark.parametrize("door", DOORS)
def test_a_damaged_page_is_a_documented_error_at_every_door(tmp_path, content, door):
    """ "sqlite3.DatabaseError: database disk image is malformed", and a session that was opened for ever."""
    for page in range(0, len(content) // PAGE, 5):
        for how in ("zeros", "another page"):
            path = tmp_path / f"{page} {how}.db"
            path.write_bytes(damaged(content, page, how))
            check(f"sqlite:///{path}", door)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["zeros", "noise", "another page", "single bits"])
@pytest.mark.parametrize("door", DOORS)
def test_each_page_may_be_damaged_in_each_way(tmp_path, content, door, how):
    for page in range(len(content) // PAGE):
        path = tmp_path / f"{page}.db"
        path.write_bytes(damaged(content, page, how))
        check(f"sqlite:///{path}", door)


def test_a_log_whose_last_entries_are_lost_is_an_error_and_not_read_again_for_ever(tmp_path, content):
    path = tmp_path / "brim.db"
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("DELETE FROM brim_entries WHERE place = (SELECT key * 4294967296 + last FROM brim_sessions"
                      " WHERE id = 'talk')")  # fmt: skip
    with brim.open_store(f"sqlite:///{path}") as store, pytest.raises(StoreError, match="entries of session 'talk'"):
        Session.open("talk", store=store)
