import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.sessions.memory import BudgetOverride, WorkingMemory

PAGE = """\
# Notes
Keep going.

```yaml
context_budget:
  total_tokens: 900
  sections:
    events: {max_tokens: 30, priority: high}
    history: 20%
    noise: {enabled: false}
```
"""


@pytest.mark.requirement("S3.12")
@pytest.mark.parametrize("lines", [74, 75, 76, 500])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_page_has_seventy_five_lines_and_never_one_more(lines, end):
    page = WorkingMemory("\n".join(f"line {i}" for i in range(lines)) + end)
    shown = page.shown
    assert len(shown.split("\n")) == min(lines, 75) or end
    assert len(shown.split("\n")) <= 75
    assert shown.rstrip("\n").endswith(f"line {lines - 1}")
    assert bool(page.warning) == (lines > 75)
    if lines > 75:
        assert page.warning == f"working memory has {lines} lines and may have 75: compact it"
        assert shown.startswith(f"[... {lines - 74:,} older lines left out: the page has {lines} lines")
        assert shown.split("\n")[1] == f"line {lines - 74}"
    else:
        assert shown.split("\n")[0] == "line 0"


@pytest.mark.requirement("S3.12")
def test_a_single_line_of_four_million_characters_is_bounded_too():
    page = WorkingMemory("x" * 4_000_000)
    assert len(page.shown) == 1_000
    assert page.warning == "1 of its lines are longer than 1,000 characters: shorten them"


@given(st.text(max_size=3_000), st.integers(2, 6))
def test_a_page_is_always_within_its_caps(text, lines):
    shown = WorkingMemory(text, lines=lines, line_chars=200).shown
    assert len(shown.split("\n")) <= lines
    assert len(shown) <= lines * 201
    assert bool(shown.strip()) == bool(text.strip())


def test_a_page_reaches_the_prompt_and_gives_up_its_oldest_lines_first():
    page = WorkingMemory("\n".join(f"line {i}" for i in range(60)))
    prompt = brim.fit([page.section()], 100, meter="chars")
    assert prompt.text.endswith("line 59")
    assert prompt.receipt.part("working_memory").priority == 1


@pytest.mark.requirement("S1.14")
@pytest.mark.parametrize(
    "page",
    [
        PAGE,
        PAGE.replace("sections:", "allocations:"),
        '{"context_budget": {"total_tokens": 900, "sections": {"events": {"max_tokens": 30, "priority": "high"},'
        ' "history": {"max_tokens": "20%"}, "noise": {"enabled": false}}}, "notes": "Keep going."}',
        PAGE.partition("```yaml\n")[2].partition("```")[0] + "notes: Keep going.\n",
    ],
    ids=["fenced", "other spelling", "json", "yaml"],
)
def test_a_budget_on_the_agents_own_page_wins(page):
    override = WorkingMemory(page).override
    assert override.warning == ""
    assert override.budget(4_000) == 900
    assert override.budget(500) == 500
    given = [
        brim.Section("events", "e" * 100, ceiling=50, floor=40),
        brim.Section("history", "h" * 400),
        brim.Section("noise", "n" * 100),
        brim.Section("other", "o" * 10),
    ]
    texts = brim.fit(override.applied(given), override.budget(4_000), meter="chars").texts
    assert len(texts["events"]) == 30
    assert len(texts["history"]) == 180
    assert "noise" not in texts
    assert texts["other"] == "o" * 10
    assert override.applied(given)[0].priority == "high"


@pytest.mark.requirement("S1.14")
@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("context_budget: [1, 2", "not YAML"),
        ("context_budget: 7", "context_budget must be a mapping"),
        ("context_budget: {total: 7}", "did you mean 'total_tokens'"),
        ("context_budget: {total_tokens: -1}", "at least 1, not -1"),
        ("context_budget: {total_tokens: .nan}", "not nan"),
        ("context_budget: {sections: [a]}", "a mapping from names to budgets"),
        ("context_budget: {sections: {a: {max_tokens: 120%}}}", "a percentage from 0 to 100"),
        ("context_budget: {sections: {a: {priority: urgent}}}", "not 'urgent'"),
        ("context_budget: {sections: {a: {priority: 3}}}", "required, high, medium or low"),
        ("context_budget: {sections: {a: {truncation_strategy: both}}}", "one of end, start, middle"),
        ("context_budget: {overflow_policy: ignore}", "one of truncate_low_priority, drop_low_priority"),
        ("context_budget: {output_reserve: -4}", "at least 0, not -4"),
        ("context_budget: {enabled: false}", "must be one of total_tokens"),
        ("context_budget: {sections: {a: {enabled: maybe}}}", "true or false"),
        ("context_budget: !!python/object:os.system {}", "the tag"),
    ],
)
def test_a_budget_that_cannot_be_understood_is_ignored_with_a_warning(block, told):
    override = WorkingMemory(f"Notes\n\n```yaml\n{block}\n```\n").override
    assert override == BudgetOverride(warning=override.warning)
    assert "budget in the working memory" in override.warning
    assert "ignored" in override.warning
    assert told in override.warning
    assert override.budget(4_000) == 4_000


@pytest.mark.requirement("S1.14")
def test_a_wrong_key_loses_that_key_and_nothing_else():
    block = """\
context_budget:
  total_tokens: 900
  totl: 5
  output_reserve: 100
  overflow_policy: drop_low_priority
  show_budget_usage: true
  allocations:
    events: {max_tokens: 30, priorty: high, truncation_strategy: start}
    noise: {max_tokens: lots, priority: required}
"""
    override = WorkingMemory(f"Notes\n\n```yaml\n{block}\n```\n").override
    assert (override.total, override.reserve, override.overflow, override.show) == (900, 100, "drop", True)
    assert override.sections == {"events": {"ceiling": 30, "keep": "newest"}, "noise": {"priority": 0}}
    assert override.budget(4_000) == 800
    for told in ("'totl'", "did you mean 'priority'", "'lots'"):
        assert told in override.warning


def test_the_last_budget_on_a_page_counts():
    blocks = [f"```yaml\ncontext_budget: {{total_tokens: {total}}}\n```" for total in (900, 800, 5)]
    page = WorkingMemory("Notes\n" + "\nThen:\n".join(blocks))
    assert page.override.total == 5


@pytest.mark.parametrize(
    "page", ["", "Plain notes about my context_budget, nothing else.", "```yaml\nother: 1\n```", "a: ["]
)
def test_a_page_without_a_budget_is_no_matter(page):
    assert WorkingMemory(page).override == BudgetOverride()


def test_a_required_section_is_not_the_agents_to_change():
    system = brim.Section("system", "s" * 50, required=True)
    assert BudgetOverride(sections={"system": {"enabled": False}}).applied([system]) == [system]
