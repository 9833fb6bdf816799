"""Names: what makes a word one, where each was last seen, and which come first."""

from brim.history.history import History
from brim.history.names import NameIndex, names_in
from talk import calling, result, user


def test_names_have_a_digit_a_joint_or_a_hump():
    text = "see src/app.py and HAT028x of user_id but not simple words or CAPITALS, maybe camelCase"
    assert [name for name, _ in names_in(text)] == ["src/app.py", "HAT028x", "user_id", "camelCase"]


def test_names_are_looked_for_in_the_first_part_of_a_long_text():
    text = "plain " * 80_000 + "late_name.py"
    assert names_in(text) == []


def test_names_that_the_agent_or_a_person_wrote_come_first_and_the_newest_before_others():
    history = History(meter="chars")
    history.extend(
        [
            user("look at first_path.py"),
            calling("a", arguments='{"path": "called_path.py"}'),
            result("a", "printed_early.py\nprinted_late.py and called_path.py"),
        ]
    )
    found = list(NameIndex(history.turns).newest())
    assert [name for name, _ in found] == ["called_path.py", "first_path.py", "printed_late.py", "printed_early.py"]
    assert {name: use.worth for name, use in found} == {
        "called_path.py": 5,
        "first_path.py": 4,
        "printed_late.py": 1,
        "printed_early.py": 1,
    }
    assert found[0][1].position == 2


def test_what_a_command_printed_is_not_written_by_a_person_where_the_agent_calls_no_tools():
    history = History(meter="chars")
    told = [{"role": "assistant", "content": "I look.\n```bash\nls\n```"}, user("<output>\nshown_name.py\n</output>")]
    history.extend([user("task"), *told])
    assert dict(NameIndex(history.turns).newest())["shown_name.py"].worth == 1
