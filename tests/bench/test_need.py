"""What the next step needs: which names count, and what belongs to a name."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.need import names, needs, surroundings

LONG = "x" * 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a id_1234 b", ["a id_1234 b"]),
        ("above\nid_1234 = 7\nbelow", ["id_1234 = 7"]),
        (f"{LONG}id_1234{LONG}", ["x" * 48 + "id_1234" + "x" * 48]),
        (f"{LONG}\nid_1234\n{LONG}", ["id_1234"]),
        ("  key: id_1234   \nnext", ["  key: id_1234"]),
        ("id_1234 then\nid_1234", ["id_1234 then", "id_1234"]),
        ("nothing", []),
    ],
    ids=["whole text", "its line", "48 characters", "a line of its own", "no blanks at the end", "two places", "none"],
)
def test_what_stands_around_a_name_ends_with_its_line_and_after_48_characters(text, expected):
    assert list(surroundings("id_1234", [text])) == expected


def test_names_have_six_characters_and_a_digit_a_joint_or_a_hump():
    text = "see src/app.py: getUser, order 12345, W1234567; plain words, snake_case. And a_b."
    assert names(text) == {"src/app.py", "getUser", "W1234567", "snake_case"}


def test_a_name_is_needed_if_it_stands_in_the_past_only():
    history = [
        {"role": "system", "content": "rule_1"},
        {"role": "user", "content": "task_11"},
        {"role": "assistant", "content": "note_22 rule_1 near_33"},
        {"role": "user", "content": "near_33"},
        {"role": "user", "content": "ok"},
    ]
    following = {"role": "assistant", "content": "rule_1 task_11 note_22 near_33 new_44"}
    assert needs(history, following) == {"task_11", "note_22"}
