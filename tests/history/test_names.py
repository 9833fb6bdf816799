"""Names: what makes a word one, where each was last used, and what a use is worth."""

from brim.history.history import History
from brim.history.names import NameIndex, names_in
from talk import calling, result, user


def test_names_have_a_digit_a_joint_or_a_hump():
    text = "see src/app.py and HAT028x of user_id but not simple words or CAPITALS, maybe camelCase"
    assert [name for name, _ in names_in(text)] == ["src/app.py", "HAT028x", "user_id", "camelCase"]


def test_names_are_looked_for_in_the_first_part_of_a_long_text():
    text = "plain " * 80_000 + "late_name.py"
    assert names_in(text) == []


def test_a_name_counts_more_where_the_agent_or_a_person_wrote_it_and_the_last_uses_come_first():
    history = History(meter="chars")
    history.extend(
        [
            user("look at first_path.py"),
            calling("a", arguments='{"path": "called_path.py"}'),
            result("a", "printed_early.py\nprinted_late.py and called_path.py"),
        ]
    )
    uses = list(NameIndex(history.turns).unseen({"first_path.py"}))
    assert [(use.position, use.start, use.worth) for use in uses] == [(2, 37, 5), (2, 17, 1), (2, 0, 1)]
