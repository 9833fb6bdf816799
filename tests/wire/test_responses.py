import pytest

from brim.errors import InvalidValue
from brim.history.turns import Turns
from brim.testing import CharMeter
from brim.wire import wire
from talk import item_call, item_output, png, reasoning, user

RESPONSES = wire("responses")
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64," + png()}
SHELL = [{"stdout": "files", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]


def message(*content, role="user"):
    return {"type": "message", "role": role, "content": list(content)}


def units(*items):
    turns = Turns(CharMeter(), format="responses")
    turns.extend(items)
    return turns.units


@pytest.mark.parametrize(
    ("raw", "role", "expected"),
    [
        (user("hello"), "user", [("text", "hello")]),
        ({"role": "developer", "content": "rules"}, "system", [("text", "rules")]),
        ({"role": "system", "content": "rules"}, "system", [("text", "rules")]),
        ({"role": "assistant", "content": None}, "assistant", []),
        (message(), "user", []),
        (message({"type": "input_text", "text": "hello"}), "user", [("text", "hello")]),
        (
            message({"type": "output_text", "text": "so", "annotations": []}, role="assistant"),
            "assistant",
            [("text", "so")],
        ),
        (message({"type": "refusal", "refusal": "no"}, role="assistant"), "assistant", [("text", "no")]),
        (message({"type": "input_image", "image_url": "data:x", "detail": "low"}), "user", [("image", "data:x")]),
        (message({"type": "input_image", "file_id": "f"}), "user", [("image", "")]),
        (message({"type": "input_file", "file_data": "AAAA"}), "user", [("file", "AAAA")]),
        (message({"type": "hologram", "at": 3}), "user", [("opaque", '{"type":"hologram","at":3}')]),
        (item_call("a", '{"x":1}'), "assistant", [("call", '{"x":1}')]),
        (item_output("a", "out"), "tool", [("result", ""), ("output", "out")]),
        (
            item_output("a", [{"type": "input_text", "text": "out"}, {"type": "input_image", "image_url": "data:x"}]),
            "tool",
            [("result", ""), ("output", "out"), ("image", "data:x")],
        ),
        (reasoning("hm"), "assistant", [("thinking", "hm")]),
        ({"type": "reasoning", "id": "rs", "summary": []}, "assistant", [("thinking", "")]),
        ({"type": "item_reference", "id": "i"}, "assistant", [("opaque", '{"type":"item_reference","id":"i"}')]),
        ({"type": "novelty", "x": 1}, "assistant", [("opaque", '{"type":"novelty","x":1}')]),
    ],
)
def test_an_item_is_read_into_its_pieces(raw, role, expected):
    read = RESPONSES.read(raw, 0)
    assert read.role == role
    assert [(piece.kind, piece.text) for piece in read.pieces] == expected
    assert read.raw is raw


PAIRS = [
    (item_call("c"), item_output("c")),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "p", "input": "*** x"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
    ),
    (
        {"type": "computer_call", "id": "i", "call_id": "c", "pending_safety_checks": [], "action": {"type": "wait"}},
        {"type": "computer_call_output", "call_id": "c", "output": SCREEN},
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "c", "output": SHELL},
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "completed"},
    ),
    # The output of a local shell names the call by `id`.
    (
        {
            "type": "local_shell_call",
            "id": "i",
            "call_id": "c",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "id": "c", "output": "files"},
    ),
    (
        {"type": "program", "id": "i", "call_id": "c", "code": "f()", "fingerprint": "x"},
        {"type": "program_output", "id": "j", "call_id": "c", "result": "ok", "status": "completed"},
    ),
    (
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []},
    ),
]


@pytest.mark.parametrize(("call", "output"), PAIRS, ids=[call["type"] for call, _ in PAIRS])
def test_every_kind_of_call_is_joined_to_its_output(call, output):
    asked, given = RESPONSES.read(call, 0), RESPONSES.read(output, 1)
    assert (asked.role, asked.calls, asked.results) == ("assistant", ("c",), ())
    assert (given.role, given.calls, given.results) == ("tool", (), ("c",))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}},
        {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "arguments": "{}", "output": "x"},
        {"type": "compaction", "encrypted_content": "xxxx"},
    ],
    ids=lambda item: item["type"],
)
def test_what_the_server_did_by_itself_waits_for_nothing(item):
    read = RESPONSES.read(item, 0)
    assert (read.calls, read.results, read.raw) == ((), (), item)


def test_a_screenshot_is_counted_as_an_image_and_never_as_text():
    (small,) = units({"type": "computer_call", "call_id": "c", "action": {}}, PAIRS[2][1])[1:]
    padded = {**PAIRS[2][1], "output": {**SCREEN, "image_url": SCREEN["image_url"] + "A" * 4_000}}
    assert units({"type": "computer_call", "call_id": "c", "action": {}}, padded)[1:] == [small]


def test_an_image_that_was_made_is_counted_as_an_image_and_never_as_text():
    made = {"type": "image_generation_call", "id": "i", "status": "completed", "result": png()}
    assert units({**made, "result": png() + "A" * 4_000}) == units(made)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "program", "id": "i", "call_id": "c", "fingerprint": "x", "code": "word " * 80},
        {"type": "computer_call", "call_id": "c", "actions": [{"type": "type", "text": "word " * 80}]},
        {"type": "novel_call", "call_id": "c", "payload": "word " * 80},
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["word " * 80]}},
    ],
    ids=lambda item: item["type"],
)
def test_whatever_a_call_says_is_counted(item):
    (counted,) = units(item)
    assert counted >= 400


def test_an_id_is_counted_where_it_is_longer_than_a_label():
    one, label, more = (sum(units({"type": "novel_call", "call_id": "c", "id": "i" * n})) for n in (1, 64, 65))
    assert one == label <= more - 65


@pytest.mark.parametrize(
    "item",
    [
        {"type": "program_output", "id": "j", "call_id": "c", "result": "word " * 80, "status": "completed"},
        {"type": "shell_call_output", "call_id": "c", "output": [{**SHELL[0], "stdout": "word " * 80}]},
        {"type": "novel_call_output", "call_id": "c", "payload": "word " * 80},
        {"type": "tool_search_output", "call_id": "c", "tools": [{"name": "f", "description": "word " * 80}]},
    ],
    ids=lambda item: item["type"],
)
def test_whatever_an_output_says_is_counted(item):
    assert units(item_call("c"), item)[1] >= 400


def test_sealed_reasoning_costs_no_less_for_a_summary_beside_it():
    (bare,) = units({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x" * 400})
    (told,) = units(reasoning("hm", encrypted_content="x" * 400))
    assert told >= bare > 0


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (None, "messages[7]"),
        ("hello", "messages[7]"),
        ({"type": 5}, "messages[7] type"),
        ({"content": "x"}, "messages[7] role"),
        ({"type": "message", "role": "tool", "content": "x"}, "messages[7] role"),
        ({"role": "user", "content": 5}, "messages[7] content"),
        ({"role": "user", "content": {"type": "input_text", "text": "x"}}, "messages[7] content"),
        (message(5), "messages[7] content[0]"),
        (message({"type": "odd", "x": {1}}), "messages[7] content[0]"),
        (item_call(5), "messages[7] call_id"),
        (item_output(5), "messages[7] call_id"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "messages[7] call_id"),
        (item_call("a", {"x": {1}}), "messages[7] arguments"),
        ({"type": "novelty", "x": object()}, "messages[7]"),
    ],
)
def test_an_item_that_cannot_be_is_refused_by_its_index_and_what_is_wrong(raw, place):
    with pytest.raises(InvalidValue) as caught:
        RESPONSES.read(raw, 7)
    assert caught.value.place == place
