"""The section that shows its own budget."""

import pytest

from brim.sections.budget_section import BudgetLine, consistent, written


@pytest.mark.parametrize(
    ("used", "limit", "near"),
    [
        pytest.param(90, 100, False, id="90 % is not near"),
        pytest.param(91, 100, True, id="more than 90 % is"),
        pytest.param(901, 1000, True, id="by however little"),
        pytest.param(0, 0, False, id="nothing of nothing is not near"),
    ],
)
def test_a_section_is_near_its_limit_above_90_percent(used, limit, near):
    assert ("near limit" in written([BudgetLine("a", used, limit)], 1, 100, "chars")) is near


def test_the_share_of_the_budget_is_rounded_down():
    assert written([], 999, 1000, "tokens") == "## Context Budget\nUsing 999/1000 tokens (99%)"
    assert written([], 0, 0, "tokens").endswith("(0%)")


def test_the_total_that_is_stated_is_the_count():
    """The text's own length is in the total: 98 with two digits, 99 with three, until both agree."""
    for fixed in range(200):
        text = consistent(lambda used: f"Using {used}", lambda text, fixed=fixed: fixed + len(text), 0)
        assert text == f"Using {fixed + len(text)}"


def test_if_no_number_agrees_with_itself_the_next_higher_one_is_stated():
    """Stating 9 makes 10, and stating 10 makes 9."""
    assert consistent(str, lambda text: 10 if int(text) < 10 else 9, 5) == "10"
