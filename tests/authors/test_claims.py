"""Sentences of the five pages under `docs/authors` that no criterion covers, run with the documents' own names and words.

Each test opens with the sentences of the page that it holds.
"""

import logging

import pytest

import brim
from brim import cli
from brim.errors import SourceError
from brim.flows.curator import Curator
from brim.flows.pack import Pack
from brim.sessions.memory import EpisodicMemory, SemanticMemory, distilled


def resolved(profile=None, **flags):
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


def written(folder, text, name="brim.yaml"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- broker


def test_broker_a_list_says_how_many_of_its_entries_were_left_out():
    """ "in a list, `... (truncated) [14 older entries omitted]` where a stage or a ceiling left entries out"."""
    memories = [f"In year {i} the water came to step {i} of the house." for i in range(30)]
    for settings, budget in ((resolved("broker"), 200), (resolved("broker", **{"sections.memory.ceiling": 150}), None)):
        text = settings.fit({"memory": memories, "options": "1. Do nothing"}, budget=budget).texts["memory"]
        mark, *kept = text.split("\n")
        assert mark == f"... (truncated) [{30 - len(kept)} older entries omitted]"
        assert kept == memories[-len(kept) :]
        assert len(kept) >= 8


def test_broker_content_without_a_place_is_left_out_and_a_long_template_is_cut_with_the_options_after_it():
    """ "content without a place is left out, a template whose own text is over the budget is cut, with the options after it"."""
    settings = resolved("broker")
    assert settings.fit({"memory": "wet", "unused": "text"}, template="{memory}").text == "wet"
    template = "The rules of the house. " * 400 + "\n{options}"
    text = settings.fit({"options": "1. Do nothing\n2. Move"}, template=template, budget=120).text
    assert text.startswith("The rules of the house.")
    assert "... (context truncated)" in text
    assert text.endswith("1. Do nothing\n2. Move")


def test_broker_what_a_stage_removes_is_a_loss_and_the_total_is_prompt_total_or_budget():
    """ "What a stage removes is a loss like any other: the receipt has its size, its reason and its handle"."""
    gossip = "\n".join(f"Neighbour {i} saw the river rise." for i in range(900))
    for settings, budget in ((resolved("broker"), 500), (resolved("broker", **{"prompt.total": 500}), None)):
        receipt = settings.fit({"social_gossip": gossip, "prompt": "You are a household."}, budget=budget).receipt
        (loss,) = receipt.losses
        assert receipt.budget == 500
        assert loss.units > 5_000
        assert "its last 3 of 900 lines" in loss.reason
        assert loss.handle


def test_broker_a_list_of_messages_is_fitted_to_its_budget():
    """ "One that owns a list of messages passes that list to `settings.fit_messages(messages, budget=16_384)`"."""
    messages = [{"role": "user", "content": f"Day {i}. " + "It rains. " * 300} for i in range(40)]
    fitted = resolved("broker", model="gpt-5").fit_messages(messages, budget=16_384)
    assert 8_000 < brim.meter("gpt-5").count_messages(fitted.messages) <= 16_384
    assert fitted.messages[-1] is messages[-1]


# --- ecology


BLOCK = "context_budget: {total_tokens: 3000, sections: {working_memory: {max_tokens: 700, priority: high}}}"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (BLOCK, {}),
        (f"agent: {{{BLOCK}}}", {}),
        (f"profiles: {{garden: {{{BLOCK}}}}}", {"profile": "garden"}),
        (f"flows: {{day: {{{BLOCK}, steps: [{{id: a}}]}}}}", {"flow": "day"}),
        (f"flows: {{day: {{steps: [{{id: a, {BLOCK}}}]}}}}", {"flow": "day", "step": "a"}),
    ],
    ids=["top", "agent", "profile", "flow", "step"],
)
def test_ecology_the_block_may_stand_at_the_top_in_a_profile_a_flow_or_a_step(tmp_path, text, asked):
    """ "`context_budget` at the top of `brim.yaml`, in a profile, a flow or a step, also as `agent: {context_budget: ...}`"."""
    made = brim.load_config(written(tmp_path, text), environ={}).resolve(**asked)
    assert (made.value("prompt.total"), made.value("sections.working_memory.ceiling")) == (3_000, 700)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("{sections: {working_memory: {max_token: 7}}}", "did you mean 'max_tokens'"),
        ("{sections: {working_memory: {max_tokens: 0}}}", "max_tokens"),
        ("{sections: {working_memory: {priority: urgent}}}", "one of required, high, medium, low"),
        ("{overflow_policy: explode}", "overflow"),
    ],
)
def test_ecology_unknown_keys_in_the_block_are_refused_and_a_limit_is_above_0(tmp_path, wrong, told):
    """ "unknown keys in them are refused, a limit is above 0, a priority is `required`, `high`, `medium` or `low`"."""
    with pytest.raises(SourceError, match=told):
        brim.load_config(written(tmp_path, f"context_budget: {wrong}"), environ={}).resolve()


def test_ecology_every_word_is_a_setting(tmp_path):
    """The table of words: `enabled`, `overflow_policy: drop` for short, `truncation_strategy`, a section that is off."""
    made = brim.load_config(
        written(
            tmp_path,
            "context_budget:\n  enabled: false\n  output_reserve: 1000\n  overflow_policy: drop\n"
            "  show_budget_usage: true\n  allocations:\n"
            "    a: {truncation_strategy: end}\n    b: {truncation_strategy: start}\n"
            "    c: {truncation_strategy: middle, enabled: false}\n",
        ),
        environ={},
    ).resolve()
    names = ("enabled", "reserve", "overflow", "show_budget")
    assert [made.value(f"prompt.{name}") for name in names] == [False, 1_000, "drop", True]
    assert [made.value(f"sections.{name}.keep") for name in "abc"] == ["head", "newest", "ends"]
    assert made.value("sections.c.enabled") is False
    long = "Rain. " * 9_000
    assert made.fit({"a": long, "b": "Sun."}).text == f"{long}\n\nSun.", "the sections are joined as they are"


def test_ecology_the_profile_has_the_limits_of_the_table_and_4000_without_a_model():
    """ "without it, the window of the model; without a model, 4,000", and the table of sections."""
    made = resolved("ecology")
    limits = {
        "system_prompt": (500, "required"),
        "working_memory": (800, "high"),
        "rag_memories": (600, "medium"),
        "action_history": (400, "medium"),
        "failure_history": (200, "medium"),
        "recent_events": (300, "low"),
        "subscribed_artifacts": (400, "medium"),
        "diary": (500, "medium"),
    }
    receipt = made.fit(dict.fromkeys(limits, "One line.\n" * 900)).receipt
    assert receipt.budget == 4_000
    assert {part.name: part.ceiling for part in receipt.parts if part.name in limits} == {
        name: limit for name, (limit, _) in limits.items()
    }
    for name, (_, priority) in limits.items():
        key = name if name != "diary" else "*"
        assert made.value(f"sections.{key}.priority") == priority


def test_ecology_foreign_keys_are_listed_by_the_doctor(tmp_path, monkeypatch, capsys):
    """ "brim does not read them, and `brim doctor` lists them"."""
    written(tmp_path, f"world: {{size: 40}}\nllm: {{default_model: x}}\n{BLOCK}\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "'world'" in shown
    assert "'llm'" in shown


def test_ecology_the_last_budget_counts_and_one_that_leaves_no_room_does_not(caplog):
    """ "Of several budgets on a page the last one counts. If it leaves no room for the page or for what is required, the
    one before it counts ... The first line of the page tells the agent what was left out, and the log has the same"."""
    caplog.set_level(logging.WARNING, "brim")

    def page(*budgets):
        return "".join(f"~~~yaml\ncontext_budget: {each}\n~~~\n" for each in budgets)

    events = {"recent_events": "Rain. " * 400, "system_prompt": "You tend a garden."}
    made = resolved("ecology")
    two = page("{sections: {recent_events: 90}}", "{sections: {recent_events: 50}}")
    assert made.fit({"working_memory": two, **events}).receipt.part("recent_events").ceiling == 50
    bad = page("{sections: {recent_events: 90}}", "{total_tokens: 5, sections: {recent_events: 50}}")
    prompt = made.fit({"working_memory": bad, **events})
    assert prompt.receipt.part("recent_events").ceiling == 90
    first = prompt.texts["working_memory"].split("\n")[0]
    assert "total_tokens" in first or "budget" in first
    assert first.strip("[]").split(": ", 1)[-1][:40] in caplog.text


def test_ecology_a_section_that_the_agent_calls_required_is_served_first():
    """ "A section that the agent itself calls `required` is served first, and truncated if it must be"."""
    page = "~~~yaml\ncontext_budget: {sections: {recent_events: {priority: required, max_tokens: 1000}}}\n~~~\n"
    contents = {"working_memory": page, "rag_memories": "m\n" * 900, "recent_events": "Rain. " * 9_000}
    receipt = resolved("ecology").fit(contents, budget=1_500).receipt
    assert receipt.part("recent_events").used > 900
    assert receipt.used <= 1_500


def test_ecology_an_unknown_model_is_refused_on_request_and_a_meter_comes_before_it():
    """ "`unknown_model: error` refuses it. A `meter` of your own comes before both"."""
    with pytest.raises(brim.errors.BrimError, match="garden-7b"):
        resolved("ecology", model="garden-7b", unknown_model="error").fit({"system_prompt": "You tend a garden."})
    made = resolved("ecology", model="garden-7b", unknown_model="error", meter="chars/4")
    assert made.fit({"system_prompt": "You tend a garden."}).receipt.used == 4


# --- flow


def test_flow_a_pack_has_its_text_sections_receipt_and_reason(tmp_path):
    """ "`ContextPack`: `brim.flows.pack.Pack`: `text`, `sections`, `receipt`, `reason`"; "`curator_enabled: false`"."""
    config = brim.load_config(written(tmp_path, "flows: {f: {curator_enabled: false, steps: [{id: a}]}}"), environ={})
    pack = Curator(config, flow="f").prepare("a", [{"step_id": "0", "agent": "fixer", "output": "Done."}])
    assert isinstance(pack, Pack)
    assert "Done." in pack.text
    assert pack.sections
    assert pack.receipt["context_truncation"]
    assert isinstance(pack.reason, str)


def test_flow_overrides_replace_and_classes_and_presets_are_settings(tmp_path):
    """ "`override_mode: replace`", "`budgets` (or `budget_overrides`)", "`history.classes.critical: [my-agent]` adds agents"."""
    text = (
        "budgets: {preset: lean}\n{mode}flows:\n  f:\n    budgets: {{context_budget_chars: 90000, history_max_older_chars: 7000}}\n"
        "    steps: [{{id: a, budget_overrides: {{context_budget_chars: 50000}}}}]\n"
        "history: {{classes: {{critical: [my-agent]}}}}\n"
    ).replace("{preset: lean}", "{{preset: lean}}")
    merged = brim.load_config(written(tmp_path, text.format(mode="")), environ={}).resolve(flow="f", step="a")
    names = ("context_budget_chars", "history_max_older_chars")
    assert [merged.value(name) for name in names] == [50_000, 7_000]
    replaced = brim.load_config(written(tmp_path, text.format(mode="override_mode: replace\n")), environ={})
    assert replaced.resolve(flow="f", step="a").value("context_budget_chars") == 50_000
    assert replaced.resolve(flow="f", step="a").value("history_max_older_chars") != 7_000
    history = [
        {"step_id": str(i), "agent": agent, "output": f"Part {i}. " * 3_000}
        for i, agent in enumerate(["my-agent", *["gh-reporter"] * 9])
    ]
    receipt = Curator(replaced, flow="f").prepare("a", history).receipt["context_truncation"]
    assert receipt["priority_distribution"]["CRITICAL"] == 1


# --- forge


def test_forge_lower_numbers_are_kept_longer():
    """ "`(priority, label, content)`: lower numbers are kept longer"; "`assemble_prompt`: `order="priority"`"."""
    sections = [brim.Section(f"p{number}", f"{number} " * 200, priority=number) for number in (5, 0, 3)]
    prompt = brim.fit(sections, 500, meter="chars/4", order="priority")
    assert prompt.text.startswith("0 ")
    assert prompt.receipt.part("p0").state == "whole"
    assert prompt.receipt.part("p5").used <= prompt.receipt.part("p3").used


def test_forge_a_section_that_is_not_in_the_table_comes_after_it_and_entries_beyond_most_are_no_losses():
    """ "A section that is not in the table comes after it"; "entries beyond `most` are not counted as losses"."""
    lessons = [f"Attempt {i}: run aide --init." for i in range(20)]
    prompt = resolved("forge").fit({"weather": "It rains.", "rule": "V-2301", "lessons": lessons})
    assert prompt.text.split("\n\n")[-1] == "It rains."
    assert prompt.text.startswith("V-2301")
    assert prompt.receipt.losses == ()


def test_forge_room_is_left_for_the_answer_without_a_budget():
    """ "Without a budget, the window is the budget, and room is left for the answer (`window.reserve`, or an eighth of the
    window up to 4,096 tokens)"."""
    turn = [{"role": "user", "content": f"{i} " + "word " * 400} for i in range(90)]
    for flags, most in (({}, 16_384 - 2_048), ({"window.reserve": 5_000}, 11_384)):
        made = resolved("forge", model="gpt-5", **flags)
        used = brim.meter("gpt-5").count_messages(made.fit_messages(turn).messages)
        assert most - 1_500 < used <= most


@pytest.mark.parametrize(
    ("reflection", "lesson"),
    [
        ("It failed.\nDISTILLED: Run aide --init.", "Run aide --init."),
        ("It failed.\ndistilled_lesson: Run aide --init.", "Run aide --init."),
        ("Run aide --init. Then wait.", "Run aide --init."),
    ],
)
def test_forge_a_lesson_is_the_sentence_after_its_word_or_the_first(reflection, lesson):
    """ "the one sentence after `DISTILLED_LESSON:` (or `DISTILLED:`, in any case) ..., or its first sentence"."""
    assert distilled(reflection).text == lesson


def test_forge_memories_make_sections_and_count_what_recurs():
    """ "`SemanticMemory` has what is banned, preferred or strategic, each entry once with its count"."""
    advice = SemanticMemory()
    for _ in range(3):
        advice = advice.learned("banned", "editing aide.conf alone")
    (entry,) = advice.top("banned")
    assert entry.count == 3
    attempts = EpisodicMemory()
    for i in range(5):
        attempts, event = attempts.after(approach="A " * 900, result="B", reflection=f"DISTILLED_LESSON: Lesson {i}.")
    assert event["approach"] == "A " * 900, "the raw text is only in the event, whole"
    prompt = brim.fit([attempts.section("lessons", last=3), advice.section("banned", most=5)], 500, model="gpt-5")
    assert prompt.text.count("Lesson") == 3
    assert "editing aide.conf alone" in prompt.text


# --- session


def test_session_both_spellings_of_the_block_are_the_same(tmp_path):
    """ "the same in `brim.yaml`, or `window: {cap: 20, warn: 15, size: 1000000}`"; "`loop: {tick_cap: "15%"}`"."""
    theirs = "context: {max_utilization_pct: 20, warning_pct: 15, model_context_tokens: 1000000}\nloop: {max_context_pct: 15}\n"
    ours = 'window: {cap: 20, warn: 15, size: 1000000}\nloop: {tick_cap: "15%"}\n'
    found = []
    for name, text in (("a", theirs), ("b", ours)):
        made = brim.load_config(written(tmp_path / name, text), environ={}).resolve()
        found.append((made.window().budget, made.window().warning, made.loop("x", print).session.budget))
    assert found == [(200_000, 150_000, 150_000)] * 2


def test_session_a_loop_gives_each_tick_its_state_results_and_continuation(tmp_path):
    """ "`tick.iteration`, `tick.results`, `tick.state`", "the summary lives in the loop's own log in the store, so a resumed
    loop has it"."""
    seen = []

    def act(tick):
        step = tick.state.get("step", 0)
        seen.append((tick.iteration, len(tick.results), step, bool(tick.continuation)))
        if step == 30:
            raise KeyboardInterrupt
        said = {"role": "assistant", "content": f"Part {step} holds lock {step}. " + "filler words here " * 60}
        return brim.Step(
            messages=[said], end="goal" if step == 40 else "continue", state={"step": step + 1}, result=step
        )

    store = brim.open_store(f"sqlite:///{tmp_path}/loop.db")
    window = brim.Window(8_000)
    with pytest.raises(KeyboardInterrupt):
        brim.Loop(goal="Read.", act=act, window=window, model="gpt-5", tick_cap=0.5, store=store, id="l").run()
    assert seen[-1][3], "a fresh context begins with the continuation"
    seen.append(None)

    def later(tick):
        return act(tick) if tick.state["step"] != 30 else brim.Step(messages=[], end="goal", state={}, result="end")

    outcome = brim.Loop.resume("l", act=later, store=store).run()
    assert outcome.ended == "goal"
    assert outcome.sub_ticks >= 1


def test_session_a_quarter_of_the_tick_is_for_the_summary_and_an_estimate_keeps_its_margin():
    """ "the summary takes a quarter of the tick's budget (`loop.handoff_share`)"; "Counts that are estimates leave
    `safety_margin` free"."""
    made = resolved("session")
    assert made.value("loop.handoff_share") in (0.25, "25%")
    exact = resolved("session", model="gpt-4o").session()
    estimated = resolved("session", model="claude-sonnet-4-5", **{"window.size": 128_000}).session()
    for session in (exact, estimated):
        for i in range(300):
            session.add({"role": "user", "content": f"{i} " + "please look at the build again " * 40})
    used = [brim.meter("gpt-4o").count_messages(each.prompt().messages) for each in (exact, estimated)]
    assert used[0] <= 25_600
    assert used[1] < used[0]
