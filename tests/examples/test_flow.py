import json
import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tmp_path_factory.mktemp("here")


@pytest.fixture(scope="module")
def told(here):
    return run("flow", here)


@pytest.fixture(scope="module")
def receipts(told, here):
    folder = here / "runs" / "build" / "receipts"
    return {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}


@pytest.mark.requirement("S2.32")
def test_each_step_leaves_its_receipt_with_the_truncation_of_its_context(receipts):
    assert len(receipts) == 10
    merge = receipts["merge-merge-decider"]
    assert (merge["step_id"], merge["engine"], merge["status"]) == ("merge", "brim", "ok")
    assert merge["context_truncation"]["truncated"] is True
    assert merge["context_truncation"]["steps_total"] == 9
    for receipt in receipts.values():
        assert receipt["context_truncation"]["chars_used"] <= receipt["budget_chars"]
        assert receipt["output"].count("\n") == 59


@pytest.mark.requirement("S2.19", "S2.21")
def test_the_step_stands_above_the_flow_above_the_profile_above_the_project(receipts):
    budgets = {name: receipt["budget_chars"] for name, receipt in receipts.items()}
    assert budgets.pop("context-context-loader") == 24_000
    assert set(budgets.values()) == {14_000}
    older = receipts["review-code-critic"]["steps"][:-1]
    assert {step["state"] for step in older} == {"cut"}
    assert max(step["used_chars"] for step in older) < 2_600


@pytest.mark.requirement("S2.8")
def test_the_curator_fails_once_and_the_flow_goes_on(told, receipts):
    failed = [name for name, r in receipts.items() if r["curator"]["reason"] == "the curator failed: busy"]
    assert failed == ["context-context-loader"]
    assert "files: none; curator.enabled is false" in told
    assert "build: done, 10 of 10 steps" in told


@pytest.mark.requirement("S2.26", "S2.27", "S2.28")
def test_agents_of_all_four_classes_take_part_and_low_ones_go_first(told, receipts):
    classes = {step["agent"]: step["class"] for receipt in receipts.values() for step in receipt["steps"]}
    assert set(classes.values()) == {"CRITICAL", "HIGH", "MEDIUM", "LOW"}
    report = receipts["report-gh-reporter"]
    states = {step["step_id"]: step["state"] for step in report["steps"]}
    assert states["signal"] == states["docs"] == "omitted"
    assert states["code"] != "omitted"
    assert re.search(
        r"\[CONTEXT_TRUNCATED\] Included 4 of 8 history steps \(4 omitted, budget: [\d,]+/14,000 chars\)", told
    )
    assert report["note"] in told
