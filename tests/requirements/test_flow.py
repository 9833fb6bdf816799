"""The requirements of the flow profile that are about the history of steps."""

import pytest

import brim
from brim.history.note import note
from brim.history.priority import DEFAULT, Class


def steps(*rows):
    """Return steps as messages: who made each, and what came out."""
    task = {"role": "user", "content": "Ship it."}
    made = [{"role": "assistant", "name": agent, "content": output} for agent, output in rows]
    return [task, *made, {"role": "user", "content": "Go on."}]


def kept(fitted, messages):
    """Return the indexes of the messages that stay as they are."""
    return [i for i, message in enumerate(messages) if any(message is m for m in fitted.messages)]


@pytest.mark.requirement("S2.18")
def test_steps_are_taken_newest_first_each_up_to_its_cap_and_an_omission_is_noted():
    messages = steps(*(("fixer", f"{i} " * 300) for i in range(9)))
    fitted = brim.fit_messages(messages, 3_000, meter="chars", older=500)
    whole = [m for m in fitted.messages if m.get("role") == "assistant"]
    assert 3 <= len(whole) < 9
    assert all(len(m["content"]) <= 500 for m in whole)
    assert [m["content"][0] for m in whole] == [str(i) for i in range(9 - len(whole), 9)]
    assert any(m["content"].startswith("[CONTEXT_TRUNCATED]") for m in fitted.messages)


@pytest.mark.requirement("S2.26")
def test_the_note_is_exact_in_the_prompt_and_in_the_receipt_and_absent_when_nothing_is_omitted():
    golden = "[CONTEXT_TRUNCATED] Included 7 of 19 history steps (12 omitted, budget: 200,000/200,000 chars)"
    assert note(7, 19, 200_000, 200_000, "chars") == golden
    told = dict(zip(("CRITICAL", "HIGH", "MEDIUM", "LOW"), (3, 2, 2, 0), strict=True))
    shares = " [Priority: CRITICAL=3, HIGH=2, MEDIUM=2, LOW=0]"
    assert note(7, 19, 200_000, 200_000, "chars", told) == golden + shares
    messages = steps(*(("fixer", "x" * 400) for _ in range(6)))
    fitted = brim.fit_messages(messages, 1_500, meter="chars")
    said = [m["content"] for m in fitted.messages if m["content"].startswith("[CONTEXT_TRUNCATED]")]
    assert said == [fitted.receipt.history["note"]]
    assert f"/{1_500:,} chars)" in said[0]
    assert brim.fit_messages(messages, 9_000, meter="chars").receipt.history["note"] == ""


@pytest.mark.requirement("S2.27")
def test_every_listed_agent_has_its_class():
    sizes = {name: len(agents) for name, agents in DEFAULT.agents.items()}
    assert sizes == {"CRITICAL": 10, "HIGH": 15, "MEDIUM": 7, "LOW": 13}
    assert {DEFAULT.of(f"{name}-critic") for name in ("requirements", "design", "test", "code", "ux")} == {
        Class.CRITICAL
    }
    assert Class.CRITICAL > Class.HIGH > Class.MEDIUM > Class.LOW


@pytest.mark.requirement("S2.28")
def test_an_old_critical_step_is_kept_before_a_recent_low_one():
    messages = steps(("design-critic", "c" * 400), *(("doc-writer", "l" * 400) for _ in range(5)))
    fitted = brim.fit_messages(messages, 800, meter="chars", select="priority")
    assert 1 in kept(fitted, messages)
    assert not any(i in kept(fitted, messages) for i in range(2, 7))


@pytest.mark.requirement("S2.29")
def test_what_stays_is_in_the_order_of_the_conversation():
    rows = [("doc-writer", "l" * 200), ("code-critic", "c" * 200), ("fixer", "m" * 200), ("test-author", "h" * 200)] * 3
    messages = steps(*rows)
    fitted = brim.fit_messages(messages, 1_800, meter="chars", select="priority")
    place = {id(message): i for i, message in enumerate(messages)}
    order = [place[id(message)] for message in fitted.messages if id(message) in place]
    assert order == sorted(order)
    assert fitted.receipt.history["context_truncation"]["priority_distribution"]["CRITICAL"] == 6


@pytest.mark.requirement("S2.30")
@pytest.mark.parametrize(
    ("step", "output", "expected"),
    [
        ("design_critic", None, Class.CRITICAL),
        ("2-decider", None, Class.CRITICAL),
        ("implement", None, Class.HIGH),
        ("critical_path_notes", None, Class.MEDIUM),
        ("quadrant", None, Class.MEDIUM),
        ("latest_notes", None, Class.MEDIUM),
        (None, "The decision is to go.", Class.HIGH),
        (None, "A summary of what was said", Class.LOW),
        (None, "indecision", Class.MEDIUM),
    ],
)
def test_unknown_agents_are_told_by_whole_words(step, output, expected):
    assert DEFAULT.of("somebody-new", step, output) is expected


@pytest.mark.requirement("S2.31")
def test_the_receipt_has_the_truncation_of_the_context():
    messages = steps(*(("fixer", "x" * 400) for _ in range(6)))
    told = brim.fit_messages(messages, 1_500, meter="chars", select="priority").receipt.history["context_truncation"]
    assert told["steps_total"] == 8
    assert 0 < told["steps_included"] < 8
    assert told["chars_used"] <= told["budget_chars"] == 1_500
    assert told["truncated"] is told["priority_aware"] is True
    assert sum(told["priority_distribution"].values()) == told["steps_included"]


@pytest.mark.requirement("S2.34")
def test_a_step_that_was_only_cut_is_truncation_too():
    messages = steps(("fixer", "word " * 400))
    fitted = brim.fit_messages(messages, 9_000, meter="chars", older=300)
    told = fitted.receipt.history["context_truncation"]
    assert told["steps_included"] == told["steps_total"]
    assert told["truncated"]
    assert fitted.receipt.history["note"] == ""


@pytest.mark.requirement("S3.10")
def test_a_call_is_never_parted_from_its_result():
    messages = [{"role": "user", "content": "task"}]
    for i in range(12):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": "r" * 90},
        ]
    for budget in range(160, 1_400, 37):
        out = brim.fit_messages(messages, budget, meter="chars").messages
        calls = [call["id"] for m in out for call in m.get("tool_calls", ())]
        assert calls == [m["tool_call_id"] for m in out if m["role"] == "tool"]
