"""What is known of a history: its turns, its seams and its units, however its messages came."""

from copy import copy

import pytest

import brim
from brim.history.turns import Turns
from brim.testing import CharMeter, PieceMeter
from talk import (
    answer,
    calling,
    gives,
    item_call,
    item_output,
    loop,
    model,
    reasoning,
    result,
    says,
    system,
    text,
    use,
    user,
)


def book_of(messages, format=None, **options):
    turns = Turns(PieceMeter(), format=format, **options)
    turns.extend(messages)
    return turns


def turns(turns):
    """Return the caller's indexes by turn."""
    return [[turns.indexes[p] for p in turns.members(turn)] for turn in range(len(turns.starts))]


CHAT = [
    ("each message without a call is a turn", [user(), model(), user(), user()], [[0], [1], [2], [3]]),
    ("a call and its result are a turn", [user(), calling("a"), result("a"), user()], [[0], [1, 2], [3]]),
    (
        "parallel calls and their results are a turn, in any order",
        [user(), calling("a", "b", "c"), result("c"), result("a"), result("b"), user()],
        [[0], [1, 2, 3, 4], [5]],
    ),
    (
        "a call of the old kind and its result are a turn",
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "ok"},
            user(),
        ],
        [[0, 1], [2]],
    ),
    ("ids that come again do not join turns", [calling("a"), result("a"), calling("a"), result("a")], [[0, 1], [2, 3]]),
    (
        "a result far from its call joins all between",
        [user(), calling("a"), user(), model(), result("a")],
        [[0], [1, 4, 2, 3]],
    ),
    ("two calls before their results join", [calling("a"), calling("b"), result("a"), result("b")], [[0, 2, 1, 3]]),
    ("leading system messages are in no turn", [system(), system(), user(), model()], [[2], [3]]),
    ("a reminder belongs to the turn before it", [user(), system(), calling("a"), result("a")], [[0, 1], [2, 3]]),
    ("a reminder inside a turn is of it", [user(), calling("a"), system(), result("a")], [[0], [1, 3, 2]]),
    ("nothing has no turns", [], []),
    ("only system messages have no turns", [system(), system(role="developer")], []),
]
RESPONSES = [
    (
        "reasoning stays with what it led to",
        [user(), reasoning(), item_call("a"), item_output("a"), user()],
        [[0], [1, 2, 3], [4]],
    ),
    (
        "what the model said at one time is a turn",
        [
            user(),
            reasoning(),
            {"type": "message", "role": "assistant", "content": "so"},
            item_call("a"),
            item_output("a"),
        ],
        [[0], [1, 2, 3, 4]],
    ),
    (
        "results need not follow their call",
        [user(), item_call("a"), item_call("b"), item_output("b"), user(), item_output("a"), user()],
        [[0], [1, 2, 3, 4, 5], [6]],
    ),
    (
        "each round is a turn",
        [user(), item_call("a"), item_output("a"), item_call("b"), item_output("b")],
        [[0], [1, 2], [3, 4]],
    ),
]
ANTHROPIC = [
    (
        "a turn begins where the model begins",
        [user(), says(text("so")), user(), says(text("so")), user()],
        [[0], [1, 2], [3, 4]],
    ),
    (
        "a call and its results are a turn",
        [user(), says(use("a"), use("b")), gives(answer("b"), answer("a")), says(text("so")), user()],
        [[0], [1, 2], [3, 4]],
    ),
    (
        "results that come in two messages are of the turn",
        [user(), says(use("a"), use("b")), gives(answer("a")), gives(answer("b")), says(text("so"))],
        [[0], [1, 2, 3], [4]],
    ),
    (
        "two of the user's in a row are two turns: of a group chat each message may go",
        [user(), user(), says(text("so")), user(), user()],
        [[0], [1], [2, 3], [4]],
    ),
    ("two of the model's in a row stay together", [user(), says(text("a")), says(text("b")), user()], [[0], [1, 2, 3]]),
]
ALL = [
    *(("openai", *case) for case in CHAT),
    *(("responses", *case) for case in RESPONSES),
    *(("anthropic", *case) for case in ANTHROPIC),
]


@pytest.mark.parametrize(("format", "name", "messages", "expected"), ALL, ids=[f"{s}: {name}" for s, name, _, _ in ALL])
def test_messages_fall_into_turns(format, name, messages, expected):
    assert turns(book_of(messages, format)) == expected


def facts(turns):
    """Return everything that a fit is decided by: whatever the turns shows, with the messages as what they are."""
    shown = {
        name: value for name, value in vars(turns).items() if isinstance(value, int | str | list | dict | set | None)
    }
    told = {
        name: copy(value)
        for name, value in shown.items()
        if not name.startswith("_") and name not in ("format", "generation", "order")
    }
    repairs = [(r.index, r.action, r.reason, r.units) for r in turns.repairs]
    return told | {"repairs": repairs, "open": dict(turns.seams.open), "wire": turns.wire.name}


BROKEN = [
    (
        "openai",
        "orphans and calls without results",
        [result("x"), user(), calling("a", "b"), result("a"), user(), result("a")],
        None,
    ),
    (
        "anthropic",
        "orphans beside words",
        [says(text("so")), user(), gives(answer("x"), text("hi")), says(use("a"))],
        None,
    ),
    ("openai", "the same result twice", [user(), *loop(2, 500)[1:], *loop(2, 500)[1:], user()], None),
]


@pytest.mark.parametrize(
    ("format", "name", "messages", "expected"),
    [*ALL, *BROKEN],
    ids=[f"{s}: {name}" for s, name, _, _ in [*ALL, *BROKEN]],
)
def test_messages_that_come_one_by_one_are_the_same_as_all_at_once(format, name, messages, expected):
    whole = facts(book_of(messages, format))
    for size in (1, 2, 3):
        turns = Turns(PieceMeter(), format=format)
        for start in range(0, len(messages), size):
            turns.extend(messages[start : start + size])
        assert facts(turns) == whole


def test_messages_that_come_one_by_one_find_their_shape_late():
    messages = [system(), user(), model("so"), user("again"), says(use("a")), gives(answer("a"))]
    turns = Turns(PieceMeter())
    for message in messages:
        turns.extend([message])
    assert facts(turns) == facts(book_of(messages, "anthropic"))


def test_the_task_is_what_the_user_said_first():
    assert book_of([system(), model(), user("first"), user("second")], "openai").task == 2
    assert book_of([system(), model()], "openai").task is None
    assert book_of([system()], "openai").task is None
    turns = book_of([user("first"), calling("a"), user("wait"), result("a")], "openai")
    assert turns.raws[turns.task] == user("first")


def test_the_task_is_found_again_when_a_result_moves_before_it():
    turns = book_of([calling("a"), user("first"), result("a")], "openai")
    assert turns.raws[turns.task] == user("first")


def test_every_message_is_counted_once():
    class Counting(CharMeter):
        asked = 0

        def measure(self, text):
            self.asked += 1
            return len(text)

    meter = Counting()
    history = brim.History(meter=meter)
    for message in loop(50, 40):
        history.extend([message])
    before = meter.asked
    for _ in range(3):
        history.fit(100_000)
    assert meter.asked == before


def test_a_person_who_speaks_about_code_is_no_program():
    answer = model("Use this:\n```python\nprint(1)\n```")
    said = book_of([user("Help."), answer, user("Thanks. And never print to the log, please."), answer])
    assert (said.spoken, said.instruction) == ([0, 2], 2)
    ran = book_of([user("Help."), answer, user("<output>\n1\n</output>"), answer, user("a\nb\nc\nd")])
    assert (ran.spoken, ran.instruction) == ([0], 0)
