import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run("session", tmp_path_factory.mktemp("here"))


@pytest.mark.requirement("S3.1")
def test_the_cap_and_the_warning_are_those_of_the_document_or_of_the_model(told):
    assert "window 1,000,000 tokens, budget 200,000, warning from 150,000\n" in told
    assert "on gpt-4o: window 128,000 tokens, budget 25,600, warning from 19,200\n" in told


@pytest.mark.requirement("S3.12", "S3.13")
def test_memory_and_working_memory_are_capped(told):
    assert "working memory has 100 lines and may have 75: compact it" in told
    assert int(re.search(r"memory: cut, ([\d,]+) of", told)[1].replace(",", "")) <= 50_000


def test_the_thread_warns_before_it_is_over_and_what_is_sent_never_is(told):
    states = re.findall(r"query \d+: about [\d,]+ tokens \(([\w ]+)\); sent ([\d,]+) of 200,000", told)
    assert [state for state, _ in states] == ["fine"] * 3 + ["warning"] + ["over the cap"] * 4
    assert all(int(sent.replace(",", "")) <= 200_000 for _, sent in states)
    assert "1 of the older results cleared" in told
