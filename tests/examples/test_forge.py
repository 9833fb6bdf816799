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
    assert 6_000 < int(largest.replace(",", "")) < 12_000, "the server's own count, for a budget of 8,000"


@pytest.mark.requirement("S0.22")
def test_the_same_run_without_fitting_is_refused(told):
    assert int(re.search(r"without: [\d,]+ answered, ([\d,]+) refused", told)[1]) > 0


@pytest.mark.requirement("S0.18", "S0.17")
def test_the_report_and_an_event_are_printed(told):
    prompts, answered = (
        re.search(r"^([\d,]+) prompts, \d+ near", told, re.MULTILINE),
        re.search(r"([\d,]+) requests", told),
    )
    assert prompts[1] == answered[1], "an event for every request, those within a turn too"
    assert "0 calls refused with HTTP 400" in told
    assert "'event': 'prompt_assembled', 'agent': 'worker'" in told
    assert "'rule_id': 'V-2300" in told


@pytest.mark.requirement("S0.21")
def test_each_point_that_overflowed_is_replayed_below_10_000_tokens(told):
    rows = re.findall(r"^(V-\d+)  +([\d,]+)  +([\d,]+)$", told, re.MULTILINE)
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == 9
    sizes = [(int(before.replace(",", "")), int(after.replace(",", ""))) for _, before, after in rows]
    assert sizes[0][0] == 16_385
    assert all(before > 16_384 and 4_000 < after < 10_000 for before, after in sizes)
    assert len({after for _, after in sizes}) > 6
