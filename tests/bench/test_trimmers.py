"""Recorded runs and the trimmers that are put to them. Nothing here measures time."""

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.suite import CASES, Judge, Verdict, judge
from bench.trajectories import Trajectory

from bench import counting, need, peers, registry, trajectories, trimmers, worker

ROOT = Path(__file__).parents[2]
JUDGE = Judge(count=lambda text: len(text.split()))


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def calling(*ids):
    calls = [{"id": each, "type": "function", "function": {"name": "look", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call, text):
    return {"role": "tool", "tool_call_id": call, "content": text}


def words(number):
    return " ".join(f"w{number}-{i}" for i in range(number))


SYSTEM = {"role": "system", "content": "be brief"}
RUN = Trajectory(
    name="a run",
    messages=(
        SYSTEM,
        user(words(5)),
        calling("a"),
        result("a", words(20)),
        calling("b"),
        result("b", words(9)),
        assistant("done"),
    ),
)


def test_runs_are_read_from_plain_and_gzipped_lines_and_others_are_passed_over(tmp_path):
    row = {"id": "one", "messages": [SYSTEM, user("x")]}
    (tmp_path / "b.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({"id": "talk", "turns": []}) + "\n")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as lines:
        lines.write(json.dumps({"messages": [user("y")]}) + "\n")
    (tmp_path / "c.txt").write_text("{}")
    runs = [run for path in trajectories.files(tmp_path) for run in trajectories.lines(path)]
    assert [run.name for run in runs] == ["a.jsonl.gz:0", "one"]
    assert runs[1].messages == (SYSTEM, user("x"))


def test_made_up_runs_are_legal_and_the_same_each_time():
    runs = trajectories.synthetic(6)
    assert runs == trajectories.synthetic(6)
    assert runs[0] != runs[1]
    for run in runs:
        assert judge.illegal(run.messages) is None
        assert len(list(run.calls())) > 5
    assert any(len(message.get("tool_calls") or ()) > 1 for run in runs for message in run.messages)


@pytest.mark.parametrize("peer", [*registry.OWN, *registry.REFERENCES], ids=lambda peer: peer.name)
def test_every_prompt_of_what_is_written_here_is_legal_and_within_the_budget(peer):
    judged, trimmer = Judge(count=counting.tiktoken_count()), peer()
    run = trajectories.synthetic(3)[1]
    budget = judged.size(run.messages) // 2
    cut = 0
    trimmer.begin()
    for length in run.calls():
        history = list(run.messages[:length])
        sent = trimmers.prompt(trimmer, history, budget)
        if need.least(history, judged) <= budget < judged.size(history):
            cut += 1
            assert sent[0] == history[0]
            assert sent[-1]["role"] == history[-1]["role"]
            assert judged.size(sent) <= budget
            if peer.name != trimmers.PopOldest.name:
                assert judge.illegal(sent) is None
    assert cut > 3


def test_a_replay_sums_what_a_prompt_keeps_and_costs():
    judged = Judge(count=counting.tiktoken_count())
    run = trajectories.synthetic(3)[1]
    sums = need.replayed(trimmers.BrimHistory(), run, 0.5, judged)
    assert sums["steps"] > 3
    assert sums["over"] == sums["raised"] == 0
    assert 0 < sums["recall"] <= sums["steps"]
    assert 0 < sums["cost"] < 10 * sums["whole_cost"]


def test_old_results_are_cleared_first_and_then_whole_turns_leave():
    rounds = [each for i in range(12) for each in (calling(f"c{i}"), result(f"c{i}", words(200)))]
    history = [SYSTEM, user("the task"), *rounds]
    meter = trimmers.brim.meter("o200k_base")
    some = trimmers.Cleared().trim(history, meter.count_messages(history) - 1_500)
    assert [message["content"].startswith("[Old") for message in some if message["role"] == "tool"][:3] == [
        True,
        True,
        False,
    ]
    few = trimmers.Cleared().trim(history, meter.count_messages(history) // 8)
    assert meter.count_messages(few) <= meter.count_messages(history) // 8
    assert [*few[:2], few[-1]] == [*history[:2], history[-1]]
    assert judge.illegal(few) is None


def test_a_process_of_its_own_answers_and_what_breaks_in_it_is_told():
    answers = list(worker.ask("peers", 60, peer="brim", names=[CASES[0].name]))
    assert answers == [{"ready": True}, {"case": CASES[0].name, "state": "pass", "detail": ""}]
    with pytest.raises(worker.Broken, match="KeyError: 'nobody'"):
        list(worker.ask("peers", 60, peer="nobody", names=[]))


def test_a_process_that_is_silent_is_ended():
    answers = worker.ask("peers", 0.01, peer="brim", names=[])
    with pytest.raises(worker.Silent, match="no answer in 0 s"):
        list(answers)


def test_a_row_counts_what_is_right_and_each_fault_by_its_kind():
    verdicts = dict.fromkeys((case.name for case in CASES), Verdict(state="pass"))
    verdicts[CASES[0].name] = Verdict(state="fail", detail="9 units for a budget of 8")
    verdicts[CASES[1].name] = Verdict(state="timeout", detail="no answer in 10 s")
    verdicts[CASES[2].name] = Verdict(state="fail", detail="nobody has said this before")
    table = peers.table({"brim": verdicts}, [])
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["right"], row["over the budget"], row["too slow"], row["other"]) == (len(CASES) - 3, 1, 1, 1)
    assert sum(value for value in row.values() if isinstance(value, int)) == len(CASES)


def test_traces_must_be_a_folder(capsys):
    from bench.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main(["need", "--traces", "no-such-folder"])
    assert stopped.value.code == 2
    assert "--traces must be a folder" in capsys.readouterr().err
