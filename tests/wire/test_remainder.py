"""All that is sent is counted: a field that no format knows counts as its text, and makes the count an estimate."""

import json
from collections import Counter

import pytest

import brim
from brim.errors import InvalidType
from brim.files.json_body import body_of
from brim.gateway.http.problem import CHAT, MESSAGES, RESPONSES
from brim.history.note import note_in
from brim.requests.request_body import request_of
from brim.sessions.conversations import Conversations
from brim.sessions.learning.meters import count_request
from brim.wire import FORMATS, wire
from brim.wire.base import MESSAGE_KEYS
from brim.wire.remainder import shown_fields
from counted_requests import tried
from gateway.conftest import parsed
from request_bodies import LONG, body, seeded, text_of

METER = brim.meter("gpt-4o")
SIZE = METER.count(LONG)
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"description": LONG}}}
ROUTES = {"openai": CHAT, "responses": RESPONSES, "anthropic": MESSAGES}


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_text_anywhere_in_a_request_counts_or_its_field_is_listed(format):
    outcomes = Counter(tried(format, number).outcome for number in range(30))
    assert outcomes["uncounted"] == 0
    assert outcomes["counted"] >= 20


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "tool_calls": [], "reasoning_content": LONG},
        {"role": "user", "parts": [{"text": LONG}]},
        {"role": "assistant", "content": "x", "reasoning_details": [{"type": "reasoning.text", "text": LONG}]},
        {"role": "assistant", "content": "x", "thinking_blocks": [{"type": "thinking", "thinking": LONG}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "u"}, "context": LONG}]},
        {"role": "user", "content": "x", LONG: 1},
        {"role": "tool", "tool_call_id": "c", "content": "x", "artifact": {"rows": [LONG]}},
        {"type": "message", "role": "user", "content": "x", "hint": LONG},
        {"type": "function_call", "call_id": LONG, "name": "f", "arguments": "{}"},
    ],
    ids=["third key", "parts", "reasoning_details", "thinking_blocks", "context", "key", "artifact", "item", "id"],
)
def test_a_field_that_a_format_does_not_know_counts_as_its_text(message):
    assert METER.count_messages([message]) >= SIZE


def test_an_unknown_field_makes_the_count_an_estimate_and_a_listed_one_does_not():
    plain = {"role": "user", "content": "hi"}
    assert brim.fit_messages([plain], 1_000, model="gpt-4o").receipt.exact
    assert not brim.fit_messages([{**plain, "hint": "x"}], 1_000, model="gpt-4o").receipt.exact
    marked = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    assert brim.fit_messages([marked], 1_000, model="gpt-4o", format="openai").receipt.exact
    assert METER.count_messages([marked], format="openai") == METER.count_messages([plain])


@pytest.mark.parametrize("format", ROUTES)
def test_every_way_to_count_a_request_gives_the_same_number(format):
    for number in range(6):
        made = body(format, seeded("same", format, number))
        read = request_of(body_of(text_of(made), "body", MESSAGE_KEYS))
        total = read.tally("o200k_base").total
        ask = parsed(ROUTES[format], text_of(made).encode())
        plan = Conversations().plan(ask.input(), meter="o200k_base")
        rest = {"system": read.system, "fields": read.fields, "format": format}
        assert count_request(ask.input(), plan.scale).tokens == total
        assert plan.scale.count_messages(read.messages, read.tools, **rest) == total
        fitted = brim.fit_messages(read.messages, 10**9, meter=plan.scale, tools=read.tools, **rest)
        assert fitted.used == total
        session = brim.Session(brim.Window(10**9), meter=plan.scale, format=format)
        session.add(list(read.messages))
        assert session.prompt(tools=read.tools, system=read.system, fields=read.fields).used == total


def test_a_request_that_fits_only_without_its_response_format_is_cut():
    messages = [{"role": "user", "content": f"question {i} " * 20} for i in range(30)]
    whole = METER.count_messages(messages)
    fitted = brim.fit_messages(messages, whole + 50, model="gpt-4o", fields={"response_format": SCHEMA})
    assert fitted.receipt.truncated
    assert fitted.used <= whole + 50
    part = fitted.receipt.part("fields")
    assert part.used >= SIZE
    assert METER.count_messages(fitted.messages, fields={"response_format": SCHEMA}) == fitted.used
    again = brim.replay(fitted.receipt, budget=whole + 50)
    assert (again.messages, again.used) == (fitted.messages, fitted.used)


def test_the_fields_of_a_capture_are_those_that_count():
    given = {"response_format": SCHEMA, "metadata": {"secret": "x"}, "temperature": 1, "user": "anna"}
    fitted = brim.fit_messages([{"role": "user", "content": "hi"}], 9_000, model="gpt-4o", fields=given, capture=True)
    captured = json.loads(fitted.receipt.to_json())["capture"]["fields"]
    assert captured.keys() == {"response_format"}
    assert brim.replay(fitted.receipt.to_json()).used == fitted.used


def test_a_listed_field_inside_another_does_not_count():
    stops = {"stopSequences": ["Observation: " * 20], "responseSchema": {"type": "STRING"}}
    assert shown_fields({"generationConfig": stops}) == {"generationConfig": {"responseSchema": {"type": "STRING"}}}


def test_usage_teaches_nothing_about_fields_that_were_counted():
    session = brim.Session(brim.Window(100_000), meter=lambda text: len(text) // 4)
    session.add({"role": "user", "content": "word " * 400})
    used = session.prompt(fields={"response_format": SCHEMA}).used
    session.record_usage(input_tokens=used)
    assert session.prompt(fields={"response_format": SCHEMA}).used <= used * 1.3


def test_a_note_is_found_also_in_a_message_with_unknown_fields():
    messages = [{"role": "user", "content": f"question {i} " * 30} for i in range(40)]
    noted = next(raw for raw in brim.fit_messages(messages, 900, model="gpt-4o").messages if _is_noted(raw))
    assert _is_noted({**noted, "hint": "x"})


def _is_noted(raw):
    return note_in(wire("openai").read(raw, 0), lambda piece: len(piece.text)) > 0


def test_a_message_without_its_calls_is_not_kept_for_a_field_that_nobody_knows():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call], "hint": "x"},
        {"role": "user", "content": "and now?"},
    ]
    assert [raw["role"] for raw in brim.fit_messages(history, 1_000, model="gpt-4o").messages] == ["user", "user"]


def test_a_field_that_holds_itself_is_refused_with_its_place():
    circle = []
    circle.append(circle)
    with pytest.raises(InvalidType, match=r"messages\[3\]"):
        wire("openai").read({"role": "user", "content": "x", "hint": circle}, 3)
    with pytest.raises(InvalidType, match="fields hint"):
        shown_fields({"hint": circle})
