"""A breakpoint of the cache stands where the next cut begins, so that the provider finds what a cut leaves."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from scripts.agents.cache import BreakpointCache, PromptPart

from brim import Conversations
from brim.history.note import note
from brim.sessions.conversations.breakpoint import _with_mark

MARK = {"type": "ephemeral"}
LOGS = pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
RULES = "Read each part, and tell what is in it. " * 160


def said(steps: int, **block: Any) -> list[dict[str, Any]]:
    """Return a task, and steps of an agent with thinking, a short call and a long result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault in the log. " * 20}]
    for i in range(steps):
        thought = {"type": "thinking", "thinking": f"part {i} is next", "signature": f"s{i}"}
        call = {"type": "tool_use", "id": f"t{i}", "name": "read", "input": {"path": f"/var/log/part_{i}.log"}}
        result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": f"worker_{i} at /srv/w{i}: all ok " * 40}
        messages.append({"role": "assistant", "content": [thought, {"type": "text", "text": f"Part {i}."}, call]})
        messages.append({"role": "user", "content": [result, {"type": "text", "text": f"{i} done", **block}]})
    return messages


def marked(messages: list[dict[str, Any]], mark: Any = MARK) -> list[dict[str, Any]]:
    """Return messages with a mark on the newest one, as clients send them."""
    made = deepcopy(messages)
    made[-1]["content"][-1]["cache_control"] = mark
    return made


def places(messages: list[Any]) -> list[int]:
    """Return the indexes of the messages with a mark."""
    return [at for at, raw in enumerate(messages) if "cache_control" in json.dumps(raw)]


def parts(messages: list[Any]) -> list[PromptPart]:
    """Return a prompt as the simulated cache reads it."""
    found = [PromptPart(RULES, 1_400, marked=True)]
    for raw in messages:
        blocks = [{"type": "text", "text": raw["content"]}] if isinstance(raw["content"], str) else raw["content"]
        for block in blocks:
            text = json.dumps({key: each for key, each in block.items() if key != "cache_control"})
            found.append(PromptPart(text, len(text) // 4, "cache_control" in block))
    return found


def requests(engine: Conversations, steps: range, **given: Any):
    system = [{"type": "text", "text": RULES, "cache_control": MARK}]
    return [engine.request(marked(said(at)), format="anthropic", system=system, **given) for at in steps]


@pytest.mark.slow
@LOGS
def test_what_a_cut_leaves_is_read_from_the_cache(log):
    engine, cache, last = Conversations(15_000, model="claude-sonnet-4-5", log=log), BreakpointCache(), list[str]()
    cuts = []
    for made in requests(engine, range(24, 70)):
        prompt = parts(made.messages)
        use, texts = cache.use(prompt), [part.text for part in prompt]
        same = next((at for at, (a, b) in enumerate(zip(last, texts, strict=False)) if a != b), len(last))
        if made.changed and same < len(last):
            cuts.append((use.read, sum(part.tokens for part in prompt[:same])))
        assert sum(part.marked for part in prompt) <= 4
        last = texts
    # A cut that is made anew may share more than was foreseen when the mark was set.
    assert sum(read for read, _ in cuts[1:]) >= 0.75 * sum(shared for _, shared in cuts[1:])
    assert sum(shared > 2_000 for _, shared in cuts) >= 3, "these cuts leave more than the rules and the task"


@pytest.mark.slow
def test_the_mark_moves_on_after_a_cut_and_stays_until_the_next():
    engine = Conversations(15_000, model="claude-sonnet-4-5", log=False)
    made = [each for each in requests(engine, range(24, 64)) if each.changed]
    at = [places(each.messages)[0] for each in made]
    assert 3 <= 1 + sum(a != b for a, b in pairwise(at)) < len(at) / 3
    for each, place in zip(made, at, strict=True):
        assert each.places[place] is None, "it is not sent as it came"
        assert places(each.messages) == [place, len(each.messages) - 1]


def test_the_mark_lasts_as_long_as_the_one_that_follows_it():
    engine, mark = Conversations(6_000, model="claude-sonnet-4-5", log=False), {"type": "ephemeral", "ttl": "1h"}
    for steps in range(1, 30):
        made = engine.request(marked(said(steps), mark), format="anthropic")
    assert made.changed
    assert json.dumps(made.messages).count('"1h"') == 2


def test_the_mark_stands_on_the_task_where_the_task_itself_is_cut():
    engine = Conversations(6_000, model="claude-sonnet-4-5", log=False)
    task = {"role": "user", "content": "Find the fault in the log. " * 3_000}
    for more in ([{"role": "user", "content": [{"type": "text", "text": "Be brief."}]}], said(3)[1:]):
        made = engine.request(marked([task, *more]), format="anthropic")
        assert places(made.messages) == [0, len(more)]


@pytest.mark.parametrize(
    ("messages", "given"),
    [
        (said(30), {}),
        (said(30), {"system": [{"type": "text", "text": "rules", "cache_control": MARK}]}),
        (marked(said(30)), {"tools": [{"name": f"t{i}", "input_schema": {}, "cache_control": MARK} for i in range(3)]}),
        (marked(said(30)), {"format": "openai"}),
    ],
    ids=["no marks", "marks before the messages only", "as many as are allowed", "another format"],
)
def test_no_mark_is_added(messages, given):
    engine = Conversations(6_000, model="claude-sonnet-4-5", log=False)
    made = engine.request(messages, **{"format": "anthropic", **given})
    assert made.changed
    assert json.dumps(made.messages).count("cache_control") == json.dumps(messages).count("cache_control")


def test_a_request_that_fits_is_not_marked():
    engine = Conversations(50_000, model="claude-sonnet-4-5", log=False)
    given = marked(said(5))
    made = engine.request(given, format="anthropic")
    assert not made.changed
    assert made.messages == given


def test_the_mark_stands_before_a_note_since_the_next_cut_writes_another():
    task, written = {"type": "text", "text": "Find it."}, {"type": "text", "text": note(3, 9, 100, 200, "tokens")}
    message = _with_mark({"role": "user", "content": [task, written]}, MARK)
    assert message == {"role": "user", "content": [{**task, "cache_control": MARK}, written]}
