"""The summary that needs no model: facts first, within the limit, every line as it was said."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import InvalidValue
from brim.history.compact.digest import read_back
from brim.history.compact.extract import condensed, listed, summarise
from brim.history.compact.facts import MessageText
from brim.history.compact.plan import apply, plan
from brim.history.compact.tally import harvest
from brim.testing import CharMeter, PieceMeter
from properties import examples
from talk import loop, model, user

METER = brim.meter("o200k_base")
TEXTS = [
    "Please move the shop to the new payment service. Never lose an order.",
    "I will read the code first. The old client is in services/pay/client.py and has a limit of 37 MB.",
    "We decided to use queues instead of direct calls, because the new service answers late.",
    "The nightly job failed with TimeoutError after 30 seconds on order ORD-48213.",
    "TODO: tell the warehouse. Which queue should carry refunds?",
]
SAID = [MessageText("user" if i % 2 == 0 else "assistant", text, f"b2:{i}") for i, text in enumerate(TEXTS)]


def test_facts_stand_under_their_headings_and_sentences_as_they_were_said():
    text = condensed(SAID, 400, METER)
    assert "Rules:\n- Never lose an order." in text
    assert "Decisions:\n- We decided to use queues instead of direct calls" in text
    assert "Paths: services/pay/client.py" in text
    assert "To do:\n- TODO: tell the warehouse." in text
    assert "- user: Please move the shop to the new payment service." in text


@pytest.mark.parametrize("meter", [CharMeter(), PieceMeter(), METER, brim.meter("chars/4")], ids=lambda m: m.name)
@examples(40)
@given(data=st.data(), limit=st.integers(0, 300))
def test_a_summary_is_never_over_its_limit(meter, data, limit):
    said = data.draw(st.lists(st.sampled_from(TEXTS) | st.text(), max_size=6))
    text = condensed([MessageText("user", each, "b2:0") for each in said], limit, meter)
    assert meter.load(text) <= limit
    text = summarise("\n\n".join(said), limit, meter)
    assert meter.load(text) <= limit


def test_more_room_keeps_more():
    facts = [fact.text for fact in harvest(SAID)]
    told = [condensed(SAID, limit, METER) for limit in (0, 20, 60, 120, 400)]
    kept = [sum(fact in text for fact in facts) for text in told]
    assert kept == sorted(kept)
    assert told[0] == ""
    assert kept[-1] == len(facts)


def test_a_summary_of_a_summary_keeps_the_facts():
    first = condensed(SAID, 300, METER)
    again = condensed([MessageText("user", "The weather is fine today.", "b2:9")], 300, METER, first)
    for fact in harvest(SAID):
        if fact.text in first and fact.kind != "question":
            assert fact.text in again, fact


def test_what_is_read_back_is_what_was_listed():
    facts = harvest(SAID)
    told, rest = read_back(listed(facts, 1_000, METER))
    listed_texts = {(fact.kind, fact.text) for fact in told}
    spoken = " ".join(fact.text for fact in facts if fact.kind in ("decision", "constraint", "error", "todo"))
    assert {(f.kind, f.text) for f in facts if f.text not in spoken} <= listed_texts
    assert rest == []


def test_the_same_is_not_said_twice():
    text = condensed(
        [MessageText("user", "The garden gate squeaks loudly every morning.", f"b2:{i}") for i in range(9)], 300, METER
    )
    assert text.count("squeaks") == 1


def test_what_a_sentence_says_is_not_listed_again():
    text = condensed([MessageText("user", "We decided to put lib/a.py over ORD-48213.", "b2:1")], 200, METER)
    assert text == "Decisions:\n- We decided to put lib/a.py over ORD-48213."


def test_it_works_as_the_summariser_of_a_fit():
    messages = [user(), *[model(f"The fault {i} is in lib/part_{i}.py, I think.") for i in range(60)]]
    fitted = brim.fit_messages(messages, 400, meter="o200k_base", summarise=summarise)
    assert fitted.used <= 400
    assert "lib/part_" in str(fitted.messages[1])


def test_it_works_as_the_summariser_of_a_plan():
    made = plan(loop(40, 200), meter="o200k_base", room=1_000)
    said = made.summary()
    assert made.meter.load(said) <= made.limit
    assert apply(made, said).freed > 0


def test_the_order_of_a_set_has_no_say(monkeypatch):
    words = [f"word{i} thing{i} place{i} day{i}." for i in range(60)]
    random.Random(3).shuffle(words)
    said = [MessageText("user", " ".join(words[i : i + 6]), f"b2:{i}") for i in range(0, 60, 6)]
    assert condensed(said, 90, METER) == condensed(list(said), 90, METER)


def test_a_limit_that_cannot_be_is_refused():
    with pytest.raises(InvalidValue, match="limit"):
        summarise("text", -1)
