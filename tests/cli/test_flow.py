import json

import pytest

from test_llm import server  # noqa: F401 - a fixture

FLOW = """\
flow: build
budget_overrides: {context_budget_chars: 12000}
steps:
  - {id: plan, agent: work-planner, task: Plan it., artifacts: [plan.md]}
  - {id: do, agent: code-implementer, teaching_notes: {inputs: [plan.md], constraints: [be brief]}}
"""


@pytest.fixture
def flow(here):
    (here / "flows").mkdir()
    path = here / "flows" / "build.yaml"
    path.write_text(FLOW)
    (here / "replies.yaml").write_text("- The plan.\n- Done.\n")
    return path


def test_a_flow_runs_from_a_script_and_leaves_a_receipt_for_each_step(brim, here, flow):
    done = brim("flow", "run", flow, "--script", "replies.yaml", "--run-base", "out")
    assert done.code == 0
    assert "build: done, 2 of 2 steps" in done.out
    assert "1/2 plan work-planner: ok, pack 35 chars, 9 chars out" in done.err
    assert done.err.count("warning: defaults: history_max_recent_chars of 60,000 chars is more than") == 1
    receipt = json.loads((here / "out/build/receipts/do-code-implementer.json").read_text())
    assert receipt["output"] == "Done."
    assert receipt["context_truncation"]["steps_included"] == 1


def test_the_answer_can_be_json(brim, flow):
    done = brim("flow", "run", flow, "--script", "replies.yaml", "--json")
    told = json.loads(done.out)
    assert told["ok"] is True
    assert [step["output"] for step in told["steps"]] == ["The plan.", "Done."]
    assert told["steps"][0]["receipt"] == "runs/build/receipts/plan-work-planner.json"
    assert told["report"]["prompts"] == 2


@pytest.mark.requirement("S0.18")
def test_a_step_that_fails_is_an_answer_of_no_and_is_reported(brim, here, flow):
    (here / "replies.yaml").write_text("- The plan.\n")
    done = brim("flow", "run", flow, "--script", "replies.yaml")
    assert done.code == 1
    assert "build: failed, 2 of 2 steps" in done.out
    assert "0 calls refused with HTTP 400, 1 steps failed" in brim("flow", "report", "runs").out
    assert json.loads(brim("flow", "report", "runs", "--flow", "build", "--json").out)["failed"] == 1
    none = brim("flow", "report", "elsewhere")
    assert (none.code, none.err) == (2, "brim: elsewhere: it has no receipts: receipts are in RUN_BASE/FLOW/receipts\n")
    other = brim("flow", "report", "runs", "--flow", "bild")
    assert (other.code, other.err) == (2, "brim: runs: it has no receipts for that flow, only for build\n")


def test_a_model_over_http_does_the_steps(brim, flow, monkeypatch, server):  # noqa: F811 - the fixture
    monkeypatch.setenv("MY_KEY", "sk-1")
    done = brim("flow", "run", flow, "--model-url", f"{server.url}/v1", "--model", "m", "--key", "MY_KEY", "--json")
    assert [step["output"] for step in json.loads(done.out)["steps"]] == ["Hello.", "Hello."]
    assert server.asked[1][2]["messages"][0]["content"].startswith("# Step do: code-implementer")


@pytest.mark.parametrize(
    ("arguments", "script", "told"),
    [
        ([], None, "set --model-url and --model, or --script"),
        (["--script", "replies.yaml", "--model", "m"], "- x\n", "--script cannot be combined with --model-url"),
        (["--script", "replies.yaml"], "- 7\n", "replies.yaml:1: a script must be a list of strings"),
        (["--script", "missing.yaml"], None, "missing.yaml: no such file"),
        (["--model-url", "nowhere", "--model", "m"], None, "url must be an address"),
        (["--script", "replies.yaml", "--profile", "nobody"], "- x\n- y\n", "no profile is called 'nobody'"),
    ],
)
def test_invalid_input_is_refused_in_one_line(brim, flow, arguments, script, told):
    if script is not None:
        (flow.parent.parent / "replies.yaml").write_text(script)
    done = brim("flow", "run", flow, *arguments)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
