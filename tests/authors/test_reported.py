"""What the five authors met when they tried brim with data of their own: one test for each report.

Each test opens with the author's words.
"""

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import brim
from brim.cli.flow import app
from brim.doctor.diagnosis import diagnose
from brim.errors import SourceError
from brim.flows import flow_of, run_flow
from brim.llm import Reply
from brim.sessions.memory import distilled
from brim.testing import Scripted


def resolved(profile=None, **flags):
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


def messages(count, text="word " * 300):
    spoken = [{"role": "user", "content": "Begin."}]
    for _ in range(count):
        spoken += [{"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]
    return spoken


# --- the window of a profile, and that of the model


def test_a_profiles_window_never_beats_that_of_a_smaller_model(caplog):
    """forge: "8,192-token model, budget 14,336: an overflow by our own hand"."""
    caplog.set_level(logging.WARNING, "brim.settings")
    made = resolved("forge", model="gpt-4")
    assert made.window().size == 8_192
    meter = brim.meter("gpt-4")
    fitted = made.fit_messages(messages(60))
    assert 6_000 < meter.count_messages(fitted.messages) <= 8_192
    assert 7_000 < meter.count(made.fit({"rule": "R", "x": "word " * 40_000}, budget=14_336).text) <= 8_192
    assert caplog.text.count("window.size of 16,384 is more than the 8,192 tokens of gpt-4, so brim uses 8,192") == 1
    assert "so brim uses 8,192" in made.warnings[-1]


def test_a_session_of_the_profile_keeps_to_the_window_of_its_model():
    """session: "The profile's window of 1,000,000 beats gpt-4o's 128,000 (prompts of 150,018 and 270,311)"."""
    made = resolved("session", model="gpt-4o")
    assert (made.session().budget, made.loop("x", print).session.budget) == (25_600, 19_200)
    asked = resolved("session").session(model="gpt-4o")
    assert (asked.budget, asked.settings.window.warning) == (25_600, 19_200), "the cap is that of the profile"
    meter = brim.meter("gpt-4o")
    for conversations in (made.conversations(), resolved("session").conversations()):
        request = conversations.request(messages(300), model="gpt-4o")
        assert 10_000 < meter.count_messages(request.messages) <= 25_600


@pytest.mark.parametrize("key", ["project", "flag"])
def test_a_window_that_the_user_sets_counts_as_it_is_and_is_told(tmp_path, key):
    """A server may hold more than the catalogue knows; a profile cannot know that, a project can."""
    if key == "flag":
        made = resolved("session", model="gpt-4o", **{"window.size": 300_000})
    else:
        (tmp_path / "brim.yaml").write_text("profile: session\nmodel: gpt-4o\nwindow: {size: 300000}\n")
        made = brim.load_config(tmp_path, environ={}).resolve()
    assert made.window().budget == 60_000
    assert "300,000 is more than the 128,000 tokens of gpt-4o, but it is used" in made.warnings[-1]


def test_a_session_takes_a_model_that_nobody_knows():
    """session: "`unknown_model: other` raises in `session()`"."""
    made = resolved("session", model="phantom-7b", unknown_model="other", **{"window.size": 4_000})
    for session in (made.session(), made.session(meter=None), made.loop("x", print).session):
        session.add({"role": "user", "content": "Hello there. " * 900})
        assert session.prompt().used <= session.budget <= 800


# --- flow: its runs


def flow_project(tmp_path, steps=40, **more):
    rows = "".join(f"  - {{id: '{i}', agent: fixer, task: Do part {i}.}}\n" for i in range(1, steps + 1))
    (tmp_path / "long.yaml").write_text(f"flow: long\nsteps:\n{more.get('rows', rows)}")
    return flow_of(str(tmp_path / "long.yaml"))


class Killed(BaseException):
    """The process ends here."""


def counting(asked, dies_at=None, raises=None):
    def answer(messages):
        asked.append(re.search(r"# Step (\d+)", str(messages))[1])
        if asked[-1] == dies_at:
            raise Killed
        if raises and asked[-1] == raises:
            raise KeyError("a model of our own")
        return f"Output of part {asked[-1]}."

    return Scripted(answer)


@pytest.mark.slow
def test_a_flow_of_40_steps_killed_at_25_resumes_at_26_and_its_report_says_so(tmp_path):
    """ "No resume after a kill: three receipts hold outputs and all is run again; `flow report` does not say incomplete"."""
    config, name = flow_project(tmp_path)
    base = tmp_path / "runs"
    whole = run_flow(config, name, counting([]), run_base=tmp_path / "other")
    with pytest.raises(Killed):
        run_flow(config, name, counting([], dies_at="26"), run_base=base)
    report = CliRunner().invoke(app, ["report", str(base)]).output
    assert "flow long: incomplete, 25 of 40 steps; continue with brim flow run --resume" in report
    asked = []
    outcome = run_flow(config, name, counting(asked), run_base=base, resume=True)
    assert asked == [str(i) for i in range(26, 41)]
    assert outcome.ok
    assert [step.output for step in outcome.steps] == [step.output for step in whole.steps]
    last, plain = (json.loads(Path(each.steps[-1].path).read_text()) for each in (outcome, whole))
    assert last["context_truncation"] == plain["context_truncation"], "the pack is that of an undisturbed run"
    report = CliRunner().invoke(app, ["report", str(base)]).output
    assert "flow long: complete, 40 of 40 steps" in report


def test_a_run_is_not_resumed_with_the_receipts_of_the_run_before_or_of_another_task(tmp_path):
    config, name = flow_project(tmp_path, 6)
    base = tmp_path / "runs"
    run_flow(config, name, counting([]), run_base=base)
    with pytest.raises(Killed):
        run_flow(config, name, counting([], dies_at="3"), run_base=base)
    (tmp_path / "long.yaml").write_text((tmp_path / "long.yaml").read_text().replace("Do part 2.", "Do it again."))
    config, name = flow_of(str(tmp_path / "long.yaml"))
    asked = []
    assert run_flow(config, name, counting(asked), run_base=base, resume=True).ok
    assert asked == ["2", "3", "4", "5", "6"]


def test_an_exception_of_the_model_gives_an_outcome_and_a_receipt(tmp_path):
    """ "A model's exception ends `run_flow` without outcome or receipt"."""
    config, name = flow_project(tmp_path, 4)
    outcome = run_flow(config, name, counting([], raises="3"), run_base=tmp_path)
    assert (outcome.ok, len(outcome.steps), outcome.reason) == (
        False,
        3,
        "step 3 (fixer): KeyError: 'a model of our own'",
    )
    assert json.loads(Path(outcome.steps[-1].path).read_text())["status"] == "failed"


def test_a_commit_step_calls_no_model(tmp_path):
    """ "`stage: Commit` calls the model": its tier is None, pure mechanics."""
    rows = "  - {id: '1', agent: fixer}\n  - {id: '2', agent: kernel, stage: Commit}\n  - {id: '3', agent: fixer}\n"
    config, name = flow_project(tmp_path, rows=rows)
    asked = []
    assert run_flow(config, name, counting(asked)).ok
    assert asked == ["1", "3"]
    outcome = run_flow(config, name, counting([]), commit=lambda step, done: f"ledger has {len(done)} entries")
    assert outcome.steps[1].output == "ledger has 1 entries"


@pytest.mark.parametrize("stop", ["max_tokens", "length", "MAX_TOKENS"])
def test_an_answer_that_anthropics_limit_cut_off_fails_its_step(tmp_path, stop):
    """ "Anthropic's `stop="max_tokens"` is no failure"."""
    config, name = flow_project(tmp_path, 2)
    outcome = run_flow(config, name, Scripted([Reply(text="Half of", stop=stop), "x"]))
    assert (outcome.ok, len(outcome.steps)) == (False, 1)


def test_budget_overrides_in_the_runtime_file_restore_v2_3(tmp_path):
    """ "`budget_overrides` in `runtime.yaml`, the document's own "restore v2.3", is silently ignored"."""
    (tmp_path / "swarm" / "config").mkdir(parents=True)
    (tmp_path / "swarm" / "config" / "runtime.yaml").write_text(
        "defaults:\n  context_budget_chars: 200000\n  timeout_seconds: 40\n"
        "budget_overrides:\n  context_budget_chars: 400000\n  history_max_recent_chars: 120000\n"
    )
    made = brim.load_config(tmp_path, environ={}).resolve()
    assert made.value("context_budget_chars") == 400_000
    assert made.value("history_max_recent_chars") == 120_000
    assert made.value("timeout_seconds") == 40
    assert made["context_budget_chars"].where.endswith("runtime.yaml:5")


@dataclass
class StepOutput:
    step_id: int
    agent_key: str
    output: str
    duration_ms: int = 0


@dataclass
class Teaching:
    inputs: list[str]
    emphasizes: str | None = None


@dataclass
class StepConfig:
    id: int
    agent_key: str
    teaching: Teaching
    routing: str = "linear"


def test_the_authors_own_step_objects_are_read():
    """ "Dataclasses, int ids, `agent_key`, `teaching` are refused"."""
    history = [StepOutput(1, "merge-decider", "We merge."), {"step_id": 2, "agent_key": "fixer", "output": "Fixed."}]
    step = StepConfig(3, "test-author", Teaching(["requirements.json"], "edge cases"))
    pack = brim.Curator(brim.load_config(environ={})).prepare(step, history)
    assert pack.text.startswith(
        "# Step 3: test-author\n\n## Inputs\n- requirements.json\n\n## Emphasizes\n- edge cases"
    )
    assert "## Step 1: merge-decider [OK]\nWe merge." in pack.text
    assert [row["class"] for row in pack.receipt["steps"]] == ["CRITICAL", "MEDIUM"]


def test_a_log_of_events_is_reported_on(tmp_path):
    """forge: "`brim flow report run.jsonl` has no receipts"."""
    log = tmp_path / "run.jsonl"
    made = resolved("forge")
    with log.open("w") as file:
        for size in (10, 40_000):
            made.fit({"rule": "R", "plan": "word " * size}, emit=lambda event: print(json.dumps(event), file=file))
        print(json.dumps({"event": "answer", "status": 400}), file=file)
    result = CliRunner().invoke(app, ["report", str(log)])
    assert result.output.startswith("2 prompts, ")
    assert "1 calls refused with HTTP 400" in result.output


# --- forge: sections, lessons


def test_a_reserve_above_the_total_is_refused_with_its_line(tmp_path):
    """ "`prompt.reserve` above the total gives an empty prompt, no warning, "healthy"."""
    (tmp_path / "brim.yaml").write_text("profile: forge\nprompt:\n  reserve: 9000\n")
    made = brim.load_config(tmp_path, environ={}).resolve()
    with pytest.raises(SourceError, match=r"brim\.yaml:3: prompt\.reserve.*less than the 8,000 tokens"):
        made.fit({"rule": "V-2301", "directive": "Call apply_fix."})


def test_a_long_attempt_leaves_the_reflectors_lessons_their_room():
    """ "The reflector's long attempt takes the room of its lessons"."""
    lessons = [f"Attempt {i}: run aide --init after edit {i}." for i in range(1, 9)]
    contents = {"rule": "V-2301", "attempt": "Edited it. " * 9_000, "lessons": lessons, "directive": "One line."}
    prompt = resolved("forge-reflector").fit(contents, system="You reflect. " * 300)
    assert prompt.texts["lessons"].split("\n") == lessons[-3:]
    assert prompt.texts["directive"] == "One line."
    assert prompt.receipt.part("attempt").used > 500


@pytest.mark.parametrize(
    ("reflection", "lesson"),
    [
        ('{"analysis": "It failed.", "DISTILLED_LESSON": "Run aide --init."}', "Run aide --init."),
        ('{"distilled_lesson": "Run aide --init.", "next": "retry"}', "Run aide --init."),
        ('```json\n{"result": "no", "DISTILLED": "Use \\"--init\\" now."}\n```', 'Use "--init" now.'),
    ],
)
def test_a_lesson_in_json_has_nothing_of_the_json(reflection, lesson):
    """ "Lessons from JSON reflections keep `"}` and glue fields"."""
    assert distilled(reflection).text == lesson


# --- broker: names of Ollama


@pytest.mark.parametrize(
    ("model", "vocabulary"), [("gemma3:4b", "gemma3"), ("qwen3:8b", "qwen3"), ("phi4:14b", "phi4")]
)
def test_a_tag_of_ollama_is_counted_by_the_vocabulary_of_its_family(model, vocabulary):
    """ "Ollama tags (`gemma3:4b`, `qwen3:8b`) fall to len//4 though the vocabularies ship"."""
    text = "漢字かな交じり文 and some English, 12,345 times."
    assert resolved("broker", model=model).meter().count(text) == brim.meter(vocabulary).count(text)
    assert brim.meter(model).exact


# --- broker: templates


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (None, "[N/A]"), ({"a": 1}, "{'a': 1}"), (2.5, "2.5"), (["x", 3], "x\n3"), (True, "True")],
)
def test_a_value_of_any_type_is_a_text(value, text):
    """ "Numbers, None and dicts raise `InvalidType` though the page says nothing raises"."""
    assert resolved("broker").fit({"income": value}, template="Income: {income}.").text == f"Income: {text}."


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{name:<10}|", "Anna      |"),
        ("{name!s}|", "Anna|"),
        ("{income:>8}|{income:,.2f}", "    1200|1,200.00"),
        ("{name} {name!r}", "Anna 'Anna'"),
        ("{traits[job]} {traits[age]}", "baker [N/A]"),
        ("{name:d}", "Anna"),
        ("{weather:>8}", "[N/A]"),
    ],
)
def test_a_place_may_have_a_format(template, text):
    """ "`{name:<10}`, `{name!s}`, `{income:>8}` become `[N/A]` although the value is there"."""
    context = {"name": "Anna", "income": 1200, "traits": {"job": "baker"}}
    assert resolved("broker").fit(context, template=template).text == text


# --- ecology


CONFIG = """\
world:
  size: 40
llm:
  default_model: gemini/gemini-3-flash
agent:
  personality: calm
  context_budget:
    enabled: true
    total_tokens: 4000
    sections:
      working_memory: {max_tokens: 700, priority: high}
"""


def test_the_authors_own_config_file_is_read_and_foreign_keys_are_notices(tmp_path):
    """ "The author's own `config/config.yaml` (with `world:`, `llm:` beside `agent.context_budget`) is refused"."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    config = brim.load_config(tmp_path / "config.yaml", environ={})
    assert config.resolve().value("sections.working_memory.ceiling") == 700
    told = "\n".join(config.ignored)
    assert [name in told for name in ("'world'", "'llm'", "'personality'")] == [True] * 3
    same = brim.load_config(yaml.safe_load(CONFIG), environ={})
    assert same.resolve().value("prompt.total") == 4_000
    with pytest.raises(SourceError, match="total_token'; did you mean 'total_tokens'"):
        brim.load_config({"context_budget": {"total_token": 1}}, environ={})


def test_an_agent_is_told_in_its_own_words_what_of_its_wish_was_refused():
    """ "An agent is not told what of its wish was refused, nor in its own words (`max_tokens`, not `ceiling`)"."""
    page = json.dumps(
        {
            "context_budget": {
                "total_tokens": 9000,
                "sections": {"system_prompt": {"max_tokens": 5}, "recent_events": {"max_tokens": -3}, "dairy": 90},
            }
        }
    )
    text = resolved("ecology").fit({"system_prompt": "You tend a garden.", "working_memory": page}).text
    told = text.split("\n\n")[1].split("\n")[0]
    assert "sections.recent_events.max_tokens must be" in told
    assert "ceiling" not in told
    assert "total_tokens 9,000 is more than the available 4,000, so 4,000 is used" in told
    assert "system_prompt is required and stays as it is" in told
    assert text.startswith("You tend a garden.")


def test_a_budget_on_a_long_page_is_read_wherever_it_is():
    """ "a budget on a long page is ignored silently"."""
    wish = "~~~yaml\ncontext_budget: {sections: {recent_events: 50}}\n~~~\n"
    notes = "A note of an ordinary day.\n" * 6_000
    events = {"recent_events": "Rain. " * 400}
    made = resolved("ecology")
    for page in (wish + notes, notes + wish, notes + wish + notes):
        assert made.fit({"working_memory": page, **events}).receipt.part("recent_events").used <= 50


# --- flow: the budget of the history


def test_the_budget_is_that_of_the_history_alone():
    """ "The history's budget is shared with notes (36,173 of 250,000 left): the author means history alone"."""
    config = brim.load_config(environ={}, flags={"budgets.context_budget_chars": 50_000})
    history = [{"step_id": str(i), "agent": "fixer", "output": f"Result {i}. " * 400} for i in range(20)]
    step = {"id": "20", "agent": "fixer", "teaching_notes": {"constraints": "Keep the public API. " * 3_000}}
    bare = brim.Curator(config).prepare({"id": "20", "agent": "fixer"}, history).receipt["context_truncation"]
    pack = brim.Curator(config).prepare(step, history, [f"runs/signal/{i}.md" for i in range(100)])
    noted = pack.receipt["context_truncation"]
    assert noted["steps_included"] == bare["steps_included"] >= 9
    assert noted["chars_used"] <= 50_000
    assert "Keep the public API. " * 2_999 in pack.text


def test_the_doctors_advice_keeps_as_many_critical_steps():
    """ "The doctor's own advice makes it worse (CRITICAL steps kept 47 to 32)"."""
    config = brim.load_config(environ={})
    agents = ["code-critic", "fixer", "gh-reporter"]
    history = [{"step_id": str(i), "agent": agents[i % 3], "output": f"Part {i}. " * 2_000} for i in range(90)]

    def kept(made):
        receipt = brim.Curator(made).prepare({"id": "90", "agent": "fixer"}, history).receipt
        return receipt, receipt["context_truncation"]["priority_distribution"]["CRITICAL"]

    receipt, before = kept(config)
    found = diagnose(config, [("", {**receipt, "flow": "f"})], None)
    flags = {key: value for each in found for key, value in changed(each.changes)}
    assert kept(brim.load_config(environ={}, flags=flags))[1] >= before
    assert not any("history_max_older_chars" in each.do for each in found)


def changed(changes):
    """Yield the settings that the commands of the doctor set."""
    for change in changes:
        match = re.search(r"config set (\S+) (\S+)", str(change))
        if match:
            yield match[1] if "." in match[1] else f"budgets.{match[1]}", int(match[2])


# --- small budgets, unknown models, literal rules


@pytest.mark.parametrize("budget", [9, 13, 17])
def test_a_directive_is_there_while_there_is_any_room_for_it(budget):
    """forge: "A directive is dropped with 13 tokens left, though the page says never"."""
    contents = {"rule": "V-2301", "directive": "Call apply_fix once and return. " * 9, "plan": "Init it. " * 200}
    prompt = resolved("forge").fit(contents, budget=budget)
    assert prompt.texts["directive"].startswith("Call")
    assert prompt.receipt.used <= budget


def test_an_unknown_model_that_a_foreign_vocabulary_counts_keeps_a_margin():
    """ecology: "An unknown model keeps no margin"."""
    made = resolved("ecology", model="garden-7b", unknown_model="cl100k_base")
    assert made.fit({"system_prompt": "You tend a garden."}).receipt.budget == 3_600
    known = resolved("ecology", model="gpt-4")
    assert known.fit({"system_prompt": "You tend a garden."}).receipt.budget == 4_000


def test_the_literal_memory_rule_keeps_the_memories_that_fit():
    """broker: "The literal memory rule keeps 2 lines where 12 fit"."""
    memories = [f"In year {i} the water came to step {i} of the house." for i in range(30)]
    prompt = resolved("broker-literal").fit({"memory": memories, "prompt": "You are a household."}, budget=200)
    kept = [each for each in memories if each in prompt.text]
    assert kept == memories[-len(kept) :]
    assert len(kept) >= 12
