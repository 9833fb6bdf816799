import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return re.split(r"^(?=tick )", run("ecology", tmp_path_factory.mktemp("here")), flags=re.MULTILINE)[1:]


@pytest.mark.requirement("S1.5", "S1.16")
def test_each_tick_stays_within_what_the_answer_leaves_and_tells_so(told):
    for i, tick in enumerate(told, start=1):
        used = int(re.search(rf"^tick {i}\n(?:  warning.*\n)?  (\d+) of 600 tokens", tick)[1])
        assert used <= 600
        assert f"## Context Budget\n  Using {used}/600 tokens ({used * 100 // 600}%)" in tick
    assert "- system_prompt: 16/60\n" in told[0]
    assert "- rag_memories: 114/120 (near limit!)" in told[0]


@pytest.mark.requirement("S1.14", "S1.21")
def test_the_agents_own_budget_holds_from_the_next_tick_and_after_a_checkpoint(told):
    for tick in told[1:3]:
        assert "its ceiling is 240 tokens" in tick
        assert "recent_events: disabled, 0 of 0" in tick
    assert "checkpoint: " in told[1]


@pytest.mark.requirement("S1.14")
def test_nonsense_on_the_page_is_ignored_with_a_warning(told):
    assert "warning: ignored in the budget in the working memory" in told[3]
    assert "its ceiling is 120 tokens" in told[3]
