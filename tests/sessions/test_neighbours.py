"""What a client teaches a program, and what it cannot. `tests/hostile/test_neighbours.py` has pairs of clients over HTTP."""

import pytest

from brim.meter.calibration import MILLION, Calibrated, Calibration, CallSize
from brim.sessions.conversations import Conversations
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import WindowLimits
from brim.wire.overflow import is_overflow
from sessions.test_conversations import history


def sent(engine, messages, model, owner, **more):
    given = RequestInput(messages=messages, model=model, owner=owner, format="openai", **more)
    plan = engine.plan(given, WindowLimits(), server="http://upstream")
    return engine.fit(given, plan), plan


@pytest.mark.slow
def test_a_client_that_names_many_models_makes_nobody_forget():
    engine = Conversations(log=False)
    made, plan = sent(engine, history(30), "mystery-1", ("b",))
    made.answered({"input_tokens": made.used * 3 // 4})
    engine.windows.record_accepted(plan.scope, 700, 700)
    before = engine.plan(made.input, server="http://upstream").scale.name
    for i in range(300):  # More than are kept of one owner, and of all without a correction.
        scope = LearningScope(f"model-{i}", ("a",), "http://upstream")
        engine.meters.meter(scope)
        engine.windows.refused(scope, is_overflow("maximum context length is 4000 tokens"), 5_000, None, learns=False)
    assert engine.plan(made.input, server="http://upstream").scale.name == before
    assert "calibrated by 1 call" in before


UNCOUNTED = {
    "a document by its address": {"type": "document", "source": {"type": "url", "url": "https://a.example/report.pdf"}},
    "a document by its id": {
        "type": "document",
        "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"},
    },
    "a picture by its address": {"type": "image", "source": {"type": "url", "url": "https://a.example/chart.png"}},
    "a picture by its id": {"type": "image", "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"}},
}


@pytest.mark.parametrize("block", UNCOUNTED.values(), ids=UNCOUNTED)
def test_a_part_that_nobody_can_count_teaches_nothing_about_texts(block):
    said = [{"role": "user", "content": [{"type": "text", "text": "What does it say?"}, block]}]
    taught_nothing(RequestInput(messages=said, model="claude-sonnet-4-5", format="anthropic"))


FIELDS = {
    "a search": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "a search by Gemini's name": {"tools": [{"googleSearch": {}}]},
    "a server of tools": {"fields": {"mcp_servers": [{"type": "url", "url": "https://a.example", "name": "a"}]}},
    "edits of the context": {"fields": {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}},
    "a search by a field": {"fields": {"web_search_options": {"search_context_size": "high"}}},
    "what the provider stores": {"fields": {"previous_response_id": "resp_1"}},
}


@pytest.mark.parametrize("more", FIELDS.values(), ids=FIELDS)
def test_a_request_to_which_the_provider_adds_text_teaches_nothing(more):
    said = [{"role": "user", "content": "What is new?"}]
    taught_nothing(RequestInput(messages=said, model="claude-sonnet-4-5", format="anthropic", **more))


def taught_nothing(request):
    engine = Conversations(log=False)
    plan = engine.plan(request)
    engine.fit(request, plan).answered({"input_tokens": 150_000})
    assert engine.plan(request).scale is plan.scale
    plain = RequestInput(
        messages=[{"role": "user", "content": "Hello. " * 400}], model=request.model, format="anthropic"
    )
    engine.fit(plain, engine.plan(plain)).answered({"input_tokens": 900})
    assert engine.plan(request).scale.calibration.calls == 1


def test_one_ratio_far_above_all_others_waits_for_a_second():
    known = Calibration()
    for actual in (1_000, 9_000, 1_050, 990):
        known = known.record(1_000, actual)
    assert known.rate == 1_050_000 * (MILLION + known.margin) // MILLION
    assert known.record(1_000, 8_000).rate > 8 * MILLION
    assert Calibration().record(1_000, 9_000).rate == 1_500_000 * 125 // 100
    assert Calibrated(Conversations().meters.meter(LearningScope("mystery-1")), known).size_of([]).whole
    assert known.record(CallSize(estimate=1_000, whole=False), 9_000) is known


def learned(engine, plan):
    return engine.windows.learned(plan.scope)


def refused(message, *, model="mystery-1", turns=40, took=0, **more):
    """Return what a refusal teaches, and the plan of the next request."""
    engine = Conversations(model=model, meter="o200k_base", log=False)
    request = RequestInput(messages=history(turns), model=model, format="openai", **more)
    plan = engine.plan(request)
    made = engine.fit(request, plan)
    made.before = made.before or engine.count(request, plan).tokens
    if took:
        engine.windows.record_accepted(plan.scope, took, took)
    engine.refused(made, is_overflow({"error": {"message": message}}), plan)
    return engine.windows.learned(plan.scope)


LIMIT = "This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens."


def test_a_limit_is_believed_if_it_can_be_the_window():
    size = Conversations(meter="o200k_base").request(history(40), model="mystery-1").used or 0
    size = size or Conversations(meter="o200k_base", window=90_000).request(history(40), model="mystery-1").used
    told = LIMIT.format(limit=size - 200, sent=size + 20)
    assert refused(told).size == size - 200
    assert refused(told, took=size - 100) is None or refused(told, took=size - 100).size is None
    assert refused(LIMIT.format(limit=40, sent=size)) is None or refused(LIMIT.format(limit=40, sent=size)).size is None
    for impossible in ((200_000, 250_000), (30, 60), (size + 50, size + 10)):
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
    engine.refused(made, is_overflow("maximum context length is 1025 tokens"), plan)
    assert engine.plan(request, WindowLimits(size=50_000)).room.window == 25_000
