"""The demo is what brim itself records."""

import json

import pytest

SESSION, LOOP = "orders-incident", "orders-recount"


@pytest.mark.slow
def test_what_the_demo_says_of_a_gateway_is_what_a_gateway_writes_today():
    """The recording is of a real run; run again, it is the same."""
    import importlib.util
    from pathlib import Path

    place = Path(__file__).resolve().parents[2] / "scripts" / "record_demo.py"
    spec = importlib.util.spec_from_file_location("record_demo", place)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert json.loads(script.PATH.read_text(encoding="utf-8")) == json.loads(json.dumps(script.recorded()))


def test_the_demo_has_a_session_a_loop_and_two_conversations_of_a_gateway(served):
    """A check of the wheel expected two sessions when there were four, and nobody noticed."""
    store = served.workspace.store()
    assert [row.id.rpartition(".")[2] for row in store.sessions()] == [SESSION, LOOP, "support-bot", "code-agent"]


def test_the_demos_provider_counts_by_the_real_meter(served):
    store = served.workspace.store()
    for session in (SESSION, LOOP):
        entries = store.entries(session, kinds=["prompt", "usage"])
        pairs = list(zip(entries[::2], entries[1::2], strict=True))
        assert len(pairs) > 20
        for prompt, usage in pairs:
            assert usage.body["input"] == prompt.body["used"]
            assert usage.body["cached"] <= prompt.body["stable_prefix"] + 128
