"""The body of a request: read from JSON, fitted, counted, and written back with nothing else changed."""

import json
import re
from contextlib import suppress

import pytest

import brim
from brim import BrimError, SourceError, UnknownName, Window
from brim.requests.request_body import PARTS, read_request
from corruption import corrupted
from talk import (
    answer,
    calling,
    gives,
    item_call,
    item_output,
    loop,
    reasoning,
    refusal,
    result,
    says,
    system,
    text,
    thinking,
    use,
    user,
)

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
ITEM_TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
BLOCK_TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}

CHAT = {"model": "gpt-4o", "messages": [system(), *loop(9, 300), user("end")], "tools": [TOOL], "stream": True}
ITEMS = {"model": "gpt-4o", "instructions": "be brief", "input": [user("task")], "tools": [ITEM_TOOL], "store": False}
BLOCKS = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": "be brief", "messages": [user("task")]}
BLOCKS["tools"] = [BLOCK_TOOL]
for i in range(9):
    ITEMS["input"] += [reasoning(), item_call(f"c{i}"), item_output(f"c{i}", f"{i} " * 150)]
    BLOCKS["messages"] += [says(thinking(), text(f"{i}"), use(f"c{i}")), gives(answer(f"c{i}", f"{i} " * 150))]
BODIES = {"openai": CHAT, "responses": ITEMS, "anthropic": BLOCKS}
BY_SHAPE = pytest.mark.parametrize(("format", "body"), BODIES.items(), ids=list(BODIES))


@pytest.fixture
def read(tmp_path):
    def read(body, **style):
        path = tmp_path / "request.json"
        path.write_bytes((body if isinstance(body, str) else json.dumps(body, **style)).encode())
        return read_request(str(path))

    return read


def refused(read, body):
    def use_it():
        read(body).tally("chars")
        read(body).fit(budget=10_000)

    with pytest.raises(SourceError) as caught:
        use_it()
    assert "request.json" in str(caught.value)
    return str(caught.value).partition("request.json:")[2].strip()


# --- fitted


@BY_SHAPE
def test_a_body_is_fitted_as_a_call_says(read, format, body):
    request = read(body)
    budget = request.tally().upper * 6 // 10
    fitted = request.fit(budget=budget)
    key = "input" if format == "responses" else "messages"
    there = brim.fit_messages(
        body[key],
        budget,
        model=body["model"],
        tools=body["tools"],
        system=body.get("system") or body.get("instructions"),
        format=format,
    )
    assert (fitted.messages, fitted.receipt) == (there.messages, there.receipt)
    assert budget * 0.5 < fitted.used <= budget
    assert refusal(fitted.messages, format) == ""
    assert json.loads(request.written(fitted.messages)) == {**body, key: there.messages}
    assert list(json.loads(request.written(fitted.messages))) == list(body)


@BY_SHAPE
def test_a_body_that_fits_comes_back_byte_for_byte(read, format, body):
    for style in ({}, {"indent": 2}, {"separators": (",", ":")}):
        request = read(body, **style)
        fitted = request.fit(budget=100_000)
        assert request.written(fitted.messages) == json.dumps(body, **style)


def test_a_changed_message_is_written_so_that_any_reader_takes_it(read):
    request = read({"messages": [user("\ud800 é " + "x" * 500)]})
    written = request.written(request.fit(budget=100, meter="chars").messages)
    assert "\\ud800 \\u00e9" in written.encode("utf-8").decode()
    request = read({"messages": [user("é " + "x" * 500)]})
    assert "é" in request.written(request.fit(budget=100, meter="chars").messages)


def test_a_file_may_be_a_list_of_messages(read):
    request = read(CHAT["messages"], indent=1)
    fitted = request.fit(budget=900, meter="chars")
    assert (request.key, request.format) == ("", "openai")
    assert json.loads(request.written(fitted.messages)) == fitted.messages
    assert fitted.messages == brim.fit_messages(CHAT["messages"], 900, meter="chars").messages


def test_an_input_may_be_a_text(read):
    request = read({"input": "word " * 100, "model": "gpt-4o"})
    assert request.written(request.fit(budget=1000).messages) == request.body.text
    fitted = request.fit(budget=40)
    written = json.loads(request.written(fitted.messages))
    assert written["input"] == fitted.messages[0]["content"]
    assert written["input"].startswith("word word")
    assert written["model"] == "gpt-4o"


def test_what_the_body_says_tells_the_shape_where_the_messages_do_not(read):
    plain = [user(), {"role": "assistant", "content": "well"}]
    assert read({"messages": plain}).format is None
    assert read({"input": plain}).format == "responses"
    for extra in ({"system": "s"}, {"anthropic_version": "bedrock-2023-05-31"}, {"tools": [BLOCK_TOOL]}):
        assert read({"messages": plain, **extra}).format == "anthropic"
    assert read({"messages": [*plain, calling("a"), result("a")], "system": "s"}).format == "openai"


# --- the budget


@pytest.mark.parametrize("key", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_the_window_of_the_model_is_the_budget_less_the_answer(read, key):
    body = {"model": "gpt-4o", "messages": [user()], key: 16_000}
    assert read(body).fit().budget == Window.of("gpt-4o", reserve=16_000).budget == 112_000
    assert read({**body, key: None}).fit().budget == 128_000 - 4_096
    assert read({**body, "max_tokens": 20_000}).fit().budget == 108_000
    assert read({**body, key: 192}).fit(model="gpt-4").budget == 8000
    assert read(body).fit(budget=77).budget == 77


def test_without_a_model_a_budget_has_to_be_given(read):
    assert "the budget is missing: set one, or name a model" in _told(read, {"messages": [user()]})
    assert "the budget is missing" in _told(read, CHAT, meter="chars")


def _told(read, body, **asked):
    with pytest.raises(SourceError) as caught:
        read(body).fit(**asked)
    return str(caught.value)


@pytest.mark.parametrize("answer_", ["9", -1, 1.5, True, [1]], ids=str)
def test_an_answer_that_cannot_be_is_refused(read, answer_):
    told = _told(read, {"messages": [user()], "model": "gpt-4o", "max_tokens": answer_})
    assert f"request.json:1: max_tokens must be a whole number of at least 0, not {answer_!r}" in told
    assert read({"messages": [user()], "max_tokens": answer_}).fit(budget=90).used < 90


def test_a_model_that_is_not_known_is_named_with_its_line(read):
    body = json.dumps({"messages": [user()], "model": "gpt-55"}, indent=1)
    told = _told(read, body, budget=90)
    assert re.search(r"request.json:8: no model, vocabulary or unit is called 'gpt-55'; did you mean 'gpt-5", told)
    assert read(body).fit(budget=90, model="gpt-4o").used < 90
    with pytest.raises(UnknownName):
        read(CHAT).fit(budget=90, model="gpt-55")
    with pytest.raises(SourceError):
        read(body).tally()


# --- counted


@BY_SHAPE
@pytest.mark.parametrize("name", ["chars", "o200k_base", "gpt-4o"])
def test_a_request_counts_what_its_fit_uses(read, format, body, name):
    request = read(body)
    tally = request.tally(name)
    key = "input" if format == "responses" else "messages"
    if format == "openai":
        assert tally.total == brim.meter(name).count_messages(body[key], body["tools"], format=format)
    given = {"model": name} if name == "gpt-4o" else {"meter": name}
    fitted = request.fit(budget=100_000, **given)
    assert fitted.messages == body[key]
    assert (tally.total, tally.unit, tally.meter) == (fitted.used, fitted.receipt.unit, fitted.receipt.meter)
    assert tally.exact == fitted.receipt.exact
    assert tuple(tally.parts) == PARTS
    assert tally.messages == len(body[key])


def test_units_are_told_by_who_speaks(read):
    chat = [system("s" * 10), user("u" * 20), calling("c1", text="a" * 30), result("c1", "r" * 40)]
    told = {"system": 10, "user": 20, "assistant": 30 + len("f{}"), "tool results": 40}
    assert read({"messages": chat}).tally("chars").parts == {**told, "tools": 0, "fields": 0, "framing": 0}
    blocks = [user("u" * 20), says(text("a" * 30), use("c1")), gives(answer("c1", "r" * 40), text("v" * 5))]
    told["user"] += 5
    body = {"messages": blocks, "system": [text("s" * 10)]}
    assert read(body).tally("chars").parts == {**told, "tools": 0, "fields": 0, "framing": 0}
    items = [user("u" * 20), {"role": "assistant", "content": "a" * 30}, item_call("c1"), item_output("c1", "r" * 40)]
    told["user"] -= 5
    body = {"input": items, "instructions": "s" * 10}
    assert read(body).tally("chars").parts == {**told, "tools": 0, "fields": 0, "framing": 0}


# --- refused


REFUSED = {
    "nothing": ("", "1: not JSON: expecting value"),
    "a text": ('"messages"', "1: a request is an object or a list of messages, not 'messages'"),
    "an open list": ('[{"role": "user"}', "1: not JSON: a comma or ] must follow"),
    "a comma too many": ('{"messages": [],\n}', "2: not JSON: a key must begin with a double quote"),
    "a comma in the list": ('{"messages": [1,\n]}', "2: not JSON: expecting value"),
    "requests as JSON Lines": (
        '{"messages": []}\n{"messages": []}',
        "2: not JSON: extra data after its end; brim audit reads a file with a request on each line",
    ),
    "broken inside": ('{"messages": [\n{"role": "user",\n "content": }]}', "3: not JSON: expecting value"),
    "neither": (
        '{"model": "gpt-5"}',
        "1: a request must have one of messages, input or contents, and this one has none of them",
    ),
    "sections": (
        '{"sections": []}',
        "1: a request must have one of messages, input or contents, and this one has none of them; sections are",
    ),
    "both": (
        '{"messages": [],\n"input": []}',
        "2: a request must have one of messages, input or contents, and this one has messages and input",
    ),
    "no list": ('{"messages": "hello"}', "1: messages must be a list of messages, not 'hello'"),
    "a key twice": ('{"messages": [],\n"messages": []}', "2: the key 'messages' is repeated"),
    "NaN": ('{"messages": [],\n"temperature": NaN}', "2: temperature: NaN is not JSON"),
    "a long number": ('{"messages": [], "seed": ' + "9" * 4001 + "}", "1: seed: a number of 4,001 digits"),
    "a wrong role": (
        '{"messages": [\n{"role": "user", "content": "a"},\n{"role": "usr", "content": "b"}]}',
        "3: messages[1] role must be one of 'system'",
    ),
    "a wrong item": ('{"input": [\n\n{"role": "usr"}]}', "3: input[0] role must be one of"),
    "no message": ("[\n7]", "2: messages[0] must be a message"),
    "wrong tools": ('{"messages": [],\n"tools": 5}', "2: tools must be a list of tool definitions, not 5"),
    "a wrong system": ('{"messages": [],\n"system": 5}', "2: system must be a string or a list of blocks, not 5"),
    "wrong instructions": ('{"input": [],\n"instructions": 5}', "2: instructions must be a string or a list of blocks"),
    "a wrong model": ('{"messages": [],\n"model": 5}', "2: model must be a string, not 5"),
}


@pytest.mark.parametrize(("text_", "told"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_request_is_refused_with_its_line(read, text_, told):
    assert refused(read, text_).startswith(told)


SMALL = {
    "openai": {"messages": [system(), user("task"), calling("a"), result("a", "r" * 90), user("end")], "tools": [TOOL]},
    "responses": {"input": [user(), item_call("a"), item_output("a", "r" * 90)], "instructions": "be brief"},
    "anthropic": {"messages": [user(), says(use("a")), gives(answer("a", "r" * 90))], "system": [text("be brief")]},
}


@pytest.mark.slow
@pytest.mark.parametrize("body", SMALL.values(), ids=list(SMALL))
def test_a_body_with_any_value_wrong_is_refused_or_fitted(read, body):
    for values in corrupted(body):
        with suppress(BrimError):
            request = read(json.dumps(values))
            counted = request.tally("chars").total
            fitted = request.fit(meter="chars", budget=500)
            assert fitted.used <= min(500, counted)
            written = json.loads(request.written(fitted.messages))
            if request.key and request.body.items is not None:
                assert written == {**values, request.key: fitted.messages}
