"""A sample of the outages of `make prove`: whatever fails once, a program ends as if nothing had failed."""

import random

import pytest

import outages
from brim.sessions.log import cut_record
from brim.sessions.log.journal import Journal
from outages import AFTER, PROGRAMS, Outage, points, rig

SAMPLE = {"sessions": 12, "conversations": 4, "wrapped openai": 2, "wrapped anthropic": 2, "loops": 8}
"""How many fault points of each program are run here; `make prove` tries thousands."""


@pytest.fixture(scope="module")
def using():
    with rig() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_as_if_nothing_had_failed(using, name, caplog):
    expected, world = using.run(PROGRAMS[name], Outage())
    every = points(world)
    assert len(every) > 150
    for outage in random.Random(name).sample(every, SAMPLE.get(name, 2)):
        assert using.differences(PROGRAMS[name], outage, expected) == []


def test_a_program_in_a_file_ends_as_one_in_memory(using, tmp_path):
    expected, _ = using.run(PROGRAMS["loops"], Outage())
    assert using.differences(PROGRAMS["loops"], Outage(store=((20, AFTER),)), expected, tmp_path) == []


def test_a_difference_is_found(using, monkeypatch):
    """If nobody asks whether a failed write has arrived, it is written twice."""
    expected, world = using.run(PROGRAMS["sessions"], Outage())
    last = max(number for number, name in enumerate(world.store.names, start=1) if name == "append")
    monkeypatch.setattr(Journal, "_has_arrived", lambda *_: False)
    assert using.differences(PROGRAMS["sessions"], Outage(store=((last, AFTER),)), expected)


@pytest.mark.slow
def test_a_cut_that_the_store_lost_is_found(using, monkeypatch):
    """A second gateway cuts anew then, though what the first one sent is the same."""
    expected, _ = using.run(PROGRAMS["gateway"], Outage())
    monkeypatch.setattr(cut_record, "changes", lambda *_: None)
    found = using.differences(PROGRAMS["gateway"], Outage(), expected)
    assert [each for each in found if ": following is" in each]
    assert not [each for each in found if ": sent is" in each]


def test_every_call_has_its_ways_to_fail(using):
    _, world = using.run(PROGRAMS["wrapped openai"], Outage())
    every = points(world)
    calls = len(world.store.names) * 2 - world.store.names.count("begin")
    assert len(every) == calls + len(outages.UPSTREAM) * world.server.asked + len(outages.JUMPS) * world.clock.looks
