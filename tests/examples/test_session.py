import re

import pytest

from examples.running import run


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run("session", tmp_path_factory.mktemp("here"))


@pytest.mark.requirement("S3.12", "S3.13")
def test_memory_and_working_memory_are_capped(told):
    assert "working memory has 100 lines and may have 75: compact it" in told
    assert int(re.search(r"memory: cut, ([\d,]+) of", told)[1].replace(",", "")) <= 50_000


def test_the_thread_warns_before_it_is_over_and_what_is_sent_never_is(told):
    states = re.findall(r"query \d+: about [\d,]+ tokens \(([\w ]+)\); sent ([\d,]+) of 200,000", told)
    assert [state for state, _ in states] == [
        *["fine"] * 3,
        "warning",
        "over the cap",
        "warning",
        "over the cap",
        "warning",
    ]
    assert all(int(sent.replace(",", "")) <= 200_000 for _, sent in states)
    assert "warned 3 times, compacted 2 times, peak 17.2 % of the window\n" in told


@pytest.mark.requirement("S3.4", "S3.5")
def test_over_the_cap_it_compacts_and_tells_the_user_each_time(told):
    assert told.count("to the user: This thread is getting long, I'm compacting my context to stay sharp\n") == 2
    over = re.search(r"to the user: [^\n]+\nquery 5: about [\d,]+ tokens \(over the cap\); sent ([\d,]+)", told)
    assert int(over[1].replace(",", "")) < 150_000


@pytest.mark.requirement("X9")
def test_it_is_opened_again_as_it_was_and_what_left_comes_back(told):
    assert "opened again, its prompt is the same\n" in told
    assert "recalled: log 1: a line of a long log. a line of a long log." in told


@pytest.mark.requirement("S3.6", "S3.7", "S3.9")
def test_a_loop_has_sub_ticks_that_use_no_iteration(told):
    assert "loop: ended by goal after 3 iterations and 3 sub-ticks\n" in told
    assert "results: read up to log 6; read up to log 12; read up to log 18\n" in told
