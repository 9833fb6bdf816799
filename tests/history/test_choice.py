"""What must stay is shown as marks at least, and its words go in first: the task, then the newest turn."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.testing import CharMeter, PieceMeter
from properties import examples
from talk import answer, calling, gives, item_call, item_output, model, refusal, result, says, user

PIECES, CHARS = PieceMeter(), CharMeter()
LONG = "word " * 40
FRAME, MARK, CALL = 3, 1, 3 + 1 + 1
"""Units of a message, of the mark, and of a message that calls `f` with `{}`."""
FLOOR = 3 + MARK
SAID = 2 * 40
"""Units of the long text: one for each word and one for each space."""
CHAT = [user(LONG), calling("a"), result("a", LONG)]
ITEMS = [user(LONG), item_call("a"), item_output("a", LONG)]
BLOCKS = [user(LONG), says({"type": "tool_use", "id": "a", "name": "f", "input": {}}), gives(answer("a", LONG))]
FORMATS = {"openai": CHAT, "responses": ITEMS, "anthropic": BLOCKS}
BY_SHAPE = pytest.mark.parametrize(("format", "messages"), FORMATS.items(), ids=list(FORMATS))

WHOLE = FRAME + SAID + CALL + FRAME + SAID
TASK_WHOLE = FRAME + SAID + CALL + FRAME + 4 * FLOOR
TASK_CUT = FRAME + FLOOR + CALL + FRAME + FLOOR
TASK_MARKED = FRAME + MARK + CALL + FRAME + MARK
TASK_OUT = CALL + FRAME + FLOOR
TASK_GONE = CALL + FRAME + MARK


def fit(messages, budget, **options):
    return brim.fit_messages(messages, budget, meter=PIECES, **options)


def said(message):
    """Return the text of the task or of the result, whatever its shape."""
    told = message["output"] if "output" in message else message["content"]
    return told if isinstance(told, str) else told[0]["content"]


def states(fitted):
    return [part.state for part in fitted.receipt.parts]


def test_the_numbers_of_this_page():
    assert (PIECES.count(LONG), PIECES.count("…")) == (SAID, MARK)
    for format, messages in FORMATS.items():
        assert PIECES.count_messages(messages, format=format) == WHOLE
        assert PIECES.count_messages(messages[1:2], format=format) == CALL


@BY_SHAPE
@pytest.mark.parametrize("budget", [WHOLE - 1, TASK_WHOLE + 1, TASK_WHOLE])
def test_first_the_newest_turn_is_cut_and_the_task_is_whole(format, messages, budget):
    fitted = fit(messages, budget, format=format)
    assert fitted.messages[0] is messages[0]
    assert len(fitted.messages) == 3
    assert "word" in said(fitted.messages[2]) != LONG
    assert states(fitted) == ["whole", "cut"]


@pytest.mark.parametrize("budget", [TASK_MARKED + 1, TASK_MARKED])
def test_where_the_user_must_speak_first_both_are_nothing_but_a_mark_then(budget):
    fitted = fit(BLOCKS, budget, format="anthropic")
    assert [said(fitted.messages[at]) for at in (0, 2)] == ["…", "…"]
    assert fitted.used == TASK_MARKED
    assert states(fitted) == ["cut", "cut"]


@pytest.mark.parametrize("budget", [0, TASK_GONE, TASK_MARKED - 1])
def test_where_the_user_must_speak_first_the_task_is_never_left_out(budget):
    """messages: first message must use the "user" role"""
    with pytest.raises(brim.DoesNotFit) as caught:
        fit(BLOCKS, budget, format="anthropic")
    assert caught.value.needed == TASK_MARKED


@pytest.mark.parametrize("pinned", [{"pin_first_user": True}, {"pin": [0]}], ids=str)
@BY_SHAPE
def test_a_task_that_is_pinned_is_whole_or_the_fit_is_refused(format, messages, pinned):
    least = FRAME + SAID + TASK_GONE
    for budget in (WHOLE - 1, TASK_WHOLE - 1, least):
        fitted = fit(messages, budget, format=format, **pinned)
        assert fitted.messages[0] is messages[0]
        assert fitted.used <= budget
    assert said(fit(messages, least, format=format, **pinned).messages[2]) == "…"
    for budget in (least - 1, TASK_CUT, TASK_MARKED, TASK_GONE, 0):
        with pytest.raises(brim.DoesNotFit) as caught:
            fit(messages, budget, format=format, **pinned)
        assert caught.value.needed == least
        assert caught.value.parts == {"pinned": FRAME + SAID, "marks of the newest turn": TASK_GONE}


def test_what_else_is_pinned_is_whole_on_every_step():
    messages = [user(LONG), user("keep this"), *CHAT[1:]]
    kept = FRAME + PIECES.count("keep this")
    for budget in (TASK_WHOLE, TASK_CUT, TASK_MARKED, TASK_GONE):
        fitted = fit(messages, budget + kept, pin=[1])
        assert messages[1] in fitted.messages
    with pytest.raises(brim.DoesNotFit) as caught:
        fit(messages, TASK_GONE + kept - 1, pin=[1])
    assert caught.value.needed == TASK_GONE + kept


@pytest.mark.parametrize("before", [TASK_GONE, TASK_MARKED, TASK_CUT, TASK_WHOLE, WHOLE])
@pytest.mark.parametrize("after", [TASK_GONE, TASK_MARKED, TASK_CUT, TASK_WHOLE, WHOLE])
@pytest.mark.parametrize("grows", [False, True])
def test_what_is_told_of_the_prefix_is_true_when_the_task_goes_and_comes_back(before, after, grows):
    history = brim.History(meter=PIECES, stable=True)
    history.extend(CHAT)
    first = history.fit(before)
    history.extend([model("a")] if grows else [])
    second = history.fit(after)
    assert second.used <= after
    shared = 0
    for one, other in zip(first.messages, second.messages, strict=False):
        if one != other:
            break
        shared += PIECES.count_messages([one])
    assert second.receipt.stable_prefix <= shared


FATES = ("refused", "gone", "a mark", "cut", "whole")


def fate(messages, budget, meter):
    try:
        fitted = brim.fit_messages(messages, budget, meter=meter)
    except brim.DoesNotFit:
        return "refused"
    task = fitted.receipt.part("messages[0]")
    if task.state == "cut":
        return "a mark" if fitted.messages[0]["content"] == "…" else "cut"
    return {"dropped": "gone", "whole": "whole"}[task.state]


@pytest.mark.slow
@examples(12)
@given(
    meter=st.sampled_from([PIECES, CHARS]),
    task=st.integers(1, 20),
    results=st.lists(st.integers(0, 20), min_size=1, max_size=3),
    arguments=st.sampled_from(["{}", '{"x": 1}', '{"text": "some words"}']),
)
def test_more_room_never_makes_it_worse_for_the_task_and_what_is_asked_for_is_enough(meter, task, results, arguments):
    ids = [f"c{i}" for i in range(len(results))]
    answers = [result(call, "word " * size) for call, size in zip(ids, results, strict=True)]
    messages = [user("word " * task), calling(*ids, arguments=arguments), *answers]
    total = meter.count_messages(messages)
    fates = [FATES.index(fate(messages, budget, meter)) for budget in range(total + 1)]
    assert fates == sorted(fates)
    with pytest.raises(brim.DoesNotFit) as caught:
        brim.fit_messages(messages, 0, meter=meter)
    assert caught.value.needed == fates.count(0)
    fitted = brim.fit_messages(messages, caught.value.needed, meter=meter)
    assert refusal(fitted.messages, "openai") == ""


def test_deeds_leave_before_the_task_is_cut():
    task = user("Please find the cause of the failure. " * 25)
    messages = [task]
    for i in range(12):
        messages += [calling(f"c{i}"), result(f"c{i}", f"result {i} " * 40)]
    messages += [calling("z"), result("z", "the newest result says so much more " * 300)]
    sent = brim.fit_messages(messages, 240, meter="o200k_base").messages
    assert sent[0] == task
    assert len(sent[-1]["content"]) > 50


def test_what_a_person_states_stays_longer_than_what_a_person_only_asks():
    chat = [user("Plan a journey for me.")]
    for day in range(30):
        chat += [user(f"How is the weather on that day, {'and ' * day}later on?"), model("It will rain. " * 12)]
        if day == 2:
            chat += [user("By the way, I am allergic to nuts."), model("Noted.")]
    chat.append(user("So where do we eat?"))
    sent = fit(chat, PIECES.count_messages(chat) // 6).messages
    assert user("By the way, I am allergic to nuts.") in sent
    asked = [at for at, message in enumerate(sent[:-1]) if message["content"].startswith("How")]
    assert asked
    assert all(sent[at + 1]["role"] == "assistant" for at in asked)


@pytest.mark.parametrize("as_json", [False, True])
def test_each_result_keeps_the_line_that_the_current_instruction_names(as_json):
    run = [user("Check the stock of all shops.")]
    for day in range(30):
        stock = {f"shop-{shop}": (day * 31 + shop * 7) % 90 for shop in range(25)}
        told = json.dumps(stock) if as_json else "\n".join(f"{shop}: {pieces} pieces" for shop, pieces in stock.items())
        run += [calling(f"c{day}"), result(f"c{day}", told)]
    fitted = brim.fit_messages([*run, user("How many pieces are in shop-4?")], 4_000, model="gpt-4o")
    told = [message["content"] for message in fitted.messages if message["role"] == "tool"]
    assert len(told) == sum("shop-4:" in text or '"shop-4":' in text for text in told) == 30


@pytest.mark.parametrize("budget", [1_000, 1_200])
def test_the_line_of_a_failure_outlasts_the_lines_of_tests_that_passed(budget):
    """A stranger saw `tests/test_3.py .` to `tests/test_9.py .` and no FAILED line."""
    run = [f"tests/test_{i}.py ." for i in range(100)]
    run += ["FAILED tests/test_57.py::test_lift - AssertionError: 3 != 4", "1 failed, 100 passed in 2.1s"]
    listing = "\n".join(f"line {i} of the listing with words" for i in range(60))
    messages = [user("Find out why the nightly build fails.")]
    for name, text in (("a", "\n".join(run)), ("b", listing), ("c", listing.replace("listing", "second"))):
        messages += [calling(name), result(name, text)]
    shown = brim.fit_messages(messages, budget, meter="o200k_base").messages[2]["content"]
    assert "passed" in shown
    assert "FAILED tests/test_57.py::test_lift - AssertionError: 3 != 4" in shown


def test_a_refusal_names_the_marks_of_the_newest_turn_and_what_is_pinned():
    with pytest.raises(
        brim.DoesNotFit, match=r"marks of the newest turn 9\), and the budget is 1: raise it by 8 or more"
    ):
        fit(CHAT, 1)


def written(name, lines):
    body = "\n".join(f"def f{i}(x): return x + {i}  # {name}" for i in range(lines))
    return [calling(name, arguments=json.dumps({"path": name, "content": body})), result(name, "ok")]


@pytest.mark.parametrize("budget", [1_500, 2_500, 3_500])
def test_the_file_just_written_loses_nothing_while_an_older_one_stands(budget):
    """Two files, the first whole and the one just made a mark, with a thousand tokens free."""
    messages = [user("Write the modules."), *written("m0.py", 120), *written("m1.py", 120)]
    sent = brim.fit_messages(messages, budget, meter="o200k_base").messages
    older, newer = (str(sent[at]) for at in (-4, -2))
    assert sent[-2] is messages[-2] or older.count("# m0.py") < 3
    assert newer.count("# m1.py") > 50


def test_words_outlast_empty_calls():
    """Six calls stood with "[7 fields omitted]" while the summary that the customer answers was "[8 lines omitted]"."""
    messages = [user("I want to change my orders.")]
    for i in range(6):
        order = json.dumps({f"field_{n}": f"value {n} of order {i}" for n in range(60)})
        messages += [calling(f"c{i}", arguments=f'{{"order_id": "#W{i}258667"}}'), result(f"c{i}", order)]
    summary = model("\n".join(f"Order #W{i}258667 is pending and has {i + 2} items." for i in range(6)))
    messages += [summary, user("Cancel both of the pending ones.")]
    assert summary in brim.fit_messages(messages, 400, meter="o200k_base").messages


def test_a_reminder_that_is_said_again_is_sent_once():
    reminder = {"role": "system", "content": "Remember to keep the ledger of quay 31 up to date at every step. " * 3}
    messages = [user("Go.")]
    for i in range(30):
        messages += [calling(f"c{i}"), result(f"c{i}", f"result {i} " * 60), reminder]
    sent = brim.fit_messages(messages, 1_500, meter="o200k_base").messages
    assert sent.count(reminder) == 1
