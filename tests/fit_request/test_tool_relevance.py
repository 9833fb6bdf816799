"""Which tools come first if not all of them fit."""

import brim
from brim.requests.tool_relevance import functions_of, relevant_order

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


def test_the_question_decides_among_the_tools_of_a_topic():
    asked = [{"role": "user", "content": "Please delete the violin."}]
    assert first(1, asked) == ["delete_violin"]
    assert first(1, [], "Which planets are on the list?") == ["list_planet"]


def test_the_newest_messages_choose_as_well():
    """An agent in a loop has no new question: what it just read says what comes next."""
    messages = [
        {"role": "user", "content": "Do what has to be done."},
        {"role": "assistant", "content": "I will look at the engine first, then delete the invoice."},
    ]
    assert {"get_engine", "delete_invoice"} <= set(first(8, messages))


def test_arguments_and_their_values_are_words_of_a_tool():
    tools = [
        tool("fetch_a", planet_mass=""),
        tool("fetch_b", order_id=""),
        {"name": "fetch_c", "input_schema": {"properties": {"kind": {"enum": ["comet", "moon"]}}}},
    ]
    history = brim.History("chars")
    assert relevant_order(tools, history, "the id of my order")[0] == 1
    assert relevant_order(tools, history, "Is there a comet?")[0] == 2
    assert relevant_order(tools, history, "Hello?") == [0, 1, 2]


def test_a_tool_that_was_changed_is_read_again():
    tools = [tool("get_planet", "about planets"), tool("get_engine", "about engines")]
    history = brim.History("chars")
    assert relevant_order(tools, history, "a motor") == [0, 1]
    tools[1]["function"]["description"] = "about motors"
    assert relevant_order(tools, history, "a motor") == [1, 0]
    tools[1]["function"]["name"] = "get_motor"
    assert functions_of(tools) == [["get_planet"], ["get_motor"]]


def test_meaning_counts_as_much_as_words():
    """A question in other words than those of the tool is found by an embedding alone."""
    tools = [tool("get_planet"), tool("search_flights"), tool("list_orders")]
    history = brim.History("chars")

    def embed(texts):
        return [[1.0, 0.0] if "flight" in text or "airborne" in text else [0.0, 1.0] for text in texts]

    assert relevant_order(tools, history, "Make me airborne", embed)[0] == 1
    assert relevant_order(tools, history, "list my orders", embed)[0] == 2
    assert relevant_order(tools, history, "Make me airborne", lambda texts: [[0.0]] * len(texts)) == [0, 1, 2]


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


def test_a_tool_that_was_called_stays_although_the_conversation_went_on():
    called = {"id": "c1", "type": "function", "function": {"name": "think", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        {"role": "assistant", "content": "Which garden?"},
        {"role": "user", "content": "Delete the big garden."},
        {"role": "assistant", "content": "I will delete that garden."},
        {"role": "user", "content": "Yes, delete the garden."},
    ]
    assert first(2, messages) == ["delete_garden", "think"]


def test_the_part_of_the_tools_has_what_those_that_are_offered_cost():
    tools = [{"type": "function", "function": {"name": f"look_{i}", "description": "Look. " * 90}} for i in range(9)]
    made = brim.fit_request(user="Where is it?", tools=tools, keep_tools="relevant", budget=500, model="gpt-5")
    meter, part = brim.meter("gpt-5"), made.receipt.part("tools")
    assert 0 < len(made.tools) < len(tools)
    assert part.used == meter.count_messages(made.messages, made.tools) - meter.count_messages(made.messages)
