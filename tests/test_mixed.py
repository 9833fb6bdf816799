"""What `make prove-mixed` takes for an error, and that it finds each: CI runs it with 600 calls."""

import json
import sqlite3

import pytest

import brim
from mixed import SCENES, Diary, check, digest, documented
from talk import user


@pytest.fixture
def kept(tmp_path):
    """Return a store with two messages, and the diary of whoever wrote them."""
    said = [user("tag.a.1. hello"), user("tag.a.2. " + "a long text " * 200)]
    with brim.Session(6_000, meter="chars", store=f"sqlite:///{tmp_path}/brim.db", id="s") as session:
        session.add(said)
    return tmp_path / "brim.db", Diary("a", kept=[("s", f"tag.a.{i}.", digest(raw)) for i, raw in enumerate(said, 1)])


def change(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_a_log_that_has_what_was_promised_is_right(kept):
    path, diary = kept
    assert check(path, [diary]) == []


def test_a_lost_message_is_found(kept):
    path, diary = kept
    change(path, "DELETE FROM brim_entries WHERE place % 4294967296 = 2")
    found = check(path, [diary])
    assert "a: tag.a.1. is 0 times in 's'" in found
    assert [each for each in found if "the last number is" in each]


def test_a_message_that_is_there_twice_is_found(kept):
    path, diary = kept
    body = json.dumps({"message": user("tag.a.1. hello")})
    change(path, "UPDATE brim_sessions SET last = last + 1")
    new = "INSERT INTO brim_entries SELECT max(place) + 1, 'message', 0, ? FROM brim_entries"
    change(path, new, body)
    assert check(path, [diary]) == ["a: tag.a.1. is 2 times in 's'"]


def test_a_message_that_its_owner_changed_in_the_log_is_found(kept):
    path, diary = kept
    body = json.dumps({"message": user("tag.a.1. hello, and more")})
    change(path, "UPDATE brim_entries SET body = ? WHERE place % 4294967296 = 2", body)
    assert check(path, [diary]) == ["a: tag.a.1. is 0 times in 's'"]


def test_a_message_whose_call_raised_or_that_was_purged_is_found_anywhere(kept):
    path, diary = kept
    diary.gone.append("tag.a.1.")
    assert check(path, [diary]) == ["a: tag.a.1. was refused or purged, and is there"]


def test_the_errors_of_a_call_are_those_of_its_docstring():
    assert brim.NoProgress in documented("Session.compact")
    assert not issubclass(brim.StoreError, documented("Conversations.request"))
    assert issubclass(brim.DoesNotFit, documented("Conversations.request"))
    assert documented("Session.status") == (brim.StoreError,)
    assert len(SCENES) > 9
