import json

import pytest


@pytest.fixture
def receipt(brim, spec):
    assert brim("fit", spec, "--receipt", "captured.json", "--capture").code == 0
    assert brim("fit", spec, "--receipt", "plain.json", "--budget", "30").code == 0


@pytest.mark.usefixtures("receipt")
def test_other_budgets_are_shown_next_to_the_recorded_one(brim):
    told = brim("replay", "captured.json", "--budget", "99", "--budget", "8")
    assert told.code == 0
    lines = [line.split() for line in told.out.splitlines()]
    assert ["section", "priority", "size", "recorded", "at", "99", "at", "8"] in lines
    assert ["rules", "required", "8", "whole", "8", "whole", "8", "whole", "8"] in lines
    assert ["log", "low", "57", "cut", "50", "+", "whole", "57", "-", "dropped", "0"] in lines
    assert (
        "at 99: 1 section changed; 67 of 99 chars (chars, exact), 2 of 2 sections, 0 shortened or dropped" in told.out
    )


@pytest.mark.usefixtures("receipt")
def test_without_a_budget_the_fit_is_run_again_as_it_was(brim):
    assert "at 60: 0 sections changed" in brim("replay", "captured.json").out


@pytest.mark.usefixtures("receipt")
def test_a_receipt_without_texts_is_worked_out_from_sizes(brim):
    told = brim("replay", "plain.json", "--budget", "99")
    assert told.code == 0
    assert "computed from the recorded sizes" in told.out


@pytest.mark.usefixtures("receipt")
def test_a_budget_at_which_nothing_fits_ends_with_1(brim):
    told = brim("replay", "captured.json", "--budget", "3", "--budget", "60")
    assert told.code == 1
    assert "does not fit" in told.out
    values = json.loads(brim("replay", "captured.json", "--budget", "3", "--json").out)["replays"][0]
    assert (values["fits"], values["needed"]) == (False, 8)


@pytest.mark.usefixtures("receipt")
def test_one_section_is_explained(brim):
    assert brim("replay", "captured.json", "--why", "log").out.startswith("log is cut: ")
    told = brim("replay", "captured.json", "--why", "lgo")
    assert (told.code, told.err) == (2, "brim: no section is called 'lgo'; did you mean 'log'?\n")


@pytest.mark.usefixtures("receipt")
def test_one_question_at_a_time(brim):
    assert brim("replay", "plain.json", "--why", "log", "--budget", "5").code == 2
