"""What stays, what a summary replaces, and what comes out is legal, smaller and accounted for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
import traffic
from brim.errors import InvalidValue, NoProgress
from brim.history.compact.mark import SUMMARY_MARK, is_summary
from brim.history.compact.plan import Compacted, apply, plan
from brim.history.turns import Turns
from brim.receipts.receipt import handle
from brim.testing import PieceMeter
from properties import examples
from talk import answer, calling, gives, loop, model, refusal, result, says, system, text, thinking, use, user

METER = "o200k_base"


def chat(rounds=30, size=200):
    return [system(), *loop(rounds, size)]


def claude(rounds=30, size=200):
    made = [user()]
    for i in range(rounds):
        made += [says(thinking(), text(f"step {i}"), use(f"c{i}")), gives(answer(f"c{i}", f"{i} " * (size // 2)))]
    return made


def compacted(messages, room=1_000, summary="All went well so far.", **more):
    made = plan(messages, meter=METER, room=room, **more)
    assert made is not None
    return apply(made, summary)


@pytest.mark.requirement("S3.4")
def test_the_newest_turns_the_task_and_the_system_stay_and_a_summary_stands_for_the_rest():
    messages = chat()
    made = plan(messages, meter=METER, room=1_000)
    done = apply(made, "Thirty files were read.")
    assert done.messages[0] is messages[0]
    assert done.messages[1] is messages[1]
    assert done.messages[2]["content"].startswith(SUMMARY_MARK)
    assert "Thirty files were read." in done.messages[2]["content"]
    assert all(a is b for a, b in zip(done.messages[3:], messages[-6:], strict=True))
    assert made.gone == tuple(range(2, len(messages) - 6))


def checked(seed):
    """Compact one case and check the result; return whether there was anything to compact."""
    case = traffic.Case.of(seed)
    if case.broken:
        return False
    total = traffic.size(case.messages, case.format, case.meter)
    room = max(1, total * (1 + seed % 3) // 4)
    made = plan(case.messages, meter=case.meter, room=room, keep_turns=1 + seed % 4, format=case.format)
    if made is None:
        return False
    assert made.meter.load(made.text) <= made.input_limit
    said = made.summary() or "nothing"
    assert made.meter.load(said) <= max(made.limit, 1)
    done = apply(made, said)
    assert traffic.illegal(done.messages, case.format) == ""
    if case.format == "anthropic":
        assert traffic.alternates(done.messages) or not traffic.alternates(case.messages)
    assert done.after < done.before
    assert done.after == traffic.size(done.messages, case.format, case.meter) - (total - done.before), (
        "what frames a request beside its messages is the same before and after"
    )
    return True


def test_what_comes_out_is_legal_smaller_and_fits_again():
    done, wrong = 0, {}
    for seed in range(60):
        try:
            done += checked(seed)
        except AssertionError as error:
            wrong[seed] = str(error)
    assert wrong == {}
    assert done > 30, "most cases have something to compact"


def test_a_summary_goes_into_the_users_message_where_two_of_the_users_may_not_follow_each_other():
    done = compacted(claude(), format="anthropic")
    assert refusal(done.messages, "anthropic") == ""
    assert [message["role"] for message in done.messages[:2]] == ["user", "assistant"]
    assert done.messages[0]["content"][-1]["text"].startswith(SUMMARY_MARK)
    assert is_summary(done.messages[0])


def test_thinking_that_was_bound_to_what_went_goes_too():
    """That before the last call stays: the provider asks for it."""
    done = compacted(claude(), format="anthropic")
    *older, last = [message["content"] for message in done.messages if message["role"] == "assistant"]
    assert not [block for content in older for block in content if block["type"] == "thinking"]
    assert last[0]["type"] == "thinking"


def test_the_next_summary_replaces_the_last_and_reads_it():
    for format, talk in (("openai", chat()), ("anthropic", claude())):
        first = compacted(talk, format=format, summary="The port is 8443.")
        more = [message for message in talk if message is not talk[0]][1 if format == "openai" else 0 :]
        again = plan([*first.messages, *more], meter=METER, room=1_000, previous=first, format=format)
        assert again.previous == "The port is 8443."
        assert "port is 8443" in again.text
        second = apply(again, "The port is 8443, still.")
        marks = [str(message).count(SUMMARY_MARK) for message in second.messages]
        assert sum(marks) == 1
        assert "8443, still" in str(second.messages)
        assert "The port is 8443." not in str(second.messages)
        assert second.replaced == first.replaced + len(again.said)
        assert first.index in second.texts[second.index]


@pytest.mark.parametrize("values", [{}, None, {"summary": 1}, []])
def test_what_is_no_compaction_is_refused(values):
    with pytest.raises(InvalidValue, match="compaction"):
        Compacted.from_dict(values)


def test_the_index_leads_to_all_that_was_replaced():
    messages = [user()]
    for i in range(400):
        messages += [model(f"answer {i} " * 8), user(f"question {i} " * 8)]
    done = compacted(messages, room=4_000)
    lines, link = [], done.index
    while link:
        first, *rest = done.texts[link].splitlines()
        link = first.removesuffix(" earlier") if first.endswith(" earlier") else ""
        lines += rest if link else [first, *rest]
        assert len(rest) <= 256
    assert len(set(lines)) == done.replaced > 256
    for name, kept in done.texts.items():
        assert handle(kept) == name


def test_it_does_not_pay_where_little_is_old():
    assert plan(chat(3), meter=METER, room=10_000) is None
    assert plan([], meter=METER, room=10) is None
    assert plan([user()], meter=METER, room=10) is None
    messages = chat(10, 100)
    older = brim.meter(METER).count_messages(messages)
    assert plan(messages, meter=METER, room=20 * older) is None


def test_fewer_turns_stay_where_they_leave_no_room_for_a_summary():
    messages = chat(10, 2_000)
    done = plan(messages, meter=METER, room=1_800, keep_turns=8)
    assert len(done.gone) == len(messages) - 2 - 2
    assert "newest 1 turns" in done.reason
    for room in range(700, 1_700, 10):
        made = plan(chat(10, 200), meter=METER, room=room, keep_turns=8)
        assert "newest 1 turns" in made.reason or apply(made, "All went well.").after <= room


def test_what_is_pinned_stays_in_its_place():
    messages = chat()
    by_index = compacted(messages, pin=[10])
    by_test = compacted(messages, pin=lambda message: message is messages[10])
    for done in (by_index, by_test):
        assert messages[10] in done.messages
        assert refusal(done.messages, "openai") == ""
    with pytest.raises(InvalidValue, match="below"):
        plan(messages, meter=METER, room=1_000, pin=[10_000])


def test_what_came_after_the_plan_stays():
    turns = Turns(brim.meter(METER))
    turns.extend(chat())
    made = plan(turns, meter=METER, room=1_000)
    late = [calling("late"), result("late", "ok")]
    turns.extend(late)
    done = apply(made, "Fine.")
    assert done.messages[-2:] == late
    assert done.after == brim.meter(METER).count_messages(done.messages)


@pytest.mark.parametrize("said", ["", "   \n", SUMMARY_MARK])
def test_an_empty_summary_is_refused(said):
    with pytest.raises(NoProgress, match="is empty"):
        apply(plan(chat(), meter=METER, room=1_000), said)


def test_a_summary_that_is_not_smaller_is_refused_with_the_numbers():
    made = plan(chat(), meter=METER, room=1_000)
    with pytest.raises(NoProgress, match=f"takes {made.older:,}") as caught:
        apply(made, "word " * made.older)
    assert caught.value.before == made.older
    assert caught.value.after >= made.older


def test_a_summary_beyond_its_limit_is_cut_to_it():
    made = plan(chat(), meter=METER, room=1_000)
    done = apply(made, "word " * (made.limit + 100))
    least = int(made.reason.rpartition(" ")[2].replace(",", ""))
    assert least <= done.before - done.after <= least + 20
    assert made.limit - 3 <= made.meter.load(done.summary) <= made.limit
    assert done.summary.startswith("word word")


@pytest.mark.requirement("X8")
def test_neither_summary_nor_reading_nor_index_carries_a_secret():
    key = "sk-" + "a1b2c3d4" * 5
    messages = [user(), *[model(f"The key is {key} for step {i}. " + "word " * 40) for i in range(30)]]
    made = plan(messages, meter=METER, room=1_000)
    done = apply(made, f"The key is {key}.")
    assert key not in made.text
    assert key not in done.summary
    assert key not in str(done.messages[1])
    assert key not in done.texts[done.index]
    assert key not in made.summary()


@pytest.mark.parametrize("meter", [METER, PieceMeter()], ids=["tokens", "pieces"])
@examples(15)
@given(sizes=st.lists(st.integers(0, 1_500), min_size=6, max_size=24), limit=st.integers(1, 900))
def test_what_a_summariser_reads_never_overflows(meter, sizes, limit):
    messages = [user(), *[model(f"{i}, word; " * (size // 4) or "x") for i, size in enumerate(sizes)]]
    made = plan(messages, meter=meter, room=200, input_limit=limit)
    if made is not None:
        assert made.meter.load(made.text) <= limit


@pytest.mark.parametrize(
    ("argument", "value"),
    [("room", 0), ("room", 1.5), ("keep_turns", 0), ("summary_share", 0), ("summary_share", 2), ("summary_share", True),
     ("input_limit", 0), ("previous", "text"), ("format", "telegram"), ("pin", [-1])],
)  # fmt: skip
def test_arguments_that_cannot_be_are_refused_by_name(argument, value):
    with pytest.raises(InvalidValue, match=argument):
        plan(chat(), **{"meter": METER, "room": 1_000, argument: value})
