"""Households whose prompts are of any size, over some years."""

import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run("broker", tmp_path_factory.mktemp("here"))


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
