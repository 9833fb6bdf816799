"""What strangers broke: one session object in several threads, and a refusal that has nothing to do with length."""

import os
import signal
import threading

import pytest

import brim
from brim.errors import InvalidValue
from brim.testing import MemoryStore
from talk import user

SMALL = {"meter": "chars"}


class Failing(MemoryStore):
    """A store whose next write waits, and fails then."""

    def __init__(self):
        super().__init__()
        self.begun, self.go_on, self.fails = threading.Event(), threading.Event(), False

    def append(self, *given, **options):
        if self.fails:
            self.fails = False
            self.begun.set()
            self.go_on.wait(5)
            raise brim.StoreError(self.url, "the disk is full")
        return super().append(*given, **options)


def test_a_message_whose_add_raises_is_in_no_prompt_of_another_thread():
    """Two threads of a web server have the session of a user: one adds, the other makes a prompt."""
    store = Failing()
    session = brim.Session(6_000, store=store, **SMALL)
    session.add(user("hello"))
    store.fails, prompts = True, []

    def add():
        with pytest.raises(brim.StoreError):
            session.add(user("not written"))

    adding = threading.Thread(target=add)
    asking = threading.Thread(target=lambda: prompts.append(session.prompt()))
    adding.start()
    store.begun.wait()
    asking.start()
    asking.join(0.3)  # It may wait for the other one.
    store.go_on.set()
    adding.join()
    asking.join()
    assert prompts[0].messages == [user("hello")]
    store.close()


def test_a_refusal_of_a_short_prompt_that_states_a_large_window_does_not_end_a_session():
    session = brim.Session(6_000, **SMALL)
    session.add(user("hello"))
    session.prompt()
    assert session.refused(brim.Overflow(reason="context_length_exceeded", limit=5_500)) > 4_000


def test_a_purge_stays_if_the_session_was_begun_anew():
    with MemoryStore() as store:
        old = brim.Session(2_000, store=store, id="trip", **SMALL)
        old.add(user("the secret"))
        store.purge(session="trip")
        brim.Session(2_000, store=store, id="trip", **SMALL).add(user("hello"))
        for change in (lambda: old.add(user("more")), old.prompt, lambda: old.restart(old.messages)):
            with pytest.raises(brim.SessionPurged):
                change()
        assert "secret" not in f"{[entry.body for entry in store.entries('trip')]}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_that_is_forked_during_a_request_can_send_one_of_the_same_conversation():
    inside, go_on = threading.Event(), threading.Event()

    def summarise(text, limit):
        inside.set()
        go_on.wait(20)
        return "short"

    conversations = brim.Conversations(2_000, summarise=summarise, **SMALL)
    history = [user(f"{i} some words that are long enough") for i in range(90)]
    conversations.request(history[:10], session="s")
    thread = threading.Thread(target=lambda: conversations.request(history, session="s"))
    thread.start()
    inside.wait()
    process = os.fork()
    if not process:
        signal.alarm(5)
        go_on.set()
        conversations.request(history[:20], session="s")
        os._exit(len(conversations.sessions[0].messages))
    status = os.waitpid(process, 0)[1]
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 20, "the messages that the other thread was adding are not there"


def test_messages_of_gemini_are_not_mixed_with_others():
    gemini, other = {"role": "user", "parts": [{"text": "Hello."}]}, {"role": "user", "content": "Hello."}
    for format, first, wrong in (
        ("openai", [], gemini),
        ("gemini", [], other),
        (None, [other], gemini),
        (None, [gemini], other),
        (None, [], [gemini, other]),
    ):
        session = brim.Session(1_000, format=format)
        session.add(first)
        with pytest.raises(InvalidValue, match="in the format of the session"):
            session.add(wrong)
        assert session.messages == first


def test_a_function_is_no_observer():
    for make in (brim.Session, brim.Conversations):
        with pytest.raises(InvalidValue, match=r"objects with a method observe\(event\)"):
            make(1_000, observers=[print])
