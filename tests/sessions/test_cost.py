"""A session costs the same at its thousandth turn as at its hundredth."""

import pytest

import brim
from brim.testing import MemoryStore
from sessions.talking import SYSTEM, turn, window


class Counting:
    """Counts characters, and how many of them it was asked to count."""

    name, unit, exact = "counting", "chars", True
    asked = 0

    def count(self, text):
        self.asked += len(text)
        return len(text)


@pytest.mark.slow
def test_the_characters_counted_for_a_turn_do_not_grow():
    meter = Counting()
    talk = brim.Session(window=window(24_000), meter=meter)
    costs = []
    for i in range(300):
        before = meter.asked
        talk.add(turn(i % 50))
        assert (3_000 if i > 50 else 0) < talk.prompt(system=SYSTEM).used <= 12_000
        costs.append(meter.asked - before)
    assert sum(costs[-100:]) <= 1.5 * sum(costs[50:150])


class Watched(list):
    """A list that knows how often it was gone through."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_a_prompt_goes_through_its_tools_once():
    """With a thousand tools, each time that they are compared costs more than all the rest of a prompt."""
    function = {"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}
    tools = Watched({"type": "function", "function": {**function, "name": f"read_{i}"}} for i in range(5))
    talk = brim.Session(window=window(24_000), meter="o200k_base")
    talk.add(turn(0))
    first = talk.prompt(system=SYSTEM, tools=tools).used
    tools.walks = 0
    assert talk.prompt(system=SYSTEM, tools=tools).used == first
    assert tools.walks == 1
    list.__getitem__(tools, 3)["function"]["description"] = "Reads what there is to read. " * 20
    assert talk.prompt(system=SYSTEM, tools=tools).used > first + 80
    asked, known = [{"role": "user", "content": "Hello"}], brim.Conversations(24_000, meter="o200k_base")
    known.request(asked, tools=tools)
    tools.walks = 0
    known.request(asked, tools=tools)
    assert tools.walks == 1


def test_opening_a_session_reads_its_last_compaction_once(monkeypatch):
    """It holds the history as it was then, and is the longest entry of a log."""
    store = MemoryStore()
    talk = brim.Session(window=window(2_000), meter="o200k_base", store=store, id="run")
    for i in range(40):
        talk.add(turn(i))
        talk.prompt()
        if i in (10, 30):
            assert talk.compact()
    read, entries = [], store.entries
    monkeypatch.setattr(store, "entries", lambda *given, **asked: _noted(read, entries(*given, **asked)))
    opened = brim.Session.open("run", store=store)
    assert [entry.kind for entry in read].count("compaction") == 1
    assert opened.messages == talk.messages
    assert opened.prompt().messages == talk.prompt().messages


def _noted(read, found):
    read += found
    return found
