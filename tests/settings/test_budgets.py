import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.settings.budgets import (
    LARGEST,
    LEAST,
    OLDER,
    PRESETS,
    RECENT,
    STRICT_LEAST,
    TOTAL,
    Budgets,
    bounded,
    scaled,
)
from brim.settings.values import Value
from properties import examples

NAMES = {TOTAL: "context_budget_chars", RECENT: "history_max_recent_chars", OLDER: "history_max_older_chars"}


def test_a_single_key_stands_above_the_preset_of_its_layer_and_a_stronger_preset_above_both(project):
    text = """
        budgets: {preset: heavy, history_max_older_chars: 7000}
        flows: {quick: {budget_overrides: {preset: lean}}}
    """
    config = project(text)
    assert config.resolve()["history_max_older_chars"].value == 7_000
    assert config.resolve()["context_budget_chars"].value == 400_000
    assert config.resolve(flow="quick")["history_max_older_chars"].value == 5_000
    env = {"BRIM_BUDGETS__PRESET": "balanced"}
    assert project(text, environ=env).resolve(flow="quick").preset == "balanced"


@pytest.mark.requirement("S2.14")
def test_other_windows_have_a_quarter_and_seven_and_a_half_percent(project):
    assert scaled(400_000) == Budgets(400_000, 120_000, 20_000) == PRESETS["heavy"]
    assert scaled(100_000) == PRESETS["lean"]
    assert scaled(10) == Budgets(10, 3, 0)
    for wrong in (0, -1, True, 1.5, "200k"):
        with pytest.raises(brim.InvalidValue):
            scaled(wrong)


@pytest.mark.requirement("S2.24")
@pytest.mark.parametrize(
    "case",
    [
        (TOTAL, 10_000, 10_000, None),
        (TOTAL, 9_999, 10_000, "below minimum"),
        (TOTAL, 0, 10_000, "below minimum"),
        (TOTAL, 600_000, 600_000, None),
        (TOTAL, 600_001, 600_000, "exceeds maximum"),
        (TOTAL, 5_000_000, 600_000, "exceeds maximum"),
        (TOTAL, 10_000_000, 600_000, "suspiciously large"),
        (RECENT, 1_000, 1_000, None),
        (RECENT, 999, 1_000, "below minimum"),
        (OLDER, 500, 500, None),
        (OLDER, 499, 500, "below minimum"),
        (OLDER, 5_000, 5_000, None),
    ],
)
def test_a_budget_beyond_its_bounds_is_moved_and_told_once(project, caplog, case):
    key, given_, value, told = case
    caplog.set_level(logging.WARNING, logger="brim.settings")
    config = project(f"budgets: {{{NAMES[key]}: {given_}}}\n")
    found = config.resolve()[NAMES[key]]
    assert found.value == value
    assert found.origin == "project"
    own = [record.getMessage() for record in caplog.records if NAMES[key] + " of" in record.getMessage()]
    if told is None:
        assert not any("minimum" in message or "maximum" in message for message in own)
        return
    assert told in own[0]
    assert own[0].startswith(f"{project.root / 'brim.yaml'}:1: ")
    assert f"{given_:,}" in own[0]
    assert own[0] in config.resolve().warnings
    assert config.resolve()[NAMES[key]].value == value
    assert sum(record.getMessage() == own[0] for record in caplog.records) == 1
    assert all(record.name == "brim.settings" for record in caplog.records)
    assert ("suspiciously large" in own[0]) == (given_ > 5_000_000)


@pytest.mark.requirement("S2.15")
@pytest.mark.parametrize(
    ("window", "total", "told"),
    [(200_000, 200_000, False), (200_000, 400_000, False), (200_000, 400_008, True), (100_000, 400_000, True)],
)
def test_a_budget_of_about_the_window_is_warned_of(project, window, total, told):
    found = project(f"window: {{size: {window}}}\nbudgets: {{context_budget_chars: {total}}}\n").resolve()
    assert any("That leaves little for instructions and the answer" in warning for warning in found.warnings) is told


@examples(60)
@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.sampled_from(["product", "strict_seed"]),
)
def test_whatever_is_given_the_bounds_hold_and_holding_them_again_changes_nothing(total, recent, older, bounds):
    made, warnings = bounded(*(Value(number, "project", "f:1") for number in (total, recent, older)), bounds)
    for key, found in made.items():
        least = STRICT_LEAST if bounds == "strict_seed" else LEAST[key]
        assert least <= found.value <= LARGEST
        assert found.value <= made[TOTAL].value
    assert bounded(*made.values(), bounds) == (made, ())
    changed = [key for key, number in zip(NAMES, (total, recent, older), strict=True) if made[key].value != number]
    assert all(any(moved == key for moved, _ in warnings) for key in changed)
    assert bool(changed) == bool(warnings)
