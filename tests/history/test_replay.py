"""What another budget would have kept of a history: a fit run again from its messages."""

import json
from contextlib import suppress
from datetime import datetime

import pytest

import brim
from brim import BrimError, InvalidType, Receipt, Stable, replay
from brim.testing import CharMeter
from corruption import corrupted
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

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CHAT = [system(), *loop(9, 300), user("and now?")]
BLOCKS = [user("task")]
ITEMS = [user("task")]
for i in range(9):
    BLOCKS += [says(thinking(), text(f"step {i}"), use(f"c{i}")), gives(answer(f"c{i}", f"{i} " * 150))]
    ITEMS += [reasoning(), item_call(f"c{i}"), item_output(f"c{i}", f"{i} " * 150)]
BROKEN = [result("x", "y" * 90), user("task"), calling("dead", text="z" * 90), *loop(6, 300)[1:], user("end")]

ASKED = {
    "chat": (CHAT, {"tools": [TOOL]}),
    "blocks": (BLOCKS, {"system": "be brief"}),
    "items": (ITEMS, {"system": "be brief", "tools": [TOOL]}),
    "broken": (BROKEN, {}),
    "priority": (CHAT, {"select": "priority", "note": False}),
    "relevance": (CHAT, {"select": "recency+relevance", "query": "the 3 3 3"}),
    "caps": (CHAT, {"recent": 40, "older": 200}),
    "pins": (CHAT, {"pin": {4, 2}, "pin_first_user": True}),
    "given shape": (CHAT, {"format": "openai"}),
}
FITS = pytest.mark.parametrize(("messages", "asked"), ASKED.values(), ids=list(ASKED))


def fit(messages, budget=1200, **asked):
    return brim.fit_messages(messages, budget, **{"meter": "chars", **asked})


def equal(one, other):
    return one.messages == other.messages and one.receipt == other.receipt


@FITS
def test_a_fit_is_run_again_as_it_was_from_whatever_holds_it(messages, asked):
    fitted = fit(messages, capture=True, **asked)
    receipt = fitted.receipt
    held = [fitted, receipt, receipt.capture, receipt.to_json(), receipt.to_dict(), receipt.capture.to_dict()]
    held.append(Receipt.from_json(receipt.to_json()))
    for source in held:
        again = replay(source)
        assert equal(again, fitted)
        assert again.receipt.to_json() == receipt.to_json()


@FITS
@pytest.mark.parametrize("budget", [700, 1000, 2000, 9000])
def test_another_budget_keeps_what_a_fit_at_that_budget_keeps(messages, asked, budget):
    there = fit(messages, budget, capture=True, **asked)
    fitted = fit(messages, capture=True, **asked)
    assert equal(replay(fitted, budget=budget), there)
    assert equal(replay(fitted.receipt.to_json(), budget=brim.Window(budget)), there)


@pytest.mark.parametrize("capture", [False, True])
def test_only_a_capture_writes_what_the_messages_say(capture):
    history = brim.History("chars")
    history.extend([user("a secret"), model("well")])
    for fitted in (history.fit(900, capture=capture), fit([user("a secret")], 900, capture=capture)):
        written = fitted.receipt.to_json()
        assert ("a secret" in written) is capture
        assert fitted.receipt.captured is capture
        assert (json.loads(written)["capture"] is not None) is capture
        assert replay(fitted).receipt.captured is capture


def test_sizes_alone_are_no_messages():
    stored = Receipt.from_json(fit(CHAT).receipt.to_json())
    with pytest.raises(
        InvalidType, match="receipt.capture must be the messages of the fit, not None; fit with capture=True"
    ):
        replay(stored, budget=9000)


# --- what measures, and what chooses


@pytest.mark.parametrize("name", ["gpt-4o", "openai/gpt-5-2025-08-07", "claude-sonnet-4-5", "o200k_base", "chars/4"])
@pytest.mark.parametrize("budget", [500, 300, 40])
def test_a_meter_that_brim_gave_is_named_and_counts_again_as_it_did(name, budget):
    first = brim.fit_messages(CHAT, budget, meter=brim.meter(name), capture=True)
    receipt = Receipt.from_json(first.receipt.to_json())
    assert (receipt.capture.meter, receipt.capture.model) == (name, None)
    again = replay(receipt)
    assert (again.messages, again.receipt) == (first.messages, first.receipt)
    by_name = brim.fit_messages(CHAT, budget, meter=name, capture=True)
    assert (by_name.messages, by_name.receipt.to_json()) == (first.messages, first.receipt.to_json())


def test_a_meter_of_the_callers_own_is_in_memory_only():
    fitted = fit(CHAT, meter=CharMeter(), capture=True)
    assert equal(replay(fitted), fitted)
    with pytest.raises(InvalidType, match="meter must be passed: the fit used a meter of your own"):
        replay(fitted.receipt.to_json())
    assert equal(replay(fitted.receipt.to_json(), meter=CharMeter()), fitted)


FUNCTIONS = {
    "pin": lambda raw: "3 3" in str(raw),
    "classify": lambda raw: "critical" if "3 3" in str(raw) else "low",
    "summarise": lambda said, limit: "a summary"[:limit],
    "embed": lambda texts: [[len(each), 1.0] for each in texts],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_the_callers_own_is_in_memory_only(name):
    select = {"classify": "priority", "embed": "relevance"}.get(name, "recency")
    asked = {"select": select, name: FUNCTIONS[name]}
    fitted = fit(CHAT, capture=True, **asked)
    assert equal(replay(fitted), fitted)
    assert equal(replay(fitted, budget=1500), fit(CHAT, 1500, capture=True, **asked))
    stored = fitted.receipt.to_json()
    assert json.loads(stored)["capture"]["functions"] == [name]
    with pytest.raises(InvalidType, match=f"functions: {name} must be in memory: the fit used one"):
        replay(stored)


# --- stable mode


def growing(stable):
    history = brim.History("chars", stable=stable)
    for i in range(0, len(CHAT), 2):
        history.extend(CHAT[i : i + 2])
        yield CHAT[: i + 2], history.fit(1200, capture=True)


@pytest.mark.parametrize("stable", [True, Stable(high=0.9, low=0.4)], ids=["chosen", "given"])
def test_the_cut_that_was_held_is_held_again_at_the_same_budget(stable):
    fits = list(growing(stable))
    assert any(fitted.receipt.stable_prefix for _, fitted in fits)
    for _, fitted in fits:
        assert equal(replay(fitted), fitted)
        assert replay(fitted, budget=1200).messages == fitted.messages


@pytest.mark.parametrize("stable", [True, Stable(high=0.9, low=0.4)], ids=["chosen", "given"])
def test_at_another_budget_the_lines_hold_and_the_cut_is_made_afresh(stable):
    for messages, fitted in growing(stable):
        there = fit(messages, 900, stable=stable)
        assert replay(fitted, budget=900).messages == there.messages
        assert replay(fitted.receipt.to_json(), budget=900).messages == there.messages
        assert replay(fitted.receipt.to_json()).messages == fit(messages, 1200, stable=stable).messages


def test_what_is_no_json_is_refused_with_its_index():
    made = [user("task"), {"role": "assistant", "content": "well", "at": datetime(2026, 1, 1)}]
    receipt = fit(made, capture=True).receipt
    assert replay(receipt).messages == made
    with pytest.raises(
        InvalidType, match=r"messages\[1\] must be JSON, to be captured \(Object of type datetime is not JSON"
    ):
        receipt.to_json()


SMALL = fit([system(), user("task"), calling("a"), result("a", "r" * 90), user("end")], 110, capture=True, stable=True)


@pytest.mark.slow
def test_a_transcript_with_any_value_wrong_is_refused_or_replayed():
    for values in corrupted(SMALL.receipt.to_dict()["capture"]):
        with suppress(BrimError):
            again = replay(values, budget=300)
            assert again.used <= 300
            assert Receipt.from_json(again.receipt.to_json()) == again.receipt
