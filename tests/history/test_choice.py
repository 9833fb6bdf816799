"""What stays of a history: items go in by worth per token, and what must stay is there as marks at least.

The newest turn must stay, and the user's first message where a history must begin with it; all else is chosen.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.testing import CharMeter, PieceMeter
from properties import examples
from talk import answer, calling, gives, item_call, item_output, model, refusal, result, says, system, user

PIECES, CHARS, GPT = PieceMeter(), CharMeter(), brim.meter("o200k_base")
LONG = "word " * 40
FRAME, MARK, CALL = 3, 1, 3 + 1 + 1
"""Units of a message, of the mark, and of a message that calls `f` with `{}`."""
SAID = 2 * 40
"""Units of the long text: one for each word and one for each space."""
CHAT = [user(LONG), calling("a"), result("a", LONG)]
ITEMS = [user(LONG), item_call("a"), item_output("a", LONG)]
BLOCKS = [user(LONG), says({"type": "tool_use", "id": "a", "name": "f", "input": {}}), gives(answer("a", LONG))]
FORMATS = {"openai": CHAT, "responses": ITEMS, "anthropic": BLOCKS}
BY_SHAPE = pytest.mark.parametrize(("format", "messages"), FORMATS.items(), ids=list(FORMATS))

WHOLE = FRAME + SAID + CALL + FRAME + SAID
TASK_WHOLE = FRAME + SAID + CALL + FRAME + MARK
BOTH_MARKED = FRAME + MARK + CALL + FRAME + MARK
NEWEST_MARKED = CALL + FRAME + MARK
"""Units of the task whole and the newest turn as marks, of both as marks, and of the newest turn alone."""


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
@pytest.mark.parametrize("budget", [WHOLE - 1, 140, 120])
def test_first_the_newest_turn_is_cut_and_the_task_is_whole(format, messages, budget):
    fitted = fit(messages, budget, format=format)
    assert fitted.messages[0] is messages[0]
    assert len(fitted.messages) == 3
    assert "word" in said(fitted.messages[2]) != LONG
    assert states(fitted) == ["whole", "cut"]


@BY_SHAPE
@pytest.mark.parametrize("budget", [TASK_WHOLE + 8, TASK_WHOLE])
def test_the_task_is_whole_where_the_newest_turn_is_only_marks(format, messages, budget):
    fitted = fit(messages, budget, format=format)
    assert fitted.messages[0] is messages[0]
    assert said(fitted.messages[2]) in ("…", "[200 characters omitted]")
    assert states(fitted) == ["whole", "cut"]


@BY_SHAPE
@pytest.mark.parametrize("budget", [TASK_WHOLE - 1, TASK_WHOLE - 2, 60, 40])
def test_then_words_of_the_task_stay_and_the_newest_turn_is_marks(format, messages, budget):
    fitted = fit(messages, budget, format=format)
    assert len(fitted.messages) == 3
    assert said(fitted.messages[0]).count("word") >= (budget - BOTH_MARKED) // 2 - 10
    assert said(fitted.messages[0]) != LONG
    assert states(fitted) == ["cut", "cut"]


@pytest.mark.parametrize("budget", [BOTH_MARKED + 1, BOTH_MARKED])
def test_where_the_user_must_speak_first_both_are_nothing_but_a_mark_then(budget):
    fitted = fit(BLOCKS, budget, format="anthropic")
    assert [said(fitted.messages[at]) for at in (0, 2)] == ["…", "…"]
    assert fitted.used == BOTH_MARKED
    assert states(fitted) == ["cut", "cut"]


@pytest.mark.parametrize("format", ["openai", "responses"])
@pytest.mark.parametrize("budget", [BOTH_MARKED + 1, NEWEST_MARKED + 1, NEWEST_MARKED])
def test_elsewhere_the_task_goes_and_the_newest_turn_is_marks(format, budget):
    messages = FORMATS[format]
    fitted = fit(messages, budget, format=format)
    assert fitted.messages[0] is messages[1]
    assert [said(message) for message in fitted.messages[1:]] == ["…"]
    assert fitted.used == NEWEST_MARKED
    assert states(fitted) == ["dropped", "cut"]
    assert fitted.receipt.part("messages[0]").used == 0
    assert fitted.receipt.history["context_truncation"]["steps_included"] == 1


@pytest.mark.parametrize("budget", [0, NEWEST_MARKED, BOTH_MARKED - 1])
def test_where_the_user_must_speak_first_the_task_is_never_left_out(budget):
    """messages: first message must use the "user" role"""
    with pytest.raises(brim.DoesNotFit) as caught:
        fit(BLOCKS, budget, format="anthropic")
    assert caught.value.needed == BOTH_MARKED
    assert caught.value.parts == {"marks of the newest turn": BOTH_MARKED}


@pytest.mark.parametrize("pinned", [{"pin_first_user": True}, {"pin": [0]}], ids=str)
@BY_SHAPE
def test_a_task_that_is_pinned_is_whole_or_the_fit_is_refused(format, messages, pinned):
    for budget in (WHOLE - 1, TASK_WHOLE + 1, TASK_WHOLE):
        fitted = fit(messages, budget, format=format, **pinned)
        assert fitted.messages[0] is messages[0]
        assert fitted.used <= budget
    assert said(fit(messages, TASK_WHOLE, format=format, **pinned).messages[2]) == "…"
    for budget in (TASK_WHOLE - 1, 40, BOTH_MARKED, NEWEST_MARKED, 0):
        with pytest.raises(brim.DoesNotFit) as caught:
            fit(messages, budget, format=format, **pinned)
        assert caught.value.needed == TASK_WHOLE
        assert caught.value.parts == {"pinned": FRAME + SAID, "marks of the newest turn": NEWEST_MARKED}


@pytest.mark.parametrize(("budget", "stay"), [(WHOLE - 1, 4), (TASK_WHOLE, 4), (40, 4), (NEWEST_MARKED, 3)])
def test_what_else_is_pinned_is_whole_at_every_budget(budget, stay):
    messages = [user(LONG), user("keep this"), *CHAT[1:]]
    kept = FRAME + PIECES.count("keep this")
    fitted = fit(messages, budget + kept, pin=[1])
    assert messages[1] in fitted.messages
    assert len(fitted.messages) == stay
    with pytest.raises(brim.DoesNotFit) as caught:
        fit(messages, NEWEST_MARKED + kept - 1, pin=[1])
    assert caught.value.needed == NEWEST_MARKED + kept


@pytest.mark.parametrize("before", [NEWEST_MARKED, BOTH_MARKED, 40, TASK_WHOLE, WHOLE])
@pytest.mark.parametrize("after", [NEWEST_MARKED, BOTH_MARKED, 40, TASK_WHOLE, WHOLE])
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


@pytest.mark.xfail(reason="marks in words and the note are worth more than a short task with its frame")
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


def test_older_turns_leave_before_the_task_is_cut():
    task = user("Please find the cause of the failure. " * 25)
    messages = [task]
    for i in range(12):
        messages += [calling(f"c{i}"), result(f"c{i}", f"result {i} " * 40)]
    messages += [calling("z"), result("z", "the newest result says so much more " * 300)]
    sent = brim.fit_messages(messages, 240, meter="o200k_base").messages
    assert sent[0] == task
    assert sent[1:] == [messages[-2], {**messages[-1], "content": sent[-1]["content"]}]
    assert "the newest result says so much more" in sent[-1]["content"]


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


@pytest.mark.xfail(reason="a question is worth less than the answer below it")
@pytest.mark.parametrize("sentences", [1, 8, 12])
def test_no_answer_stays_without_its_question(sentences):
    """33 of 39 answers that stayed stood below another answer, with no question between them."""
    filler = "Then fold the dough on a cold board and let it rest near the warm oven. " * sentences
    chat = [user("Help me bake."), model("Gladly.")]
    for loaf in range(80):
        chat += [
            user(f"What about loaf {loaf}?"),
            model(f"Loaf {loaf} needs {loaf + 11} minutes in the oven. {filler}"),
        ]
    meter = brim.meter("o200k_base")
    fitted = brim.fit_messages(
        [*chat, user("And what did you say at first?")], meter.count_messages(chat) * 2 // 5, meter=meter
    )
    told = [message["content"] for message in fitted.messages]
    answers = [at for at, text in enumerate(told) if text.startswith("Loaf")]
    assert len(answers) >= 25
    assert [told[at][:20] for at in answers if not told[at - 1].startswith("What about loaf")] == []


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


def test_a_refusal_says_what_must_stay_and_how_much_is_missing():
    with pytest.raises(
        brim.DoesNotFit, match=r"take 9 pieces \(marks of the newest turn 9\), .* raise it by 8 or more"
    ):
        fit(CHAT, 1)


def test_a_refusal_counts_a_pinned_task_whole():
    with pytest.raises(brim.DoesNotFit) as caught:
        brim.fit_messages([user("word " * 3_000), model(), user("on " * 90)], 200, meter=CHARS, pin_first_user=True)
    assert "(pinned 15,000 + marks of the newest turn 1)" in str(caught.value)


@pytest.mark.parametrize("budget", [250, 300, 400, 500, 600, 800])
def test_the_line_of_a_failure_outlasts_the_lines_of_tests_that_passed(budget):
    """A stranger saw `tests/test_3.py .` to `tests/test_9.py .` and no FAILED line."""
    run = [f"tests/test_{i}.py ." for i in range(100)]
    run += ["FAILED tests/test_57.py::test_lift - AssertionError: 3 != 4", "1 failed, 100 passed in 2.1s"]
    listing = "\n".join(f"line {i} of the listing with words" for i in range(60))
    messages = [user("Find out why the nightly build fails.")]
    for name, text in (("a", "\n".join(run)), ("b", listing), ("c", listing.replace("listing", "second")), ("d", "ok")):
        messages += [calling(name), result(name, text)]
    sent = brim.fit_messages(messages, budget, meter="o200k_base").messages
    shown = next(message["content"] for message in sent if message.get("tool_call_id") == "a")
    assert "1 failed, 100 passed" in shown
    assert "FAILED tests/test_57.py::test_lift - AssertionError: 3 != 4" in shown


# --- one comparison for all items


def lines(name, number=40):
    return "\n".join(f"{name} has row {row} of the long table" for row in range(number))


def test_old_results_give_way_before_the_newest_turn_loses_anything():
    messages = [user("Look at the tables.")]
    for name in ("one", "two", "three", "four"):
        messages += [calling(name, text=f"I read {name}."), result(name, lines(name))]
    seen = set()
    for budget in range(GPT.count_messages(messages), 40, -19):
        sent = brim.fit_messages(messages, budget, meter=GPT).messages
        older = "\n".join(message["content"] for message in sent[:-1] if message["role"] == "tool")
        rows, whole = older.count(" has row "), sent[-1] is messages[-1]
        assert whole or rows <= 1, (
            budget
        )  # What is left may be too little for two marks and another line of the newest.
        seen.add((whole, rows > 1))
    assert seen == {(True, True), (True, False), (False, False)}


def test_words_of_people_and_of_the_agent_outlast_older_calls_without_their_results():
    stated = user("By the way, berth nine is closed until the storm is over.")
    found = model(
        "I have compared the log of the valves with the plan: the leak must be in valve seven, which is worn."
    )
    messages = [user("Find the leak."), stated]
    for i in range(40):
        messages += [calling(f"c{i}", arguments=f'{{"valve": {i}}}'), result(f"c{i}", lines(f"valve {i}", 20))]
        messages += [found] if i == 35 else []
    messages += [user("Where do we go next?")]
    seen = set()
    for budget in [*range(1_400, 130, -37), *range(130, 30, -5)]:
        sent = brim.fit_messages(messages, budget, meter=GPT).messages
        calls = [int(message["tool_calls"][0]["id"][1:]) for message in sent if "tool_calls" in message]
        assert stated in sent or not (calls or found in sent), budget
        assert found in sent or not calls or min(calls) > 35, budget
        seen.add((stated in sent, found in sent, len(calls) > 20))
    assert seen >= {(True, True, True), (True, True, False), (True, False, False), (False, False, False)}


def plan_and_steps(rows):
    """Return a history in which a plan with so many rows is written first, the plan, and the tokens of all else."""
    plan = lines("plan", rows)
    call = calling("w", arguments=json.dumps({"path": "plan.md", "content": plan}))
    messages = [user("Write the plan."), call, result("w")]
    for i in range(30):
        messages += [calling(f"c{i}"), result(f"c{i}", f"{i} " * 40), model(f"Step {i} is done.")]
    return messages, plan, GPT.count_messages(messages) - GPT.count_messages([call])


def value(messages, budget):
    """Return what is sent of the plan, and how many tokens stay free."""
    fitted = brim.fit_messages(messages, budget, meter=GPT)
    call = next(message for message in fitted.messages if "tool_calls" in message)
    return json.loads(call["tool_calls"][0]["function"]["arguments"])["content"], budget - fitted.used


@pytest.mark.parametrize("rows", [35, 1_000])
def test_a_value_is_whole_or_a_mark_unless_more_than_a_tenth_of_the_room_would_stay_free(rows):
    messages, plan, rest = plan_and_steps(rows)
    mark = f"[{rows:,} lines omitted, beginning: plan has row 0 of the long table]"
    total = GPT.count_messages(messages)
    assert value(messages, total) == (plan, 0)
    for budget in range(total - 1 if rows == 35 else rest * 11 // 10, rest, -29):
        content, free = value(messages, budget)
        assert content == mark or free + GPT.count(content) > budget / 10, budget


def test_where_more_than_a_tenth_would_stay_free_lines_of_a_value_fill_the_room():
    messages, plan, rest = plan_and_steps(1_000)
    for budget in range(2 * rest, 4 * rest, rest // 3):
        content, free = value(messages, budget)
        assert content.startswith("plan has row 0 of the long table\nplan has row 1 of the long table\n")
        assert "lines omitted]" in content != plan
        assert free < budget / 20


def test_a_short_reminder_that_a_program_repeats_is_sent_once():
    """A reminder of 46 characters in every third place stood 80 times in a prompt of 5,000 tokens."""
    reminder = {"role": "system", "content": "Reminder: be brief."}
    messages = [user("Move the crates.")]
    for i in range(40):
        messages += [calling(f"c{i}"), result(f"c{i}", lines(f"crate {i}", 12)), reminder]
    sent = brim.fit_messages(messages, GPT.count_messages(messages) // 3, meter=GPT).messages
    assert sent.count(reminder) == 1


def test_a_reason_never_says_that_nothing_is_worth_something():
    messages, _, rest = plan_and_steps(1_000)
    parts = brim.fit_messages(messages, 2 * rest, meter=GPT).receipt.parts
    assert "shortened to make room" in {part.reason for part in parts if part.state == "cut"}


def test_what_a_person_says_again_is_not_said_twice():
    again = user("Please never write to the table of the harbour master, whatever happens.")
    messages = [user("Move the crates.")]
    for i in range(12):
        messages += [calling(f"c{i}"), result(f"c{i}", lines(f"crate {i}", 12)), *([again] if i in (2, 5, 8) else [])]
    messages += [user("And now?")]
    total = GPT.count_messages(messages)
    for budget in range(total - 1, 120, -37):
        sent = brim.fit_messages(messages, budget, meter=GPT).messages
        told = [message["content"] for message in sent if message["role"] == "user"]
        assert told.count(again["content"]) == 1, budget
        others = {text for text in told if "CONTEXT_TRUNCATED" not in text}
        assert others <= {"Move the crates.", again["content"], "And now?", "[the same text again later]"}, budget


@pytest.mark.xfail(reason="the last reminder that fits is cut between its sentences")
def test_a_reminder_in_a_system_message_goes_as_a_whole():
    reminders = [system(f"Reminder {i}: keep the log short. " * 12) for i in range(8)]
    messages = [user("Move the crates.")]
    for i, reminder in enumerate(reminders):
        messages += [
            calling(f"c{i}"),
            result(f"c{i}", lines(f"crate {i}", 12)),
            reminder,
            model(f"Crate {i} is moved."),
        ]
    messages += [user("And now?")]
    counts = set()
    for budget in range(GPT.count_messages(messages), 60, -37):
        sent = brim.fit_messages(messages, budget, meter=GPT).messages
        told = [message for message in sent if message["role"] == "system"]
        assert all(message in reminders for message in told), budget
        counts.add(len(told))
    assert {0, 8} <= counts
    assert len(counts) > 3


@pytest.mark.parametrize("budget", [71, 80, 100, 120, 140])
def test_the_note_takes_no_room_from_the_task_and_none_if_nothing_is_left_out(budget):
    """At 80 the task was dropped for a line that says so, and at 120 the rows that fit had 67 tokens."""
    messages = [user("Fix it."), calling("a"), result("a", "\n".join(f"line {i} of the log" for i in range(20)))]
    fitted = brim.fit_messages(messages, budget, meter=GPT)
    assert fitted.messages[0] is messages[0]
    assert fitted.used > budget - 25


@pytest.mark.parametrize("short", [1, 6, 8, 20])
def test_a_text_that_nearly_fits_is_nearly_whole(short):
    """With one token less than it has, 4 of 115 tokens were sent; of a message in Chinese, 4 of 232."""
    messages = [user("Read the hashes: " + " ".join(f"{i * 2654435761 % 2**32:08x}" for i in range(20)))]
    budget = GPT.count_messages(messages) - short
    assert brim.fit_messages(messages, budget, meter=GPT).used > budget * 2 // 3


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
