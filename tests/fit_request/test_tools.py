"""Tools are chosen in the same pass as the turns that call them."""

import random
from itertools import pairwise

import pytest

import brim
import tool_requests

METER = brim.meter("gpt-4o")


def names_of(tools):
    return [each["function"]["name"] for each in tools]


@pytest.mark.parametrize("seed", range(24))
def test_a_request_with_many_tools_fits_defines_what_it_calls_and_leaves_no_room_for_another(seed):
    given = tool_requests.case(seed)
    request = brim.fit_request(**given)
    used = METER.count_messages(request.body["messages"], request.body.get("tools"))
    assert used == request.used <= given["budget"]
    kept = names_of(request.tools)
    assert tool_requests.called(request.messages) <= set(kept)
    assert [entry.id for entry in request.receipt.part("tools").kept] == kept
    sizes = [METER.count_messages([], [each]) for each in given["tools"] if names_of([each])[0] not in kept]
    assert given["budget"] - used <= max(given["budget"] // 10, min(sizes, default=given["budget"]))


def agent(tools, steps, lines=60, kinds=3):
    """Return a task and calls of some kinds of tools with long results."""
    rng = random.Random(1)
    messages = [{"role": "user", "content": "Close the ticket of our customer, and report what was done."}]
    for i in range(steps):
        name = names_of(tools)[i % kinds]
        call = {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": f'{{"id": {i}}}'}}
        rows = "\n".join(f"{k} row {rng.randrange(10**6)}" for k in range(lines))
        messages.append({"role": "assistant", "content": f"Step {i}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": rows})
    return messages


TOOLS = [tool_requests.tool(random.Random(i), i, 6) for i in range(40)]


def test_a_bigger_budget_offers_no_fewer_tools_and_no_less_of_the_history():
    messages = agent(TOOLS, 12)
    fits = [
        brim.fit_request(messages=messages, tools=TOOLS, keep_tools="relevant", budget=budget, model="gpt-4o")
        for budget in range(2_000, 18_001, 2_000)
    ]
    shares = [(each.receipt.part("tools").used, each.used - each.receipt.part("tools").used) for each in fits]
    for (tools, turns), (more_tools, more_turns) in pairwise(shares):
        assert more_tools >= tools
        assert more_turns >= 0.9 * turns
    assert len(fits[-1].tools) == len(TOOLS)


def test_old_results_give_way_to_tools_and_the_task_and_the_newest_turn_do_not():
    messages = agent(TOOLS, 12)
    request = brim.fit_request(messages=messages, tools=TOOLS, keep_tools="relevant", budget=7_000, model="gpt-4o")
    assert messages[0] in request.messages
    assert request.messages[-2:] == messages[-2:]
    assert 8 < len(request.tools) < len(TOOLS)
    assert request.receipt.part("messages[1:3]").state == "cut"


def test_a_task_of_one_word_is_not_dropped_for_a_tool():
    """The tools were worth more for a token, and the task was left out of the request."""
    tools = [tool_requests.tool(random.Random(i), i, 1) for i in range(40)]
    given = {"messages": [{"role": "user", "content": "hello"}, *agent(tools, 1, lines=2)[1:]], "tools": tools}
    for budget in range(150, 900, 7):
        request = brim.fit_request(**given, keep_tools="relevant", budget=budget, meter="o200k_base")
        assert request.messages[0] == given["messages"][0], budget


def test_a_turn_that_calls_a_tool_of_its_own_pays_for_it():
    """Each turn has some 40 tokens and calls a tool of 250, so that hardly any two of them fit."""
    messages = agent(TOOLS, 40, lines=1, kinds=40)
    for budget in range(500, 6_000, 100):
        request = brim.fit_request(messages=messages, tools=TOOLS, keep_tools="relevant", budget=budget, model="gpt-4o")
        assert METER.count_messages(request.messages, request.tools) <= budget
        assert tool_requests.called(request.messages) <= set(names_of(request.tools))


def test_tools_do_not_take_the_room_of_more_essential_sections():
    documents = brim.Section("documents", [f"[{i}] " + "fact " * 60 for i in range(200)], priority="medium")
    given = {"messages": agent(TOOLS, 2), "tools": TOOLS, "keep_tools": "relevant", "budget": 8_000, "model": "gpt-4o"}
    request = brim.fit_request(user=[documents], **given)
    assert request.receipt.part("documents").used > 4_000
    assert 800 < request.receipt.part("tools").used < 2_000


@pytest.mark.parametrize("ways", [{"select": "relevance"}, {"select": "priority"}, {"excerpts": False}])
def test_turns_that_are_chosen_by_ranks_leave_a_fifth_of_the_budget_to_tools(ways):
    given = {"messages": agent(TOOLS, 40), "tools": TOOLS, "keep_tools": "relevant", "budget": 9_000}
    request = brim.fit_request(**given, **ways, model="gpt-4o")
    assert 1_400 < request.receipt.part("tools").used < 2_000


@pytest.mark.parametrize("budget", range(4_000, 12_000, 1_000))
def test_in_stable_mode_called_tools_stay_and_every_prompt_fits(budget):
    history = brim.History(model="gpt-4o", stable=True)
    for message in agent(TOOLS, 30):
        history.add(message)
        if message["role"] == "assistant":
            continue
        request = brim.fit_request(messages=history, tools=TOOLS, keep_tools="relevant", budget=budget)
        assert METER.count_messages(request.messages, request.tools) <= budget
        assert tool_requests.called(request.messages) <= set(names_of(request.tools))


def test_what_cannot_fit_is_refused_with_the_tokens_of_called_tools():
    messages = agent(TOOLS, 1)
    with pytest.raises(brim.DoesNotFit) as caught:
        brim.fit_request(messages=messages, tools=TOOLS, keep_tools="relevant", budget=120, model="gpt-4o")
    error = caught.value
    fitted = brim.fit_request(
        messages=messages, tools=TOOLS, keep_tools="relevant", budget=error.needed, model="gpt-4o"
    )
    assert fitted.used <= error.needed
    assert names_of(fitted.tools) == names_of(TOOLS)[:1]
