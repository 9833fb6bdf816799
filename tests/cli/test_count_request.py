import json
from pathlib import Path

import pytest

import brim as library
from talk import answer, calling, gives, loop, result, says, system, text, use, user

TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string", "description": "What."}}},
    },
}
CHAT = [system("s" * 10), user("u" * 20), calling("c1", text="a" * 30), result("c1", "r" * 40)]


@pytest.mark.usefixtures("here")
def test_a_request_is_counted_by_role(brim):
    Path("request.json").write_text(json.dumps({"messages": CHAT}))
    assert brim("count", "--request", "request.json", "-m", "chars").out == (
        "chars   share   part\n"
        "────────────────────────────\n"
        "   10      9%   system\n"
        "   20     19%   user\n"
        "   33     32%   assistant\n"
        "   40     38%   tool results\n"
        "\n103 chars in 4 messages (chars, exact)\n"
    )


def test_the_sum_is_that_of_the_meter_with_tools_and_framing(brim):
    body = {"model": "gpt-4o", "messages": [system(), *loop(3, 90)], "tools": [TOOL]}
    told = brim("count", "--request", "-", stdin=json.dumps(body).encode())
    total = library.meter("gpt-4o").count_messages(body["messages"], body["tools"])
    assert told.out.endswith(f"\nabout {total} tokens in 8 messages (o200k_base, an estimate)\n")
    parts = [line.split() for line in told.out.splitlines()[2:-2]]
    assert sum(int(row[0]) for row in parts) == total
    assert [row[2] for row in parts] == ["system", "user", "assistant", "tool", "tools", "framing"]
    assert brim("count", "--request", stdin=json.dumps(body).encode()) == told


def test_json_has_every_part(brim):
    blocks = [user("u" * 20), says(text("a" * 30), use("c1")), gives(answer("c1", "r" * 40))]
    body = json.dumps({"messages": blocks, "system": "s" * 10}).encode()
    assert json.loads(brim("count", "--request", "-m", "chars", "--json", stdin=body).out) == {
        "total": 103,
        "parts": {"system": 10, "user": 20, "assistant": 33, "tool_results": 40, "tools": 0, "fields": 0, "framing": 0},
        "messages": 3,
        "upper": 103,
        "unit": "chars",
        "meter": "chars",
        "exact": True,
    }
