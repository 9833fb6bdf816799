"""What one context hands to the next: typed, extracted, within a limit, and facts last."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import InvalidType, InvalidValue
from brim.history.compact.continuation import (
    CONTINUATION_MARK,
    MOST,
    Continuation,
    continuation,
)
from brim.history.compact.lines import Line
from properties import examples
from talk import calling, model, result, system, user

METER = brim.meter("o200k_base")
GOAL = "Move the shop to the new payment service."
MESSAGES = [
    system("You are careful. Never swear."),
    user("Begin. Never lose an order."),
    model("I fixed services/pay/client.py. We decided to use queues instead of direct calls.\n✅ The client is fixed."),
    calling("c1"),
    result("c1", "ERROR: TimeoutError in worker 7 at lib/noise.py"),
    model("TODO: notify the warehouse. Next, rename the queue. The limit is 37 MB. See https://pay.example/docs"),
    user("Which queue carries refunds?"),
]


def handed(messages=MESSAGES, previous=None, **more):
    return continuation(messages, goal=GOAL, previous=previous, **more)


@pytest.mark.requirement("S3.7", "S3.8")
def test_done_left_found_and_ruled_are_told_apart():
    made = handed()
    assert made.goal == GOAL
    assert made.constraints == ("Begin.", "Never lose an order.")
    assert made.accomplished == ("✅ The client is fixed.",)
    assert made.remaining == ("TODO: notify the warehouse.",)
    kinds = {line.text: line.kind for line in made.lines}
    assert kinds["We decided to use queues instead of direct calls."] == "own"
    assert kinds["Which queue carries refunds?"] == "question"
    assert {"I fixed services/pay/client.py.", "Next, rename the queue.", "Which queue carries refunds?"} <= {
        *made.findings
    }
    assert made.resources == ("services/pay/client.py", "lib/noise.py", "https://pay.example/docs")
    assert (made.iteration, made.sub_tick) == (0, 0)


def test_the_text_has_all_of_it_under_headings():
    told = handed().text(METER, 700)
    assert told.startswith(
        f"{CONTINUATION_MARK} iteration 0, sub-tick 0\nGoal: {GOAL}\nSaid by the user:\n- Begin.\n- Never lose an order."
    )
    for heading in (
        "Left to do:",
        "Done:",
        "Said by the agent:\n- I fixed services/pay/client.py.\n- We decided to use queues instead of direct calls.\n- Next,",
        "https://pay.example/docs",
        "Calls:\n- f → ERROR: TimeoutError in worker 7 at lib/noise.py",
    ):
        assert heading in told


@examples(40)
@given(limit=st.integers(60, 600), size=st.integers(0, 60))
def test_the_text_is_never_over_its_limit(limit, size):
    many = [model(f"The fault {i} is in lib/part_{i}.py. We decided to drop part {i}.") for i in range(size)]
    made = handed([*MESSAGES, *many])
    assert METER.load(made.text(METER, limit)) <= limit


def test_a_sub_tick_follows_its_previous():
    first = handed(iteration=3)
    second = handed([user("Go on."), model("[x] TODO: notify the warehouse.")], first)
    assert (second.iteration, second.sub_tick) == (3, 1)
    assert second.constraints == first.constraints
    assert second.remaining == (), "the warehouse was notified"
    assert second.accomplished[-1] == "[x] TODO: notify the warehouse."


def test_what_was_handed_over_is_not_taken_for_something_new():
    first = handed()
    second = handed([user(first.text(METER, 700)), model("Well.")], first)
    *before, well = second.lines
    assert before == [line for line in first.lines if line.kind != "question"]
    assert well.text == "Well."


def test_what_people_said_outlasts_what_a_tool_printed():
    noise = "\n".join(f"saw lib/noise_{i}.py" for i in range(40))
    made = handed([model("The fault is in lib/fault.py."), calling("c"), result("c", noise)])
    for _ in range(8):
        made = handed([calling("c"), result("c", noise)], made)
    assert "lib/fault.py" in made.text(METER, 120)


def test_it_goes_through_json_and_back():
    made = handed([model("I fixed lib/a.py.")], handed())
    assert Continuation.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert Continuation.from_dict(Continuation(goal="x").to_dict()) == Continuation(goal="x")


@pytest.mark.parametrize(
    ("name", "value"),
    [("goal", 1), ("lines", "x"), ("lines", [{}]), ("iteration", -1), ("summary", None),
     ("lines", [{**Line(role="user", kind="own", text="x").to_dict(), "kind": "smell"}])],
)  # fmt: skip
def test_json_that_is_none_is_refused_by_its_place(name, value):
    values = {**handed().to_dict(), name: value}
    with pytest.raises(InvalidValue, match=f"continuation.{name}"):
        Continuation.from_dict(values)
    with pytest.raises(InvalidType, match="continuation"):
        Continuation.from_dict({name: value})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The fault is in src/app/config.py:42.", "src/app/config.py:42"),
        ("Look at ./run.sh first", "./run.sh"),
        ("see /etc/nginx/nginx.conf", "/etc/nginx/nginx.conf"),
        (r"It is C:\work\plan.txt", r"C:\work\plan.txt"),
        ("打开 src/主.py 看看", "src/主.py"),
        ("See https://x.org/a?b=1, then go on", "https://x.org/a?b=1"),
        ("We take the one and/or the other, either/or, 1/2.", None),
        ("It has load() in os.path.join(a) and self.name.", None),
    ],
)
def test_paths_and_addresses_in_the_lines_are_resources(text, place):
    made = handed([model(text)])
    assert made.resources == (() if place is None else (place,))
    assert "Paths" not in made.text(METER, 300), "its line says it"


def test_of_many_lines_of_one_kind_the_value_keeps_those_of_most_worth():
    many = [calling(f"c{i}", arguments=f'{{"path": "a{i}.py"}}') for i in range(MOST + 40)]
    made = handed([user("Never lose an order."), model("The limit is 37 MB."), *many])
    assert len(made.lines) == MOST + 2
    assert "[more than 2" in made.text(METER, 100)
    assert made.constraints == ("Never lose an order.",)
    assert made.findings == ("The limit is 37 MB.",)
    assert [line.at for line in made.lines] == sorted(line.at for line in made.lines)


@pytest.mark.requirement("X8")
def test_neither_value_nor_text_carries_a_secret():
    key = "sk-" + "a1b2c3d4" * 5
    made = continuation([model(f"I fixed it with {key}. Never share {key}.")], goal=f"Use {key}")
    assert key not in json.dumps(made.to_dict())
    assert key not in made.text(METER, 500)


def test_a_limit_needs_its_meter():
    with pytest.raises(InvalidType, match="meter"):
        handed().text(limit=10)
    with pytest.raises(InvalidType, match="goal"):
        continuation([], goal=None)


def book():
    """Return the messages of an agent that wrote forty chapters: a task and a call each, one decision, two failures."""
    said = [{"role": "user", "content": "Write a book. Never use the word 'suddenly'."}]
    for i in range(40):
        made = {"name": "write_file", "arguments": json.dumps({"path": f"book/ch{i:02}.md"})}
        call = {"id": f"c{i}", "type": "function", "function": made}
        task = f"TODO: revise the opening of chapter {i} once the ending is known, and check the name of the ship."
        said.append({"role": "assistant", "content": task, "tool_calls": [call]})
        done = f"wrote book/ch{i:02}.md, 5529 bytes. " + "The spelling check found no words that differ. " * 10
        done = f"Error: disk quota exceeded at book/ch{i:02}.md" if i in (12, 30) else done
        said.append({"role": "tool", "tool_call_id": f"c{i}", "content": done})
        if i == 10:
            said.append({"role": "assistant", "content": "The story is told in the first person, as a diary."})
    return said


@pytest.mark.parametrize(("limit", "least"), [(400, 3), (750, 8), (1_500, 20)])
def test_forty_tasks_leave_room_for_decisions_failures_and_calls_with_their_outcomes(limit, least):
    meter, said = brim.meter("gpt-4o"), book()
    made = continuation(said, goal="Write a book.")
    rows = made.text(meter, limit).splitlines()
    words = {word for message in said for word in str(message).replace("'", " ").replace('"', " ").split()}
    calls = [row for row in rows if row.startswith("- write_file")]
    tasks = [row for row in rows if "TODO" in row]
    assert meter.count("\n".join(rows)) <= limit
    assert "- The story is told in the first person, as a diary." in rows
    failed = [row for row in calls if "→ Error: disk quota exceeded at book/ch" in row]
    assert len(failed) == 2
    assert len(calls) >= least
    assert (f"[{40 - len(calls)} calls omitted]" in rows) is (len(calls) < 40)
    assert f"[{40 - len(tasks)} tasks omitted]" in rows
    for row in calls:
        _, arrow, outcome = row.partition(" → ")
        assert arrow, row
        assert {word for word in outcome.split() if word != "…"} <= words, "a word was cut"
    start = {"role": "user", "content": "\n".join(rows)}
    again = continuation([start], goal="Write a book.", previous=made)
    assert again.lines == made.lines, "its own text was read as what the user said"


def test_a_task_of_a_page_leaves_room_for_calls():
    """A task of 2,000 tokens filled a hand-over of 500: of twenty files that the agent worked on, two were named."""
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghijklmnop", k=7)) for _ in range(900)]
    task = "".join(
        f"Never use {words[i]} of {words[i + 1]} for {words[i + 2]}, see docs/{words[i]}.md. " for i in range(0, 300, 3)
    )
    said = [user(task)]
    for i in range(20):
        said += [calling(f"c{i}", arguments=f'{{"path": "src/part_{i}.py"}}'), result(f"c{i}", "ok")]
    text = continuation(said, goal="Go on.").text(METER, 500)
    assert text.count("src/part_") >= 4
    assert text.count("\n- ") >= 12
