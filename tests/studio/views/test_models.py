"""The models and the gateway of the demo."""


def test_models_have_their_source_and_gateway_requests_their_tokens_before_and_after(served):
    models = served.get("models")[1]["models"]
    row = next(model for model in models if model["id"] == "gpt-5")
    assert row["window"]
    assert row["source"]
    assert row["error"] == {"calls": 93, "mean": 0.0, "p95": 0.0, "under": 0.0}
    gateway = served.get("gateway")[1]
    assert {talk["id"].partition(".")[2] for talk in gateway["sessions"]} == {"support-bot", "code-agent"}
    cut = [each for each in gateway["requests"] if each.get("edits")]
    assert cut
    assert all(
        each["budget"] * 0.1 < each["after"] <= each["budget"] and each["after"] < each["before"] for each in cut
    )
    (one,) = gateway["gateways"]
    assert sum(one["ends"].values()) == len(gateway["requests"]) == one["newest"]
    assert 0 < one["overhead_ms"]["p50"] <= one["overhead_ms"]["p99"]
