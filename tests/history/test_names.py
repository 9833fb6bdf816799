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
    uses = [((use.position, use.start), chance) for use, chance in NameIndex(history.turns).needed(9)]
    assert [place for place, _ in uses] == [(2, 37), (2, 17), (2, 0), (0, 8)], "the newest first"
    (_, called), (_, printed), *_ = uses
    assert called > 2 * printed


def test_a_name_in_a_listing_of_many_is_less_likely_to_be_needed_than_one_that_stands_alone():
    history = History(meter="chars")
    history.extend([user("look"), calling("a"), result("a", "\n".join(f"src/part_{i}.py" for i in range(80)))])
    history.extend([calling("b"), result("b", "src/alone.py"), calling("c"), result("c", "ok")])
    alone, *listed = [chance for _, chance in NameIndex(history.turns).needed(81)]
    assert alone > 2 * max(listed)
