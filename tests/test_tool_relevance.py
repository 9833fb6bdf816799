"""Which tools come first if not all of them fit."""

import pytest

import brim
from brim.requests.tool_index import tool_index
from brim.requests.tool_relevance import functions_of, relevant_order
from brim.requests.tool_words import related

TOPICS = ("invoice", "garden", "planet", "recipe", "engine", "violin", "glacier", "orchard")
ACTS = ("get", "list", "create", "delete")


def tool(name, about="", **arguments):
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


TOOLS = [
    *(tool(f"{act}_{topic}", f"{act} the {topic}", **{f"{topic}_id": ""}) for topic in TOPICS for act in ACTS),
    tool("get_user_details", user_id=""),
    tool("think", thought=""),
    tool("transfer_to_human_agents", summary=""),
    tool("calculate", expression=""),
]
NAMES = [each["function"]["name"] for each in TOOLS]


def first(count, messages, question=None, **more):
    """Return the names of the tools that come first."""
    history = brim.History("chars")
    history.extend(messages)
    return [NAMES[at] for at in relevant_order(TOOLS, history, question, **more)[:count]]


def test_tools_of_the_topic_come_first_although_nobody_asks_for_them():
    """An agent that has just heard a name looks the user up, as its instructions say."""
    rules = "First find the details of the user by the user id. You may list, create or delete an orchard."
    asked = [{"role": "system", "content": rules}, {"role": "user", "content": "chen_johnson_4204"}]
    assert "get_user_details" in first(9, asked)
    assert set(first(12, asked)) >= {f"{act}_orchard" for act in ACTS[1:]}


def test_a_system_prompt_that_is_a_section_counts_as_well():
    asked = [{"role": "user", "content": "chen_johnson_4204"}]
    rules = "First find the details of the user by the user id."
    assert "get_user_details" in first(5, asked, instructions=rules)
    request = brim.fit_request(
        system=[brim.Section("rules", rules, required=True)],
        messages=asked,
        tools=TOOLS,
        keep_tools="relevant",
        budget=260,
        meter="o200k_base",
    )
    kept = [entry.id for entry in request.receipt.part("tools").kept]
    assert "get_user_details" in kept
    assert len(kept) < len(TOOLS) // 2


@pytest.mark.parametrize("name", ["think", "transfer_to_human_agents", "calculate"])
def test_tools_for_any_conversation_are_not_left_out_for_want_of_a_topic(name):
    asked = [{"role": "user", "content": "List the glaciers and the planets."}]
    assert name in first(12, asked)


def test_the_question_decides_among_the_tools_of_a_topic():
    asked = [{"role": "user", "content": "Please remove the violin."}]
    order = first(len(NAMES), asked)
    assert order.index("delete_violin") < min(order.index(f"{act}_violin") for act in ("get", "list", "create"))


def test_what_a_question_contains_is_named():
    assert {"email", "user"} <= set(related("Who is jane@example.com?").split())
    assert "year" in related("What happened in 1773?").split()
    assert "probabiliti" in related("How likely is that?").split()
    assert "year" in related("When is that?").split()
    assert related("") == ""


def test_a_list_of_tools_is_read_once_and_again_if_one_was_changed():
    tools = [tool("get_planet", "about planets"), tool("get_engine", "about engines")]
    index = tool_index(tools)
    assert tool_index(list(tools)) is index
    tools[1]["function"]["description"] = "about motors"
    assert tool_index(tools) is not index
    assert "motors" in tool_index(tools).tools[1].text
    tools[1]["function"]["name"] = "get_motor"
    assert functions_of(tools) == [["get_planet"], ["get_motor"]]


def test_a_tool_that_was_called_comes_before_others_of_its_topic():
    rules = "You may get, list, create or delete a glacier by its glacier id."
    called = {"id": "c1", "type": "function", "function": {"name": "create_glacier", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": rules},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        *({"role": role, "content": "Fine."} for role in ("assistant", "user", "assistant")),
        {"role": "user", "content": "And now?"},
    ]
    assert next(name for name in first(12, messages) if name.endswith("_glacier")) == "create_glacier"


def test_a_mark_among_the_tools_is_no_tool_to_choose():
    tools = [
        {"toolSpec": {"name": each["function"]["name"], "inputSchema": {"json": each["function"]["parameters"]}}}
        for each in TOOLS
    ]
    mark = {"cachePoint": {"type": "default"}}
    request = brim.fit_request(
        messages=[{"role": "user", "content": [{"text": "List the planets."}]}],
        tools=[*tools, mark],
        keep_tools="relevant",
        budget=1_200,
        meter="o200k_base",
    )
    assert request.tools[-1] == mark
    assert 2 < len(request.tools) < len(TOOLS)


def test_the_arguments_of_a_tool_are_part_of_its_topic():
    index = tool_index([tool("fetch_it", order_id=""), tool("fetch_it", planet_mass=""), tool("fetch_it")])
    about_orders, about_planets, bare = index.coverage({"order", "id"})
    assert (about_planets, bare) == (0, 0)
    assert 0.3 < about_orders <= 0.5
    assert index.coverage({"fetch", "order", "id"})[0] > index.coverage({"fetch"})[0] > 0
