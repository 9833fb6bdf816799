"""Tool definitions are counted once, and again if they were changed."""

from __future__ import annotations

import copy
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.meter.memo import Memo
from brim.meter.schemas import tool_counts
from properties import examples

WORDS = st.sampled_from(["city", "unit", "Reads the rows of a table.", "name", ""])
VALUES = st.one_of(
    WORDS, st.booleans(), st.sampled_from([0, 1, 1.0, 0.0, 5, 5.0]), st.none(), st.lists(WORDS, max_size=2)
)


def tool(name: str, **fields) -> dict:
    parts = {key: {"type": "string", "description": "A value.", "default": value} for key, value in fields.items()}
    schema = {"type": "object", "properties": parts}
    return {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": schema}}


def counted(tools, memo=None, provider="openai"):
    return tool_counts(tools, len, provider, memo=memo)


@given(first=st.lists(VALUES, min_size=1, max_size=4), then=VALUES, data=st.data())
@examples(60)
def test_a_tool_that_was_changed_in_place_is_counted_as_it_is_now(first, then, data):
    tools = [tool(f"t{at}", value=value, other=value) for at, value in enumerate(first)]
    memo = Memo()
    for provider in ("openai", "anthropic"):
        assert counted(tools, memo, provider) == counted(copy.deepcopy(tools), provider=provider)
        at = data.draw(st.integers(0, len(tools) - 1))
        tools[at]["function"]["parameters"]["properties"]["value"]["default"] = then
        assert counted(tools, memo, provider) == counted(copy.deepcopy(tools), provider=provider)
        tools[at]["function"]["parameters"]["properties"].pop("other", None)
        assert counted(tools, memo, provider) == counted(copy.deepcopy(tools), provider=provider)


def containers(value) -> list:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [
        *([value] if isinstance(value, dict | list) else []),
        *(found for each in inner for found in containers(each)),
    ]


SCHEMAS = st.recursive(
    VALUES | st.lists(st.sampled_from([0, 1, True, False, 1.0]), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(values=st.lists(SCHEMAS, min_size=1, max_size=3), then=SCHEMAS, data=st.data())
@examples(150)
def test_a_change_in_any_container_of_a_tool_is_noticed(values, then, data):
    tools = [{"name": "t", "input_schema": {"type": "object", "default": value}} for value in values]
    memo = Memo()
    assert counted(tools, memo) == counted(tools, memo) == counted(tools)
    where = data.draw(st.sampled_from([each for tool in tools for each in containers(tool["input_schema"])]))
    at = data.draw(st.sampled_from([*where])) if isinstance(where, dict) and where else 0
    change = data.draw(st.sampled_from(["set", "add", "remove"]))
    if change == "add" or not where:
        where.append(then) if isinstance(where, list) else where.update(added=then)
    elif change == "remove":
        del where[at]
    else:
        where[at] = then
    try:
        now = counted(tools)
    except brim.InvalidValue:
        return  # The change made it no schema.
    assert counted(tools, memo) == now


@given(first=SCHEMAS, then=SCHEMAS)
@examples(60)
def test_tools_that_are_made_anew_for_each_request_are_read_once(first, then):
    read: list[str] = []
    memo = Memo()

    def count(text):
        read.append(text)
        return len(text)

    for value in (first, then):
        tools = [tool("t", value=value), tool("other")]
        fresh = tool_counts(tools, len, "anthropic")
        assert tool_counts(tools, count, "anthropic", memo=memo) == fresh
        read.clear()
        for known in (tools, copy.deepcopy(tools), tuple(tools), copy.deepcopy(tools)[::-1][::-1]):
            assert tool_counts(known, count, "anthropic", memo=memo) == fresh
        assert tool_counts(tools[1:], count, "anthropic", memo=memo).each == fresh.each[1:]
        assert read == []


def test_one_memo_serves_every_provider_and_model():
    memo, tools = Memo(), [tool("t", value="a")]
    ways = [("openai", "gpt-4o"), ("openai", "gpt-4"), ("openai", None), ("anthropic", None), ("google", None)]
    for _ in range(2):
        for provider, model in ways:
            for system in (True, False):
                options = {"model": model, "system": system}
                fresh = tool_counts(tools, len, provider, **options)
                assert tool_counts(tools, len, provider, **options, memo=memo) == fresh


def test_a_tool_with_values_that_json_does_not_have_is_counted_each_time():
    memo, schema = Memo(), {"type": "object", "properties": {"a": {"type": "string", "description": "One."}}}
    tools = [{"name": "t", "input_schema": MappingProxyType(schema)}]
    before = counted(tools, memo)
    schema["properties"]["b"] = {"type": "string", "description": "Another."}
    assert before.total < counted(tools, memo).total == counted(tools).total
    assert len(memo) == 0


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "llama-3.1-8b"])
def test_a_history_notices_a_tool_that_grew_between_two_fits(model):
    history, tools = brim.History(model=model), [tool("t", value="a")]
    history.extend([{"role": "user", "content": "Hello"}])
    before = history.fit(10_000, tools=tools).used
    tools[0]["function"]["description"] = "Does it. " * 50
    after = history.fit(10_000, tools=tools).used
    fresh = brim.History(model=model)
    fresh.extend([{"role": "user", "content": "Hello"}])
    assert before < after == fresh.fit(10_000, tools=copy.deepcopy(tools)).used
