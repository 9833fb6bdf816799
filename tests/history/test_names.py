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


def test_a_name_is_found_where_it_was_used_last_and_counts_more_if_the_agent_used_it():
    history = History(meter="chars")
    history.extend(
        [
            user("look at first_path.py"),
            calling("a", arguments='{"path": "called_path.py"}'),
            result("a", "printed_early.py\nprinted_late.py and called_path.py"),
        ]
    )
    uses = {use.name: (use.position, use.start, chance) for use, chance in NameIndex(history.turns).needed(9)}
    assert [*uses] == ["called_path.py", "printed_late.py", "printed_early.py", "first_path.py"], "the newest first"
    assert [use[:2] for use in uses.values()] == [(2, 37), (2, 17), (2, 0), (0, 8)]
    assert uses["called_path.py"][2] > 2 * uses["printed_late.py"][2]
