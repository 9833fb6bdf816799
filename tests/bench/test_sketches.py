"""The two ways that brim is compared with as text: they keep the task and the newest turn, and tell what they left out."""

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.sketches import BestLines, Cleared, best_lines, ends
from bench.suite import judge

import brim
from bench import trajectories

METER = brim.meter("o200k_base")
LINES = [f"row {i} of file_{i % 7}.py" for i in range(60)]
TEXT = "\n".join(LINES)


def loop(rounds, words):
    """Return a system message, a task, and calls with results of so many words."""
    made = [{"role": "system", "content": "rules"}, {"role": "user", "content": "the task"}]
    for i in range(rounds):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "p{i}"}}'}}
        made.append({"role": "assistant", "content": f"Now file {i}.", "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"result {i}: " + "word " * words})
    return made


def test_the_oldest_results_are_cleared_until_the_rest_fits():
    history = loop(6, 200)
    budget = METER.count_messages(history) - 350
    sent = Cleared().trim(history, budget)
    cleared = [message["content"].startswith("[Old") for message in sent if message["role"] == "tool"]
    assert cleared == [True, True, False, False, False, False]
    assert METER.count_messages(sent) <= budget
    assert [message for message in sent if message["role"] != "tool"] == [m for m in history if m["role"] != "tool"]


def test_whole_turns_leave_where_clearing_is_not_enough():
    history = loop(40, 30)
    sent = Cleared().trim(history, 500)
    assert METER.count_messages(sent) <= 500
    assert [*sent[:2], *sent[-2:]] == [*history[:2], *history[-2:]]
    assert 4 < len(sent) < len(history)
    assert judge.illegal(sent) is None


def test_answers_in_a_text_protocol_are_cleared_and_the_task_is_not():
    long = "output " * 300
    history = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": f"the task {long}"},
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": long},
        {"role": "assistant", "content": "pwd"},
        {"role": "user", "content": long},
    ]
    sent = Cleared().trim(history, METER.count_messages(history) - 100)
    assert [message["content"] for message in sent if message["content"] != long] == [
        "rules", history[1]["content"], "ls", "[Old tool result content cleared]", "pwd",
    ]  # fmt: skip


def omitted(text):
    return sum(int(found) for found in re.findall(r"\[(\d+) lines omitted\]", text))


@pytest.mark.parametrize("room", [20, 60, 150])
@pytest.mark.parametrize(
    "shorten", [lambda text, room: best_lines(text, room, {"file_3.py": 8, "file_5.py": 1}), ends], ids=["best", "ends"]
)
def test_what_is_shortened_has_whole_lines_in_order_and_counts_the_others(shorten, room):
    made = shorten(TEXT, room).split("\n")
    shown = [line for line in made if not line.startswith("[")]
    assert [line for line in LINES if line in shown] == shown
    assert shown
    assert len(shown) + omitted("\n".join(made)) == len(LINES)


def test_the_best_lines_are_those_that_name_what_is_worth_most():
    assert "file_3.py" in best_lines(TEXT, 40, {"file_3.py": 8, "file_5.py": 1})
    assert "file_5.py" not in best_lines(TEXT, 40, {"file_3.py": 8, "file_5.py": 1})
    assert best_lines("short", 40, {}) == "short"


def test_the_ends_are_the_first_and_the_last_lines_and_one_huge_line_is_cut():
    made = ends(TEXT, 60).split("\n")
    assert (made[0], made[-1]) == (LINES[0], LINES[-1])
    assert ends("x" * 9_000, 100) == "x" * 300 + " [8700 characters omitted]"


@pytest.mark.parametrize("trimmer", [Cleared(), BestLines()], ids=["clear", "lines"])
@pytest.mark.parametrize("number", range(6))
def test_prompts_of_made_up_runs_fit_and_keep_the_task_and_the_newest_turn(trimmer, number):
    messages = list(trajectories.synthetic(6)[number].messages)
    newest = messages[judge.turns(messages)[-1][0] :]
    least = METER.count_messages([*messages[:2], *newest])
    budget = max(least + 200, METER.count_messages(messages) // 3)
    sent = trimmer.trim(messages, budget)
    assert METER.count_messages(sent) <= budget
    assert sent[:2] == messages[:2]
    assert sent[-1]["role"] == messages[-1]["role"]
    assert judge.illegal(sent) is None
    assert len(sent) > 2 + len(newest)


def test_older_turns_keep_their_calls_and_short_words():
    history = loop(12, 300)
    sent = BestLines().trim(history, METER.count_messages(history) // 3)
    assert [m for m in sent if m["role"] == "assistant"] == [m for m in history if m["role"] == "assistant"]
    assert sum("lines omitted" in message["content"] for message in sent if message["role"] == "tool") >= 6


def test_a_huge_newest_result_is_cut_before_it_takes_the_whole_room():
    history = loop(5, 60)
    history[-1] = {**history[-1], "content": TEXT * 20}
    sent = BestLines().trim(history, METER.count_messages(history) // 2)
    assert METER.count_messages(sent[-1:]) < 0.45 * METER.count_messages(history) // 2
    assert omitted(sent[-1]["content"]) > 100
    assert "Now file 0." in str(sent)
