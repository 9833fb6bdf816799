import pytest

import brim
from brim.settings.presets import PRESETS, Budgets, detected, scaled


@pytest.mark.requirement("S2.1")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("lean", (100_000, 30_000, 5_000)),
        ("balanced", (200_000, 60_000, 10_000)),
        ("heavy", (400_000, 120_000, 20_000)),
    ],
)
def test_a_preset_applies_as_it_is_and_is_found_again(project, name, values):
    settings = project(f"budgets: {{preset: {name}}}\n").resolve()
    names = ("context_budget_chars", "history_max_recent_chars", "history_max_older_chars")
    assert tuple(settings[each].value for each in names) == values
    assert all(settings[each].where.endswith("brim.yaml:1") for each in names)
    assert settings.preset == name
    assert settings.warnings == ()
    assert detected(Budgets(*values)) == name


@pytest.mark.requirement("S2.1")
def test_a_preset_is_found_again_whoever_set_its_values(project):
    text = "budgets: {context_budget_chars: 100000, history_max_recent_chars: 30000, history_max_older_chars: 5000}\n"
    assert project(text).resolve().preset == "lean"
    assert project().resolve().preset == "balanced"
    assert project(text.replace("5000}", "5001}")).resolve().preset is None


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


@pytest.mark.requirement("S2.2")
@pytest.mark.parametrize(
    ("window", "values"),
    [
        (200_000, (200_000, 60_000, 10_000)),
        (128_000, (125_000, 40_000, 7_500)),
        (131_072, (125_000, 40_000, 7_500)),
        (32_000, (30_000, 10_000, 2_500)),
        (32_768, (30_000, 10_000, 2_500)),
    ],
)
def test_the_windows_of_the_table_have_its_rows(window, values):
    assert scaled(window) == Budgets(*values)


@pytest.mark.requirement("S2.14")
def test_other_windows_have_a_quarter_and_seven_and_a_half_percent(project):
    assert scaled(400_000) == Budgets(400_000, 120_000, 20_000) == PRESETS["heavy"]
    assert scaled(100_000) == PRESETS["lean"]
    assert scaled(10) == Budgets(10, 3, 0)
    for wrong in (0, -1, True, 1.5, "200k"):
        with pytest.raises(brim.InvalidValue):
            scaled(wrong)
