"""What a client teaches a program, and what it cannot. `tests/hostile/test_neighbours.py` has pairs of clients over HTTP."""

from dataclasses import replace

import pytest

from brim.sessions.conversations import Conversations
from brim.sessions.learning.meters import count_request
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import WindowLimits
from brim.wire.overflow import is_overflow
from sessions.test_conversations import history


@pytest.mark.slow
def test_a_client_that_names_many_models_makes_nobody_forget():
    engine, kept = Conversations(log=False), LearningScope("mystery-1", ("b",), "http://upstream")
    refusal = is_overflow("maximum context length is 4000 tokens")
    engine.windows.refused(kept, refusal, 5_000, None)
    for i in range(300):  # More than are kept of one owner.
        engine.windows.refused(LearningScope(f"model-{i}", ("a",), "http://upstream"), refusal, 5_000, None)
    assert engine.windows.learned(kept).size == 4_000


def refused(message, *, model="mystery-1", turns=40, **more):
    """Return what a refusal teaches, and the plan of the next request."""
    engine = Conversations(model=model, meter="o200k_base", log=False)
    request = RequestInput(messages=history(turns), model=model, format="openai", **more)
    plan = engine.plan(request)
    made = engine.fit(request, plan)
    made = replace(made, before=made.before or count_request(request, plan.scale).tokens)
    engine.refused(made, is_overflow({"error": {"message": message}}))
    return engine.windows.learned(plan.scope)


LIMIT = "This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens."


def test_a_limit_is_believed_if_it_can_be_the_window():
    size = Conversations(meter="o200k_base").request(history(40), model="mystery-1").used or 0
    size = size or Conversations(meter="o200k_base", window=90_000).request(history(40), model="mystery-1").used
    told = LIMIT.format(limit=size - 200, sent=size + 20)
    assert refused(told).size == size - 200
    assert refused(LIMIT.format(limit=size + 10, sent=size + 10)).size == size + 10
    assert refused(LIMIT.format(limit=40, sent=size)) is None or refused(LIMIT.format(limit=40, sent=size)).size is None
    for impossible in ((200_000, 250_000), (30, 60), (size + 11, size + 10)):
        learned = refused(LIMIT.format(limit=impossible[0], sent=impossible[1]))
        assert learned.size is None, impossible


def test_a_limit_that_the_client_wrote_itself_is_not_believed():
    size = Conversations(meter="o200k_base", window=90_000).request(history(40), model="mystery-1").used
    told = LIMIT.format(limit=size - 200, sent=size + 20)
    for more in (
        {"fields": {"user": told}},
        {"fields": {"metadata": {"message": told}}},
        {"tools": [TOOL | {"description": told}]},
    ):
        learned = refused(f"Invalid value: '{told}'. Please reduce the length of the input.", **more)
        assert learned is None or learned.size is None
    assert refused(told, model=told[:60]).size == size - 200


TOOL = {"type": "function", "name": "look", "description": "", "parameters": {"type": "object", "properties": {}}}


def test_what_the_program_sets_is_lowered_by_half_at_most():
    engine = Conversations(log=False)
    request = RequestInput(messages=history(60), model="gpt-4o")
    plan = engine.plan(request, WindowLimits(size=50_000))
    made = engine.fit(request, plan)
    engine.refused(made, is_overflow("maximum context length is 1025 tokens"))
    assert engine.plan(request, WindowLimits(size=50_000)).room.window == 25_000
