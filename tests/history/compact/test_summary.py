"""The summary that needs no model: a conversation in fewer lines, within the limit, each as it was said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.history.compact.lines import Said, once, read_text
from brim.history.compact.plan import index_of, plan
from brim.history.compact.summary import condensed, summarise
from brim.testing import CharMeter, PieceMeter
from properties import examples
from talk import calling, model, result, user

METER = brim.meter("o200k_base")
TEXTS = [
    "Please move the shop to the new payment service. Never lose an order.",
    "I will read the code first. The old client is in services/pay/client.py and has a limit of 37 MB.",
    "We decided to use queues instead of direct calls, because the new service answers late.",
    "The nightly job failed with TimeoutError after 30 seconds on order ORD-48213.",
    "TODO: tell the warehouse. Which queue should carry refunds?",
]


def read(texts):
    said = [("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)]
    return once(line for at, (role, text) in enumerate(said) for line in read_text(role, text, at))


def test_a_summary_reads_as_the_conversation_in_fewer_lines():
    *others, last = [f"{'user' if at % 2 == 0 else 'assistant'}: {text}" for at, text in enumerate(TEXTS)]
    task, asked = last.replace(" Which", "|user: Which").split("|")
    assert condensed(read(TEXTS), 400, METER).split("\n") == [*others, task, asked], "a task has its own row"
    assert "Never lose an order." in condensed(read(TEXTS), 60, METER)


@pytest.mark.parametrize("meter", [CharMeter(), PieceMeter(), METER, brim.meter("chars/4")], ids=lambda m: m.name)
@examples(40)
@given(data=st.data(), limit=st.integers(0, 300))
def test_a_summary_is_never_over_its_limit(meter, data, limit):
    said = data.draw(st.lists(st.sampled_from(TEXTS) | st.text(), max_size=6))
    assert meter.load(condensed(read(said), limit, meter)) <= limit
    assert meter.load(summarise("\n\n".join(said), limit, meter)) <= limit


def test_a_summary_of_a_summary_keeps_its_lines():
    first = condensed(read(TEXTS), 300, METER)
    again = condensed(read(["The weather is fine today in the garden."]), 300, METER, first)
    assert again == f"{first}\nuser: The weather is fine today in the garden."
    assert condensed([], 300, METER, again) == again


def test_a_task_leaves_the_summary_when_it_is_ticked_later():
    first = condensed(read(["Go.", "- [ ] notify the warehouse\n- [ ] rename the queue"]), 300, METER)
    assert "[ ] notify the warehouse" in first
    again = condensed(read(["Well.", "- [x] notify the warehouse"]), 300, METER, first)
    assert "[ ] notify the warehouse" not in again
    assert "[ ] rename the queue" in again
    later = condensed(read(["Go.", "- [ ] notify the warehouse"]), 300, METER, again)
    assert "[ ] notify the warehouse" in later, "it is to be done again"


def test_calls_with_their_outcomes_go_from_one_summary_to_the_next():
    messages = [user("Go."), *[model("Well, I see.")] * 3]
    for i in range(12):
        messages += [calling(f"c{i}", arguments=f'{{"path": "a{i}.py"}}'), result(f"c{i}", f"lines {i}\n" * 200)]
    made = plan(messages, meter=METER, room=2_000)
    first = made.summary()
    assert 'called: f {"path": "a7.py"} → ' in first
    assert 'called: f {"path": "a7.py"} → ' in condensed([], made.limit, METER, first)


def test_it_works_as_the_summariser_of_a_fit():
    messages = [user(), *[model(f"The fault {i} is in lib/part_{i}.py, I think.") for i in range(60)]]
    fitted = brim.fit_messages(messages, 400, meter="o200k_base", summarise=summarise)
    assert fitted.used <= 400
    assert "lib/part_" in str(fitted.messages[1])


def test_an_index_has_a_line_for_each_message_and_leads_to_the_one_before():
    said = [Said("user", f"Message {i}\nsecond line", f"b2:{i:032x}") for i in range(600)]
    name, texts = index_of(said, "b2:earlier")
    rows = []
    while name in texts:
        link, _, rest = texts[name].partition(" earlier\n")
        rows = [*rest.split("\n"), *rows]
        name = link
    assert name == "b2:earlier"
    assert rows == [f"{one.handle} user: Message {i} second line" for i, one in enumerate(said)]
    assert index_of([], "")[1] != {}
