import json

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


def test_the_prompt_keeps_to_any_budget(brim):
    for budget in (400, 1500, 4000):
        told = json.loads(brim("demo", "--budget", budget, "--json").out)
        assert budget * 0.9 < meter("gpt-5").count(told["text"]) == told["receipt"]["used"] <= budget
