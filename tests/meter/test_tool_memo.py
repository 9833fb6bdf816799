"""Tool definitions are read once, and again if they were changed."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.meter.schemas import count_tools
from brim.meter.tool_memo import ToolMemo
from properties import examples

WORDS = st.sampled_from(["city", "unit", "Reads the rows of a table.", "name", ""])
VALUES = st.one_of(
    WORDS, st.booleans(), st.sampled_from([0, 1, 1.0, 0.0, 5, 5.0]), st.none(), st.lists(WORDS, max_size=2)
)


def tool(name: str, **fields) -> dict:
    parts = {key: {"type": "string", "description": "A value.", "default": value} for key, value in fields.items()}
    schema = {"type": "object", "properties": parts}
    return {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": schema}}


def counted(tools, memo=None, provider="openai") -> tuple[int, bool]:
    return count_tools(tools, len, provider, memo=memo)


@given(first=st.lists(VALUES, min_size=1, max_size=4), then=VALUES, data=st.data())
@examples(60)
def test_a_tool_that_was_changed_in_place_is_counted_as_it_is_now(first, then, data):
    tools = [tool(f"t{at}", value=value, other=value) for at, value in enumerate(first)]
    memo = ToolMemo()
    for provider in ("openai", "anthropic"):
        memo = ToolMemo()
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
    """The text of a tool is what was read of it: if anything inside is another value now, it is read again."""
    tools = [{"name": "t", "input_schema": {"type": "object", "default": value}} for value in values]
    memo: ToolMemo[str] = ToolMemo()

    def texts():
        return memo.whole(tools, lambda _, each: json.dumps(each, sort_keys=True), list)

    before = texts()
    assert texts() is before
    where = data.draw(st.sampled_from(containers(tools)[1:]))
    at = data.draw(st.sampled_from([*where])) if isinstance(where, dict) and where else 0
    change = data.draw(st.sampled_from(["set", "add", "remove"]))
    if change == "add" or not where:
        where.append(then) if isinstance(where, list) else where.update(added=then)
    elif change == "remove":
        del where[at]
    else:
        where[at] = then
    assert texts() == [json.dumps(each, sort_keys=True) for each in tools]


def test_a_key_that_equals_another_is_not_taken_for_it():
    tools = [{"name": "t", "input_schema": {1: "a"}}]
    memo: ToolMemo[str] = ToolMemo()
    assert memo.each(tools, lambda _, each: str(each["input_schema"])) == ["{1: 'a'}"]
    tools[0]["input_schema"] = {True: "a"}
    assert memo.each(tools, lambda _, each: str(each["input_schema"])) == ["{True: 'a'}"]


def test_what_is_made_of_all_tools_is_made_once_for_each_key():
    tools, memo, made = [tool("a"), tool("b")], ToolMemo[str](), []

    def whole(key):
        return memo.whole(tools, lambda _, each: each["function"]["name"], lambda read: made.append(key) or read, key)

    assert whole(True) == whole(False) == whole(True) == ["a", "b"]
    assert made == [True, False]
    tools[1]["function"]["name"] = "c"
    assert whole(True) == ["a", "c"]


def test_a_tool_is_read_once_in_lists_that_share_it_and_again_after_a_change():
    read: list[str] = []
    tools = [tool(f"t{at}", value=at) for at in range(4)]
    memo = ToolMemo()

    def reads(given):
        read.clear()
        memo.each(given, lambda _, each: (read.append(each["function"]["name"]), ((1,), True))[1])
        return list(read)

    assert reads(tools) == ["t0", "t1", "t2", "t3"]
    assert reads(tools) == reads(tuple(tools)) == reads(tools[1:]) == []
    tools[2]["function"]["parameters"]["properties"]["value"]["default"] = True
    assert reads(tools) == ["t2"]
    assert reads([*tools, tool("t4")]) == ["t4"]


@given(first=SCHEMAS, then=SCHEMAS)
@examples(60)
def test_tools_that_are_made_anew_for_each_request_are_read_once(first, then):
    """Only those that are written alike: values of other types and keys in another order are read."""
    read: list[str] = []
    memo: ToolMemo[str] = ToolMemo()
    kept = [{"name": "t", "input_schema": first}]
    for given_tools in (kept, copy.deepcopy(kept), copy.deepcopy(kept), kept, [{"name": "t", "input_schema": then}]):
        texts = memo.each(given_tools, lambda _, each: read.append(json.dumps(each)) or read[-1])
        assert texts == [json.dumps(each) for each in given_tools]
    assert len(read) == len(set(read))


def test_a_value_that_cannot_be_compared_is_read_each_time():
    read = []
    odd = [{"name": "a", "input_schema": {"type": "object"}, "x": object()}]
    memo = ToolMemo()
    for _ in range(2):
        memo.each(odd, lambda _, each: (read.append(each), ((1,), True))[1])
    assert len(read) == 2


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


def test_the_newest_list_is_known_however_many_came_before():
    """After four lists of tools, no other was ever found again."""
    memo: ToolMemo[str] = ToolMemo()
    lists = [[tool(f"t{at}"), tool("same")] for at in range(9)]
    for tools in lists:
        read = memo.each(tools, lambda _, each: each["function"]["name"])
        assert memo.each(list(tools), lambda _, __: "read again") is read
    assert memo.each(lists[-2], lambda _, __: "read again") == ["t7", "same"]
