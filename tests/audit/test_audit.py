"""The audit against numbers that are computed without it."""

import gzip
import json
import random
from itertools import pairwise

import pytest

import brim
from audit import traces
from brim.audit import Policy, audit
from brim.audit.report import dollars
from brim.errors import SourceError
from brim.meter import catalogue

MODEL = "gpt-4o"
REPLY = 3
"""Tokens that begin the answer."""


def conversation(seed, rounds=6):
    dice = random.Random(seed)

    def text():
        return " ".join(
            dice.choices(("budget", "window", "the", "file", "line", "of", "a", "test"), k=dice.randint(5, 300))
        )

    messages = [{"role": "system", "content": text()}, {"role": "user", "content": text()}]
    requests = [list(messages)]
    for at in range(rounds):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": f"c{at}", "content": text()}]
        requests.append(list(messages))
    return requests


def interleaved(count=4):
    talks = [conversation(seed) for seed in range(count)]
    dice, lines = random.Random(1), []
    while any(talks):
        talk = dice.choice([each for each in talks if each])
        lines.append({"model": MODEL, "messages": talk.pop(0)})
    return lines


def units(messages):
    return brim.meter(MODEL).count_messages(messages)


def by_hand(bodies, budget):
    """Return sums over requests, each fitted alone by the public functions."""
    sent = saved = avoided = over = refused = 0
    for body in bodies:
        recorded = units(body["messages"])
        fitted = brim.fit_messages(body["messages"], budget, meter=brim.meter(MODEL))
        sent += fitted.used
        over += recorded > 1_000
        avoided += recorded > 1_000 >= fitted.used
        saved += recorded - fitted.used if recorded <= 1_000 else 0
        refused += fitted.used if recorded > 1_000 else 0
    return sent, saved, avoided, over, refused


def test_tokens_overflows_and_savings_equal_those_computed_by_hand(tmp_path):
    bodies = interleaved()
    report = audit([traces.write(tmp_path / "log", bodies)], [Policy(name="lean", budget=600)], window=1_000)
    sent, saved, avoided, over, refused = by_hand(bodies, 600)
    recorded, lean = report.values["recorded"], report.policy("lean")
    assert recorded["units"] == sum(units(body["messages"]) for body in bodies)
    assert recorded["conversations"] == 4
    assert recorded["longest"] == max(units(body["messages"]) for body in bodies)
    assert 0 < over == recorded["overflows"]
    assert (lean["units"], lean["units_saved"], lean["overflows_avoided"]) == (sent, saved, avoided)
    assert lean["still_over"] == lean["does_not_fit"] == 0
    assert lean["units_of_refused"] == refused
    price = catalogue.find(MODEL).prices.input
    assert lean["cost_of_refused_usd"] == pytest.approx(refused * price / 1e6, abs=1e-6), "too short to be cached"
    whole = [body["messages"] for body in bodies]
    kept = [brim.fit_messages(each, 600, meter=brim.meter(MODEL)).messages for each in whole]
    notes = [sum("CONTEXT_TRUNCATED" in str(raw["content"]) for raw in each) for each in kept]
    gone = sum(len(before) - len(now) + note for before, now, note in zip(whole, kept, notes, strict=True))
    assert lean["messages_dropped"] == gone > 0
    assert lean["messages_cut"] > 0


def test_the_cache_share_is_that_of_the_prompts_themselves(tmp_path):
    """Each prompt is compared with the previous one, message by message, without the code of the audit."""
    requests = conversation(3, rounds=30)
    bodies = [{"model": MODEL, "messages": messages} for messages in requests]
    policies = [Policy(name="lean", budget=3_000), Policy(name="held", budget=3_000, stable=True)]
    report = audit([traces.write(tmp_path / "log", bodies)], policies)

    def shared(prompts):
        total = 0
        for before, now in pairwise(prompts):
            same = 0
            while same < min(len(before), len(now)) and before[same] == now[same]:
                same += 1
            start = units(now[:same]) - REPLY if same else 0
            total += start if start >= 1_024 else 0
        return total

    held = brim.History(meter=brim.meter(MODEL), stable=True)
    kept = []
    for at, messages in enumerate(requests):
        held.extend(messages[len(requests[at - 1]) if at else 0 :])
        kept.append(held.fit(3_000).messages)
    lean = [brim.fit_messages(messages, 3_000, meter=brim.meter(MODEL)).messages for messages in requests]
    assert report.values["recorded"]["cache_units"] == shared(requests) > 0
    assert report.policy("lean")["cache_units"] == shared(lean)
    assert report.policy("held")["cache_units"] == shared(kept) > shared(lean)


def test_the_cost_is_that_of_the_catalogue(tmp_path):
    body = {"model": MODEL, "messages": conversation(5)[-1]}
    values = audit([traces.write(tmp_path / "log", [body, body])]).values["recorded"]
    prices, size = catalogue.find(MODEL).prices, units(body["messages"])
    kept = size - REPLY
    assert kept >= 1_024
    by_hand = (size * prices.input + kept * prices.cached_read + REPLY * prices.input) / 1e6
    assert values["cost_usd"] == pytest.approx(by_hand, abs=1e-6)


def test_an_unknown_model_has_no_window_and_no_price(tmp_path):
    bodies = [{**body, "model": "nobody-knows-7b"} for body in interleaved(1)]
    report = audit([traces.write(tmp_path / "log", bodies)])
    recorded, window = report.values["recorded"], report.policy("wrap")
    assert recorded["unknown_window"] == recorded["requests"] == len(bodies)
    assert recorded["cost_usd"] is window["cost_usd"] is window["cost_saved_usd"] is None
    assert (window["changed"], window["overflows_avoided"]) == (0, 0)
    assert recorded["models"] == {"(unknown)": len(bodies)}


def test_illegal_requests_are_counted_by_fault_and_save_nothing(tmp_path):
    good = conversation(2)[3]
    orphan = [good[0], good[1], *good[3:]]
    dangling = good[:3]
    bodies = [{"model": MODEL, "messages": messages} for messages in (good, orphan, dangling)]
    report = audit([traces.write(tmp_path / "log", bodies)])
    recorded, window = report.values["recorded"], report.policy("wrap")
    assert recorded["illegal"] == 2
    assert recorded["units"] == sum(units(body["messages"]) for body in bodies), (
        "also of the messages that are left out"
    )
    assert recorded["faults"] == {"a call without its result": 1, "a result without its call": 1}
    assert (window["repaired"], window["units_saved"]) == (2, 0)


def test_every_fault_has_its_own_label(tmp_path):
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "found"}
    user, model = {"role": "user", "content": "Look."}, {"role": "assistant", "content": "I do."}
    histories = {
        "the first message is not the user's": [model, user],
        "a result that does not follow its call": [
            user,
            {"role": "assistant", "content": [call]},
            user,
            model,
            {"role": "user", "content": [result]},
        ],
    }
    for fault, messages in histories.items():
        body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}
        recorded = audit([traces.write(tmp_path / "log", [body])]).values["recorded"]
        assert fault in recorded["faults"], recorded["faults"]


def test_a_request_that_cannot_fit_is_counted_and_the_audit_goes_on(tmp_path):
    bodies = interleaved(1)
    report = audit([traces.write(tmp_path / "log", bodies)], [Policy(name="tiny", budget=5)], window=1_000)
    tiny = report.policy("tiny")
    assert (tiny["does_not_fit"], tiny["requests"]) == (len(bodies), 0)
    assert tiny["still_over"] == report.values["recorded"]["overflows"]


def test_a_request_that_exactly_fits_is_not_over_the_window(tmp_path):
    body = {"model": MODEL, "messages": conversation(5)[-1]}
    size = units(body["messages"])
    path = traces.write(tmp_path / "log", [body])
    for window, over in ((size, 0), (size - 1, 1)):
        assert audit([path], window=window).values["recorded"]["overflows"] == over


def test_a_changed_past_begins_a_new_history_and_its_prefix_still_counts(tmp_path):
    first = conversation(7, rounds=8)[-1]
    edited = [*first[:-1], {**first[-1], "content": "shorter"}]
    bodies = [{"model": MODEL, "session_id": "s", "messages": messages} for messages in (first, edited)]
    report = audit([traces.write(tmp_path / "log", bodies)])
    assert report.values["recorded"]["conversations"] == 1
    assert report.values["recorded"]["cache_units"] == units(first[:-1]) - REPLY


def test_bad_lines_are_counted_and_listed_and_the_audit_goes_on(tmp_path):
    good = [json.dumps(body) for body in interleaved(1)]
    lines = [
        good[0],
        "not json",
        good[1],
        '{"a": 1}',
        "\xff",
        "",
        '{"messages": [{"role": "nobody"}], "model": "gpt-4o"}',
        *good[2:],
    ]
    path = tmp_path / "log"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    values = audit([str(path)]).values
    assert values["recorded"]["requests"] == len(good)
    assert values["records"]["bad"] == 3
    assert [each["line"] for each in values["records"]["named"]] == [2, 4, 5]
    assert values["recorded"]["unreadable"] == 1
    assert values["recorded"]["named"][0]["line"] == 7
    assert values["recorded"]["named"][0]["problem"].startswith("messages[0] role must be one of 'system'")
    assert "nobody" not in json.dumps(values), "a report has no text of the recording"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"hello\nworld\n", "no record can be read; the first error: it is not JSON"),
        (b'{"a": 1}\n', "no record can be read; the first error: unknown recording format"),
        (b"\x1f\x8bbroken", "cannot be read"),
    ],
)
def test_a_file_without_a_record_is_an_error(content, said, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=said):
        audit([str(path)])


def test_other_files_in_a_directory_are_skipped(tmp_path):
    traces.write(tmp_path / "log.jsonl", traces.openai_log())
    (tmp_path / "notes.txt").write_text("nothing\nto see\n")
    values = audit([str(tmp_path)]).values
    assert (values["silent_files"], values["records"]["bad"], values["recorded"]["requests"]) == (1, 0, 2)


def test_a_sample_depends_on_the_conversations_alone(tmp_path):
    bodies = interleaved(6)
    forward = audit([traces.write(tmp_path / "a", bodies)], limit=2).values["recorded"]
    assert forward["conversations"] == 2
    # The same conversations in another order of files give the same sample.
    mixed = sorted(bodies, key=lambda body: (len(body["messages"]), str(body)))
    assert audit([traces.write(tmp_path / "b", mixed)], limit=2).values["recorded"]["units"] == forward["units"]


def test_the_progress_of_both_steps_ends_at_its_total(tmp_path):
    log, reported = traces.write(tmp_path / "log", interleaved()), []
    audit([log, log], progress=lambda *each: reported.append(each))
    for what in ("reading", "replaying"):
        *_, last = [(done, total) for name, done, total in reported if name == what]
        assert last[0] == last[1] > 0


def test_a_copy_that_is_removed_during_the_audit_is_an_error(tmp_path, monkeypatch):
    plain, packed = tmp_path / "plain.jsonl", tmp_path / "packed"
    traces.write(plain, traces.openai_log())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def removed(*_):
        for copy in tmp_path.glob("*/*.records"):
            copy.unlink()

    with pytest.raises(SourceError, match="packed: the file was removed during the audit"):
        audit([str(packed)], progress=removed)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.1042, "$0.1042"),
        (1.0, "$1.00"),
        (-1_234.5, "-$1,234.50"),
        (-0.5, "-$0.5000"),
    ],
)
def test_a_small_amount_is_shown_with_more_digits(amount, shown):
    assert dollars(amount) == shown


@pytest.mark.parametrize(("kept", "conversations"), [(2, 2), (3, 1)])
def test_a_request_continues_a_conversation_if_it_shares_more_than_half_of_its_messages(kept, conversations, tmp_path):
    roles = ("user", "assistant", "user", "assistant")
    before, now = ([{"role": role, "content": f"{name} {i}"} for i, role in enumerate(roles)] for name in ("a", "b"))
    bodies = [{"model": MODEL, "messages": messages} for messages in (before, [*before[:kept], *now[kept:]])]
    assert audit([traces.write(tmp_path / "log", bodies)]).values["recorded"]["conversations"] == conversations
