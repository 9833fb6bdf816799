"""Settings are shown with their origin, planned as a diff, saved and undone."""

import os

import pytest

import brim


@pytest.mark.requirement("S2.22")
def test_an_override_is_shown_as_a_diff_saved_with_its_comments_and_undone(own_demo):
    flow = os.path.join(own_demo.workspace.config, "flows", "build.yaml")
    with open(flow, encoding="utf-8") as file:
        before = file.read()
    asked = {"key": "context_budget_chars", "value": "21000", "flow": "build", "step": "code"}
    status, plan = own_demo.post("plan", **asked)
    assert status == 200
    assert "+      context_budget_chars: 21000   # needs the whole plan" in plan["diff"]
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before
    assert own_demo.post("save", plan=plan["id"])[0] == 200
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before.replace("18000", "21000")
    rows = own_demo.get("settings", flow="build", step="code")[1]["values"]
    row = next(row for row in rows if row["key"] == "context_budget_chars")
    assert (row["value"], row["origin"], row["override"], row["over"]["value"]) == (21_000, "step", True, 12_000)
    config = brim.load_config(own_demo.workspace.config)
    assert config.resolve(flow="build", step="code")["context_budget_chars"].value == 21_000
    assert own_demo.post("save", plan=plan["id"])[0] == 404
    assert own_demo.post("undo")[0] == 200
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before
    assert own_demo.post("undo")[0] == 404


def test_a_file_that_somebody_else_changed_is_not_overwritten(own_demo):
    flow = os.path.join(own_demo.workspace.config, "flows", "build.yaml")
    plan = own_demo.post("plan", key="context_budget_chars", value="21000", flow="build", step="code")[1]
    with open(flow, "a", encoding="utf-8") as file:
        file.write("# mine\n")
    status, told = own_demo.post("save", plan=plan["id"])
    assert status == 400
    assert "changed in the meantime" in told["problem"]


def test_an_invalid_value_is_refused_with_the_message_of_the_settings(served):
    status, told = served.post("plan", key="context_budget_chars", value="many", flow="build", step="code")
    assert status == 400
    assert "whole number" in told["problem"]
    assert served.post("plan", key="context_budget_chars", value=7, flow="build")[0] == 400
    assert served.post("plan", key="no_such_key", value="1")[0] == 404


def test_a_guardrail_that_moved_a_budget_warns_in_the_settings(served):
    shown = served.get("settings", flow="deploy")[1]
    row = next(row for row in shown["values"] if row["key"] == "context_budget_chars")
    assert any("lowered" in warning for warning in row["warnings"])
    assert not set(row["warnings"]) & set(shown["warnings"]), "it is shown once"


def test_an_override_is_removed_and_what_stands_below_holds_again(own_demo):
    plan = own_demo.post("plan", key="context_budget_chars", value=None, flow="build", step="code")[1]
    assert "-      context_budget_chars: 18000   # needs the whole plan" in plan["diff"]
    own_demo.post("save", plan=plan["id"])
    rows = own_demo.get("settings", flow="build", step="code")[1]["values"]
    row = next(row for row in rows if row["key"] == "context_budget_chars")
    assert (row["value"], row["origin"], row["own"]) == (12_000, "flow", "")
    status, told = own_demo.post("plan", key="context_budget_chars", value=None, flow="build", step="code")
    assert status == 400
    assert "is not set here, so it cannot be removed" in told["problem"]


def test_a_budget_has_its_bounds_and_a_plan_tells_where_it_lands_and_what_still_overrides_it(own_demo):
    rows = own_demo.get("settings", flow="build", step="code")[1]["values"]
    bounds = {row["key"]: row["bounds"] for row in rows if row["bounds"]}
    assert bounds == {
        "context_budget_chars": [10_000, 600_000],
        "history_max_recent_chars": [1_000, 600_000],
        "history_max_older_chars": [500, 600_000],
    }
    plan = own_demo.post("plan", key="context_budget_chars", value="15000", flow="build")[1]
    assert plan["layer"] == "flow"
    assert plan["path"].endswith("flows/build.yaml")
    assert (plan["applies"]["value"], plan["applies"]["origin"]) == (15_000, "flow")
    step = own_demo.get("settings", profile="flow", flow="build", step="code")[1]["values"]
    assert next(row for row in step if row["key"] == "history.selection")["value"] == "priority"
