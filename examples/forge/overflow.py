"""Nine points at which a run overflowed: 16,385 tokens for a window of 16,384."""

from __future__ import annotations

import json
from typing import Any

from server import METER, TOOLS

PARTS = {"system": 1_500, "user": 5_000, "tools within the turn": 6_000, "reasoning": 1_300}
PAIRS = 15
POINTS = 9


def point(n: int) -> list[dict[str, Any]]:
    """Return the messages at one of the points: the tools stand beside them, with about 500 tokens."""
    said = [
        {"role": "system", "content": _text("You are the Worker.", PARTS["system"])},
        {"role": "user", "content": _text(f"Rule {n}: the audit database must be initialised.", PARTS["user"])},
    ]
    for i in range(PAIRS):
        call = {"id": f"call_{n}_{i}", "type": "function", "function": {"name": "run_check", "arguments": "{}"}}
        said += [
            {"role": "assistant", "content": _text(f"Step {i}.", PARTS["reasoning"] // PAIRS), "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": _text(
                    json.dumps({"exit": i % 3, "step": i, "point": n}), PARTS["tools within the turn"] // PAIRS
                ),
            },
        ]
    return said


def padded(n: int) -> list[dict[str, Any]]:
    """Return a point with as much more reasoning as made it 16,385, which the parts' estimates did not foresee."""
    said = point(n)
    missing = 16_385 - METER.count_messages(said, TOOLS)
    said[-2]["content"] += " so" * missing
    return said


def _text(start: str, tokens: int) -> str:
    """Return a text of about that many tokens."""
    words = " aide --init reads /etc/aide.conf and writes the database anew;"
    return start + words * ((tokens - METER.count(start)) // METER.count(words))
