"""How much of a window a prompt may use."""

import pytest

import brim
from brim import Window


@pytest.mark.parametrize(
    ("window", "budget"),
    [
        pytest.param(Window(1000), 1000, id="all of it"),
        pytest.param(Window(1000, reserve=200), 800, id="less the answer"),
        pytest.param(Window(1000, cap=0.2), 200, id="a share"),
        pytest.param(Window(1000, cap="100%"), 1000, id="a share of all"),
        pytest.param(Window(1000, cap="20%", reserve=900), 100, id="the reserve is more than the cap leaves"),
        pytest.param(Window(1000, limit=300), 300, id="an absolute limit"),
        pytest.param(Window(1000, limit=300, cap="20%"), 200, id="the least of limit and cap"),
        pytest.param(Window(1000, limit=5000), 1000, id="a limit beyond the window"),
        pytest.param(Window(100, cap=0.29), 29, id="29 % of 100 is 29, although no float is"),
        pytest.param(Window(100, cap="29%"), 29, id="29 % of 100 is 29"),
        pytest.param(Window(99, cap="50%"), 49, id="half a unit is none"),
    ],
)
def test_the_budget_is_the_least_of_its_bounds(window, budget):
    assert window.budget == budget


@pytest.mark.parametrize(
    ("window", "warning"),
    [
        pytest.param(Window(1000, cap="20%"), 170, id="85 % of the budget"),
        pytest.param(Window(1000, cap="20%", warn="15%"), 150, id="a share of the window"),
        pytest.param(Window(100, cap=0.5, warn=0.29), 29, id="a share that no float is"),
    ],
)
def test_the_warning_comes_before_the_budget_is_used_up(window, warning):
    assert window.warning == warning


def test_a_model_s_maximum_input_limits_its_window():
    assert Window.of("gpt-5").budget == 272_000
    assert Window.of("gpt-5", limit=1000).budget == 1000
    with pytest.raises(brim.UnknownName):
        Window.of("no such model")
