"""The timeline has every prompt with its cost."""

import pytest

import brim

SESSION, LOOP = "orders-incident", "orders-recount"


def test_a_timeline_has_a_point_for_each_prompt_and_marks_what_happened(served):
    told = served.get("timeline", session=SESSION)[1]
    assert len(told["points"]) == told["status"]["prompts"]
    assert all(0 < point["used"] <= point["budget"] for point in told["points"])
    assert all(sum(point["categories"].values()) == point["used"] for point in told["points"])
    kinds = [mark["kind"] for mark in told["marks"]]
    assert kinds.count("compaction") == told["status"]["compactions"] == 2
    loop = served.get("timeline", session=LOOP)[1]
    assert [mark["kind"] for mark in loop["marks"]].count("sub_tick") == loop["status"]["sub_ticks"] == 2


def test_the_cost_of_a_call_is_that_of_the_catalogue_or_unknown(served, alone):
    points = served.get("timeline", session=SESSION)[1]["points"]
    for point in points:
        fresh = point["input"] - point["cached"]
        expected = (fresh * 1.25 + point["cached"] * 0.125 + point["output"] * 10) / 1e6
        assert point["cost_usd"] == pytest.approx(expected, abs=1e-8)
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, meter="o200k_base", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.record_usage(input_tokens=session.prompt().used, output_tokens=2)
    assert alone.get("timeline", session="s")[1]["points"][0]["cost_usd"] is None


def test_usage_of_several_passes_is_not_the_size_of_one_prompt(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.prompt()
    for usage, reported in (({"input": 9}, 9), ({"input": 27, "passes": 3}, None)):
        store.append("s", [("usage", usage)])
        assert alone.get("timeline", session="s")[1]["points"][0]["size"]["reported"] == reported
