"""What a reader finds in a prompt: each figure on messages that are short enough to be judged by eye."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.outcome import Setting
from bench.readable import figures, look, measured
from bench.trajectories import Trajectory

import brim
from bench import readable, registry, trimmers

METER = brim.meter("o200k_base")
WORDS = "We keep port 8431 for the proxy, as Marta said."
ROWS = "first row of the log\nsecond row of the log\nthird row of the log"


def calling(id, arguments='{"path": "a/b.py"}'):
    return {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}


HISTORY = [
    {"role": "user", "content": "Please find out why the import fails every night."},
    {"role": "assistant", "content": WORDS, "tool_calls": [calling("c1")]},
    {"role": "tool", "tool_call_id": "c1", "content": ROWS},
    {"role": "assistant", "content": "Next.", "tool_calls": [calling("c2")]},
    {"role": "tool", "tool_call_id": "c2", "content": ROWS},
]
"""Two texts of eight tokens or more; "Next." is shorter, and belongs to the newest turn."""


def with_changes(**changes):
    """Return the history as a prompt, with the content or the calls of some messages changed."""
    sent = [dict(message) for message in HISTORY]
    for place, change in changes.items():
        sent[int(place[1:])] |= change
    return sent


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (HISTORY, {"words": 1, "torn": 0, "hollow": 0, "altered": 0}),
        ([], {"words": 0, "torn": 0, "hollow": 0, "altered": 0}),
        (with_changes(m1={"content": "We keep port"}), {"words": 0.5, "torn": 1 / 5}),
        (with_changes(m2={"content": "first row of the log\n[2 lines omitted]"}), {"torn": 0, "hollow": 0}),
        (with_changes(m2={"content": "first row of the log\nsecond row … log"}), {"torn": 1 / 4, "hollow": 0}),
        (with_changes(m2={"content": "[3 lines omitted]\n...\n"}), {"torn": 0, "hollow": 1}),
        (with_changes(m2={"content": "<omitted>"}), {"torn": 0, "hollow": 1}),
        (with_changes(m2={"content": "[CONTEXT_TRUNCATED] 4 torn lines"}), {"torn": 0, "hollow": 0}),
        (with_changes(m1={"tool_calls": [calling("c1", "{}")]}), {"altered": 1 / 2, "words": 1}),
        (with_changes(m4={"content": "not looked at, since it is the newest"}), {"torn": 0, "hollow": 0}),
        ([HISTORY[0], *HISTORY[3:]], {"words": 0.5, "torn": 0}),
    ],
)
def test_a_prompt_is_looked_at_as_text(sent, expected):
    found = figures(look(HISTORY, sent, METER))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


class Newest(trimmers.Trimmer):
    """Keeps the system message, the task and the newest turn."""

    def trim(self, taken, budget):
        return [*taken[:2], *taken[-2:]]


class Raising(trimmers.Trimmer):
    def trim(self, taken, budget):
        raise brim.BrimError("nothing fits")


def run(rounds=30):
    made = [{"role": "system", "content": "rules"}, HISTORY[0]]
    for i in range(rounds):
        made.append({"role": "assistant", "content": f"{WORDS} {i}", "tool_calls": [calling(f"c{i}")]})
        made.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"{i} {ROWS}\n" * 40})
    return Trajectory(name="a run", messages=(*made, {"role": "assistant", "content": "done"}))


def test_only_prompts_that_had_to_be_cut_are_measured_and_the_first_of_them_tells_how_full_it_is():
    trajectory = run()
    budget = METER.count_messages(trajectory.messages) // 4
    assert budget > 3_000
    cut = [length for length in trajectory.calls() if METER.count_messages(trajectory.messages[:length]) > budget]
    sums = measured(Newest(), [trajectory])
    assert sums["steps"] == len(cut)
    assert sums["first"] == 1
    assert sums["after"] == pytest.approx(
        METER.count_messages(Newest().trim(trajectory.messages[: cut[0]], 0)) / budget
    )
    assert sums["said"] == sum((length - 2) // 2 for length in cut), "the task and all but the newest call"
    assert (sums["raised"], sums["over"]) == (0, 0)


def test_a_prompt_that_is_over_or_missing_is_counted():
    assert measured(trimmers.Trimmer(), [run()])["over"] > 0
    sums = measured(Raising(), [run()])
    assert sums["raised"] == sums["steps"] > 0
    assert figures(sums)["words"] == 0


def test_the_table_has_a_row_for_each_way_and_no_gates_without_recorded_runs(monkeypatch):
    monkeypatch.setattr(readable.trajectories, "synthetic", lambda count: [run()] * count)
    outcome = readable.run(Setting(runs=1))
    assert [row[0] for row in outcome.tables[0].rows] == ["plain", "wrap", "session", "clear"]
    assert {row[6] for row in outcome.tables[0].rows} == {measured(Newest(), [run()])["steps"]}
    assert outcome.gates == ()
    assert set(registry.READERS) == {"plain", "wrap", "session", "clear"}
