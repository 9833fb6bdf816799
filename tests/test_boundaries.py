"""Each public door exactly at its limit, and one token beyond it; and the numbers of its errors, tried as budgets."""

import json
from typing import get_args

import pytest

import brim
from brim.receipts.section import KeepName
from talk import answer, calling, gives, item_call, item_output, model, result, says, use, user

CHAT = [user("The task. " * 9), calling("c1", text="I look."), result("c1", "a line of the log\n" * 30), model("Done.")]
ITEMS = [user("The task. " * 9), item_call("c1"), item_output("c1", "a line of the log\n" * 30), model("Done.")]
BLOCKS = [user("The task. " * 9), says(use("c1")), gives(answer("c1", "a line of the log\n" * 30)), model("Done.")]
GEMINI = [{"role": role, "parts": [{"text": "Say it. " * 30}]} for role in ("user", "model", "user", "model")]
BEDROCK = [{"role": role, "content": [{"text": "Say it. " * 30}]} for role in ("user", "assistant") * 2]
HISTORIES = {"openai": CHAT, "responses": ITEMS, "anthropic": BLOCKS, "gemini": GEMINI, "bedrock": BEDROCK}
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Look. " * 9, "parameters": {}}}]
PARTS = [brim.Section("rules", "Be brief. " * 20, required=True), brim.Section("docs", "A page. " * 40)]


def history(messages, format):
    made = brim.History(model="gpt-5", format=format)
    made.extend(messages)
    return made


def session(budget):
    made = brim.Session(brim.Window(budget), model="gpt-5")
    made.add(CHAT)
    return made.prompt("Be brief.", TOOLS)


DOORS = {
    "fit": lambda budget: brim.fit(PARTS, budget, model="gpt-5"),
    "fit, a ceiling": lambda budget: brim.fit([brim.Section("a", "A page. " * 40, ceiling=budget)], 999, model="gpt-5"),
    "fit, a template": lambda budget: brim.fit(
        PARTS, budget, model="gpt-5", template="Rules: {rules} Docs: {docs} End."
    ),
    **{
        f"fit_messages, {format}": lambda budget, format=format, given=given: brim.fit_messages(
            given, budget, model="gpt-5", format=format
        )
        for format, given in HISTORIES.items()
    },
    "fit_messages, tools": lambda budget: brim.fit_messages(CHAT, budget, model="gpt-5", tools=TOOLS),
    "History": lambda budget: history(CHAT, "openai").fit(budget, tools=TOOLS),
    "fit_request": lambda budget: brim.fit_request(
        system=PARTS, messages=CHAT, user="And now?", tools=TOOLS, budget=budget, model="gpt-5"
    ),
    "Session": session,
    "Conversations": lambda budget: brim.Conversations(brim.Window(budget), model="gpt-5").request(CHAT, tools=TOOLS),
}
"""What fits the same input into a budget, and returns the result."""


def outcome(door, budget):
    """Return whether all of the input is in the prompt, and what the prompt counts."""
    found = DOORS[door](budget)
    receipt = found.receipt if hasattr(found, "receipt") else found
    return not receipt.truncated, receipt.used


@pytest.mark.parametrize("door", DOORS)
def test_what_fits_exactly_is_whole_and_with_one_token_less_it_is_cut(door):
    whole, used = outcome(door, 900)
    assert (whole, used > 50) == (True, True)
    assert outcome(door, used) == (True, used)
    cut, fewer = outcome(door, used - 1)
    assert not cut
    assert used // 3 < fewer < used


@pytest.mark.parametrize("door", [door for door in DOORS if door != "fit, a ceiling"])
def test_the_budget_that_a_refusal_names_works_and_a_tenth_less_does_not(door):
    with pytest.raises(brim.DoesNotFit) as refused:
        DOORS[door](3)
    needed = refused.value.needed
    assert (refused.value.available, refused.value.short) == (3, needed - 3)
    assert f"{needed:,}" in str(refused.value)
    assert outcome(door, needed)[1] <= needed
    fewer = min(needed - 1, needed * 9 // 10)
    with pytest.raises(brim.DoesNotFit) as again:
        DOORS[door](fewer)
    assert (again.value.available, again.value.short) == (fewer, again.value.needed - fewer)


@pytest.mark.parametrize("keep", get_args(KeepName))
@pytest.mark.parametrize("text", ["word " * 60, "a line\n" * 60, json.dumps([{"a": i} for i in range(60)])])
def test_a_text_that_counts_its_limit_is_returned_as_it_is(keep, text):
    meter = brim.meter("gpt-5")
    count = meter.count(text)
    same, less = brim.cut(text, count, meter, keep=keep), brim.cut(text, count - 1, meter, keep=keep)
    assert (same.text, same.before, same.after) == (text, count, count)
    assert less.text != text
    assert (less.before, less.after) == (count, meter.count(less.text))
    assert count // 3 < less.after < count
    assert meter.head(text, count) == meter.tail(text, count) == text
    assert text.startswith(meter.head(text, count - 1))
    assert text.endswith(meter.tail(text, count - 1))


@pytest.mark.parametrize(
    ("section", "left", "state"),
    [
        (brim.Section("b", "y" * 300, floor=100), 100, "cut"),
        (brim.Section("b", "y" * 300, floor=100), 99, "dropped"),
        (brim.Section("b", "y" * 300, floor="50%"), 400, "whole"),
        (brim.Section("b", "y" * 300, forms=["y" * 100]), 100, "form"),
        (brim.Section("b", "y" * 300, forms=["y" * 100]), 99, "cut"),
        (brim.Section("b", "y" * 300, overflow="drop"), 300, "whole"),
        (brim.Section("b", "y" * 300, overflow="drop"), 299, "dropped"),
        (brim.Section("b", ["y" * 100] * 3, keep="newest"), 302, "whole"),
        (brim.Section("b", ["y" * 100] * 3, keep="newest"), 301, "cut"),
        (brim.Section("b", ["y" * 100] * 3, keep="newest", most=2), 201, "whole"),
        (brim.Section("b", ["y" * 100] * 3, keep="newest", most=2), 200, "cut"),
    ],
)
def test_a_section_is_kept_cut_or_dropped_at_its_own_limit(section, left, state):
    first = brim.Section("a", "x" * 100, required=True)
    receipt = brim.fit([first, section], 100 + 2 + left, meter="chars").receipt
    assert receipt.part("b").state == state
    assert receipt.part("b").used <= left


@pytest.mark.parametrize(("option", "of"), [("recent", 3), ("older", 1)])
def test_a_turn_that_counts_its_own_limit_is_whole_and_with_one_less_it_is_shortened(option, of):
    given = [user("task"), model("w" * 400), user("go on"), model("v" * 400)]
    assert brim.fit_messages(given, 9_000, meter="chars", **{option: 400}).messages == given
    fitted = brim.fit_messages(given, 9_000, meter="chars", **{option: 399}).messages
    assert [each == other for each, other in zip(fitted, given, strict=True)] == [i != of for i in range(4)]
    assert 300 < len(fitted[of]["content"]) < 400


@pytest.mark.parametrize("limit", [540, 539])
def test_a_result_of_a_session_is_whole_up_to_its_limit(limit):
    made = brim.Session(9_000, meter="chars", tool_limit=limit)
    made.add(CHAT)
    (shown,) = [message["content"] for message in made.prompt().messages if message["role"] == "tool"]
    assert (shown == CHAT[2]["content"]) == (limit == len(CHAT[2]["content"]) == 540)
    assert 300 < len(shown) <= limit


@pytest.mark.parametrize(("size", "warnings"), [(499, 0), (500, 1)])
def test_a_session_warns_when_its_use_reaches_the_line(size, warnings):
    made = brim.Session(brim.Window(1_000, warn=0.5), meter="chars")
    made.add(user("x" * size))
    assert made.prompt().used == size
    assert made.status().warnings == warnings


@pytest.mark.parametrize(
    ("limit", "ended", "made"),
    [
        ({"max_iterations": 3}, "max_iterations", 3),
        ({"max_iterations": 9, "max_steps": 1}, "", 9),
    ],
)
def test_a_loop_makes_as_many_iterations_as_it_may(limit, ended, made):
    loop = brim.Loop(
        "Go.", lambda _: brim.Step(messages=[model("ok")], end="iteration"), window=900, meter="chars", **limit
    )
    outcome = loop.run()
    assert outcome.iterations == made
    assert ended in outcome.ended


ACT = lambda _: brim.Step(messages=[model("ok")], end="iteration")  # noqa: E731
COUNTS = {
    "a whole number of at least 0": {
        "fit": lambda value: brim.fit([], value, meter="chars"),
        "recent": lambda value: brim.fit_messages(CHAT, 999, meter="chars", recent=value),
        "older": lambda value: brim.fit_messages(CHAT, 999, meter="chars", older=value),
        "floor": lambda value: brim.Section("a", "x", floor=value),
        "ceiling": lambda value: brim.Section("a", "x", ceiling=value),
        "reserve": lambda value: brim.Window(9, reserve=value),
        "tool_limit": lambda value: brim.Session(9, meter="chars", tool_limit=value),
        "memory_limit": lambda value: brim.Session(9, meter="chars", memory_limit=value),
        "max_sub_ticks": lambda value: brim.Loop("Go.", ACT, window=9, meter="chars", max_sub_ticks=value),
        "sessions": lambda value: brim.open_store("sqlite:///:memory:").sessions(limit=value),
        "search": lambda value: brim.open_store("sqlite:///:memory:").search("the vault", limit=value),
        "head": lambda value: brim.meter("chars").head("abc", value),
        "tail": lambda value: brim.meter("chars").tail("abc", value),
    },
    "a whole number of at least 1": {
        "window": brim.Window,
        "limit": lambda value: brim.Window(9, limit=value),
        "most": lambda value: brim.Conversations(9, most=value),
        "memory": lambda value: brim.Conversations(9, memory=value),
        "keep_turns": lambda value: brim.Session(9, meter="chars", keep_turns=value),
        "max_iterations": lambda value: brim.Loop("Go.", ACT, window=9, meter="chars", max_iterations=value),
        "max_steps": lambda value: brim.Loop("Go.", ACT, window=9, meter="chars", max_steps=value),
    },
}
SHARES = {
    "cap": lambda value: brim.Window(9, cap=value),
    "warn": lambda value: brim.Window(9, warn=value),
    "compact_at": lambda value: brim.Session(9, meter="chars", compact_at=value),
    "tick_cap": lambda value: brim.Loop("Go.", ACT, window=99, meter="chars", tick_cap=value),
    "shares": lambda value: brim.Shares(9, {"a": value, "reserve": 1.0}),
}


@pytest.mark.parametrize(
    ("expected", "name"), [(expected, name) for expected, doors in COUNTS.items() for name in doors]
)
def test_a_count_is_taken_from_its_least_on_and_refused_below(expected, name):
    door, least = COUNTS[expected][name], int(expected[-1])
    door(least)
    for wrong in (least - 1, 1.5, True, float("nan"), "x"):
        with pytest.raises(brim.InvalidValue) as refused:
            door(wrong)
        assert str(refused.value).partition(" must be ")[2].startswith(("a whole number", "a number", "None or "))


@pytest.mark.parametrize("name", SHARES)
def test_a_share_is_above_nothing_and_at_most_all(name):
    door = SHARES[name]
    for right in (1, 0.5, "100%", "50%") if name != "shares" else (0.001, "0.1%"):
        door(right)
    for wrong in (0, 0.0, -0.1, 1.001, 2, "101%", "half", True, float("nan"), None):
        if wrong is None and name in ("cap", "warn"):
            continue
        with pytest.raises(brim.InvalidValue, match="a share above 0 and up to 1|a percentage from 0 to 100|'cap'"):
            door(wrong)
