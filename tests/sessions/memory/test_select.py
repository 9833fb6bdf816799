import pytest

import brim
from brim.sessions.memory.select import first, last, top

LESSONS = [f"lesson {i}" for i in range(20)]


@pytest.mark.requirement("S0.12")
@pytest.mark.parametrize(
    ("section", "text"),
    [
        (first("plan", "p" * 1_000, 400), "p" * 400),
        (last("lessons", LESSONS, 3), "lesson 17\nlesson 18\nlesson 19"),
        (top("lessons", LESSONS, 2, joiner="; "), "lesson 0; lesson 1"),
    ],
    ids=["first characters", "last entries", "top entries"],
)
def test_a_choice_is_made_before_anything_is_measured(section, text):
    prompt = brim.fit([section], 10_000, meter="chars")
    assert prompt.text == text
    assert not prompt.receipt.truncated
