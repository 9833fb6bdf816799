import json

import pytest

SMALL = "window: {size: 32000}\nbudgets: {context_budget_chars: 120000}\n"


def test_a_healthy_project_is_reported(brim, here):
    (here / "brim.yaml").write_text("model: gpt-5\n")
    done = brim("doctor")
    assert (done.code, done.out) == (0, "healthy; checked 1 settings file and 0 receipts\n")
    assert json.loads(brim("doctor", "--json").out)["healthy"] is True


@pytest.mark.requirement("S2.36")
def test_a_problem_comes_with_a_command_that_fixes_it(brim, here):
    (here / "brim.yaml").write_text(SMALL)
    done = brim("doctor")
    assert done.code == 1
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "wrong: budget close to the window"
    assert "93 % of the window of 32,000" in lines[1]
    assert lines[-1].startswith("1 problem")
    for line in lines:
        if line.startswith("  $ brim "):
            assert brim(*line.removeprefix("  $ brim ").split()).code == 0
    assert brim("doctor").code == 0


@pytest.mark.requirement("S2.3", "S2.36")
def test_the_receipts_of_a_run_are_looked_at(brim, here):
    (here / "flows").mkdir()
    steps = "".join(f"- {{id: s{i}, agent: fixer}}\n" for i in range(6))
    (here / "flows" / "build.yaml").write_text("budget_overrides: {preset: lean}\nsteps:\n" + steps)
    (here / "brim.yaml").write_text("")
    (here / "replies.yaml").write_text(json.dumps(["x" * 40_000] * 6))
    assert brim("flow", "run", "flows/build.yaml", "--script", "replies.yaml").code == 0
    for base in ("runs", "runs/build", "runs/build/receipts"):
        done = brim("doctor", "--receipts", base, "--json")
        assert done.code == 1
        told = json.loads(done.out)
        assert told["receipts"] == 6
        assert {finding["check"]: finding["commands"] for finding in told["findings"]} == {
            "the newest step cut": ["brim config set history_max_recent_chars 45000 --flow build"],
            "older steps cut": ["brim config set history_max_older_chars 40000 --flow build"],
        }


def test_fix_shows_the_diff_and_makes_the_change(brim, here):
    (here / "brim.yaml").write_text(SMALL)
    done = brim("doctor", "--fix")
    assert done.code == 0
    assert "-budgets: {context_budget_chars: 120000}" in done.out
    assert brim("doctor").code == 0


def test_a_symptom_of_one_step_is_mended_there(brim, here):
    (here / "brim.yaml").write_text("flows: {build: {steps: [{id: a}, {id: b}, {id: c}]}}\n")
    (here / "runs/build/receipts").mkdir(parents=True)
    for name, included in (("a", 5), ("b", 2), ("c", 5)):
        told = {"steps_included": included, "steps_total": 5, "chars_used": 9, "budget_chars": 200_000}
        values = {"step_id": name, "flow": "build", "context_truncation": {**told, "truncated": included < 5}}
        (here / f"runs/build/receipts/{name}.json").write_text(json.dumps(values))
    found = json.loads(brim("doctor", "--receipts", "runs", "--json").out)["findings"]
    early = next(each for each in found if each["check"] == "total budget is hit early")
    assert early["commands"] == ["brim config set context_budget_chars 500000 --flow build --step b"]
    brim("doctor", "--receipts", "runs", "--fix")
    shown = json.loads(brim("config", "show", "--flow", "build", "--step", "b", "--json").out)
    assert shown["values"]["context_budget_chars"]["value"] == 500_000
    shown = json.loads(brim("config", "show", "--flow", "build", "--step", "a", "--json").out)
    assert shown["values"]["context_budget_chars"]["value"] == 200_000
