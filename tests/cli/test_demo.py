import json

import pytest

from brim import meter


def test_the_demo_shows_totals_table_losses_and_the_way_on(brim):
    told = brim("demo").out
    assert "An agent's prompt of 9,559 tokens, and a budget of 4,000." in told
    assert "o200k_base, exact" in told
    assert "The fitted prompt takes 3,987, and 13 are free." in told
    heads = ["section", "priority", "size", "granted", "used", "state", "kept"]
    assert heads in [line.split() for line in told.splitlines()]
    assert "What was shortened or dropped, and why" in told
    assert "no such local time" in told
    assert 'brim.Section("rules", rules, priority="required", stable=True)' in told


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(brim, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    for budget in (400, 4000, 20000):
        told = brim("demo", "--budget", budget)
        assert told.code == 0
        drawing = told.out.partition("The same in Python")[0]
        assert 60 <= max(map(len, drawing.splitlines())) <= max(width, 75)
        assert not [line for line in told.out.splitlines() if line != line.rstrip()]


def test_the_prompt_keeps_to_any_budget(brim):
    for budget in (400, 1500, 4000):
        told = json.loads(brim("demo", "--budget", budget, "--json").out)
        assert budget * 0.9 < meter("gpt-5").count(told["text"]) == told["receipt"]["used"] <= budget


def test_a_budget_below_the_essentials_does_not_fit(brim):
    told = brim("demo", "--budget", "100")
    assert told.code == 1
    assert told.err.startswith("brim: the prompt does not fit")


def test_the_errors_of_the_log_survive(brim):
    text = json.loads(brim("demo", "--json").out)["text"]
    assert text.count("row refused") == 3


@pytest.mark.parametrize("budget", [4000, 20000])
def test_the_next_commands_are_aligned(brim, budget):
    lines = brim("demo", "--budget", budget).out.rstrip().splitlines()[-3:]
    assert (
        len({line.index(said) for line, said in zip(lines, ("the same", "the tokens", "the same"), strict=True)}) == 1
    )
