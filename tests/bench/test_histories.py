"""The replay of recorded runs: what is read, what is judged, and what the figures mean. Nothing here measures time."""

import gzip
import json
import math
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.outcome import Setting
from bench.replay import Fit, kind, replay
from bench.suite import CASES, Judge, Verdict, judge
from bench.trajectories import Trajectory

from bench import conformance, histories, history_growth, peers, registry, trajectories, trimmers, worker
from checkout import script

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


class Last(trimmers.Trimmer):
    """Keeps the system message and the newest turn."""

    name = "last"

    def trim(self, taken, budget):
        start, _ = judge.turns(taken)[-1]
        return [taken[0], *taken[max(1, start) :]]


class Raising(trimmers.Trimmer):
    def __init__(self, error):
        self.error = error

    def trim(self, taken, budget):
        raise self.error


class OwnError(Exception):
    pass


def test_runs_are_read_from_plain_and_gzipped_lines_and_others_are_passed_over(tmp_path):
    row = {"id": "one", "messages": [SYSTEM, user("x")]}
    (tmp_path / "b.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({"id": "talk", "turns": []}) + "\n")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as lines:
        lines.write(json.dumps({"messages": [user("y")]}) + "\n")
    (tmp_path / "c.txt").write_text("{}")
    runs = trajectories.read(tmp_path)
    assert [run.name for run in runs] == ["a.jsonl.gz:0", "one"]
    assert runs[1].messages == (SYSTEM, user("x"))


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no trajectory"):
        trajectories.read(tmp_path)


def test_made_up_runs_are_legal_the_same_each_time_and_of_six_kinds():
    runs = trajectories.synthetic(12)
    assert runs == trajectories.synthetic(12)
    assert runs != trajectories.synthetic(12, seed=2)
    assert len({run.name.rsplit(" ", 1)[0] for run in runs}) == 6
    for run in runs:
        assert judge.illegal(run.messages) is None
        assert len(list(run.calls())) > 5
    assert any(len(message.get("tool_calls") or ()) > 1 for run in runs for message in run.messages)


@pytest.mark.parametrize("number", [10, 300])
def test_runs_end_to_end_are_one_legal_history_with_one_system_message(number):
    history = trajectories.end_to_end(trajectories.synthetic(3), number)
    assert number <= len(history) < number + 10
    assert judge.illegal(history) is None
    assert [message["role"] for message in history].count("system") == 1
    ids = [call["id"] for message in history for call in message.get("tool_calls") or ()]
    assert len(set(ids)) == len(ids)


def test_the_model_was_called_before_each_of_its_answers():
    assert list(RUN.calls()) == [2, 4, 6]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(1_000, "easy"), (38, "tight"), (20, "inside"), (13, "cramped"), (4, "impossible")],
)
def test_a_call_is_told_by_what_it_asks_of_a_trimmer(budget, expected):
    assert kind(RUN.messages[:6], budget, JUDGE) == expected


def test_a_replay_judges_the_prompt_of_every_call():
    fits = list(replay(Last(), RUN, 0.6, JUDGE))
    assert [(fit.length, fit.kind) for fit in fits] == [(2, "easy"), (4, "tight"), (6, "tight")]
    assert [fit.bad for fit in fits] == [False, False, False]
    assert [fit.task for fit in fits] == ["whole", None, None]
    assert [fit.newest for fit in fits] == ["whole"] * 3
    assert [fit.changed for fit in fits] == [False, True, True]
    assert fits[1].whole == JUDGE.size(RUN.messages[:4])
    # The system message is all that a prompt shares with the one before.
    assert [fit.shared for fit in fits] == [0, 5, 5]


def test_no_trimming_is_over_and_shares_all():
    fits = list(replay(trimmers.Trimmer(), RUN, 0.5, JUDGE))
    assert [fit.over for fit in fits] == [False, True, True]
    assert [fit.shared for fit in fits] == [0, fits[0].size, fits[1].size]
    assert histories.costs(fits) == (pytest.approx(1), pytest.approx(1))


@pytest.mark.parametrize(
    ("error", "share", "bad"),
    [
        (OwnError("too big"), 0.05, [False, False, False]),
        (ValueError("too big"), 0.05, [True, True, True]),
        (OwnError("too big"), 0.5, [True, True, True]),
    ],
)
def test_only_an_error_of_its_own_where_nothing_fits_is_right(error, share, bad):
    fits = list(replay(Raising(error), RUN, share, JUDGE))
    assert [fit.bad for fit in fits] == bad
    assert fits[0].error == f"{type(error).__name__}: too big"


def fit(**values):
    given = {
        "run": 0,
        "share": 0.5,
        "length": 4,
        "kind": "tight",
        "budget": 100,
        "whole": 200,
        "size": 80,
        "shared": 0,
        "seconds": 0.0,
        "once": 1.0,
        "illegal": None,
        "newest": "whole",
        "system": True,
        "task": "whole",
        "changed": True,
        "error": None,
    }
    return Fit(**{**given, **values})


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        ({}, False),
        ({"size": 101}, True),
        ({"illegal": "a reason"}, True),
        ({"newest": None}, True),
        ({"newest": "cut"}, False),
        ({"system": False}, True),
        ({"task": None}, False),
        ({"error": "E", "typed": True}, True),
        ({"error": "E", "typed": True, "kind": "cramped"}, False),
        ({"error": "E", "typed": False, "kind": "cramped"}, True),
        ({"kind": "impossible"}, True),
        ({"error": "E", "typed": True, "kind": "impossible"}, False),
    ],
)
def test_what_is_bad(values, bad):
    assert fit(**values).bad is bad


def test_fill_is_that_of_tight_fits():
    assert histories.fill([fit(size=80), fit(size=60), fit(size=10, kind="easy"), fit(size=0, error="E")]) == 70


def test_the_shared_prefix_is_that_of_two_tight_fits_in_a_row():
    fits = [fit(), fit(size=80, shared=40), fit(size=80, shared=80, run=1), fit(kind="easy"), fit(shared=80)]
    assert histories.prefix(fits) == 50
    assert math.isnan(histories.prefix(fits[:1]))


def test_the_cost_weighs_what_is_read_from_the_cache_against_what_is_new():
    fits = [fit(whole=100, size=100), fit(whole=200, size=100, shared=60), fit(kind="impossible", whole=300)]
    trimmed = 1.25 * 100 + 0.1 * 60 + 1.25 * 40
    whole = 1.25 * 100 + 0.1 * 100 + 1.25 * 100
    assert histories.costs(fits)[0] == pytest.approx(trimmed / whole)
    other = [fit(run=1, whole=100, size=50)]
    assert histories.costs([*fits, *other])[1] == pytest.approx((trimmed / whole + 0.5) / 2)


def test_growth_is_that_of_the_first_fit():
    told = {1_000: {"first": 1.0, "once": 2.0}, 10_000: {"first": 6.0, "once": 10.0}}
    assert history_growth.growth(told, 1_000, 10_000) == pytest.approx(6)
    assert history_growth.growth({1_000: {}, 10_000: told[10_000]}, 1_000, 10_000) is None


@pytest.mark.parametrize("peer", [*registry.own(), *registry.references()], ids=lambda peer: peer.name)
def test_what_is_written_here_can_be_replayed(peer):
    judged = Judge(count=peers.tiktoken_count())
    run = trajectories.synthetic(3)[1]
    fits = list(replay(peer.make(), run, 0.5, judged))
    assert len(fits) == len(list(run.calls()))
    if peer.name.startswith("brim"):
        assert [each for each in fits if each.bad] == []


def test_the_references_keep_whole_turns_within_the_budget():
    judged = Judge(count=peers.tiktoken_count())
    run = trajectories.synthetic(1)[0]
    for reference in (trimmers.Groups(), trimmers.HeldGroups()):
        tight = [each for each in replay(reference, run, 0.5, judged) if each.kind == "tight"]
        assert tight
        assert not [each for each in tight if each.bad]


def test_names_of_trimmers_are_all_different_and_each_peer_tells_its_library():
    every = registry.every()
    listed = {peer.make for peer in (*registry.own(), *registry.references(), *registry.needed(), *registry.others())}
    assert len(every) == len(listed) + 1, "and the one that holds another share"
    assert all(peer.package and peer.note and peer.seconds for peer in registry.others())


def test_a_process_of_its_own_answers_and_what_breaks_in_it_is_told():
    values = {"traces": None, "count": 1, "shares": [0.5], "allowance": 0, "most": 1}
    answers = list(worker.ask("replay", 60, peer="no trimming", **values))
    assert answers[0] == {"runs": 1}
    assert answers[-1] == {"done": 1}
    assert Fit(**answers[1]).kind == "easy"
    with pytest.raises(worker.Broken, match="KeyError: 'nobody'"):
        list(worker.ask("replay", 60, peer="nobody", **values))


def test_a_process_that_is_silent_is_ended():
    answers = worker.ask("conformance", 60, first=0.01, peer="brim", names=[])
    with pytest.raises(worker.Silent, match="no answer in 0 s"):
        list(answers)


def test_the_page_is_made_of_the_verdicts(tmp_path):
    brim, peer = registry.own()[0], replace(registry.own()[1], name="other", note="a note")
    right = dict.fromkeys((case.name for case in CASES), Verdict(state="pass"))
    wrong = {**right, CASES[0].name: Verdict(state="fail", detail="9 units for <a> budget of 8")}
    conformance._write(Setting(out=tmp_path), [brim, peer], {"brim": right, "other": wrong})
    page = script("conformance").page(json.loads((tmp_path / conformance.RESULT).read_text()))
    release = f"brim {version('brim')}"
    assert f"| 1 | brim | {release} | {len(CASES)} | 0 | 0 | 0 | 0 |  |" in page
    assert f"| 2 | other | {release} | {len(CASES) - 1} | 1 | 0 | 0 | 0 | a note |" in page
    assert f"| 1 | {CASES[0].name} | pass | **fail** |" in page
    assert f"- {CASES[0].name}: **fail**, 9 units for &lt;a> budget of 8" in page
    assert "### 1. brim" not in page


def test_the_page_in_the_docs_tells_of_the_cases_that_there_are():
    page = (ROOT / "docs" / "runs" / "conformance.md").read_text(encoding="utf-8")
    assert [case.name for case in CASES if f"| {case.name} | {case.why} |" not in page] == []


def test_traces_must_be_a_folder(capsys):
    from bench.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main(["histories", "--traces", "no-such-folder"])
    assert stopped.value.code == 2
    assert "--traces must be a folder" in capsys.readouterr().err
