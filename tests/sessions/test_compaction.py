"""Over the line a summary replaces older turns, or excerpts do: told once, smaller, and what left can be recalled."""

import re

import pytest

import brim
from brim.errors import ModelError, NoProgress
from brim.sessions import NOTICE
from brim.testing import MemoryStore, Scripted
from sessions.talking import SYSTEM, Seen, session, turn, window

M = brim.meter("o200k_base")


def summarise(text, limit):
    """Return the first sentence of each line, as far as they fit."""
    return M.head("\n".join(line.split(". ")[0] for line in text.splitlines()), limit)


def talked(talk, turns=12, **asked):
    for i in range(turns):
        talk.add(turn(i))
        talk.prompt(system=SYSTEM, **asked)
    return talk


@pytest.mark.requirement("S3.4", "X2")
def test_the_last_turns_stay_as_they_are_and_older_ones_become_one_summary():
    talk = session(keep_turns=3, summarise=summarise)
    for i in range(40):
        talk.add(turn(i))
        had, compacted = talk.messages, talk.status().compactions
        sent = talk.prompt().messages
        if talk.status().compactions > compacted:
            assert sent[-4:] == had[-4:]
            marks = [m for m in sent if str(m.get("content")).startswith("[CONTEXT_SUMMARY]")]
            assert len(marks) == 1
    assert talk.status().compactions >= 3


@pytest.mark.requirement("S3.4")
def test_without_a_summariser_the_newest_turn_stays_and_of_older_ones_what_people_said():
    talk = session()
    for i in range(40):
        talk.add(turn(i))
        had, compacted = talk.messages, talk.status().compactions
        sent = talk.prompt().messages
        if talk.status().compactions > compacted:
            assert (sent[0], sent[-1]) == (had[0], had[-1])
            asked = [str(message["content"]).partition(":")[0] for message in sent if message["role"] == "user"]
            wanted = [f"Question {each}" for each in range(i - 8, i + 1)]
            assert [each for each in wanted if each not in asked] == []
    assert talk.status().compactions >= 3


@pytest.mark.requirement("S3.5")
def test_the_user_is_told_once_for_each_compaction():
    told, seen = [], Seen()
    talk = talked(session(on_notice=told.append, observers=[seen]), 40)
    assert NOTICE == "This thread is getting long, I'm compacting my context to stay sharp"
    assert talk.status().compactions > 2
    assert told == talk.notices == [NOTICE] * talk.status().compactions
    assert len(seen.of("compacted")) == talk.status().compactions


@pytest.mark.requirement("S3.15")
def test_it_warns_first_and_then_compacts():
    seen = Seen()
    talk = session(observers=[seen], compact_at="warning")
    i = 0
    while not seen.of("compacted"):
        talk.add(turn(i))
        talk.prompt()
        i += 1
    assert seen.names()[-3:] == ["warning", "compacted", "prompt_assembled"]
    assert seen.of("compacted")[0]["before_tokens"] >= 1_200
    assert 400 < talk.status().used < 1_200


@pytest.mark.slow
@pytest.mark.parametrize(("at", "line"), [("cap", 2_001), ("warning", 1_200), (0.75, 1_500), ("75%", 1_500)])
def test_where_compaction_begins_can_be_set(at, line):
    seen = Seen()
    talk = session(observers=[seen], compact_at=at)
    previous = 0
    for i in range(60):
        for message in turn(i):
            talk.add(message)
            estimate = talk.estimate()
            talk.prompt()
            count = len(seen.of("compacted"))
            assert count == previous or estimate >= line
            previous = count
    assert previous > 0


@pytest.mark.parametrize(("at", "left"), [("cap", 1_140), ("warning", 960), (0.75, 1_140)])
def test_a_cut_leaves_four_fifths_of_the_line_but_less_than_the_warning(at, left):
    talk, sizes = session(compact_at=at), []
    for i in range(30):
        talk.add(turn(i))
        before, used = talk.status().compactions, talk.prompt().used
        if talk.status().compactions > before:
            sizes.append(used)
    assert 0.9 * left < min(sizes) <= max(sizes) <= left


def test_a_function_for_notices_that_raises_ends_no_request(caplog):
    def fails(text):
        raise RuntimeError("the terminal is gone")

    talk = talked(session(on_notice=fails), 40)
    assert talk.notices
    assert "the terminal is gone" in caplog.text


def test_compaction_can_be_turned_off_and_prompts_still_fit():
    talk = talked(session(compact_at="never"), 40)
    assert talk.status().compactions == 0
    assert 800 < talk.status().used <= 2_000
    assert talk.messages[-1] == turn(39)[-1]


@pytest.mark.requirement("X8")
def test_secrets_do_not_travel_into_the_summary():
    talk = session(summarise=summarise)
    talk.add({"role": "user", "content": "Go. The key is sk-proj-" + "A1b2C3d4" * 6 + " and you must use it."})
    talk.add({"role": "assistant", "content": "Right: password=hunter2hunter2 is set. We decided to use it."})
    talked(talk, 40)
    summary = next(m["content"] for m in talk.messages if str(m.get("content")).startswith("[CONTEXT_SUMMARY]"))
    assert "hunter2" not in summary
    assert "A1b2C3d4" not in summary


def test_a_function_of_the_callers_makes_the_summary():
    asked = []

    def told(text, limit):
        asked.append((text, limit))
        return "They talked about builds."

    talk = talked(session(summarise=told), 20)
    assert talk.status().compactions == len(asked) > 0
    assert 500 < M.count(asked[0][0]) <= 2_000
    assert "We decided to use queue 1." in asked[0][0]
    assert any("They talked about builds." in str(message) for message in talk.messages)


@pytest.mark.parametrize(
    "summarise",
    [
        lambda text, limit: 1 / 0,
        lambda text, limit: text * 2,
        lambda text, limit: "",
        lambda text, limit: None,
        Scripted(lambda _: ModelError("down")),
    ],
    ids=["raises", "longer", "empty", "nothing", "model down"],
)
def test_a_summariser_that_fails_is_replaced_by_the_usual_one(summarise, caplog):
    talk = talked(session(summarise=summarise), 20)
    assert talk.status().compactions > 0
    assert 500 < talk.status().used <= 2_000
    summary = next(m["content"] for m in talk.messages if str(m.get("content")).startswith("[CONTEXT_SUMMARY]"))
    assert summary.count("user: Question") > 5
    assert summary.count("called: read") > 2


def test_a_model_makes_the_summary():
    model = Scripted(lambda _: "The builds failed, and queues were chosen: queue 1, queue 2.")
    talk = talked(session(summarise=model), 20)
    assert model.asked
    assert any("queues were chosen" in str(message) for message in talk.messages)


def test_what_makes_summaries_has_to_be_able_to():
    with pytest.raises(brim.InvalidType, match="summarise"):
        session(summarise=7)


def test_compaction_that_does_not_pay_is_not_tried_with_every_prompt():
    store = MemoryStore()
    talk = session(window=window(1_000), keep_turns=2, store=store, summarise=summarise)
    talk.add({"role": "user", "content": "task " * 600})
    waits = []
    for i in range(30):
        talk.add({"role": "assistant", "content": f"step {i}"})
        talk.add({"role": "user", "content": "next"})
        assert 250 < talk.prompt().used <= 500
        waits.append(store.session(talk.id).meta["counts"].get("wait", 0))
    told = [entry.body for entry in store.entries(talk.id, kinds=["prompt"])]
    assert waits[0] == told[0]["units"] + 25
    assert 1 < len(set(waits)) < 20
    for before, wait, body in zip(waits, waits[1:], told[1:], strict=False):
        assert wait in (before, 0) or body["units"] >= before


@pytest.mark.requirement("S3.4")
def test_a_caller_can_plan_make_the_summary_elsewhere_and_apply_it():
    talk = session(compact_at="never")
    for i in range(12):
        talk.add(turn(i))
    plan = talk.plan_compaction()
    talk.add(turn(99)[:1])
    before = talk.estimate()
    assert talk.compact(plan, "All builds failed for one reason.")
    assert talk.estimate() < before
    assert talk.messages[-1]["content"].startswith("Question 99")
    assert any("one reason" in str(message) for message in talk.messages)
    talk.add([message for i in range(20, 32) for message in turn(i)])
    with pytest.raises(NoProgress):
        talk.compact(talk.plan_compaction(), "word " * 5_000)


@pytest.mark.parametrize("stable", [True, False])
def test_the_summary_stays_when_turns_after_it_are_left_out(stable):
    talk = session(compact_at="never", stable=stable)
    for i in range(12):
        talk.add(turn(i))
    assert talk.compact(talk.plan_compaction(), "All builds failed for one reason.")
    for i in range(12, 40):
        talk.add(turn(i))
        fitted = talk.prompt(system=SYSTEM)
        assert any("one reason" in str(message) for message in fitted.messages)
    assert fitted.receipt.losses


def test_the_receipt_after_a_summary_says_what_it_stands_for():
    session = brim.Session(window=2_500, model="gpt-5", summarise=lambda text, limit: "Claims were handled.")
    session.add({"role": "user", "content": "Handle the claims."})
    for i in range(40):
        session.prompt()
        session.add({"role": "assistant", "content": f"claim C-{i}: water damage, {i * 130} euros. " * 5})
        session.add({"role": "user", "content": f"Next {i}."})
    receipt = session.prompt().receipt
    assert receipt.truncated
    assert receipt.history["context_truncation"]["truncated"]
    (part,) = (part for part in receipt.parts if part.state == "summarised")
    assert re.fullmatch(r"a summary replaces \d+ earlier messages", part.reason)
    assert brim.Receipt.from_json(receipt.to_json()).part(part.name) == part
