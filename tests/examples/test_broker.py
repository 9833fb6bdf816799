"""Households whose prompts are of any size, over some years."""

import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run("broker", tmp_path_factory.mktemp("here"))


@pytest.mark.requirement("S4.1", "S4.2")
def test_the_shares_are_printed_to_the_last_token(told):
    shares = re.findall(r"^(\w+) +([\d,]+)$", told, re.MULTILINE)[:5]
    assert [number for _, number in shares] == ["6,553", "4,096", "2,457", "1,638", "1,640"]


@pytest.mark.requirement("S4.8", "S4.9")
def test_every_agent_decides_in_every_year_whatever_its_prompt(told):
    rows = re.findall(r"^ +(\d)  +(\d+)  +(\d+)  +(\d+)  +([\d,]+)  (.+)$", told, re.MULTILINE)
    assert len(rows) == 5
    for _, prompts, over, hard, fullest, stages in rows:
        assert int(prompts) == 24
        assert 0 < int(hard) < int(over) < 24
        assert int(fullest.replace(",", "")) <= 16_384
        assert "social" in stages
    chosen = dict(re.findall(r"'(\d)': (\d+)", told))
    assert sum(map(int, chosen.values())) == 24 * 5, "the menu was there for every decision"


@pytest.mark.requirement("S4.14")
def test_the_log_names_the_agent_and_the_numbers(told):
    assert re.search(
        r"\[Context:Budget\] Prompt over budget for household-6: ~\d+ tokens \(limit 16384\)\. Truncating sections\.",
        told,
    )
    assert re.search(r"section trimming \(~\d+ tokens\)\. Hard truncating\.", told)
