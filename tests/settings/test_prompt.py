"""What goes with a prompt: a system prompt, tools, an event, a line in the log."""

import pytest

import brim

LONG = {"plan": "p" * 300, "menu": "m" * 40}
TIGHT = "meter: chars\nprompt: {total: 200}\n"


def test_the_system_prompt_and_the_tools_take_from_the_budget(project):
    held = project(TIGHT).resolve()
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    meter = brim.meter("chars")
    alone, beside = held.fit(LONG), held.fit(LONG, system="s" * 50, tools=tools)
    taken = meter.count_messages([{"role": "system", "content": "s" * 50}], tools)
    assert (alone.receipt.budget, beside.receipt.budget) == (200, 200 - taken)
    assert held.fit(LONG, budget=150, system="s" * 50).receipt.budget == 150 - 50


def test_what_stands_beside_takes_from_the_window_too_where_the_meter_only_guesses(project):
    held = project("meter: chars/4\nwindow: {size: 1000}\nprompt: {total: 900, reserve: 100}\n").resolve()
    system = "漢字" * 150
    prompt = held.fit({"plan": "漢字" * 9_000}, system=system)
    tokens = brim.meter("o200k_base")
    said = [{"role": "system", "content": system}]
    assert tokens.count(prompt.text) + tokens.count_messages(said) <= 900
    assert tokens.count(prompt.text) > 700 - tokens.count_messages(said)


@pytest.mark.parametrize("direction", ["lower", "higher"])
@pytest.mark.parametrize("total", [300, 120, 60, 45, 30, 5, 1])
def test_required_sections_that_may_shrink_are_served_first_and_never_stop_a_prompt(project, direction, total):
    held = project(
        "meter: chars\n"
        f"prompt: {{total: {total}, direction: {direction}, required_overflow: shrink}}\n"
        "sections: {plan: {priority: 9}, menu: {required: true, marker: '>'}}\n"
    ).resolve()
    prompt = held.fit(LONG)
    assert prompt.receipt.used <= total
    menu = prompt.receipt.part("menu")
    assert menu.used == min(40, total) or (total == 1 and menu.state == "dropped")


@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_where_not_all_that_is_required_can_be_cut_the_first_of_it_is_served_before_anything_else(project, direction):
    held = project(
        "meter: chars\n"
        f"prompt: {{total: 8, direction: {direction}, required_overflow: shrink}}\n"
        "sections: {plan: {required: true, marker: '>>>>'}, menu: {required: true, marker: '>>>>'}, note: {priority: 1}}\n"
    ).resolve()
    prompt = held.fit({"note": "n", **LONG})
    assert prompt.text == "p>>>>\n\nm", "a marker that has no room gives way to a letter"
    assert [loss.name for loss in prompt.receipt.losses] == ["note", "plan", "menu"]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{memory} {weather}", "wet cellar [N/A]"),
        ("{memory}, again: {memory}", "wet cellar, again: wet cellar"),
        ("{{json}} {memory}", "{json} wet cellar"),
        ("No place at all.", "No place at all."),
    ],
)
def test_where_nothing_may_raise_a_template_is_filled_whatever_it_says(template, text):
    held = brim.load_config(environ={}).resolve(profile="broker")
    assert held.fit({"memory": ["wet cellar"], "unused": "text"}, template=template).text == text


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 8, 20, 60])
def test_a_template_that_is_longer_than_the_budget_is_cut_itself(limit):
    held = brim.load_config(environ={}, flags={"meter": "chars/4"}).resolve(profile="broker")
    text = held.fit({"memory": ["wet"]}, template="The rules of the house. " * 40 + "{memory}", budget=limit).text
    assert len(text) // 4 <= limit
    assert limit < 20 or (text.startswith("The rules of the house. The") and "... (context truncated)" in text)
