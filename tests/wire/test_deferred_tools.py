"""Tools that are shown to the model once it has searched for them."""

import brim


def tool(at, **more):
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "a long description " * 40}}}
    return {"name": f"tool_{at}", "description": "Does one thing.", "input_schema": schema, **more}


def function(at, **more):
    known = tool(at)
    return {"type": "function", "name": known["name"], "description": "d", "parameters": known["input_schema"], **more}


SEARCH = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
HELLO = [{"role": "user", "content": "hello"}]


def found(*names):
    references = [{"type": "tool_reference", "tool_name": name} for name in names]
    result = {"type": "tool_search_tool_search_result", "tool_references": references}
    return [
        {"type": "server_tool_use", "id": "s1", "name": SEARCH["name"], "input": {"query": "t"}},
        {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": result},
    ]


def test_a_hundred_deferred_tools_of_anthropic_count_nothing_until_they_are_loaded():
    meter, tools = brim.meter("claude-sonnet-5"), [SEARCH, *(tool(at, defer_loading=True) for at in range(100))]
    assert meter.count_messages(HELLO, tools) == meter.count_messages(HELLO, [SEARCH])
    assert brim.fit_messages(HELLO, 3_000, model="claude-sonnet-5", tools=tools).messages == HELLO


def test_a_tool_counts_once_a_reference_has_loaded_it():
    meter, tools = brim.meter("claude-sonnet-5"), [SEARCH, *(tool(at, defer_loading=True) for at in range(100))]
    history = [*HELLO, {"role": "assistant", "content": found("tool_3", "tool_4")}, *HELLO]
    more = meter.count_messages(history, tools) - meter.count_messages(history, [SEARCH])
    deferred = meter.count_messages(HELLO, [SEARCH, *tools[4:6]])
    loaded = meter.count_messages(HELLO, [SEARCH, tool(3), tool(4)])
    assert deferred < loaded <= meter.count_messages(HELLO, [SEARCH]) + more
    fitted = brim.fit_messages(history, 9_000, model="claude-sonnet-5", tools=tools)
    assert fitted.used >= meter.count_messages(history, tools)


def test_openai_shows_the_name_and_the_description_of_a_deferred_function():
    meter = brim.meter("gpt-5")
    whole, deferred = [function(at) for at in range(50)], [function(at, defer_loading=True) for at in range(50)]
    bare = [{key: value for key, value in each.items() if key != "parameters"} for each in whole]
    counted = meter.count_messages(HELLO, deferred, format="responses")
    assert counted == meter.count_messages(HELLO, bare, format="responses")
    assert counted < meter.count_messages(HELLO, whole, format="responses") / 4


def test_of_a_namespace_the_deferred_functions_are_not_shown_at_all():
    meter = brim.meter("gpt-5")
    space = {"type": "namespace", "name": "crm", "description": "What is known of customers."}
    deferred = [function(at, defer_loading=True) for at in range(50)]
    counted = meter.count_messages(HELLO, [{**space, "tools": deferred}], format="responses")
    assert counted == meter.count_messages(HELLO, [{**space, "tools": []}], format="responses")
    one = meter.count_messages(HELLO, [{**space, "tools": [*deferred, function(99)]}], format="responses")
    assert one > counted + 40
