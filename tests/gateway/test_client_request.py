"""The request of a body: what is refused, and how the length of its answer is lowered."""

import json

import pytest

from brim.gateway.client import parsed as client_request
from brim.gateway.client.body import json_value
from brim.gateway.http.problem import HttpProblem
from gateway.conftest import parsed


def test_a_body_with_too_many_values_is_refused_and_one_with_as_many_signs_in_its_text_is_not():
    said = {"role": "user", "content": '[{"a":[' * 2_000}
    assert parsed("chat", json.dumps({"model": "gpt-4o", "messages": [said]}).encode(), 1_000).problem == ""
    with pytest.raises(HttpProblem, match="the body has more than 1,000 values"):
        parsed("chat", json.dumps({"model": "gpt-4o", "messages": [said], "a": [1] * 2_000}).encode(), 1_000)


@pytest.mark.parametrize("digits", [401, 4_200, 500_000])
def test_a_number_whose_digits_take_the_square_of_their_length_is_refused(digits):
    body = b'{"model": "gpt-4o", "messages": [], "a": [' + b"1" * digits + b"]}"
    with pytest.raises(HttpProblem, match=r"a number of [\d,]+ digits"):
        parsed("chat", body, 1_000)
    assert json_value(body) is None
    assert json_value(body.replace(b"1" * digits, b"1" * 400)) is not None


def test_a_shorter_answer_takes_its_thinking_along():
    """`max_tokens` must be greater than `thinking.budget_tokens`."""
    body = {"thinking": {"type": "enabled", "budget_tokens": 31_999}, "messages": ["31999"], "max_tokens": 32_000}
    lowered = client_request.with_answer(json.dumps(body), 9_000)
    assert json.loads(lowered) == {**body, "max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 8_999}}
    again = json.loads(client_request.with_answer(lowered, 8_999 + 1))
    assert again == json.loads(lowered), "what is short enough stays"
