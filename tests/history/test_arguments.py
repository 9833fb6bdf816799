"""Every argument and every message that cannot be: a typed error that says which one, what it is and what it must be."""

import math

import pytest

import brim
from brim.errors import InvalidType, InvalidValue, UnknownName
from brim.testing import CharMeter
from talk import (
    answer,
    calling,
    gives,
    item_call,
    item_output,
    loop,
    model,
    result,
    same,
    says,
    system,
    text,
    use,
    user,
)

CHARS = CharMeter()
GOOD = [system(), user(), calling("a"), result("a"), user("end")]


def fit(messages=GOOD, budget=1_000, **options):
    return brim.fit_messages(messages, budget, meter=options.pop("meter", CHARS), **options)


# --- the budget


@pytest.mark.parametrize("budget", [True, "100", 100.0, 99.5, None, [], -1, math.inf, math.nan, 10**6 + 0.5])
def test_a_budget_that_cannot_be(budget):
    with pytest.raises(InvalidValue, match="^budget must be a whole number of at least 0"):
        fit(budget=budget)


def test_a_window_is_a_budget_and_without_one_it_is_the_models():
    assert fit(budget=brim.Window(1_000, reserve=200)).budget == 800
    assert brim.fit_messages(GOOD, model="gpt-4o").budget == brim.Window.of("gpt-4o").budget


# --- what does not fit


def parts_add_up(error):
    return error.needed == sum(error.parts.values()) and error.short == error.needed - error.available > 0


WORDY = {"type": "function", "function": {"name": "f", "description": "word " * 100, "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("messages", "options", "part"),
    [
        (GOOD, {"tools": [WORDY]}, "tools"),
        ([system("x" * 500), *loop(3)], {}, "system messages"),
        (GOOD, {"system": "x" * 500}, "system"),
    ],
)
def test_what_always_stays_and_is_bigger_than_the_budget_is_named_with_its_size(messages, options, part):
    with pytest.raises(brim.DoesNotFit) as caught:
        fit(messages, 300, **options)
    error = caught.value
    assert error.parts[part] >= 500
    assert parts_add_up(error)
    assert f"{error.parts[part]:,}" in str(error)
    assert str(error.short) in str(error)


@pytest.mark.parametrize(
    ("messages", "needed"),
    [
        (GOOD, len("rules…")),
        ([user("x" * 400)], len("…")),
        (loop(6), len("f{}…")),
        ([user("y" * 300), model("x" * 300)], len("…")),
        ([user("y" * 300), says(use("a", x=1)), gives(answer("a", "x" * 300))], len("…f{}…")),
        ([*loop(6), calling("a", "b", arguments='{"x":1}'), result("a", "long"), result("b", "")], len("f{}f{}…")),
    ],
    ids=["no call", "one message", "a call", "no system", "blocks", "two calls"],
)
def test_the_units_that_are_asked_for_are_enough_and_one_less_is_not(messages, needed):
    assert fit(messages, needed).used <= needed
    for budget in range(needed):
        with pytest.raises(brim.DoesNotFit) as caught:
            fit(messages, budget)
        assert parts_add_up(caught.value)
        assert caught.value.needed == needed


# --- other arguments


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("select", "newest", InvalidValue),
        ("select", "recency+recency", InvalidValue),
        ("select", 5, InvalidType),
        ("recent", -1, InvalidValue),
        ("recent", True, InvalidType),
        ("older", -1, InvalidValue),
        ("query", 5, InvalidType),
        ("pin_first_user", "yes", InvalidType),
        ("note", "no", InvalidType),
        ("pin", 5, InvalidType),
        ("pin", "12", InvalidType),
        ("pin", [""], InvalidValue),
        ("pin", [True], InvalidType),
        ("pin", [-1], InvalidValue),
        ("pin", [5], InvalidValue),
        ("summarise", "short", InvalidType),
        ("classify", 5, InvalidType),
        ("embed", 5, InvalidType),
        ("stable", "yes", InvalidType),
        ("stable", 1, InvalidType),
        ("format", "chat", InvalidValue),
        ("format", 5, InvalidValue),
        ("tools", "f", InvalidType),
        ("tools", [5], InvalidType),
        ("tools", [{"name": 5}], InvalidType),
        ("system", 5, InvalidType),
        ("system", {"role": "system", "content": "x"}, InvalidType),
        ("system", [{"type": "text"}], InvalidType),
    ],
)
def test_an_argument_that_cannot_be_is_named(name, value, error):
    with pytest.raises(error) as caught:
        fit(**{name: value})
    assert caught.value.place.startswith(name)
    assert " must be " in str(caught.value)


def test_an_argument_that_nobody_knows_is_named_with_the_nearest():
    with pytest.raises((InvalidValue, TypeError), match="selct"):
        fit(selct="recency")


def test_a_meter_and_a_model_are_not_given_together():
    with pytest.raises(InvalidValue, match="^model must be omitted"):
        fit(model="gpt-4o")


def test_a_model_or_a_meter_that_nobody_knows():
    with pytest.raises(UnknownName, match="gpt-99"):
        brim.fit_messages(GOOD, 1_000, model="gpt-99-nobody-knows")
    with pytest.raises(UnknownName, match="no_such"):
        fit(meter="no_such_vocabulary")


# --- what the caller's own functions return


@pytest.mark.parametrize("told", ["no", None, 7, "CRITICAL!"])
def test_a_class_that_is_none(told):
    with pytest.raises(InvalidValue, match="classify"):
        fit([user(), user("x" * 500), user("end")], 300, select="priority", classify=lambda raw: told)


@pytest.mark.parametrize("told", [None, 5, b"short"])
def test_a_summary_that_is_none(told):
    with pytest.raises(InvalidValue, match="summar"):
        fit([user(), *[user("x" * 500)] * 9, user("end")], 300, summarise=lambda said, limit: told)


def test_what_a_function_of_the_callers_raises_is_not_hidden():
    def fails(*_):
        raise KeyError("mine")

    for option in ({"pin": fails}, {"summarise": fails}, {"select": "priority", "classify": fails}):
        with pytest.raises(KeyError, match="mine"):
            fit([user(), *[user("x" * 500)] * 9, user("end")], 300, **option)


# --- messages


@pytest.mark.parametrize("messages", [None, 5, "hello", b"x", {"role": "user", "content": "x"}, {1}, iter(GOOD), user])
def test_only_a_list_of_messages_can_be_fitted(messages):
    with pytest.raises(InvalidType, match="^messages must be a list of messages"):
        fit(messages)


BAD = [
    ("openai", None, ""),
    ("openai", "hello", ""),
    ("openai", [user()], ""),
    ("openai", {}, " role"),
    ("openai", {"role": "human", "content": "x"}, " role"),
    ("openai", {"role": "user", "content": 5}, " content"),
    ("openai", {"role": "user", "content": [None]}, " content[0]"),
    ("openai", {"role": "tool", "content": "x"}, " tool_call_id"),
    ("openai", {"role": "assistant", "tool_calls": [{"id": "a"}]}, " tool_calls[0] function"),
    ("anthropic", {"role": "tool", "content": "x"}, " role"),
    ("anthropic", gives({"type": "tool_result", "content": "x"}), " content[0] tool_use_id"),
    ("anthropic", says(text("x"), {"type": "tool_use", "name": "f", "input": {}}), " content[1] id"),
    ("anthropic", gives(answer("a", [5])), " content[0] content[0]"),
    ("responses", {"type": "message", "content": "x"}, " role"),
    ("responses", {"type": "function_call_output", "call_id": 5, "output": "x"}, " call_id"),
    ("responses", {"role": "user", "content": [{"type": "input_text", "text": {1}}]}, " content[0]"),
]
STARTS = {
    "openai": [user(), calling("a"), result("a")],
    "anthropic": [user(), says(use("a")), gives(answer("a"))],
    "responses": [user(), item_call("a"), item_output("a")],
}


@pytest.mark.parametrize(("format", "bad", "place"), BAD)
def test_a_history_takes_all_messages_or_none(format, bad, place):
    start = STARTS[format]
    history = brim.History(meter=CHARS, format=format)
    history.extend(start)
    before = history.fit(1_000)
    with pytest.raises(InvalidValue) as caught:
        history.extend([user("more"), bad, user("after")])
    assert caught.value.place == f"messages[4]{place}"
    assert len(history) == 3
    after = history.fit(1_000)
    assert same(before.messages, after.messages)
    assert after.receipt.parts == before.receipt.parts
    history.extend([user("more")])
    assert len(history.fit(1_000).messages) == 4


def test_messages_that_are_refused_do_not_decide_the_format():
    history = brim.History(meter=CHARS)
    history.extend([user()])
    with pytest.raises(InvalidValue, match=r"messages\[3\]"):
        history.extend([says(use("a")), gives(answer("a")), user(5)])
    history.extend([calling("a"), result("a")])
    assert history.fit(1_000).messages == [user(), calling("a"), result("a")]


# --- nothing is dropped in silence


def test_input_that_fits_and_is_legal_comes_back_as_it_was():
    odd = {"role": "user", "content": [{"type": "hologram", "x": 1}], "metadata": object()}
    for messages in ([odd], GOOD, [model("")], [model(""), user("")], []):
        assert same(messages, fit(messages, 10_000).messages)


# --- other arguments on the same history


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 300},
        {"select": "priority"},
        {"select": "relevance", "query": "3"},
        {"note": False},
        {"pin": [3]},
        {"recent": 60},
        {"system": "be brief"},
    ],
    ids=str,
)
def test_each_fit_of_a_history_has_its_own_arguments(options):
    history, messages = brim.History(meter=CHARS), loop(8, 120)
    history.extend(messages)
    plain = history.fit(500)
    assert history.fit(**{"budget": 500, **options}).messages == fit(messages, **{"budget": 500, **options}).messages
    assert history.fit(500).messages == plain.messages


def test_the_state_of_another_history_brings_nothing_of_it_along():
    """Both have as many messages of the same sizes, which is all that the state can see of them."""
    secret, other = ([user("task"), user(letter * 500)] for letter in "sp")
    state = fit(secret, 200, stable=True).stable
    fitted = fit(other, 200, stable=state)
    assert "sss" not in str(fitted.messages)
    assert fitted.messages == fit(other, 200, stable=True).messages
