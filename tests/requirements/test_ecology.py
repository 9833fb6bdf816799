"""S1: agents that manage their own context."""

from pathlib import Path

import pytest

import brim
from brim import Section

ROOT = Path(__file__).resolve().parent.parent.parent
WORD = "word "


def size(prompt, name):
    return prompt.receipt.part(name).used


@pytest.mark.requirement("S1.3")
def test_limits_are_percentages_or_units_and_mix():
    sections = [
        Section("memory", WORD * 2000, ceiling="20%", priority="high"),
        Section("history", WORD * 2000, ceiling=400),
    ]
    prompt = brim.fit(sections, 4000, meter="o200k_base")
    assert prompt.receipt.part("memory").ceiling == 800
    assert 780 <= size(prompt, "memory") <= 800
    assert 380 <= size(prompt, "history") <= 400


@pytest.mark.requirement("S1.3", "S1.9")
@pytest.mark.parametrize("value", ["120%", "-5%", "abc", "%", -1, 1.5, float("nan"), None, True, "1e3%", [3]])
def test_bad_limits_are_refused(value):
    with pytest.raises(brim.InvalidValue, match="section 'a': floor"):
        Section("a", "x", floor=value)


@pytest.mark.requirement("S1.4")
@pytest.mark.parametrize("priority", ["urgent", "", "hi", None, 1.5, True])
def test_any_other_priority_is_an_error(priority):
    with pytest.raises(brim.InvalidValue, match="priority must be required, high, medium, low or a whole number"):
        Section("a", "x", priority=priority)


@pytest.mark.requirement("S1.6")
def test_the_budget_is_the_window_without_the_reserve_and_low_sections_never_change_the_others():
    window = brim.Window(4000, reserve=1000)
    assert window.budget == 3000
    prompts = []
    for low in (10, 5000):
        sections = [
            Section("low", WORD * low, priority="low"),
            Section("system", WORD * 400, priority="required"),
            Section("memory", WORD * 900, priority="high"),
        ]
        prompts.append(brim.fit(sections, window, meter="o200k_base"))
    for name in ("system", "memory"):
        assert prompts[0].texts[name] == prompts[1].texts[name] != ""


@pytest.mark.requirement("S1.7")
def test_required_is_always_there_and_too_much_of_it_is_an_explicit_error():
    sections = [Section("system", WORD * 100, priority="required"), Section("rag", WORD * 5000, priority="high")]
    assert brim.fit(sections, 150, meter="o200k_base").receipt.part("system").state == "whole"
    with pytest.raises(brim.DoesNotFit, match="system 101") as refused:
        brim.fit(sections, 90, meter="o200k_base")
    assert refused.value.parts["system"] == 101
    assert "Raise the budget to 101" in str(refused.value)


@pytest.mark.requirement("S1.7")
def test_a_required_section_with_a_floor_shrinks_to_it_instead():
    sections = [Section("system", WORD * 100, priority="required", floor=40)]
    part = brim.fit(sections, 60, meter="o200k_base").receipt.part("system")
    assert (part.state, part.granted) == ("cut", 60)
    with pytest.raises(brim.DoesNotFit):
        brim.fit(sections, 39, meter="o200k_base")


@pytest.mark.requirement("S1.11", "S1.13")
@pytest.mark.parametrize("keep", ["newest", "best", "head", "lines"])
def test_one_over_long_line_is_cut_inside(keep):
    """One long line came back as 10,007 tokens for a maximum of 100."""
    section = Section("events", "x1y2" * 9000, keep=keep, ceiling=100, marker="\n[...truncated]")
    prompt = brim.fit([section], 4000, meter="o200k_base")
    assert 60 < size(prompt, "events") <= 100


@pytest.mark.requirement("S1.18", "S1.19")
def test_subscribed_artifacts_are_budgeted_and_disabled_sections_use_nothing():
    sections = [
        Section("subscribed_artifacts", WORD * 900, ceiling=400),
        Section("off", WORD * 900, enabled=False, required=True),
    ]
    receipt = brim.fit(sections, 4000, meter="o200k_base").receipt
    assert 390 <= receipt.part("subscribed_artifacts").used <= 400
    assert (receipt.part("off").state, receipt.part("off").used) == ("disabled", 0)


@pytest.mark.requirement("S1.20")
def test_budget_priority_and_order_on_the_page_are_two_things():
    sections = [Section("last", "low", priority="low"), Section("first", "high", priority="high")]
    assert brim.fit(sections, 100, meter="chars").text == "low\n\nhigh"
    assert brim.fit(sections, 100, meter="chars", order="priority").text == "high\n\nlow"


ALLOCATIONS = """\
context_budget:
  total_tokens: 4000
  overflow_policy: {policy}
  allocations:
    system_prompt: {{max_tokens: 500, priority: required}}
    working_memory: {{max_tokens: 800, priority: high}}
    rag_memories: {{max_tokens: 600, priority: medium}}
    action_history: {{max_tokens: 400, priority: medium}}
    recent_events: {{max_tokens: 300, priority: low}}
    subscribed_artifacts: {{max_tokens: 400, priority: medium}}
"""


DEFAULT = ALLOCATIONS.format(policy="truncate_low_priority")


def settings(tmp_path, text=DEFAULT):
    (tmp_path / "brim.yaml").write_text(text)
    return brim.load_config(tmp_path, environ={}).resolve()


def contents(**sizes):
    """Return sections by name, each of about so many tokens."""
    return {name: "\n".join(f"item {i}" for i in range(size // 4)) for name, size in sizes.items()}


@pytest.mark.requirement("S1.1", "S1.2")
def test_the_profile_has_the_documents_numbers_and_so_has_its_example(tmp_path):
    for found in (settings(tmp_path), settings(tmp_path, "profile: ecology\n")):
        assert (found.value("prompt.total"), found.value("prompt.overflow")) == (4_000, "truncate")
        rows = {
            name: (found.value(f"sections.{name}.ceiling"), found.value(f"sections.{name}.priority"))
            for name in found.names()
        }
        assert rows.pop("failure_history") == (200, "medium")
        assert rows == {
            "system_prompt": (500, "required"),
            "working_memory": (800, "high"),
            "rag_memories": (600, "medium"),
            "action_history": (400, "medium"),
            "recent_events": (300, "low"),
            "subscribed_artifacts": (400, "medium"),
        }


@pytest.mark.requirement("S1.1")
def test_without_a_total_in_the_documents_spelling_the_models_window_is_the_total(tmp_path):
    text = "model: gpt-4\ncontext_budget: {output_reserve: 1000, sections: {a: {max_tokens: 50%}}}\n"
    prompt = settings(tmp_path, text).fit({"a": "word " * 9_000})
    assert prompt.receipt.budget == 8_192 - 1_000
    assert prompt.receipt.part("a").ceiling == 3_596
    assert settings(tmp_path, text.replace("model: gpt-4\n", "")).fit({"a": "x"}).receipt.budget == 3_000
    flagged = brim.load_config(tmp_path, environ={}, flags={"model": "gpt-4"}).resolve()
    assert flagged.fit({"a": "x"}).receipt.budget == 7_192


@pytest.mark.requirement("S1.6")
def test_what_is_kept_for_the_answer_is_not_available_to_the_sections(tmp_path):
    """Sections of 3,500 tokens were allowed where 3,000 were available."""
    found = settings(tmp_path, "context_budget: {total_tokens: 4000, output_reserve: 1000}\n")
    full = contents(**dict.fromkeys(found.names(), 2_000))
    receipt = found.fit(full).receipt
    assert receipt.budget == 3_000
    assert 2_800 <= receipt.used <= 3_000
    assert receipt.part("recent_events").used < 300


@pytest.mark.requirement("S1.5", "S1.22")
@pytest.mark.parametrize("policy", ["drop_low_priority", "drop"])
def test_low_priority_is_dropped_when_over_budget(tmp_path, policy):
    found = settings(tmp_path, ALLOCATIONS.format(policy=policy))
    told = contents(system_prompt=400, working_memory=900, rag_memories=700, recent_events=200)
    states = {part.name: part.state for part in found.fit(told, budget=1_500).receipt.parts}
    assert states == {
        "system_prompt": "whole",
        "working_memory": "cut",
        "rag_memories": "dropped",
        "recent_events": "whole",
    }


@pytest.mark.requirement("S1.5")
@pytest.mark.parametrize("policy", ["drop_low_priority", "truncate_low_priority"])
def test_nothing_is_dropped_while_there_is_room_for_its_allocation(tmp_path, policy):
    """A medium section over its own limit was dropped while 2,600 tokens were free."""
    found = settings(tmp_path, ALLOCATIONS.format(policy=policy))
    prompt = found.fit(contents(system_prompt=400, rag_memories=700, recent_events=900))
    assert (prompt.receipt.part("rag_memories").state, prompt.receipt.part("recent_events").state) == ("cut", "cut")
    assert 580 <= prompt.receipt.part("rag_memories").used <= 600
    assert 280 <= prompt.receipt.part("recent_events").used <= 300


@pytest.mark.requirement("S1.5", "S1.22")
@pytest.mark.parametrize(("policy", "state"), [("truncate_low_priority", "cut"), ("drop_low_priority", "dropped")])
def test_a_total_over_the_budget_is_cut_by_the_policy(tmp_path, policy, state):
    text = ALLOCATIONS.format(policy=policy).replace("4000", "1500")
    prompt = settings(tmp_path, text).fit(
        contents(system_prompt=400, working_memory=700, rag_memories=550, recent_events=40)
    )
    assert prompt.receipt.part("system_prompt").state == prompt.receipt.part("working_memory").state == "whole"
    assert (1_480 if state == "cut" else 1_100) < prompt.receipt.used <= 1_500
    assert prompt.receipt.part("rag_memories").state == state


@pytest.mark.requirement("S1.7", "S1.22")
def test_a_required_section_is_there_whatever_the_others_want(tmp_path):
    found = settings(tmp_path)
    for total in (460, 900, 4_000):
        prompt = found.fit(
            contents(recent_events=5_000, working_memory=5_000, system_prompt=400, extra=5_000), budget=total
        )
        assert prompt.receipt.part("system_prompt").state == "whole"
    with pytest.raises(brim.DoesNotFit, match="system_prompt"):
        found.fit(contents(recent_events=5_000, system_prompt=400), budget=200)


@pytest.mark.requirement("S1.16", "S1.22")
def test_the_use_is_seen_in_the_prompt_when_asked_for(tmp_path):
    """The share of a section's limit from which it is near: 450 of 500 is not, 780 of 800 is."""
    text = "meter: chars\ncontext_budget: {total_tokens: 4000, show_budget_usage: true}\n"
    sizes = {"system_prompt": 450, "working_memory": 780, "rag_memories": 400}
    prompt = settings(tmp_path, text).fit({name: "x" * size for name, size in sizes.items()})
    assert prompt.text.endswith(
        f"\n\n## Context Budget\nUsing {len(prompt.text)}/4000 chars ({len(prompt.text) * 100 // 4000}%)\n"
        "- system_prompt: 450/500\n- working_memory: 780/800 (near limit!)\n- rag_memories: 400/600"
    )


OWN = """\
# What I know
The east gate is open.

```yaml
context_budget:
  sections:
    rag_memories: {max_tokens: 40}
    recent_events: {max_tokens: 900, priority: high}
```
"""


@pytest.mark.requirement("S1.14")
def test_the_budget_on_the_agents_page_stands_above_the_settings(tmp_path):
    found = settings(tmp_path)
    told = contents(system_prompt=40, rag_memories=800, recent_events=850)
    before = found.fit({"working_memory": "The east gate is open.", **told}).receipt
    after = found.fit({"working_memory": OWN, **told}).receipt
    assert (before.part("rag_memories").ceiling, before.part("recent_events").ceiling) == (600, 300)
    assert (after.part("rag_memories").ceiling, after.part("recent_events").ceiling) == (40, 900)
    assert after.part("recent_events").state == "whole"


@pytest.mark.requirement("S1.14")
def test_a_budget_on_the_page_that_cannot_be_understood_is_ignored_with_a_warning(tmp_path, caplog):
    found = settings(tmp_path)
    page = OWN.replace("max_tokens: 40", "max_tokens: lots")
    prompt = found.fit({"working_memory": page, **contents(rag_memories=800)})
    assert prompt.receipt.part("rag_memories").ceiling == 600
    assert "ignored in the budget in the working memory" in caplog.text
    assert "'lots'" in prompt.texts["working_memory"].splitlines()[0], "the agent is told"


@pytest.mark.requirement("S1.14")
@pytest.mark.parametrize(
    "budget",
    [
        "{total_tokens: 5}",
        "{total_tokens: 60}",
        "{total_tokens: 4000, output_reserve: 3990}",
        "{sections: {working_memory: {enabled: false}}}",
        "{sections: {working_memory: {max_tokens: 1}}}",
    ],
)
def test_an_agent_cannot_write_a_budget_that_it_cannot_correct(tmp_path, budget):
    """`total_tokens: 5` on the page was an error in this tick and in every tick after it."""
    found, told = settings(tmp_path), contents(system_prompt=40, rag_memories=200)
    page = f"# What I know\n```yaml\ncontext_budget: {budget}\n```\n" + "The east gate is open. " * 20
    prompt = found.fit({"working_memory": page, **told})
    first = prompt.texts["working_memory"].splitlines()[0]
    assert first == (
        "[context_budget: the budget in this section leaves no room for this section or the required ones; that of"
        " the settings is used instead]"
    )
    assert prompt.texts["working_memory"].endswith(page)
    assert prompt.receipt.budget == 4_000


DOCUMENT = """\
{
    "context_budget": {
        "total_tokens": 2500,
        "allocations": {
            "system_prompt": {"max_tokens": 500, "priority": "required"},
            "working_memory": {"max_tokens": 800, "priority": "high"},
            "rag_memories": {"max_tokens": 60, "priority": "medium", "truncation_strategy": "start"},
            "recent_events": {"max_tokens": 300, "priority": "required"}
        },
        "overflow_policy": "drop_low_priority"
    }
}
"""


@pytest.mark.requirement("S1.14")
def test_the_documents_own_object_is_a_budget_for_a_page(tmp_path, caplog):
    found = settings(tmp_path)
    told = contents(system_prompt=160, rag_memories=800, action_history=900, recent_events=900)
    prompt = found.fit({"working_memory": DOCUMENT, **told}, budget=760)
    assert "total_tokens 2,500 is more than the available 760" in caplog.text
    assert "ignored" not in caplog.text
    assert prompt.receipt.budget == 760
    states = {part.name: part.state for part in prompt.receipt.parts}
    assert states["system_prompt"] == "whole"
    assert states["recent_events"] == "cut"
    assert states["action_history"] == "dropped"
    free = found.fit({"working_memory": DOCUMENT, **told})
    assert free.receipt.budget == 2_500
    assert free.texts["rag_memories"].endswith("item 199")
    assert free.receipt.part("rag_memories").ceiling == 60


@pytest.mark.requirement("S1.15")
def test_the_budget_is_static_and_a_tick_may_be_given_another(tmp_path):
    found = settings(tmp_path)
    told = contents(system_prompt=40, rag_memories=2_000)
    assert found.fit(told).text == found.fit(told).text
    assert found.fit(told, budget=200).receipt.budget == 200
    assert found.fit(told).receipt.budget == 4_000


@pytest.mark.requirement("S1.17")
def test_a_feature_that_is_off_leaves_the_prompt_as_it_is(tmp_path):
    found = settings(tmp_path, "agent: {context_budget: {enabled: false, total_tokens: 10}}\n")
    told = contents(system_prompt=900, recent_events=9_000)
    assert found.fit(told).text == "\n\n".join(told.values())


@pytest.mark.requirement("S1.10")
def test_an_unknown_model_is_counted_with_another_meter_and_a_warning_and_refused_where_that_is_asked(tmp_path, caplog):
    """The document falls back for unknown models; nothing does so in silence: 250 tokens were told where there were 351."""
    text = "model: somebody/new-model\ncontext_budget: {total_tokens: 4000}\n"
    receipt = settings(tmp_path, text).fit({"system_prompt": "The river rises. " * 20}).receipt
    assert 80 <= receipt.used <= 160
    assert not receipt.exact
    assert (
        "the model 'somebody/new-model' is not in the catalogue, so brim counts with the meter 'other'" in caplog.text
    )
    named = settings(tmp_path, text + "unknown_model: chars/4\n").fit({"system_prompt": "x" * 20}).receipt
    assert (named.used, named.meter) == (5, "chars/4")
    own = settings(tmp_path, text + "meter: cl100k_base\n").fit({"system_prompt": "hello world"}).receipt
    assert (own.used, own.meter) == (2, "cl100k_base")
    with pytest.raises(brim.SourceError, match="somebody/new-model"):
        settings(tmp_path, text + "unknown_model: error\n").fit({"system_prompt": "x"})


@pytest.mark.requirement("S1.10")
def test_a_model_is_counted_by_its_own_vocabulary_and_each_section_without_a_chat_frame(tmp_path):
    """Each section cost 7 tokens more, because it was counted as a chat."""
    text = "model: {}\ncontext_budget: {{total_tokens: 4000}}\n"
    page = "漢字かな交じり文と한국어 " * 20
    used = {
        model: settings(tmp_path, text.format(model)).fit({"system_prompt": page}).receipt.used
        for model in ("gpt-4", "gpt-5")
    }
    assert used == {"gpt-4": brim.meter("cl100k_base").count(page), "gpt-5": brim.meter("o200k_base").count(page)}
    assert used["gpt-4"] > used["gpt-5"] + 40
    many = settings(tmp_path, text.format("gpt-5")).fit({f"s{i}": "hello world" for i in range(10)}).receipt
    assert many.used <= 10 * 2 + 9
    assert not settings(tmp_path, "model: claude-sonnet-4-5\n").meter().exact


@pytest.mark.requirement("S1.23")
def test_the_architecture_is_written_down():
    page = (ROOT / "docs" / "profiles" / "self-managing-agents.md").read_text(encoding="utf-8")
    for word in ("context_budget", "agent", "total_tokens", "output_reserve", "overflow_policy", "allocations"):
        assert word in page
    for name in settings_names():
        assert f"`{name}`" in page


def settings_names():
    return brim.load_config(ROOT / "docs", environ={}).resolve(profile="ecology").names()


@pytest.mark.requirement("S1.11", "S1.12", "S1.13")
def test_the_profile_cuts_each_section_as_its_kind_demands(tmp_path):
    """Markers stood at the wrong end, and one section cut to half of what it may have."""
    found = settings(tmp_path, "profile: ecology\n")
    lines = [f"entry {i}" for i in range(900)]
    names = ("action_history", "failure_history", "rag_memories", "subscribed_artifacts")
    prompt = found.fit(dict.fromkeys(names, "\n".join(lines)))
    kept = {name: prompt.texts[name].split("\n") for name in names}
    for name in ("action_history", "failure_history"):
        assert kept[name][0] == "[...older entries truncated]"
        assert kept[name][1:] == lines[-len(kept[name]) + 1 :]
    assert kept["rag_memories"][-1] == "[...lower relevance truncated]"
    assert kept["rag_memories"][:-1] == lines[: len(kept["rag_memories"]) - 1]
    assert prompt.texts["subscribed_artifacts"].endswith("\n[...truncated]")
    for name in names:
        part = prompt.receipt.part(name)
        assert part.ceiling - 12 <= part.used <= part.ceiling


@pytest.mark.requirement("S1.5", "S1.7")
def test_a_policy_that_drops_never_drops_what_is_required(tmp_path):
    text = (
        "prompt: {total: 400, overflow: drop}\nsections: {rules: {required: true, ceiling: 50}, log: {ceiling: 50}}\n"
    )
    found = settings(tmp_path, text)
    receipt = found.fit(contents(rules=200, log=200), budget=80).receipt
    assert (receipt.part("rules").state, receipt.part("log").state) == ("cut", "dropped")
