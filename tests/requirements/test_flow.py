"""The requirements of the flow profile that are about the history of steps."""

import json

import pytest

import brim
from brim.history.note import note
from brim.history.priority import StepClass
from brim.settings.authors import CLASSES

AGENTS = CLASSES["flow"]


def steps(*rows):
    """Return steps as messages: who made each, and what came out."""
    task = {"role": "user", "content": "Ship it."}
    made = [{"role": "assistant", "name": agent, "content": output} for agent, output in rows]
    return [task, *made, {"role": "user", "content": "Go on."}]


def classify(message):
    """Return the class of a message by the table of the flow profile."""
    return AGENTS.of(message.get("name"), None, message["content"])


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
    fitted = brim.fit_messages(messages, 1_500, meter="chars", excerpts=False)
    said = [m["content"] for m in fitted.messages if m["content"].startswith("[CONTEXT_TRUNCATED]")]
    assert said == [fitted.receipt.history["note"]]
    assert f"/{1_500:,} chars)" in said[0]
    assert brim.fit_messages(messages, 9_000, meter="chars").receipt.history["note"] == ""


@pytest.mark.requirement("S2.27")
def test_every_listed_agent_has_its_class():
    sizes = {name: len(agents) for name, agents in AGENTS.agents.items()}
    assert sizes == {"CRITICAL": 10, "HIGH": 15, "MEDIUM": 7, "LOW": 13}
    assert {AGENTS.of(f"{name}-critic") for name in ("requirements", "design", "test", "code", "ux")} == {
        StepClass.CRITICAL
    }
    assert StepClass.CRITICAL > StepClass.HIGH > StepClass.MEDIUM > StepClass.LOW


@pytest.mark.requirement("S2.28")
def test_an_old_critical_step_is_kept_before_a_recent_low_one():
    messages = steps(("design-critic", "c" * 400), *(("doc-writer", "l" * 400) for _ in range(5)))
    fitted = brim.fit_messages(messages, 800, meter="chars", select="priority", classify=classify)
    assert 1 in kept(fitted, messages)
    assert not any(i in kept(fitted, messages) for i in range(2, 7))


@pytest.mark.requirement("S2.29")
def test_what_stays_is_in_the_order_of_the_conversation():
    rows = [("doc-writer", "l" * 200), ("code-critic", "c" * 200), ("fixer", "m" * 200), ("test-author", "h" * 200)] * 3
    messages = steps(*rows)
    fitted = brim.fit_messages(messages, 1_800, meter="chars", select="priority", classify=classify)
    place = {id(message): i for i, message in enumerate(messages)}
    order = [place[id(message)] for message in fitted.messages if id(message) in place]
    assert order == sorted(order)
    assert fitted.receipt.history["context_truncation"]["priority_distribution"]["CRITICAL"] == 6


@pytest.mark.requirement("S2.30")
@pytest.mark.parametrize(
    ("step", "output", "expected"),
    [
        ("design_critic", None, StepClass.CRITICAL),
        ("2-decider", None, StepClass.CRITICAL),
        ("implement", None, StepClass.HIGH),
        ("critical_path_notes", None, StepClass.MEDIUM),
        ("quadrant", None, StepClass.MEDIUM),
        ("latest_notes", None, StepClass.MEDIUM),
        (None, "The decision is to go.", StepClass.HIGH),
        (None, "A summary of what was said", StepClass.LOW),
        (None, "indecision", StepClass.MEDIUM),
    ],
)
def test_unknown_agents_are_told_by_whole_words(step, output, expected):
    assert AGENTS.of("somebody-new", step, output) is expected


@pytest.mark.requirement("S2.31")
def test_the_receipt_has_the_truncation_of_the_context():
    messages = steps(*(("fixer", "x" * 400) for _ in range(6)))
    told = brim.fit_messages(messages, 1_500, meter="chars", select="priority", classify=classify).receipt.history[
        "context_truncation"
    ]
    assert told["steps_total"] == 8
    assert 0 < told["steps_included"] < 8
    assert 1_000 < told["chars_used"] <= told["budget_chars"] == 1_500
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
        assert calls[-1] == "c11"
        assert len(calls) >= budget // 130


LISTED = {
    "CRITICAL": "merge-decider deploy-decider requirements-critic design-critic test-critic code-critic ux-critic"
    " code-implementer test-author self-reviewer",
    "HIGH": "requirements-author bdd-author adr-author interface-designer observability-designer design-optioneer"
    " work-planner test-strategist receipt-checker contract-enforcer security-scanner coverage-enforcer gate-fixer"
    " smoke-verifier deploy-monitor",
    "MEDIUM": "clarifier risk-analyst policy-analyst impact-analyzer context-loader fixer mutator",
    "LOW": "signal-normalizer problem-framer scope-assessor gh-reporter doc-writer flow-historian artifact-auditor"
    " regression-analyst learning-synthesizer feedback-applier swarm-ops ux-implementer repo-operator",
}


@pytest.mark.requirement("X6")
def test_the_taxonomy_is_whole_and_no_agent_has_two_classes():
    """Twenty of the project's own 65 agents had no class, and its own test said so."""
    assert {name: sorted(agents) for name, agents in AGENTS.agents.items()} == {
        name: sorted(text.split()) for name, text in LISTED.items()
    }
    every = [agent for agents in AGENTS.agents.values() for agent in agents]
    assert len(set(every)) == len(every) == 45
    for name, text in LISTED.items():
        for agent in text.split():
            for spelling in (agent, agent.replace("-", "_"), agent.title()):
                assert AGENTS.of(spelling, "summary-of-decider", "a summary") is StepClass[name]


FLOW = """\
# what the build does
flow: build
budget_overrides:
  context_budget_chars: 250000    # build needs more
steps:
- id: "0"
  agent: context-loader
- id: "1"
  agent: test-author
"""


def load(root):
    return brim.load_config(root, environ={})


@pytest.mark.requirement("S2.22")
def test_a_step_shows_its_effective_budgets_with_origin_and_saves_to_the_flows_own_file(tmp_path):
    """The part of the editor without a page, which comes later: what the inspector shows, and what it saves.

    The editor of the project saved to the browser; here the file changes, in one place, and the pack with it.
    """
    from brim.settings.changes import plan

    (tmp_path / "flows").mkdir()
    path = tmp_path / "flows" / "build.yaml"
    path.write_text(FLOW)
    (tmp_path / "brim.yaml").write_text("profile: flow\n")
    before = load(tmp_path).resolve(flow="build", step="0")
    shown = before["context_budget_chars"]
    assert (shown.value, shown.origin, shown.where) == (250_000, "flow", f"{path}:4")
    assert (before["history_max_recent_chars"].value, before["history_max_recent_chars"].origin) == (60_000, "defaults")
    plan(load(tmp_path), {"context_budget_chars": "300000"}, flow="build", step="0").make()
    after = load(tmp_path).resolve(flow="build", step="0")
    assert (after["context_budget_chars"].value, after["context_budget_chars"].origin) == (300_000, "step")
    assert after.below("context_budget_chars").value == 250_000
    assert load(tmp_path).resolve(flow="build", step="1").value("context_budget_chars") == 250_000
    assert path.read_text().startswith(FLOW.split("- id", maxsplit=1)[0])
    history = [{"step_id": str(i), "agent": "fixer", "output": "x" * 9_000} for i in range(40)]
    budgets = [
        brim.Curator(load(tmp_path), flow="build").prepare(step, history).receipt["budget_chars"] for step in "01"
    ]
    assert budgets == [300_000, 250_000]


@pytest.mark.requirement("S2.1")
def test_the_profile_has_the_documents_numbers_and_a_missing_file_the_same(tmp_path):
    plain = load(tmp_path).resolve()
    (tmp_path / "brim.yaml").write_text("profile: flow\n")
    for found in (plain, load(tmp_path).resolve()):
        numbers = [
            found.value(f"budgets.{name}")
            for name in (
                "context_budget_chars",
                "history_max_recent_chars",
                "history_max_older_chars",
                "timeout_seconds",
            )
        ]
        assert numbers == [200_000, 60_000, 10_000, 30]
        assert found.preset == "balanced"
    assert load(tmp_path).resolve().value("history.selection") == "priority"


@pytest.mark.requirement("S2.19")
def test_the_profile_leaves_the_budgets_of_the_project_alone(tmp_path):
    (tmp_path / "brim.yaml").write_text("profile: flow\nbudgets: {context_budget_chars: 300000}\n")
    found = load(tmp_path).resolve()["context_budget_chars"]
    assert (found.value, found.origin) == (300_000, "project")


@pytest.mark.slow
@pytest.mark.requirement("S2.4", "S2.21", "S2.33")
def test_a_hundred_steps_from_yaml_run_from_the_command_line_within_their_budgets(tmp_path, monkeypatch, capsys):
    from brim.cli import main

    monkeypatch.chdir(tmp_path)
    agents = ["context-loader", "requirements-author", "code-implementer", "code-critic", "doc-writer"]
    rows = "".join(
        f"- {{id: s{i:02}, agent: {agents[i % 5]}, artifacts: [out/{i}.md], teaching_notes: {{emphasizes: part {i}}}}}\n"
        for i in range(100)
    )
    big = "- {id: s50, agent: context-loader, budget_overrides: {context_budget_chars: 40000}}\n"
    lines = rows.splitlines(keepends=True)
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "build.yaml").write_text(
        "flow: build\nbudget_overrides: {context_budget_chars: 25000, history_max_recent_chars: 9000,"
        " history_max_older_chars: 1500}\nsteps:\n" + "".join([*lines[:50], big, *lines[51:]])
    )
    (tmp_path / "brim.yaml").write_text("profile: flow\n")
    replies = {f"s{i:02}": f"Answer {i}. " + "It was done as told. " * (20 + i * 7) for i in range(100)}
    (tmp_path / "replies.yaml").write_text(json.dumps(replies))
    assert main(["flow", "run", "flows/build.yaml", "--script", "replies.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["over"] == 0
    receipts = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "runs/build/receipts").iterdir()}
    assert len(receipts) == 100
    assert receipts["s50-context-loader"]["budget_chars"] == 40_000
    for receipt in receipts.values():
        told = receipt["context_truncation"]
        assert told["chars_used"] <= told["budget_chars"] == receipt["budget_chars"] in (25_000, 40_000)
        assert receipt["output"] == replies[receipt["step_id"]]
    late = [receipt for receipt in receipts.values() if receipt["context_truncation"]["steps_total"] > 50]
    assert min(receipt["used_chars"] for receipt in late) > 20_000
    assert all(receipt["note"].startswith("[CONTEXT_TRUNCATED] Included ") for receipt in late)
    assert any(step["state"] == "cut" for step in receipts["s99-doc-writer"]["steps"])
