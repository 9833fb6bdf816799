"""Which results a later call supersedes."""

import json

import pytest

import brim
from brim.history.superseded import Superseded, access
from brim.history.turns import Turns
from brim.wire.message import Piece
from talk import answer, gives, item_output, result, says, user

METER = brim.meter("o200k_base")


def call(id, tool, **arguments):
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def run(*steps):
    """Return a run of calls, each with its result: tool, arguments, and what it printed."""
    made = [user("Go.")]
    for i, (tool, arguments, *printed) in enumerate(steps):
        made += [call(f"c{i}", tool, **arguments), result(f"c{i}", printed[0] if printed else f"text {i}")]
    return made


def superseded(messages, format="openai"):
    """Return the numbers of the calls whose results were superseded, each with that of the later call."""
    turns = Turns(METER, format=format)
    turns.extend(messages)
    found = Superseded(turns).by()
    return {(a - 2) // 2: (b - 2) // 2 for (a, _), (b, _) in found.items()}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("read_file", {"path": "a.py"}), ("read_file", {"path": "a.py"})], {0: 1}),
        ([("read_file", {"path": "a.py"}), ("read_file", {"path": "b.py"})], {}),
        ([("read_file", {"path": "a.py"}), ("write_file", {"path": "a.py", "text": "x"})], {0: 1}),
        ([("read_file", {"path": "a.py"}), ("edit_file", {"path": "a.py", "old": "x", "new": "y"})], {}),
        ([("write_file", {"path": "a.py", "text": "x"}), ("read_file", {"path": "a.py"})], {}),
        ([("Read", {"file_path": "a", "offset": 1}), ("Read", {"file_path": "a", "offset": 90})], {}),
        ([("Read", {"file_path": "a", "offset": 1}), ("Read", {"file_path": "a", "offset": 1})], {0: 1}),
        ([("Read", {"file_path": "a", "offset": 1}), ("Read", {"file_path": "a"})], {0: 1}),
        ([("Read", {"file_path": "a"}), ("Read", {"file_path": "a", "offset": 1})], {}),
        ([("Read", {"file_path": "a"}), ("Read", {"file_path": "a", "offset": None})], {0: 1}),
        ([("editor", {"command": "view", "path": "a"}), ("editor", {"command": "create", "path": "a"})], {0: 1}),
        ([("editor", {"command": "view", "path": "a"}), ("editor", {"command": "str_replace", "path": "a"})], {}),
        ([("bash", {"command": "git status"}), ("bash", {"command": "git status"})], {0: 1}),
        ([("bash", {"command": "git status"}), ("bash", {"command": "git log"})], {}),
        ([("bash", {"command": "ls src"}), ("bash", {"command": "ls docs"}), ("bash", {"command": "ls src"})], {0: 2}),
        ([("list_dir", {"path": "src"}), ("read_file", {"path": "x"}), ("list_dir", {"path": "src"})], {0: 2}),
        ([("read", {"path": "a"})] * 3, {0: 1, 1: 2}),
        ([("next_page", {})] * 3, {}),
        ([("read", {"path": "a"}), ("read", {"path": "a", "mode": "t"}, "Error: no such file: a")], {}),
        ([("bash", {"command": "make"}), ("bash", {"command": "make"}, "Error: no rule")], {0: 1}),
    ],
)
def test_the_newest_supersedes_the_older(steps, expected):
    assert superseded(run(*steps)) == expected


def test_the_formats_agree():
    steps = [("read_file", {"path": "a"}), ("bash", {"command": "ls"}), ("read_file", {"path": "a", "x": 1})]
    chat = run(*steps)
    blocks, items = [user("Go.")], [user("Go.")]
    for i, (tool, arguments) in enumerate(steps):
        blocks += [says({"type": "tool_use", "id": f"c{i}", "name": tool, "input": arguments})]
        blocks += [gives(answer(f"c{i}", f"text {i}"))]
        items += [{"type": "function_call", "call_id": f"c{i}", "name": tool, "arguments": json.dumps(arguments)}]
        items += [item_output(f"c{i}", f"text {i}")]
    assert superseded(chat) == superseded(blocks, "anthropic") == superseded(items, "responses") == {0: 2}


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", '{"path": 3}', '{"path": "a"', '{"a": ' * 9_000, '"a"'])
def test_arguments_that_name_no_file_are_none(text):
    assert access(Piece("call", text, ("a",), "c", "read_file")) is None


def test_a_history_that_grows_is_read_on():
    turns = Turns(METER)
    messages = run(("read", {"path": "a"}), ("read", {"path": "b"}), ("read", {"path": "a"}))
    index = Superseded(turns)
    for message in messages:
        turns.extend([message])
        found = dict(index.by())
    assert found == {(2, 0): (6, 0)}


def page(i, lines=60):
    return "\n".join(f"line {line} of version {i}, which says nothing of interest" for line in range(lines))


def test_an_older_copy_shrinks_first_and_says_so():
    messages = run(
        ("bash", {"command": "start"}, page("start")),
        ("read_file", {"path": "a.py"}, page("one")),
        ("read_file", {"path": "b.py"}, page("other")),
        ("read_file", {"path": "a.py", "mode": "text"}, page("two")),
        ("bash", {"command": "end"}, page("end")),
    )
    fitted = brim.fit_messages(messages, int(METER.count_messages(messages) * 0.85), meter=METER)
    assert [old is new for old, new in zip(messages, fitted.messages, strict=True)].count(False) == 1
    assert fitted.messages[4]["content"].startswith("[shown again later] ")
    assert len(fitted.messages[4]["content"]) < len(page("one")) / 2


def test_an_older_copy_is_not_among_the_newest_that_stay_whole():
    steps = [("bash", {"command": f"step {i}"}, page(f"step {i}")) for i in range(12)]
    steps += [("read", {"path": "a"}, page("one", 8)), ("read", {"path": "a", "x": 1}, page("two", 8))]
    messages = run(*steps, ("bash", {"command": "end"}, "done"))
    fitted = brim.fit_messages(messages, int(METER.count_messages(messages) * 0.2), meter=METER)
    shown = {message["tool_call_id"]: message["content"] for message in fitted.messages if message["role"] == "tool"}
    assert shown["c13"] == page("two", 8)
    assert shown["c12"].startswith("[shown again later] ")


def test_a_copy_that_fits_stays_as_it_is():
    messages = run(("read_file", {"path": "a.py"}, page("one")), ("read_file", {"path": "a.py", "x": 1}, page("two")))
    assert brim.fit_messages(messages, 5_000, meter=METER).messages == messages


def test_an_excerpt_that_stands_says_it_once_it_is_superseded():
    history = brim.History(meter=METER)
    history.extend(
        run(("read", {"path": "a"}, page("one")), *[("bash", {"command": f"s{i}"}, page(i)) for i in range(4)])
    )
    budget = 1_500
    before = str(history.fit(budget).messages)
    history.extend([call("z", "read", path="a", again=True), result("z", page("two", 5))])
    after = str(history.fit(budget).messages)
    assert "shown again later" not in before
    assert "shown again later" in after


def test_a_history_that_grew_sends_what_a_new_one_does():
    """What was worked out for a turn is discarded when a later result supersedes it."""
    listing = "\n".join(f"{i}: value_{i} = load('part_{i}.bin')" for i in range(60))
    steps = [("read_file", {"path": f"src/{'ab'[i % 2]}.py"}, f"{listing}\nversion_{i}") for i in range(8)]
    messages, grown = run(*steps), brim.History(meter=METER)
    for end in range(1, len(messages) + 1, 2):
        grown.extend(messages[max(0, end - 2) : end])
        sent = brim.fit_messages(messages[:end], budget=2_000, meter=METER).messages
        assert grown.fit(2_000).messages == sent
    assert sum("shown again later" in str(message["content"]) for message in sent) > 2
