"""What an agent found, decided, left open and gave up is still there five contexts later, in any script."""

import pytest

import brim
from brim.history.compact.continuation import continuation
from sessions.points import GOAL, LANGUAGES, handed_over, headed, points

METER = brim.meter("gpt-5")
LIMIT = 1_500
KINDS = ("finding", "decision", "open", "failed")
RUNS = 2
"""Runs of a language: each makes forty of its points, eight in each of five contexts."""


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_all_points_are_there_after_five_contexts_in_their_order(language):
    """ "Findings in Japanese 0 of 8, Chinese 3, Korean 5, Russian 7"; "not done yet" stood under Done."""
    listed, kept = points(language), 0
    for run in range(RUNS):
        some = [listed[kind][run * 10 : run * 10 + 10] for kind in KINDS]
        said = [point for each in zip(*some, strict=True) for point in each]
        text = handed_over(language, said).text(METER, LIMIT)
        assert METER.count(text) <= LIMIT
        rows = headed(text)
        kept += sum(point in text for point in said)
        told = [point for point in said if not point.startswith("TODO")]
        assert [row for row in rows["Said by the agent"] if row in told] == told
        assert rows.get("Left to do", []) == [point for point in said if point not in told]
        assert "Done" not in rows
    assert kept == 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "limit", "least"), [("en", 500, 64), ("en", 750, 80), ("zh", 500, 62), ("zh", 750, 80)]
)
def test_most_points_are_there_in_little_room(language, limit, least):
    listed, kept = points(language), 0
    for run in range(RUNS):
        some = [listed[kind][run * 10 : run * 10 + 10] for kind in KINDS]
        said = [point for each in zip(*some, strict=True) for point in each]
        text = handed_over(language, said).text(METER, limit)
        assert METER.count(text) <= limit
        kept += sum(point in text for point in said)
    assert kept >= least


@pytest.mark.parametrize(
    "findings",
    [
        [f"mod_{name} holds lock {lock}." for name, lock in (("pay", "alpha"), ("ref", "beta"), ("cart", "gamma"))],
        [f"mod_{name} 持有锁 {lock}。" for name, lock in (("pay", "alpha"), ("ref", "beta"), ("cart", "gamma"))],
        ["결제 워커가 잠금을 잡고 있습니다.", "캐시 키에 통화가 없습니다.", "창고 API는 XML만 지원합니다."],
    ],
    ids=["names", "chinese", "korean"],
)
def test_a_finding_whose_words_are_all_in_the_goal_is_still_a_finding(findings):
    """ "mod_pay holds lock alpha." 0 of 8: each word stood in the goal, and so the sentence was taken as known."""
    goal = "Which module holds which lock? mod_pay, mod_ref, mod_cart; alpha, beta, gamma. 持有锁"
    said = [{"role": "assistant", "content": f"I read mod_{i}.ts. {each}"} for i, each in enumerate(findings)]
    text = continuation(said, goal=goal).text(METER, LIMIT)
    assert headed(text)["Said by the agent"][-3:] == findings or all(f"- {each}" in text for each in findings)


def test_what_the_loop_says_is_not_said_by_the_user():
    """brim's own "Iteration 3 of at most 12" stood as said by the user."""
    said = [
        {"role": "user", "content": "Iteration 3 of at most 12: go on towards the goal."},
        {"role": "assistant", "content": "The cache key has no currency in it."},
        {"role": "user", "content": "Go on."},
        {"role": "user", "content": "The shop in Bergen opens at nine."},
    ]
    text = continuation(said, goal=GOAL["en"]).text(METER, LIMIT)
    assert headed(text)["Said by the user"] == ["The shop in Bergen opens at nine."]
    assert "Iteration 3" not in text
