"""S1: agents that manage their own context."""

import pytest

import brim
from brim import Section

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
@pytest.mark.parametrize("priority", ["required", "high", "medium", "low"])
def test_the_four_priorities_are_known(priority):
    assert Section("a", "x", priority=priority).required == (priority == "required")


@pytest.mark.requirement("S1.4")
@pytest.mark.parametrize("priority", ["urgent", "", "hi", None, 1.5, True])
def test_any_other_priority_is_an_error(priority):
    with pytest.raises(brim.InvalidValue, match="priority must be required, high, medium, low or a whole number"):
        Section("a", "x", priority=priority)


@pytest.mark.requirement("S1.5")
@pytest.mark.parametrize(("overflow", "state"), [("truncate", "cut"), ("drop", "dropped")])
def test_low_priority_is_cut_or_dropped_as_the_policy_says(overflow, state):
    sections = [Section("a", WORD * 50, priority="high"), Section("b", WORD * 500, priority="low", overflow=overflow)]
    assert brim.fit(sections, 200, meter="o200k_base").receipt.part("b").state == state


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


@pytest.mark.requirement("S1.8")
def test_unknown_fields_are_refused():
    with pytest.raises(TypeError, match="max_tokens"):
        Section("a", "x", max_tokens=5)


@pytest.mark.requirement("S1.10")
def test_counting_is_by_the_model_and_counts_the_text_alone():
    assert brim.meter("gpt-5").count("hello world") == 2
    assert brim.meter("gpt-4").name == "cl100k_base"


@pytest.mark.requirement("S1.11")
def test_history_drops_the_oldest_lines_and_the_marker_stands_where_they_were():
    lines = [f"action {i}" for i in range(200)]
    section = Section(
        "action_history", "\n".join(lines), keep="newest", marker="[...older entries truncated]", ceiling=60
    )
    kept = brim.fit([section], 4000, meter="o200k_base").text.split("\n")
    assert kept[0] == "[...older entries truncated]"
    assert kept[1:] == lines[-len(kept[1:]) :]
    assert len(kept) > 5


@pytest.mark.requirement("S1.12")
def test_ranked_memories_drop_the_last():
    lines = [f"memory {i}" for i in range(200)]
    section = Section("rag", "\n".join(lines), keep="best", marker="[...lower relevance truncated]", ceiling=60)
    kept = brim.fit([section], 4000, meter="o200k_base").text.split("\n")
    assert kept[-1] == "[...lower relevance truncated]"
    assert kept[:-1] == lines[: len(kept) - 1]
    assert len(kept) > 5


@pytest.mark.requirement("S1.11", "S1.13")
@pytest.mark.parametrize("keep", ["newest", "best", "head", "lines"])
def test_one_over_long_line_is_cut_inside(keep):
    """One long line came back as 10,007 tokens for a maximum of 100."""
    section = Section("events", "x1y2" * 9000, keep=keep, ceiling=100, marker="\n[...truncated]")
    prompt = brim.fit([section], 4000, meter="o200k_base")
    assert 60 < size(prompt, "events") <= 100


@pytest.mark.requirement("S1.13")
def test_anything_else_keeps_as_much_of_its_head_as_fits():
    """Halving kept 1,031 of 2,048."""
    section = Section("other", WORD * 9000, ceiling=2048, marker="\n[...truncated]")
    prompt = brim.fit([section], 4000, meter="o200k_base")
    assert 2040 <= size(prompt, "other") <= 2048
    assert prompt.text.endswith("\n[...truncated]")


@pytest.mark.requirement("S1.16")
def test_the_prompt_tells_its_own_budget_and_use():
    sections = [
        Section("system_prompt", "x" * 450, ceiling=500),
        Section("working_memory", "y" * 780, ceiling=800),
        Section("rag_memories", "z" * 400, ceiling=600),
    ]
    prompt = brim.fit(sections, 4000, meter="chars", show_budget=True)
    used = len(prompt.text)
    assert prompt.texts["context_budget"] == (
        f"## Context Budget\nUsing {used}/4000 chars ({used * 100 // 4000}%)\n"
        "- system_prompt: 450/500\n"
        "- working_memory: 780/800 (near limit!)\n"
        "- rag_memories: 400/600"
    )
    assert prompt.text.endswith(prompt.texts["context_budget"])


@pytest.mark.requirement("S1.17")
def test_without_it_the_prompt_is_unchanged():
    sections = [Section("a", "one"), Section("b", "two")]
    assert brim.fit(sections, 4000, meter="o200k_base").text == "one\n\ntwo"


@pytest.mark.requirement("S1.18", "S1.19")
def test_subscribed_artifacts_are_budgeted_and_disabled_sections_use_nothing():
    sections = [
        Section("subscribed_artifacts", WORD * 900, ceiling=400),
        Section("off", WORD * 900, enabled=False, required=True),
    ]
    receipt = brim.fit(sections, 4000, meter="o200k_base").receipt
    assert receipt.part("subscribed_artifacts").used <= 400
    assert (receipt.part("off").state, receipt.part("off").used) == ("disabled", 0)


@pytest.mark.requirement("S1.20")
def test_budget_priority_and_order_on_the_page_are_two_things():
    sections = [Section("last", "low", priority="low"), Section("first", "high", priority="high")]
    assert brim.fit(sections, 100, meter="chars").text == "low\n\nhigh"
    assert brim.fit(sections, 100, meter="chars", order="priority").text == "high\n\nlow"
