import json

import pytest

import brim
from brim.history.note import NOTE_MARK, note, truncation

SHARES = {"CRITICAL": 3, "HIGH": 2, "MEDIUM": 2, "LOW": 0}


@pytest.mark.requirement("S2.26")
def test_the_line_is_as_it_was_agreed_to_the_last_character():
    line = "[CONTEXT_TRUNCATED] Included 7 of 19 history steps (12 omitted, budget: 200,000/200,000 chars)"
    assert note(7, 19, 200_000, 200_000, "chars") == line
    assert note(7, 19, 200_000, 200_000, "chars", SHARES) == (line + " [Priority: CRITICAL=3, HIGH=2, MEDIUM=2, LOW=0]")
    assert line.startswith(NOTE_MARK)


@pytest.mark.requirement("S2.26")
def test_the_unit_is_that_of_the_meter_and_classes_have_their_order_whatever_the_mapping_has():
    assert note(0, 1_200, 0, 8_000, "tokens", {"LOW": 1, "HIGH": 2}) == (
        "[CONTEXT_TRUNCATED] Included 0 of 1200 history steps (1200 omitted, budget: 0/8,000 tokens) "
        "[Priority: CRITICAL=0, HIGH=2, MEDIUM=0, LOW=1]"
    )


@pytest.mark.requirement("S2.31")
def test_a_receipt_tells_the_same():
    assert json.dumps(truncation(7, 19, 200_000, 200_000, SHARES)) == (
        '{"steps_included": 7, "steps_total": 19, "chars_used": 200000, "budget_chars": 200000, "truncated": true, '
        '"priority_aware": true, "priority_distribution": {"CRITICAL": 3, "HIGH": 2, "MEDIUM": 2, "LOW": 0}}'
    )


@pytest.mark.requirement("S2.31", "S2.34")
def test_a_step_that_was_cut_makes_the_budget_binding_too():
    whole = {"steps_included": 3, "steps_total": 3, "chars_used": 10, "budget_chars": 20, "priority_aware": False}
    assert truncation(3, 3, 10, 20) == {**whole, "truncated": False}
    assert truncation(3, 3, 10, 20, cut=True) == {**whole, "truncated": True}
    assert truncation(2, 3, 10, 20)["truncated"] is True


def test_a_note_that_came_between_a_call_and_its_result_is_no_step_and_hides_no_later_one():
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    asked, result = {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c"}
    said = [{"role": "user", "content": f"Question {i}. " + "word " * 60} for i in range(40)]
    earlier = [{"role": "user", "content": note(3, 9, 100, 200, "tokens")}]
    wait = [{"role": "user", "content": "Wait."}]
    for before, between in (([], []), ([], earlier), (earlier, wait)):
        task = {"role": "user", "content": "Task"}
        messages = [task, *before, asked, *between, {**result, "content": "ok"}, *said]
        receipt = brim.fit_messages(messages, budget=1_500, model="gpt-5").receipt
        assert receipt.history["context_truncation"]["steps_total"] == 42
