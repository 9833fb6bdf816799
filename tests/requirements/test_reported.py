"""What the authors of the documents met when they tried brim with data of their own: each test opens with their words."""

import json
import logging
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import brim
from brim.cli.flow import app
from brim.errors import SourceError
from brim.flows import flow_of, run_flow
from brim.sessions.memory import distilled
from brim.testing import Scripted


def resolved(profile=None, **flags):
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


def messages(count):
    spoken = [{"role": "user", "content": "Begin."}]
    for _ in range(count):
        spoken += [{"role": "assistant", "content": "word " * 300}, {"role": "user", "content": "Go on."}]
    return spoken


# --- the window of a profile, and that of the model


def test_a_profiles_window_never_beats_that_of_a_smaller_model(caplog):
    """forge: "8,192-token model, budget 14,336: an overflow by our own hand"."""
    caplog.set_level(logging.WARNING, "brim.settings")
    made, meter = resolved("forge", model="gpt-4"), brim.meter("gpt-4")
    assert 6_000 < meter.count_messages(made.fit_messages(messages(60)).messages) <= 8_192
    assert 7_000 < meter.count(made.fit({"rule": "R", "x": "word " * 40_000}, budget=14_336).text) <= 8_192
    assert caplog.text.count("window.size of 16,384 is more than the 8,192 tokens of gpt-4, so brim uses 8,192") == 1


def test_a_session_of_the_profile_keeps_to_the_window_of_its_model():
    """session: "The profile's window of 1,000,000 beats gpt-4o's 128,000 (prompts of 150,018 and 270,311)"."""
    made, meter = resolved("session", model="gpt-4o"), brim.meter("gpt-4o")
    assert (made.session().budget, made.loop("x", print).session.budget) == (25_600, 19_200)
    asked = resolved("session").session(model="gpt-4o")
    assert (asked.budget, asked.settings.window.warning) == (25_600, 19_200), "the cap is that of the profile"
    for conversations in (made.conversations(), resolved("session").conversations()):
        request = conversations.request(messages(300), model="gpt-4o")
        assert 10_000 < meter.count_messages(request.messages) <= 25_600


def test_a_window_that_the_user_sets_counts_as_it_is_and_is_told():
    """A server may hold more than the catalogue knows; a profile cannot know that, a project can."""
    made = resolved("session", model="gpt-4o", **{"window.size": 300_000})
    assert made.window().budget == 60_000
    assert "300,000 is more than the 128,000 tokens of gpt-4o, but it is used" in made.warnings[-1]


def test_a_session_takes_a_model_that_nobody_knows():
    """session: "`unknown_model: other` raises in `session()`"."""
    made = resolved("session", model="phantom-7b", unknown_model="other", **{"window.size": 4_000})
    for session in (made.session(), made.session(meter=None), made.loop("x", print).session):
        session.add({"role": "user", "content": "Hello there. " * 900})
        assert session.prompt().used <= session.budget <= 800


@pytest.mark.parametrize("name", ["gemma3:4b", "qwen3:8b", "phi4:14b"])
def test_a_tag_of_ollama_is_counted_by_the_vocabulary_of_its_family(name):
    """broker: "Ollama tags (`gemma3:4b`, `qwen3:8b`) fall to len//4 though the vocabularies ship"."""
    text = "漢字かな交じり文 and some English, 12,345 times."
    assert resolved("broker", model=name).meter().count(text) == brim.meter(name.partition(":")[0]).count(text)


# --- runs of a flow


class Killed(BaseException):
    """The process ends here."""


def project(tmp_path, steps):
    rows = "".join(f"  - {{id: '{i}', agent: fixer, task: Do part {i}.}}\n" for i in range(1, steps + 1))
    (tmp_path / "long.yaml").write_text(f"flow: long\nsteps:\n{rows}")
    return flow_of(str(tmp_path / "long.yaml"))


def answering(asked, at=None, error=None):
    def answer(messages):
        asked.append(re.search(r"# Step (\d+)", str(messages))[1])
        if asked[-1] == at:
            raise error
        return f"Output of part {asked[-1]}."

    return Scripted(answer)


def test_a_flow_that_was_killed_resumes_with_its_next_step_and_its_report_says_so(tmp_path):
    """ "No resume after a kill: three receipts hold outputs and all is run again; `flow report` does not say incomplete"."""
    (config, name), base = project(tmp_path, 12), tmp_path / "runs"
    whole = run_flow(config, name, answering([]), run_base=tmp_path / "other")
    with pytest.raises(Killed):
        run_flow(config, name, answering([], "8", Killed()), run_base=base)
    report = CliRunner().invoke(app, ["report", str(base)]).output
    assert "flow long: incomplete, 7 of 12 steps; continue with brim flow run --resume" in report
    outcome = run_flow(config, name, answering(asked := []), run_base=base, resume=True)
    assert asked == ["8", "9", "10", "11", "12"]
    assert [step.output for step in outcome.steps] == [step.output for step in whole.steps]
    last, plain = (json.loads(Path(each.steps[-1].path).read_text()) for each in (outcome, whole))
    assert last["context_truncation"] == plain["context_truncation"], "the pack is that of an undisturbed run"
    assert "flow long: complete, 12 of 12 steps" in CliRunner().invoke(app, ["report", str(base)]).output


def test_a_run_is_not_resumed_with_the_receipts_of_another_task(tmp_path):
    (config, name), base = project(tmp_path, 4), tmp_path / "runs"
    with pytest.raises(Killed):
        run_flow(config, name, answering([], "3", Killed()), run_base=base)
    (tmp_path / "long.yaml").write_text((tmp_path / "long.yaml").read_text().replace("Do part 2.", "Do it again."))
    config, name = flow_of(str(tmp_path / "long.yaml"))
    assert run_flow(config, name, answering(asked := []), run_base=base, resume=True).ok
    assert asked == ["2", "3", "4"]


def test_an_exception_of_the_model_gives_an_outcome_and_a_receipt(tmp_path):
    """ "A model's exception ends `run_flow` without outcome or receipt"."""
    config, name = project(tmp_path, 4)
    outcome = run_flow(config, name, answering([], "3", KeyError("a model of our own")), run_base=tmp_path)
    assert (outcome.ok, outcome.reason) == (False, "step 3 (fixer): KeyError: 'a model of our own'")
    assert json.loads(Path(outcome.steps[2].path).read_text())["status"] == "failed"


def test_a_commit_step_calls_no_model(tmp_path):
    """ "`stage: Commit` calls the model": its tier is None, pure mechanics."""
    (tmp_path / "long.yaml").write_text("flow: long\nsteps: [{id: '1'}, {id: '2', stage: Commit}, {id: '3'}]\n")
    config, name = flow_of(str(tmp_path / "long.yaml"))
    outcome = run_flow(config, name, answering(asked := []), commit=lambda step, done: f"{len(done)} entries")
    assert (asked, outcome.steps[1].output) == (["1", "3"], "1 entries")
    assert [step.receipt["stage"] for step in outcome.steps] == [None, "Commit", None]


@dataclass
class StepOutput:
    step_id: int
    agent_key: str
    output: str


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
    log, made = tmp_path / "run.jsonl", resolved("forge")
    with log.open("w") as file:
        for size in (10, 40_000):
            made.fit({"rule": "R", "plan": "word " * size}, emit=lambda event: print(json.dumps(event), file=file))
        print(json.dumps({"event": "answer", "status": 400}), file=file)
    told = CliRunner().invoke(app, ["report", str(log)]).output
    assert told.startswith("2 prompts, ")
    assert "1 calls refused with HTTP 400" in told


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


# --- sections, lessons, templates


def test_a_reserve_above_the_total_is_refused_with_its_line(tmp_path):
    """ "`prompt.reserve` above the total gives an empty prompt, no warning, "healthy"."""
    (tmp_path / "brim.yaml").write_text("profile: forge\nprompt:\n  reserve: 9000\n")
    made = brim.load_config(tmp_path, environ={}).resolve()
    with pytest.raises(SourceError, match=r"brim\.yaml:3: prompt\.reserve.*less than the 8,000 tokens"):
        made.fit({"rule": "V-2301", "directive": "Call apply_fix."})


@pytest.mark.parametrize("budget", [9, 13, 17])
def test_a_directive_is_there_while_there_is_any_room_for_it(budget):
    """forge: "A directive is dropped with 13 tokens left, though the page says never"."""
    contents = {"rule": "V-2301", "directive": "Call apply_fix once and return. " * 9, "plan": "Init it. " * 200}
    prompt = resolved("forge").fit(contents, budget=budget)
    assert prompt.texts["directive"].startswith("Call")
    assert prompt.receipt.used <= budget


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


def test_the_literal_memory_rule_keeps_the_memories_that_fit():
    """broker: "The literal memory rule keeps 2 lines where 12 fit"."""
    memories = [f"In year {i} the water came to step {i} of the house." for i in range(30)]
    prompt = resolved("broker-literal").fit({"memory": memories, "prompt": "You are a household."}, budget=200)
    kept = [each for each in memories if each in prompt.text]
    assert kept == memories[-len(kept) :]
    assert len(kept) >= 12


@pytest.mark.parametrize(
    ("template", "text"),
    [
        *((f"{{{name}}}.", f"{text}.") for name, text in (("three", "3"), ("none", "[N/A]"), ("half", "2.5"))),
        *((f"{{{name}}}", text) for name, text in (("traits", "{'job': 'baker'}"), ("list", "x\n3"), ("true", "True"))),
        ("{name:<10}|{name!s}|{name!r}|", "Anna      |Anna|'Anna'|"),
        ("{income:>8}|{income:,.2f}", "    1200|1,200.00"),
        ("{traits[job]} {traits[age]}", "baker [N/A]"),
        ("{name:d}", "Anna"),
        ("{weather:>8}", "[N/A]"),
    ],
)
def test_a_value_of_any_type_and_a_place_with_a_format_are_text(template, text):
    """ "Numbers, None and dicts raise"; "`{name:<10}`, `{name!s}`, `{income:>8}` become `[N/A]` although the value is there"."""
    values = {"three": 3, "none": None, "half": 2.5, "list": ["x", 3], "true": True}
    context = {**values, "name": "Anna", "income": 1200, "traits": {"job": "baker"}}
    assert resolved("broker").fit(context, template=template).text == text


# --- ecology: the author's own files, and the agent's page

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
    assert all(name in told for name in ("'world'", "'llm'", "'personality'"))
    same = brim.load_config(yaml.safe_load(CONFIG), environ={})
    assert same.resolve().value("prompt.total") == 4_000
    with pytest.raises(SourceError, match="total_token'; did you mean 'total_tokens'"):
        brim.load_config({"context_budget": {"total_token": 1}}, environ={})


def test_an_agent_is_told_in_its_own_words_what_of_its_wish_was_refused():
    """ "An agent is not told what of its wish was refused, nor in its own words (`max_tokens`, not `ceiling`)"."""
    wish = {"system_prompt": {"max_tokens": 5}, "recent_events": {"max_tokens": -3}, "dairy": 90}
    page = json.dumps({"context_budget": {"total_tokens": 9000, "sections": wish}})
    text = resolved("ecology").fit({"system_prompt": "You tend a garden.", "working_memory": page}).text
    told = text.split("\n\n")[1].split("\n")[0]
    assert "sections.recent_events.max_tokens must be" in told
    assert "ceiling" not in told
    assert "total_tokens 9,000 is more than the available 4,000, so 4,000 is used" in told
    assert "system_prompt is required and stays as it is" in told


def test_a_budget_on_a_long_page_is_read_wherever_it_is():
    """ "a budget on a long page is ignored silently"."""
    wish = "~~~yaml\ncontext_budget: {sections: {recent_events: 50}}\n~~~\n"
    notes, events = "A note of an ordinary day.\n" * 6_000, {"recent_events": "Rain. " * 400}
    for page in (wish + notes, notes + wish, notes + wish + notes):
        receipt = resolved("ecology").fit({"working_memory": page, **events}).receipt
        assert receipt.part("recent_events").used <= 50


TICK = """
import sys
from pathlib import Path
import brim

settings = brim.load_config(Path(sys.argv[1]), environ={"BRIM_TRUST": sys.argv[1]}).resolve()
with settings.store() as store:
    if len(sys.argv) > 2:
        saved = store.load("artifact", "agent-7/working_memory")
        store.save("artifact", "agent-7/working_memory", {"content": sys.argv[2]}, version=saved.version if saved else 0)
    page = store.load("artifact", "agent-7/working_memory").body["content"]
memories = "\\n".join(f"memory {i}" for i in range(300))
prompt = settings.fit({"system_prompt": "You tend a garden.", "working_memory": page, "rag_memories": memories})
print(prompt.receipt.part("rag_memories").ceiling, prompt.receipt.budget, prompt.text)
"""


@pytest.mark.slow
@pytest.mark.requirement("S1.21")
def test_the_agents_budget_survives_a_restart_with_its_artifact_in_a_store(tmp_path):
    """Processes and one SQLite file: what one wrote on its page, the next has as its budget."""
    world = {"profile": "ecology", "store": {"url": f"sqlite:///{tmp_path / 'world.db'}"}}
    (tmp_path / "brim.yaml").write_text(json.dumps(world))

    def tick(*page):
        run = [sys.executable, "-c", TICK, str(tmp_path), *page]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout

    own = "Memories are dear.\n```yaml\ncontext_budget: {total_tokens: 900, sections: {rag_memories: 70}}\n```\n"
    first = tick(own)
    assert first.startswith("70 900 ")
    assert tick() == first
    assert tick(own + "```yaml\ncontext_budget: {total_tokens: 5}\n```\n").startswith("600 4000 ")
    assert "leaves no room" in tick()
