"""The made-up conversation that all cases grow: a question, a call, its result and an answer are one turn."""

from __future__ import annotations

from random import Random
from typing import Any

Message = dict[str, Any]

METER = "o200k_base"
WINDOW = 32_000
BUDGET = 16_000
PER_TURN = 4
"""Messages of a turn."""


def turn(number: int) -> list[Message]:
    """Return the messages of one turn."""
    random = Random(number)
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": f'{{"n": {number}}}'}}
    asked = f"Question {number}: why did build {number * 7} fail? " + "word " * random.randint(1, 30)
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"/srv/m{number}.py: line\n" * random.randint(1, 20)},
        {"role": "assistant", "content": f"We decided to use queue {number}. " + "answer " * random.randint(1, 30)},
    ]


def turns(count: int, since: int = 0) -> list[Message]:
    """Return the messages of some turns."""
    return [message for number in range(since, since + count) for message in turn(number)]


def tools(count: int) -> list[Message]:
    """Return tool definitions as servers of tools bring them."""
    made = []
    for number in range(count):
        fields = {
            f"field_{i}": {"type": ("string", "integer")[i % 2], "description": f"The {i}th value of call {number}."}
            for i in range(6)
        }
        schema = {"type": "object", "properties": fields, "required": ["field_0"]}
        about = f"Reads table {number} of the warehouse and returns the rows that match."
        made.append(
            {"type": "function", "function": {"name": f"t{number}", "description": about, "parameters": schema}}
        )
    return made


def size(messages: list[Message]) -> int:
    """Return the characters that were said."""
    return sum(len(str(message.get("content") or message.get("tool_calls"))) for message in messages)
