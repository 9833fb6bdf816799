"""Each advice and each mistake of the tables has a check, and each check can be made to speak and to be silent."""

import pytest

from brim.doctor.diagnosis import diagnose
from brim.flows import run_flow
from brim.llm import Reply
from brim.testing import Scripted


def receipt(total=5, included=None, *, cut=(), agents=(), size=900, budget=200_000, **more):
    """Return the receipt of a step after so many others, those before `total - included` left out."""
    included = total if included is None else included
    steps = [
        {
            "step_id": str(i),
            "agent": agents[i] if i < len(agents) else "fixer",
            "class": "CRITICAL" if agents[i : i + 1] == ["code-critic"] else "MEDIUM",
            "state": "omitted" if i < total - included else "cut" if i in cut or i - total in cut else "whole",
            "chars": size,
        }
        for i in range(total)
    ]
    told = {"steps_included": included, "steps_total": total, "chars_used": size * included, "budget_chars": budget}
    return {
        "step_id": str(total),
        "agent": "fixer",
        "flow": "build",
        "used_chars": min(size * included + 200, budget),
        "budget_chars": budget,
        "context_truncation": {**told, "truncated": included < total or bool(cut)},
        "steps": steps,
        **more,
    }


def found(config, *receipts, profile=None):
    return {finding.check: finding for finding in diagnose(config, [("build", each) for each in receipts], profile)}


BUILD = "flows: {build: {steps: [{id: a}]}}\n"
FULL = [receipt(i, size=30_000) for i in (1, 2, 3)]


def test_a_project_without_a_fault_is_healthy(project):
    assert diagnose(project()) == []
    assert diagnose(project(BUILD)) == []
    assert diagnose(project(BUILD), [("build", each) for each in FULL]) == []


@pytest.mark.requirement("S2.3", "S2.36")
def test_a_marker_early_in_a_flow_asks_for_a_greater_total(project):
    told = found(project(BUILD), receipt(8, 5, size=70_000, budget=200_000))["total budget is hit early"]
    assert told.level == "wrong"
    assert "5-fixer" not in told.seen
    assert "8-fixer included 5 of 8 steps within 200,000 chars" in told.seen
    assert told.commands == ("brim config set context_budget_chars 420000 --flow build",)


@pytest.mark.requirement("S2.36")
def test_a_marker_late_in_a_long_flow_is_expected_and_to_be_reviewed(project):
    told = found(project(BUILD), receipt(30, 20, size=10_000))
    assert "total budget is hit early" not in told
    assert "total budget is hit early" not in found(project(BUILD), receipt(10, 5, size=70_000))
    note = told["truncation notes to review"]
    assert note.level == "advice"
    assert (
        "1 of 1 packs contain [CONTEXT_TRUNCATED]; up to 10 steps were left out, as expected late in a long flow"
        in note.seen
    )
    assert note.do == "Read the receipts of 30-fixer."
    many = found(project(BUILD), *(receipt(i, i - 9, size=10_000) for i in range(30, 35)))
    assert many["truncation notes to review"].do == "Read the receipts of 30-fixer, 31-fixer, 32-fixer and 2 more."


@pytest.mark.requirement("S2.36")
def test_notes_that_are_ignored_are_wrong_where_important_steps_are_gone(project):
    note = found(project(BUILD), receipt(30, 20, size=10_000, agents=["code-critic"] * 4))["truncation notes to review"]
    assert note.level == "wrong"
    assert "of CRITICAL and HIGH agents: code-critic (4)" in note.seen


@pytest.mark.requirement("S2.36")
def test_one_large_step_is_named(project):
    run = receipt(6, 4, size=1_000)
    run["steps"][2]["chars"] = 300_000
    told = found(project(BUILD), run)["one large step"]
    assert told.seen == "step 2 wrote 300,000 chars, and the 5 others together 5,000"
    run["steps"][2]["chars"] = 5_000
    assert "one large step" not in found(project(BUILD), run)
    assert told.commands == ()


@pytest.mark.requirement("S2.36")
@pytest.mark.parametrize(
    ("cut", "check", "command"),
    [
        (-1, "the newest step cut", "history_max_recent_chars 90000"),
        (0, "older steps cut", "history_max_older_chars 90000"),
    ],
)
def test_outputs_that_are_cut_ask_for_a_greater_cap_of_their_own(project, cut, check, command):
    told = found(project(BUILD), receipt(4, cut=[cut], size=90_000))
    assert "1 times in 1 packs; the largest output has 90,000 chars" in told[check].seen
    assert told[check].commands == (f"brim config set {command} --flow build",)
    assert not {"the newest step cut", "older steps cut"} - {check} & told.keys()
    crowded = found(project(BUILD), receipt(8, 5, cut=[6], size=90_000))
    assert "older steps cut" not in crowded, "longer older steps would cost others"


@pytest.mark.requirement("S2.36")
def test_a_receipt_that_only_says_truncated_is_understood(project):
    """The receipts of another engine have nothing but the numbers."""
    bare = {"step_id": "frame", "engine": "other", "context_truncation": {"truncated": True, "budget_chars": 200_000}}
    told = diagnose(project(BUILD), [("build", bare)])
    assert [finding.check for finding in told] == ["the newest step cut"]
    bare["context_truncation"] |= {"steps_included": 7, "steps_total": 9, "chars_used": 199_000}
    assert found(project(BUILD), bare)["total budget is hit early"].commands == (
        "brim config set context_budget_chars 260000 --flow build",
    )
    for odd in (
        {},
        {"context_truncation": "x"},
        {"steps": 7, "files": [3], "context_truncation": {"steps_total": "9"}},
    ):
        assert diagnose(project(BUILD), [("build", {"step_id": "1", **odd})]) == []


@pytest.mark.requirement("S2.3")
def test_a_context_loader_that_misses_files_asks_for_a_greater_newest_step(project):
    run = receipt(3, cut=[-1], size=100_000, agents=["fixer", "fixer", "context-loader"])
    told = found(project(BUILD), run)["context loader misses files"]
    assert told.commands == ("brim config set history_max_recent_chars 100000 --flow build",)
    own = receipt(3, cut=[-1], size=100_000, agent="context-loader")
    assert "context loader misses files" in found(project(BUILD), own)
    assert "context loader misses files" not in found(project(BUILD), receipt(3, cut=[-1], size=100_000))


@pytest.mark.requirement("S2.3")
def test_tiny_prompts_ask_for_a_smaller_budget(project):
    told = found(project(BUILD), *(receipt(i, size=1_500, window_tokens=200_000) for i in (1, 2, 3)))[
        "prompts are tiny"
    ]
    assert told.level == "advice"
    assert "the fullest of 3 packs has 4,500 chars (about 1,125 tokens), 2 % of the budget of 200,000" in told.seen
    assert "a window of 200,000 tokens" in told.seen
    assert told.commands == ("brim config set context_budget_chars 10000 --flow build",)
    for size, is_tiny in ((25_000, True), (25_001, False)):
        assert ("prompts are tiny" in found(project(BUILD), *[receipt(2, size=size)] * 3)) == is_tiny


@pytest.mark.requirement("S2.3")
@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("window: {size: 128000}\n", ("brim config set preset lean",)),
        (
            "window: {size: 128000}\nbudgets: {context_budget_chars: 150000}\n",
            (
                "brim config set context_budget_chars 100000",
                "brim config set history_max_recent_chars 30000",
                "brim config set history_max_older_chars 5000",
            ),
        ),
    ],
)
def test_a_small_model_asks_for_the_lean_preset(project, text, commands):
    told = found(project(text + BUILD))["small model"]
    assert told.level == "advice"
    assert told.commands == commands
    assert "small model" in found(project(text.replace("128000", "131072") + BUILD))
    assert "small model" not in found(project(text.replace("128000", "200000") + BUILD))


@pytest.mark.requirement("S2.15", "S2.36")
def test_a_budget_about_the_window_is_wrong(project):
    told = found(project("window: {size: 32000}\nbudgets: {context_budget_chars: 128000}\n"))[
        "budget close to the window"
    ]
    assert told.level == "wrong"
    assert "context_budget_chars of 128,000 is about 32,000 tokens, 100 % of the window of 32,000" in told.seen
    assert told.commands[0] == "brim config set context_budget_chars 30000"
    assert diagnose(project("window: {size: 32000}\n")) == []


@pytest.mark.parametrize("size", [3_000, 8_000, 20_000, 100_000, 128_000, 1_048_576])
@pytest.mark.parametrize("more", ["", "bounds: strict_seed\n"], ids=["product", "strict_seed"])
def test_what_the_doctor_suggests_is_within_the_bounds_and_heals(project, size, more):
    """A window of 8,000 tokens was given a budget of 8,000 characters, below the minimum of 10,000."""
    text = f"{more}window: {{size: {size}}}\nbudgets: {{context_budget_chars: 600000}}\n"
    changes = [change for finding in diagnose(project(text)) for change in finding.changes]
    assert bool(changes) == (5_000 < size < 1_000_000)
    healed = project(text, flags={change.key: change.value for change in changes})
    assert not changes or [finding for finding in diagnose(healed) if finding.level == "wrong"] == []


def test_a_lower_total_comes_with_lower_parts(project):
    text = BUILD + "budgets: {history_max_recent_chars: 60000}\n"
    told = found(project(text), *(receipt(i, size=1_500) for i in (1, 2, 3)))["prompts are tiny"]
    commands = ("context_budget_chars 10000 --flow build", "history_max_recent_chars 10000 --flow build")
    assert told.commands == tuple(f"brim config set {command}" for command in commands)


@pytest.mark.requirement("S2.36")
def test_the_same_budgets_for_all_flows_are_told_and_wrong_where_one_of_them_suffers(project):
    text = "flows: {build: {steps: [{id: a}]}, ship: {steps: [{id: a}]}}\n"
    told = found(project(text))["same budgets for all flows"]
    assert (told.level, told.commands) == ("advice", ("brim config set context_budget_chars 250000 --flow build",))
    assert "all 2 flows (build, ship) have 200,000/60,000/10,000 chars" in told.seen
    for total, commands in ((480_000, 1), (480_001, 0)):
        large = found(project(f"budgets: {{context_budget_chars: {total}}}\n{text}"))["same budgets for all flows"]
        assert len(large.commands) == commands
    runs = [("ship", receipt(9, 4, flow="ship", size=50_000)), ("build", receipt(2))]
    seen = {finding.check: finding for finding in diagnose(project(text), runs)}["same budgets for all flows"]
    assert seen.level == "wrong"
    assert "ship loses history and build does not" in seen.seen
    own = text.replace("ship: {", "ship: {budget_overrides: {context_budget_chars: 90000}, ")
    assert "same budgets for all flows" not in found(project(own))


def test_what_the_guardrails_moved_is_told_with_what_to_write(project):
    text = "flows: {build: {steps: [{id: a, budget_overrides: {context_budget_chars: 9000000}}]}}\n"
    told = found(project(text))["setting out of bounds"]
    assert "exceeds maximum 600,000" in told.seen
    assert told.commands == ("brim config set context_budget_chars 600000 --flow build --step a",)
    lowered = found(project("budgets: {context_budget_chars: 20000}\n"))["setting out of bounds"]
    assert lowered.level == "advice"


def test_a_key_that_brim_does_not_read_is_told_with_its_line(project):
    told = found(project("", flows__build="routing: {next: ship}\nsteps: [{id: a}]\n"))["unknown key"]
    assert (told.level, told.commands) == ("advice", ())
    assert told.seen.endswith("build.yaml:1: unknown key 'routing', ignored")


def test_a_full_window_is_not_mended_by_a_greater_budget(project):
    run = receipt(6, 2, size=9_000, window_tokens=5_000, used_tokens=4_500)
    told = found(project(BUILD), run)["total budget is hit early"]
    assert told.do.startswith("The window is full: use a model with a bigger one")
    assert told.commands == ()
    told = found(project(BUILD), {**run, "used_tokens": 4_499})["total budget is hit early"]
    assert told.do.startswith("Raise context_budget_chars")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("budgets: {}", "brim config set context_budget_chars 600000"),
        ("profile: own\nprofiles: {{own: {{budgets: {}}}}}", "brim config set {} --profile own"),
        ("profile: flow\nprofiles: {{flow: {{extends: flow, budgets: {}}}}}", "brim config set {} --profile flow"),
    ],
)
def test_a_value_is_changed_where_it_is_set(project, text, command):
    """Nothing was proposed for a profile of the project with the name of one that comes with brim."""
    large, proposed = "{context_budget_chars: 900000}", "context_budget_chars 600000"
    told = found(project(text.format(large) + "\n"))["setting out of bounds"]
    assert told.commands == (command.format(proposed),)


def test_a_value_of_the_user_or_the_environment_is_changed_there(project, tmp_path):
    (tmp_path / "brim").mkdir()
    mine = tmp_path / "brim" / "brim.yaml"
    mine.write_text("budgets: {context_budget_chars: 900000}\n")
    told = found(project(environ={"XDG_CONFIG_HOME": str(tmp_path)}))["setting out of bounds"]
    assert told.commands == (f"brim config set context_budget_chars 600000 --file {mine}",)
    config = project(BUILD, environ={"BRIM_BUDGETS__CONTEXT_BUDGET_CHARS": "50000"})
    told = found(config, receipt(8, 5, size=9_000, budget=50_000))["total budget is hit early"]
    assert told.commands == ("export BRIM_BUDGETS__CONTEXT_BUDGET_CHARS=80000",)


@pytest.mark.requirement("S2.34", "S2.36")
def test_the_receipts_of_a_real_run_are_understood_and_its_advice_helps(project, tmp_path):
    """What is typed is what was told, and afterwards the same run has nothing to complain of."""
    from brim.settings.changes import plan

    rows = "".join(f"  - {{id: s{i}, agent: fixer}}\n" for i in range(8))
    text = "budget_overrides: {context_budget_chars: 12000, history_max_recent_chars: 6000}\nsteps:\n" + rows
    config = project("", flows__build=text)

    def run():
        outcome = run_flow(config, "build", Scripted(lambda _: Reply(text="word " * 700)))
        return {finding.check: finding for finding in diagnose(config, [("build", r.receipt) for r in outcome.steps])}

    told = run()
    assert told["total budget is hit early"].level == "wrong"
    (command,) = told["total budget is hit early"].commands
    key, value = command.split()[3:5]
    plan(config, {key: value}, flow="build").make()
    config = project("", flows__build=(tmp_path / "flows" / "build.yaml").read_text())
    assert config.resolve(flow="build").value("context_budget_chars") == int(value) > 12_000
    assert "total budget is hit early" not in run()
