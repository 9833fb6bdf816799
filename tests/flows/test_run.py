import json
import os
import re

import pytest

import brim
from brim.errors import InvalidValue, SourceError, UnknownName
from brim.flows import flow_of, report, run_flow
from brim.flows.receipts import read_step_receipt, receipt_paths, safe, write_step_receipt
from brim.llm import Reply, Usage
from brim.testing import Scripted

AGENTS = ("code-critic", "work-planner", "fixer", "doc-writer")


def project(tmp_path, steps=3, more=""):
    (tmp_path / "flows").mkdir(exist_ok=True)
    (tmp_path / "brim.yaml").write_text(
        "budgets: {context_budget_chars: 12000, history_max_recent_chars: 5000, history_max_older_chars: 1000}\n"
        "history: {selection: priority, agents: flow}\n" + more
    )
    rows = [
        f"  - {{id: '{i}', agent: {AGENTS[i % 4]}, artifacts: [out/{i}.md], teaching_notes: {{emphasizes: part {i}}}}}\n"
        for i in range(steps)
    ]
    path = tmp_path / "flows" / "build.yaml"
    path.write_text("flow: build\nsteps:\n" + "".join(rows))
    return path


@pytest.mark.requirement("S2.6")
def test_the_pack_is_the_whole_context_of_a_step(tmp_path):
    config, name = flow_of(str(project(tmp_path, 2)))
    model = Scripted(["The first answer.", "The second."])
    run_flow(config, name, model)
    assert model.asked == [
        "# Step 0: code-critic\n\n## Emphasizes\n- part 0",
        "# Step 1: work-planner\n\n## Emphasizes\n- part 1\n\n"
        "# History\n\n## Step 0: code-critic [OK]\nThe first answer.\n\n"
        "# Upstream artifacts\n- out/0.md (step 0)\n\n"
        "# Scent trail\nStep 0: code-critic [OK]\nNow: step 1 (2 of 2) of the flow build",
    ]


def test_a_second_run_sees_the_codebase_of_the_first_and_not_its_receipts(tmp_path):
    """`brim flow run . --root .`: the receipts of the first run were files of the second."""
    config, name = flow_of(str(project(tmp_path, 3)))
    (tmp_path / "part.py").write_text("def part(): ...\n")
    asked = []
    for _ in range(2):
        model = Scripted(["The part of the first.", "The part of the second.", "The third."])
        outcome = run_flow(config, name, model, root=tmp_path, run_base=tmp_path / "runs")
        asked.append(model.asked)
    assert asked[0] == asked[1]
    assert {file["path"] for file in outcome.steps[2].receipt["files"]} == {"part.py", "flows/build.yaml"}


@pytest.mark.requirement("S2.11", "S2.31", "S2.32")
def test_a_receipt_has_its_place_its_engine_its_step_and_the_full_output(tmp_path):
    config, name = flow_of(str(project(tmp_path, 2)))
    long = "o" * 300_000
    ticks = iter(range(100))
    model = Scripted([Reply(text=long, usage=Usage(input=9, output=5)), "short"])
    outcome = run_flow(config, name, model, run_base=tmp_path / "runs", clock=lambda: next(ticks))
    path = tmp_path / "runs" / "build" / "receipts" / "0-code-critic.json"
    assert outcome.steps[0].path == str(path)
    told = json.loads(path.read_text())
    assert told["output"] == long
    assert (told["engine"], told["step_id"], told["agent"], told["status"]) == ("brim", "0", "code-critic", "ok")
    assert told["usage"] == {"input_tokens": 9, "output_tokens": 5}
    second = read_step_receipt(str(path.parent / "1-work-planner.json"))
    assert second["context_truncation"] == {
        "steps_included": 1,
        "steps_total": 1,
        "chars_used": 5_000 + len("# History\n\n## Step 0: code-critic [OK]\n"),
        "budget_chars": 12_000,
        "truncated": True,
        "priority_aware": True,
        "priority_distribution": {"CRITICAL": 1, "HIGH": 0, "MEDIUM": 0, "LOW": 0},
    }


@pytest.mark.requirement("S2.12")
def test_an_answer_that_was_cut_off_fails_its_step_and_ends_the_flow(tmp_path):
    config, name = flow_of(str(project(tmp_path, 3)))
    model = Scripted(["fine", Reply(text="half an ans", stop="length", usage=Usage(output=4_096)), "never asked"])
    seen = []
    outcome = run_flow(config, name, model, run_base=tmp_path / "runs", watch=seen.append)
    assert not outcome.ok
    assert [ran.status for ran in outcome.steps] == ["ok", "failed"] == [ran.status for ran in seen]
    assert outcome.reason.startswith(
        "step 1 (work-planner): the answer was cut off at the model's limit after 4,096 tokens"
    )
    told = read_step_receipt(outcome.steps[1].path)
    assert (told["status"], told["output"], told["stop"]) == ("failed", "half an ans", "length")
    assert len(model.asked) == 2


def test_notes_that_do_not_fit_fail_the_step_with_the_numbers(tmp_path):
    path = project(tmp_path, 1)
    text = f"flow: build\nmodel: gpt-4o\nwindow: {{size: 1500}}\nsteps:\n  - {{id: a, agent: fixer, task: {'t ' * 9_000}}}\n"
    path.write_text(text)
    config, name = flow_of(str(path))
    outcome = run_flow(config, name, Scripted([]), run_base=tmp_path / "runs")
    assert re.search(r"the teaching notes take \d,\d{3} tokens and the pack may take 1,500", outcome.reason)
    assert read_step_receipt(outcome.steps[0].path)["status"] == "failed"


@pytest.mark.requirement("S2.32")
@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        ".hidden",
        "a/b",
        "a\\b",
        "nul\0",
        "new\nline",
        "x" * 500,
        "é" * 200,
        "日本",
        "\ud800",
    ],
)
def test_an_id_never_leads_out_of_the_directory(tmp_path, name):
    path = receipt_paths(str(tmp_path / "runs"), name, [(name, name)])[name]
    write_step_receipt(path, {"step_id": name, "agent": name})
    assert os.path.realpath(path).startswith(os.path.realpath(tmp_path / "runs") + os.sep)
    assert os.path.dirname(path) == str(tmp_path / "runs" / safe(name) / "receipts")
    assert len(os.path.basename(path)) < 200
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    assert read_step_receipt(path) == json.loads(json.dumps({"step_id": name, "agent": name}))


@pytest.mark.requirement("S2.32")
def test_two_steps_never_share_a_receipt_and_that_is_seen_before_any_runs(tmp_path):
    path = project(tmp_path)
    path.write_text("flow: build\nsteps:\n  - {id: a-b, agent: c}\n  - {id: a, agent: b-c}\n")
    config, name = flow_of(str(path))
    model = Scripted(["x", "y"])
    with pytest.raises(InvalidValue, match="both receipts would have the same file name"):
        run_flow(config, name, model, run_base=tmp_path / "runs")
    assert model.asked == []


def test_a_resumed_run_leaves_no_receipt_of_a_later_step_of_the_earlier_run(tmp_path):
    path, base = project(tmp_path, 3), tmp_path / "runs"
    config, name = flow_of(str(path))
    assert run_flow(config, name, Scripted(["a", "b", "c"]), run_base=base).ok
    path.write_text(path.read_text().replace("part 1", "another part"))
    config, name = flow_of(str(path))
    outcome = run_flow(config, name, Scripted([]), run_base=base, resume=True)
    assert [step.status for step in outcome.steps] == ["ok", "failed"]
    assert sorted(os.listdir(base / "build" / "receipts")) == ["0-code-critic.json", "1-work-planner.json"]


@pytest.mark.parametrize("artifacts", ["docs/x.md", [7], None])
def test_artifacts_must_be_a_list_of_paths(tmp_path, artifacts):
    """Each letter of "docs/x.md" was listed as a file of an earlier flow."""
    config, name = flow_of(str(project(tmp_path)))
    with pytest.raises(InvalidValue, match="artifacts must be a list of strings"):
        run_flow(config, name, Scripted([]), artifacts=artifacts)
    with pytest.raises(InvalidValue, match="artifacts must be a list of strings"):
        brim.Curator(config, flow=name).prepare("0", [], artifacts)


@pytest.mark.requirement("S0.18")
def test_a_report_tells_how_near_prompts_came_what_they_lost_and_what_was_refused():
    def event(text, budget):
        sections = [brim.Section("rule", "r" * 40, required=True), brim.Section("plan", text, priority="high")]
        tips = brim.Section("tips", "t" * 200, priority="low", overflow="drop")
        return brim.fit([*sections, tips], budget, meter="chars").receipt.event(agent="worker")

    log = [
        event("p" * 10, 1_000),
        event("p" * 400, 460),
        event("p" * 900, 300),
        {"event": "model_called", "http_status": 400},
        {"event": "attempt_recorded", "lesson": "x"},
        {"event": "model_called", "http_status": 200},
    ]
    told = report(log)
    assert (told.prompts, told.near, told.over, told.truncated, told.refused) == (3, 2, 0, 2, 1)
    assert told.dropped == {"tips": 2}
    assert told.cut == {"plan": 1}
    assert 0.95 < told.largest <= 1
    assert "3 prompts, 2 near their budget, 2 truncated" in str(told)
    near = [report([{"event": "prompt_assembled", "used_tokens": n, "budget_tokens": 100}]).near for n in (84, 85)]
    assert near == [0, 1]
    steps = [{"flow": "build", "planned": 2, "status": status} for status in ("ok", "failed")]
    assert report(steps).runs == {"build": {"done": 1, "planned": 2}}
    assert report([]).to_dict()["largest"] == 0
    with pytest.raises(InvalidValue, match=r"log\[0\]"):
        report(["x"])


def test_a_flow_is_found_in_a_project_in_its_file_or_alone(tmp_path):
    path = project(tmp_path, 2)
    for given in (path, tmp_path, tmp_path / "brim.yaml"):
        config, name = flow_of(str(given))
        assert name == "build"
        assert config.resolve(flow="build", step="0")["context_budget_chars"].value == 12_000
    alone = tmp_path / "elsewhere.yaml"
    alone.write_text("flow: other\nbudget_overrides: {context_budget_chars: 30000}\nsteps: [{id: x, agent: fixer}]\n")
    config, name = flow_of(str(alone))
    resolved = config.resolve(flow=name, step="x")
    assert (name, resolved["context_budget_chars"].value, resolved.value("history.selection")) == (
        "other",
        30_000,
        "priority",
    )
    several = tmp_path / "all.yaml"
    several.write_text("flows: {a: {steps: [{id: x}]}, b: {steps: [{id: x}]}}\n")
    assert flow_of(str(several), "b")[1] == "b"
    with pytest.raises(InvalidValue, match="used together with the name of one of its flows: a, b, build"):
        flow_of(str(several))
    with pytest.raises(UnknownName, match="biuld"):
        flow_of(str(tmp_path), "biuld")
    with pytest.raises(SourceError, match="this file contains the flow 'other', not 'build'"):
        flow_of(str(alone), "build")
    with pytest.raises(SourceError):
        flow_of(str(tmp_path / "missing.yaml"))


def test_the_file_of_a_flow_has_the_settings_of_the_nearest_project_and_wins_over_a_flow_of_the_same_name(tmp_path):
    project(tmp_path, 2)
    (tmp_path / "drafts").mkdir()
    copy = tmp_path / "drafts" / "copy.yaml"
    copy.write_text("flow: build\nsteps: [{id: x, agent: fixer}]\n")
    config, name = flow_of(str(copy))
    assert (name, [step.id for step in config.flow(name).steps]) == ("build", ["x"])
    assert config.resolve(flow=name).value("context_budget_chars") == 12_000
