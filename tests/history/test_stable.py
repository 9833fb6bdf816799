"""Stable mode: a prompt begins with the bytes of the last one, and moves seldom."""

import json
from itertools import pairwise

import pytest

import brim
from brim.testing import CharMeter
from talk import calling, result, system, user

CHARS = CharMeter()


def grown(count, size=60):
    """Yield the messages of an agent's loop, step by step."""
    yield [system("rules"), user("task")]
    for i in range(count):
        yield [calling(f"c{i}"), result(f"c{i}", f"{i} " * (size // 2))]


def prompts(steps, budget, **options):
    """Return what is sent after each step."""
    history = brim.History(meter=CHARS, **options)
    fits = []
    for step in steps:
        history.extend(step)
        fits.append(history.fit(budget))
    return fits


def lowest(budget, low, high=1.0):
    """Return the tokens of the smallest prompt after a cut."""
    steps = [
        [calling(f"c{i}"), result(f"c{i}", " ".join(f"part_{i}_{j}.py" for j in range(30)))]
        for i in range(max(40, budget // 200))
    ]
    fits = prompts([[system("rules"), user("task")], *steps], budget, stable=brim.Stable(low=low, high=high))
    cut = [b for a, b in pairwise(fits) if b.messages[: len(a.messages)] != a.messages]
    return min(fit.used for fit in cut)


def test_a_prompt_extends_the_last_one_until_the_line_is_crossed():
    fits = prompts(grown(40), 1_000, stable=True)
    moved = [i for i, (a, b) in enumerate(pairwise(fits)) if b.messages[: len(a.messages)] != a.messages]
    assert 1 <= len(moved) <= 40 // 4
    for i in moved:
        assert fits[i + 1].used < fits[i].used
    assert all(fit.used <= 1_000 for fit in fits)


@pytest.mark.parametrize(("low", "high"), [(0.4, 1.0), (0.6, 1.0), (0.8, 1.0), (0.6, 0.75), (0.4, 0.5)])
def test_a_cut_leaves_the_low_line(low, high):
    """With a high line of 0.75 and a low one of 0.6, it left 0.35."""
    assert low - 0.1 < lowest(8_000, low, high) / 8_000 < low + 0.1


@pytest.mark.parametrize("budget", [6_000, 20_000, 60_000])
def test_a_cut_does_not_empty_the_room(budget):
    """A history of 65,000 in a budget of 60,000 was cut to 12,806."""
    assert lowest(budget, brim.Stable().low) >= 0.6 * budget


def test_what_was_cut_inside_is_sent_again_as_it_was_cut():
    history = brim.History(meter=CHARS, stable=True)
    history.extend([user("task"), calling("a"), result("a", "long " * 400)])
    first = history.fit(600)
    assert first.messages[-1]["content"].startswith("long long ")
    assert 440 < first.used <= 600
    history.extend([calling("b"), result("b", "ok")])
    second = history.fit(700)
    assert second.messages[: len(first.messages)] == first.messages


def test_most_cuts_leave_what_stands_before_the_last_one():
    steps = [[calling(f"c{i}", text=f"Step {i}."), result(f"c{i}", f"line {i}\n" * 90)] for i in range(120)]
    fits = prompts([[system("rules"), user("task")], *steps], 9_000, stable=True)
    cuts = [(a, b) for a, b in pairwise(fits) if b.messages[: len(a.messages)] != a.messages]
    extended = [b for a, b in cuts if b.receipt.stable_prefix > 0.3 * b.used]
    assert len(cuts) > 5
    assert len(extended) > 4


def test_state_in_a_value_does_what_state_in_a_history_does():
    fits = prompts(grown(30), 1_000, stable=True)
    messages, stable = [], True
    for step, expected in zip(grown(30), fits, strict=True):
        messages = [*messages, *step]
        fitted = brim.fit_messages(messages, 1_000, meter=CHARS, stable=stable)
        stable = fitted.stable
        assert fitted.messages == expected.messages


@pytest.mark.parametrize(
    ("options", "place"),
    [({"high": 1.5}, "high"), ({"low": -0.1}, "low"), ({"low": "x"}, "low")],
)
def test_lines_that_cannot_be_are_refused(options, place):
    with pytest.raises(brim.InvalidValue, match=place):
        brim.Stable(**options)


@pytest.mark.parametrize("asked", [{"select": "relevance"}, {"recent": 10}, {"older": 10}])
def test_what_would_move_the_prefix_each_time_is_refused(asked):
    with pytest.raises(brim.InvalidValue, match="stable mode"):
        brim.fit_messages([user("task")], 1_000, meter=CHARS, stable=True, **asked)


def test_after_a_cut_at_least_80_percent_of_the_budget_are_used_before_the_next_one():
    fits = prompts(grown(120), 3_000, stable=True)
    cuts = [(a, b) for a, b in pairwise(fits) if b.stable.held.seen != a.stable.held.seen]
    assert len(cuts) > 3
    assert all(before.used > 0.8 * 3_000 for before, _ in cuts)


def test_another_meter_keeps_the_cut_and_counts_it_anew():
    history = brim.History(meter=CHARS, stable=True)
    history.extend([user("task"), calling("a"), result("a", "long " * 400)])
    first = history.fit(600)
    other = brim.History(meter=lambda text: 6 * len(text) // 5, stable=first.stable)
    other.extend(history.turns.source)
    again = other.fit(730)
    assert again.messages == first.messages
    assert again.used > 1.15 * first.used


def test_a_system_prompt_that_tells_the_time_and_a_changed_last_message_keep_the_cut():
    steps = [message for step in grown(40) for message in step]
    history = brim.History(meter=CHARS, stable=True)
    history.extend(steps)
    first = history.fit(1_000)
    other = brim.History(meter=CHARS, stable=first.stable)
    other.extend(
        [
            system("it is 10:31"),
            *steps[1:-1],
            {**steps[-1], "content": "another result"},
            calling("z"),
            result("z", "ok"),
        ]
    )
    again = other.fit(1_000)
    assert again.messages[1 : len(first.messages) - 1] == first.messages[1:-1]
    assert again.messages[0]["content"] == "it is 10:31"
    assert [message["content"] for message in again.messages if message["role"] == "tool"][-2:] == [
        "another result",
        "ok",
    ]


def test_a_changed_message_that_was_shortened_is_not_sent_as_it_was():
    history = brim.History(meter=CHARS, stable=True)
    history.extend([user("task"), calling("a"), result("a", "long " * 400)])
    first = history.fit(600)
    other = brim.History(meter=CHARS, stable=first.stable)
    other.extend([user("task"), calling("a"), result("a", "short")])
    assert other.fit(600).messages == other.turns.raws


def test_the_receipt_of_a_held_cut_does_not_say_that_there_is_no_room():
    """ "not among those that fit", with 5,360 of 7,549 tokens free."""
    fits = prompts(grown(120), 3_000, stable=True)
    fit = next(b for a, b in pairwise(fits) if b.used < a.used)
    dropped = [part.reason for part in fit.receipt.parts if part.state in ("cut", "dropped") and not part.required]
    assert dropped
    assert not any("did not fit" in reason for reason in dropped)
    plain = brim.fit_messages([message for step in grown(120) for message in step], 3_000, meter=CHARS)
    assert any("worth at least" in part.reason for part in plain.receipt.parts if part.state == "cut")


def test_what_an_agent_found_stays_while_results_and_small_talk_go():
    """Sixty steps in 4,000 tokens: the cause, found at step 10, was gone at step 50; forty "Next file." were there."""
    history = brim.History(model="gpt-5", stable=True)
    history.add({"role": "user", "content": "Customers in Ireland are charged VAT twice. Find the cause and fix it."})
    found = "Confirmed in commit 9f3c21a: Irish prices became inclusive, and the checkout still adds VAT to them."
    for i in range(60):
        said = found if i == 10 else ("", "Next file.", "Nothing wrong here, go on.")[i % 3]
        function = {"name": "sh", "arguments": json.dumps({"cmd": f"grep -n price_incl services/mod_{i}.py"})}
        call = {"id": f"c{i}", "type": "function", "function": function}
        rows = [f"services/mod_{i}.py:{41 * k}: price_incl = row['a{k}']" for k in range(3, 25 + i % 7)]
        history.add({"role": "assistant", "content": said or None, "tool_calls": [call]})
        history.add({"role": "tool", "tool_call_id": f"c{i}", "content": "\n".join(rows)})
        fitted = history.fit(budget=4_000)
        assert i < 10 or found in fitted.text
