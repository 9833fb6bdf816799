"""The demo is what brim itself records."""

SESSION, LOOP = "orders-incident", "orders-recount"


def test_the_demo_has_a_session_and_a_loop(served):
    store = served.workspace.store()
    assert [row.id for row in store.sessions()] == [SESSION, LOOP]


def test_the_demos_provider_counts_by_the_real_meter(served):
    store = served.workspace.store()
    for session in (SESSION, LOOP):
        entries = store.entries(session, kinds=["prompt", "usage"])
        pairs = list(zip(entries[::2], entries[1::2], strict=True))
        assert len(pairs) > 20
        for prompt, usage in pairs:
            assert usage.body["input"] == prompt.body["used"]
            assert usage.body["cached"] <= prompt.body["stable_prefix"] + 128
