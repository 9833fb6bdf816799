"""Things said in passing: the runs that hold them, in every format, and what counts as kept."""

import sys
from pathlib import Path
from random import Random

import pytest

import talk

sys.path.append(str(Path(__file__).parents[2]))

from bench.said_formats import FORMATS, texts
from bench.trimmers import Trimmer

import brim
from bench import said, said_runs

SHORT = 60
"""Steps of a run that is long enough to be cut, and quick."""
RUN = said_runs.run(1, SHORT)


CALL, RESULT = {"tool_use"}, {"tool_result"}


def in_format(run, format):
    return [message for part in FORMATS[format](run.messages, Random(0)) for message in part]


def test_a_run_has_150_steps_and_at_least_20_things_of_every_kind_of_place():
    run = said_runs.run(0)
    assert sum(message["role"] == "assistant" for message in run.messages) == 150
    assert len(run.said) >= 20
    assert len(set(run.said.values())) == 7
    assert said_runs.run(0) == run
    assert not set(said_runs.run(2).said) >= set(run.said)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_each_thing_is_said_once_in_every_format(format, seed):
    run = said_runs.run(seed)
    whole = "\n".join(texts(in_format(run, format)))
    assert {sentence: whole.count(sentence) for sentence in run.said} == dict.fromkeys(run.said, 1)


@pytest.mark.parametrize("format", ["openai", "responses", "anthropic"])
def test_a_provider_takes_the_run(format):
    assert talk.refusal(in_format(RUN, format), format) == ""


class Oldest(Trimmer):
    """Keeps the first messages that fit; records what it was asked."""

    def begin(self):
        self.asked = []

    def trim(self, taken, budget):
        self.asked.append(len(taken))
        meter, kept = brim.meter("o200k_base"), []
        for message in taken:
            if meter.count_messages([*kept, message]) > budget:
                break
            kept.append(message)
        return kept


def with_way(monkeypatch, make):
    monkeypatch.setattr(said.registry, "READERS", dict.fromkeys(said.WAYS, make))


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_kept_is_what_stands_in_the_last_prompt(format, monkeypatch):
    trimmer = Oldest()
    with_way(monkeypatch, lambda: trimmer)
    kept = said.kept("plain", RUN, format, 0)
    order = sorted(kept, key=lambda sentence: "\n".join(texts(in_format(RUN, format))).index(sentence))
    first = [kept[sentence] for sentence in order]
    assert 0 < sum(first) < len(first) * 0.6
    assert first == sorted(first, reverse=True), "those of the beginning are kept, and then no other"
    calls = sum(message["role"] == "assistant" for message in RUN.messages)
    assert len(trimmer.asked) == calls + 1, "before each answer, and at the end"
    assert trimmer.asked == sorted(trimmer.asked)
    assert trimmer.asked[-1] == len(in_format(RUN, format))


def test_a_prompt_over_its_budget_and_none_at_all_keep_nothing(monkeypatch):
    class Raising(Trimmer):
        def trim(self, taken, budget):
            raise brim.BrimError("nothing fits")

    for make in (Trimmer, Raising):
        with_way(monkeypatch, make)
        assert set(said.kept("plain", RUN, "openai", 0).values()) == {False}


def test_the_share_is_over_all_sentences_of_all_runs():
    assert said.share([{"a": True, "b": False}, {"c": True, "d": True, "e": True, "f": True}]) == pytest.approx(5 / 6)


def test_the_table_and_the_gates_tell_each_format_and_way(monkeypatch):
    runs = {seed: said_runs.run(seed, SHORT) for seed in range(1)}
    monkeypatch.setattr(said.said_runs, "run", runs.get)

    def kept(way, each, format, seed):
        lost = {"plain": ("agent, short message",), "wrap": (), "session": tuple(set(each.said.values()))}[way]
        return {sentence: place not in lost for sentence, place in each.said.items()}

    monkeypatch.setattr(said, "kept", kept)
    outcome = said.run(said.Setting(runs=1))
    assert outcome.tables[0].rows == [[format, "0.889", "1.000", "0.000"] for format in FORMATS]
    assert [gate.passed for gate in outcome.gates] == [False, True, False] * 5
    assert outcome.gates[1].name == "said: openai, wrap"
