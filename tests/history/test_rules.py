"""What providers ask of a history: each rule says which earlier message a message may not be parted from."""

import pytest

from brim.history.rules import Seams
from brim.wire import wire
from talk import calling, item_call, item_output, model, reasoning, result, says, text, user


def bonds(format, messages, seams=None):
    seams, read = seams or Seams(wire(format)), wire(format).read
    return [seams.bond(read(raw, i), i) for i, raw in enumerate(messages)]


# --- a call and its results


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user(), model(), user()], [None, None, None]),
        ([user(), calling("a"), result("a")], [None, None, 1]),
        ([calling("a", "b"), result("b"), result("a")], [None, 0, 0]),
        ([calling("a"), user(), model(), result("a")], [None, None, None, 0]),
        ([calling("a"), calling("b"), result("a"), result("b")], [None, None, 0, 1]),
        ([calling("a"), result("a"), calling("a"), result("a")], [None, 0, None, 2]),
        ([calling("a", "a"), result("a"), result("a")], [None, 0, 0]),
        # Of two calls of one id that wait, a result answers the newer; the other waits on.
        ([calling("a"), calling("a"), result("a"), result("a")], [None, None, 1, 0]),
    ],
)
def test_a_result_may_not_be_parted_from_its_call(messages, expected):
    assert bonds("openai", messages) == expected


def test_calls_wait_until_they_are_answered():
    seams = Seams(wire("openai"))
    bonds("openai", [calling("a", "b"), result("a")], seams)
    assert seams.open == {"b": [0]}
    seams.bond(wire("openai").read(result("b"), 2), 2)
    assert seams.open == {}


# --- what the model said at one time


def test_items_of_the_model_in_a_row_stay_together():
    said = {"type": "message", "role": "assistant", "content": "so"}
    messages = [user(), reasoning(), said, item_call("a"), item_output("a"), reasoning(), item_call("b"), user(), said]
    assert bonds("responses", messages) == [None, None, 1, 2, 3, None, 5, None, None]


# --- user and model in turn


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("uauau", [None, None, 1, None, 3]),
        ("uuauu", [None, None, None, 2, None]),
        ("uaau", [None, None, 1, 2]),
        ("u", [None]),
        ("", []),
    ],
)
def test_a_cut_is_allowed_before_the_model_speaks_and_between_messages_of_the_user(roles, expected):
    messages = [user() if role == "u" else says(text("so")) for role in roles]
    assert bonds("anthropic", messages) == expected


# --- which rules hold where
