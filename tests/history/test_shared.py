"""What a prompt shares with the last one is in both, and nearly all of what is in both is found."""

import pytest

import brim

ROWS = 40


def turn(number):
    rows = [f"{number}.{row}: the worker took {row * 7 % 13} seconds for item {row * 31 % 97}" for row in range(ROWS)]
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "\n".join(rows)},
    ]


def rows_of(messages):
    return [row for message in messages for row in (message["content"] or "").splitlines()]


def grown(stable):
    history = brim.History(meter="chars", stable=stable)
    history.add({"role": "user", "content": "Find out why the build fails."})
    for number in range(6):
        history.add(turn(number))
    return history


@pytest.mark.parametrize("stable", [True, False])
def test_a_prompt_that_begins_with_the_last_one_shares_all_of_it(stable):
    history = grown(stable)
    first = history.fit(100_000)
    history.add(turn(6))
    second = history.fit(100_000)
    assert (first.shared, second.shared) == (0, first.used)


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("budget", [3_000, 6_000, 9_000])
def test_after_a_cut_whole_messages_and_the_rows_that_are_left_are_shared(stable, budget):
    history = grown(stable)
    first = history.fit(100_000)
    history.add(turn(6))
    second = history.fit(budget)
    there = set(rows_of(first.messages))
    common = sum(len(row) + 1 for row in rows_of(second.messages) if row in there)
    assert 0.9 * common < second.shared <= common + 200  # Names and calls are shared too.
    assert second.shared < second.used


def test_other_tools_are_not_shared():
    history, tool = grown(stable=True), {"type": "function", "function": {"name": "read", "parameters": {}}}
    first = history.fit(100_000, tools=[tool])
    other = {**tool, "function": {**tool["function"], "name": "raed"}}
    second = history.fit(100_000, tools=[other])
    assert second.used == first.used > second.shared > 0.9 * first.used
    assert history.fit(100_000, tools=[other]).shared == second.used
