"""The request of a body: what is refused, and how the length of its answer is lowered."""

import json

from brim.gateway.client import parsed as client_request


def test_a_shorter_answer_takes_its_thinking_along():
    """`max_tokens` must be greater than `thinking.budget_tokens`."""
    body = {"thinking": {"type": "enabled", "budget_tokens": 31_999}, "messages": ["31999"], "max_tokens": 32_000}
    lowered = client_request.with_answer(json.dumps(body), 9_000)
    assert json.loads(lowered) == {**body, "max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 8_999}}
    again = json.loads(client_request.with_answer(lowered, 8_999 + 1))
    assert again == json.loads(lowered), "what is short enough stays"
