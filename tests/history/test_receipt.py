"""The receipt of a fitted history: names, numbers that add up exactly, losses with handles, and the same at any time."""

import copy
import json
from datetime import datetime
from types import MappingProxyType

import jsonschema
import pytest

import brim
from brim.errors import InvalidType
from brim.receipts.receipt import Receipt
from brim.receipts.schema import schema
from brim.testing import CharMeter, PieceMeter
from talk import (
    answer,
    calling,
    gives,
    item_call,
    item_output,
    loop,
    model,
    reasoning,
    result,
    says,
    system,
    text,
    thinking,
    use,
    user,
)

CHARS, PIECES = CharMeter(), PieceMeter()
SCHEMA = jsonschema.Draft202012Validator(schema())
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "does", "parameters": {"type": "object", "properties": {}}},
}


def anthropic(rounds=6):
    made = [user("task")]
    for i in range(rounds):
        made += [says(thinking("a thought"), text(f"step {i}"), use(f"c{i}")), gives(answer(f"c{i}", f"{i} " * 60))]
    return made


def items(rounds=6):
    made = [system("rules", role="developer"), user("task")]
    for i in range(rounds):
        made += [reasoning("hm"), item_call(f"c{i}"), item_output(f"c{i}", f"{i} " * 60)]
    return made


HISTORIES = {
    "loop": ("openai", [system("rules"), *loop(6, 120), system("late rules"), user("end")]),
    "talk": ("openai", [user("a " * 40), model("b " * 40), user("c " * 40), model("d " * 40), user("e")]),
    "broken": (
        "openai",
        [result("x", "y" * 60), user("task"), calling("dead", text="z" * 60), *loop(4, 120)[1:], user("end")],
    ),
    "moved": (
        "openai",
        [user("task"), calling("a"), user("w" * 80), model("m" * 80), result("a", "r" * 80), user("end")],
    ),
    "a result without its call": (
        "anthropic",
        [*anthropic(2), says(text("so")), gives(answer("x", "out " * 20), text("and go on")), says(text("ok")), user()],
    ),
    "anthropic": ("anthropic", anthropic()),
    "items": ("responses", items()),
}
BY_NAME = pytest.mark.parametrize(("format", "messages"), HISTORIES.values(), ids=list(HISTORIES))
METERS = pytest.mark.parametrize("meter", [CHARS, PIECES, brim.meter("gpt-4o")], ids=["chars", "pieces", "gpt-4o"])


def fits(format, messages, meter, **options):
    """Yield fits at budgets from the whole down, and what the input counts."""
    whole = meter.count_messages(messages, format=format)
    reply = meter.count_messages([], format=format)
    for percent in (100, 99, 80, 60, 40, 25, 15):
        try:
            fitted = brim.fit_messages(messages, whole * percent // 100, meter=meter, format=format, **options)
        except brim.DoesNotFit:
            return
        yield fitted, whole - reply, reply


# --- numbers


@METERS
@BY_NAME
def test_the_numbers_add_up_exactly(format, messages, meter):
    for fitted, whole, _ in fits(format, messages, meter):
        receipt = fitted.receipt
        assert receipt.used == fitted.used == meter.count_messages(fitted.messages, format=format)
        assert receipt.used == sum(part.used for part in receipt.parts) + receipt.joins
        assert sum(part.size for part in receipt.parts) == whole
        lost = sum(loss.units for loss in receipt.losses)
        assert sum(part.size - part.used for part in receipt.parts) == lost
        assert receipt.used - receipt.joins == whole - lost
        assert receipt.budget == fitted.budget >= receipt.used
        assert receipt.unused == receipt.budget - receipt.used


@pytest.mark.parametrize(
    ("meter", "frame", "reply"), [(PIECES, 3, 0), (brim.meter("gpt-4o"), 4, 3)], ids=["pieces", "gpt-4o"]
)
def test_tools_a_system_prompt_apart_and_the_reply_are_counted(meter, frame, reply):
    fitted = brim.fit_messages([user("task")], 1_000, meter=meter, tools=[TOOL], system="be brief")
    receipt = fitted.receipt
    alone = [{"role": "system", "content": ""}]
    assert receipt.part("tools").used == meter.count_messages(alone, tools=[TOOL]) - meter.count_messages(alone)
    assert receipt.part("system").used == meter.count("be brief") + frame
    assert receipt.joins == reply
    assert receipt.used == sum(part.used for part in receipt.parts) + reply


# --- names


def names(receipt):
    return [part.name for part in receipt.parts]


@BY_NAME
def test_every_message_is_in_a_part_and_no_two_parts_have_one_name(format, messages):
    for fitted, _, _ in fits(format, messages, CHARS):
        found = names(fitted.receipt)
        assert len(set(found)) == len(found)
        covered = set()
        for name in found:
            first, _, after = name.partition("]")[0].removeprefix("messages[").partition(":")
            covered |= set(range(int(first), int(after or int(first) + 1)))
        assert covered == set(range(len(messages)))


# --- losses and handles


def test_a_handle_is_the_name_of_what_was_said():
    first = brim.fit_messages(loop(6, 120), 300, meter=CHARS).receipt
    again = brim.fit_messages(copy.deepcopy(loop(6, 120)), 600, meter=CHARS).receipt
    other = brim.fit_messages([user("task"), *loop(6, 118)[1:]], 300, meter=CHARS).receipt
    assert [part.handle for part in first.parts] == [part.handle for part in again.parts]
    assert first.part("messages[0]").handle == other.part("messages[0]").handle
    assert first.part("messages[1:3]").handle != other.part("messages[1:3]").handle
    handles = [part.handle for part in first.parts]
    assert len(set(handles)) == len(handles)


@pytest.mark.parametrize(
    "message",
    [
        MappingProxyType(user("task")),
        {**user("task"), "sent": datetime(2026, 11, 1)},
        {**user("task"), "tags": {"a", "b"}},
        {**user("task"), "score": float("nan")},
    ],
    ids=["another mapping", "a time", "a set", "not a number"],
)
def test_a_receipt_can_be_read_whatever_fields_nobody_knows(message):
    fitted = brim.fit_messages([message, user("end")], 1_000, meter=CHARS)
    assert fitted.messages[0] is message
    assert len(fitted.receipt.parts) == 2
    assert Receipt.from_json(fitted.receipt.to_json()) == fitted.receipt


def test_a_number_that_nobody_could_send_is_refused_as_invalid():
    """ "ValueError: Exceeds the limit (4300 digits) for integer string conversion" """
    talk = [user("task")]
    for at in range(6):
        talk += [says({**thinking(), "signature": 10**5_000 + at}, text("word " * 200)), user("Go on.")]
    fitted = brim.fit_messages(talk, 600, model="claude-sonnet-4-5")
    with pytest.raises(InvalidType, match="messages must be JSON"):
        fitted.receipt  # noqa: B018


# --- JSON


@METERS
@BY_NAME
def test_a_receipt_survives_json_and_keeps_to_its_schema(format, messages, meter):
    for fitted, _, _ in fits(format, messages, meter, select="priority"):
        written = fitted.receipt.to_json()
        SCHEMA.validate(json.loads(written))
        assert Receipt.from_json(written) == fitted.receipt
        assert Receipt.from_dict(fitted.receipt.to_dict()) == fitted.receipt


# --- what it says about the history


def test_the_note_is_in_the_prompt_and_in_the_receipt_and_only_where_something_is_missing():
    messages = loop(9, 120)
    for budget in range(1_200, 150, -35):
        fitted = brim.fit_messages(messages, budget, meter=CHARS)
        told = fitted.receipt.history
        notes = [m["content"] for m in fitted.messages if "[CONTEXT_TRUNCATED]" in str(m["content"])]
        assert notes == ([told["note"]] if told["note"] else [])
        missing = told["context_truncation"]["steps_total"] - told["context_truncation"]["steps_included"]
        if told["note"]:
            assert missing > 0
            stated = f"budget: {told['context_truncation']['chars_used']:,}/{budget:,} chars"
            told_of = told["note"].replace(
                f" {told['note'].split('omitted, ')[1].split(' shortened')[0]} shortened,", ""
            )
            assert (
                told_of
                == f"[CONTEXT_TRUNCATED] Included {10 - missing} of 10 history steps ({missing} omitted, {stated})"
            )


# --- late


def grown(select, messages, later, meter=None, budgets=(10_000, 300), **options):
    """Return receipts read at once, and those of the same fits read after the history grew."""
    told = []
    for wait in (False, True):
        history = brim.History(meter=meter or CharMeter(), **options)
        history.extend(messages)
        fitted = [history.fit(budget, select=select) for budget in budgets]
        read = [] if wait else [one.receipt for one in fitted]
        for message in later:
            history.extend([message])
            history.fit(10_000, select=select)
        told.append([one.receipt for one in fitted] if wait else read)
    return told


IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}
LATER = {
    "more of the same": (loop(6, 60), [user("more"), calling("x"), result("x"), model("so")]),
    "the rest of the newest turn": (
        [*loop(4, 60), calling("x", "y"), result("x")],
        [result("y", "the decision"), user()],
    ),
    "a result that joins many turns": (
        [*loop(4, 60), calling("x"), user("wait"), model("so"), user("hm")],
        [result("x")],
    ),
    "something that can only be estimated": (loop(4, 60), [IMAGE, user()]),
    "system messages": (loop(4, 60), [system("new rules"), user()]),
    "an orphan": (loop(4, 60), [result("none"), user()]),
    "a twin": (
        [*loop(4, 60), calling("x"), result("x", "word " * 60)],
        [calling("y"), result("y", "word " * 60), user()],
    ),
}


@pytest.mark.parametrize("select", ["recency", "priority", "relevance"])
@pytest.mark.parametrize(("messages", "later"), LATER.values(), ids=list(LATER))
def test_a_receipt_read_late_is_the_one_read_at_once(messages, later, select):
    at_once, late = grown(select, messages, later)
    assert late == at_once


@pytest.mark.parametrize("stable", [None, True], ids=["plain", "stable"])
def test_nothing_is_the_same_prefix_where_the_tools_or_the_system_prompt_changed(stable):
    """Both stand before the messages, so from there on the provider's cache finds nothing."""
    other = {"type": "function", "function": {**TOOL["function"], "name": "g"}}
    for first, second in (
        ({"tools": [TOOL]}, {"tools": [other]}),
        ({"system": "brief"}, {"system": "witty"}),
        ({}, {"tools": [TOOL]}),
    ):
        history = brim.History(meter=CHARS, stable=stable)
        history.extend([user("task"), model("reply")])
        history.fit(1_000, **first)
        changed = history.fit(1_000, **second)
        assert changed.receipt.stable_prefix == 0
        assert history.fit(1_000, **second).receipt.stable_prefix == changed.used


@BY_NAME
def test_what_receipts_have_in_common_is_what_each_says_alone(format, messages):
    """What a receipt says of a turn that was dropped is kept for the next one."""
    history = brim.History(meter=CHARS, format=format)
    for at, message in enumerate(messages):
        history.extend([message])
        for select, budget in (("recency", 700), ("recency", 400), ("priority", 300), ("recency", 250)):
            options = {"select": select, "excerpts": False}
            try:
                alone = brim.fit_messages(messages[: at + 1], budget, meter=CHARS, format=format, **options)
            except brim.DoesNotFit:
                continue
            told = history.fit(budget, **options).receipt.to_dict()
            assert {**told, "stable_prefix": 0} == alone.receipt.to_dict()


def test_a_turn_that_has_to_stay_and_does_not_says_why():
    messages = [user("task"), model("ok"), user("instruct " * 3), model("answer " * 10)]
    parts = brim.fit_messages(messages, 76, meter=CHARS).receipt.parts
    (part,) = [part for part in parts if part.required and part.state == "cut"]
    assert part.reason == "it must stay, and did not fit whole"


def test_the_reasons_of_turns_are_true_and_in_the_singular_for_one_token():
    """ "its 7 tokens did not fit", with 15 tokens free, and "1 tokens"."""
    messages = [{"role": role, "content": text} for role, text in [("user", "x" * 40), ("assistant", "y")]]
    messages = [*messages, {"role": "user", "content": "z" * 40}, {"role": "assistant", "content": "w" * 30}]
    messages += [{"role": "user", "content": "the newest"}]
    receipt = brim.fit_messages(messages, 95, meter="chars").receipt
    reasons = [part.reason for part in receipt.parts]
    assert not [reason for reason in reasons if "1 chars" in reason]
    free, lost = receipt.budget - receipt.used, [part for part in receipt.parts if part.state == "dropped"]
    assert all(part.size > free for part in lost if "did not fit" in part.reason)
    assert reasons[-1] == "it must stay, and fits whole"


def test_a_rule_of_thumb_states_the_bound_of_an_unknown_model():
    told = brim.fit_messages([user("Tell me about the crane. " * 20)], 1_000, meter="chars/4").receipt
    assert told.used < told.upper
