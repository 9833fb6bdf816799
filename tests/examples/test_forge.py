"""Two hours of three agents, and the points at which a run overflowed."""

import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run("forge", tmp_path_factory.mktemp("here"))


@pytest.mark.requirement("S0.22", "S0.24")
def test_in_two_hours_no_request_is_refused_although_the_worker_calls_tools_without_end(told):
    answered, refused = re.search(r"With brim: ([\d,]+) requests answered, (\d+) refused with HTTP 400", told).groups()
    assert int(answered.replace(",", "")) > 700
    assert refused == "0"
    largest = re.search(r"the largest had ([\d,]+) of 16,384 tokens", told)[1]
    assert int(largest.replace(",", "")) <= 8_000


@pytest.mark.requirement("S0.22")
def test_the_same_run_without_fitting_is_refused(told):
    assert int(re.search(r"without: [\d,]+ answered, ([\d,]+) refused", told)[1]) > 0


@pytest.mark.requirement("S0.18", "S0.17")
def test_the_report_and_an_event_are_printed(told):
    assert re.search(r"^252 prompts, \d+ near their budget", told, re.MULTILINE)
    assert "0 calls refused with HTTP 400" in told
    assert "'event': 'prompt_assembled', 'agent': 'worker'" in told
    assert "'rule_id': 'V-2300" in told


@pytest.mark.requirement("S0.21")
def test_each_point_that_overflowed_is_replayed_below_10_000_tokens(told):
    rows = re.findall(r"^ +(\d)  +([\d,]+)  +([\d,]+)$", told, re.MULTILINE)
    assert [row[0] for row in rows] == [str(n) for n in range(9)]
    for _, before, after in rows:
        assert before == "16,385"
        assert int(after.replace(",", "")) < 10_000
