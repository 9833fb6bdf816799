"""One huge turn, a pasted log, reminders and a prefilled answer: what the next step needs stays, and filling goes on."""

import json
import re

import pytest

import brim
from talk import answer, calling, gives, item_call, item_output, model, result, says, system, text, use, user

METER = brim.meter("o200k_base")
WORDS = "the crane moved a crate to the quay and back "
ORDER = "Use the blue ledger from now on."


def words(tokens, seed=0):
    """Return a text of about so many tokens, like no other."""
    return f"part {seed}: " + WORDS * (tokens // 10)


def chat_pair(i, content):
    return [calling(f"c{i}"), result(f"c{i}", content)]


def item_pair(i, content):
    return [item_call(f"c{i}"), item_output(f"c{i}", content)]


def block_pair(i, content):
    return [says(use(f"c{i}")), gives(answer(f"c{i}", content))]


PAIRS = {"openai": chat_pair, "responses": item_pair, "anthropic": block_pair}
BY_FORMAT = pytest.mark.parametrize(("format", "pair"), PAIRS.items(), ids=list(PAIRS))


def fit(messages, budget, format="openai", **options):
    fitted = brim.fit_messages(messages, budget, meter=METER, format=format, **options)
    assert fitted.used <= budget
    return fitted


@BY_FORMAT
@pytest.mark.parametrize(
    ("at", "options", "least"),
    [(0, {}, 18_500), (5, {"excerpts": False}, 11_000), (9, {"stable": True}, 9_000), (10, {}, 18_500)],
)
def test_a_turn_of_50_000_tokens_does_not_keep_ten_of_1_000_out(format, pair, at, options, least):
    """Ten turns of 1,000 tokens, one of 50,000 and a newest of 1,000 in a budget of 20,000 used 1,654."""
    sizes = [1_000] * 10
    sizes.insert(at, 50_000)
    messages = [user("Go."), *[m for i, size in enumerate(sizes) for m in pair(i, words(size, i))]]
    messages += pair(99, words(1_000, 99))
    fitted = fit(messages, 20_000, format, **options)
    assert fitted.used >= least
    assert fitted.messages[-1] is messages[-1]
    shown = str(fitted.messages)
    small = [i for i, size in enumerate(sizes) if size == 1_000][3:]
    assert [i for i in small if f"part {i}:" not in shown] == []


@BY_FORMAT
@pytest.mark.parametrize("stable", [False, True])
def test_a_pasted_log_as_task_is_cut_before_the_newest_result_and_others_stay_too(format, pair, stable):
    log = "Which crane failed?\n" + "\n".join(f"{8 + i // 60:02}:{i % 60:02} crane {i % 7} moved" for i in range(900))
    messages = [user(log), *[m for i in range(4) for m in pair(i, words(300, i))], *pair(99, words(2_000, 99))]
    fitted = fit(messages, 5_000, format, stable=stable)
    assert fitted.messages[-1] is messages[-1]
    task = fitted.messages[0]["content"]
    task = task if isinstance(task, str) else task[0]["text"]
    assert task.startswith("Which crane failed?\n08:00 crane 0 moved\n")
    assert task.endswith("\n22:59 crane 3 moved")
    assert 900 < METER.count(task) < 2_500
    assert [i for i in range(1, 4) if f"'c{i}'" not in str(fitted.messages)] == []
    part = fitted.receipt.part("messages[0]")
    assert (part.state, part.reason) == ("cut", "it must stay, and did not fit whole")


@BY_FORMAT
@pytest.mark.parametrize("stable", [False, True])
def test_the_last_message_of_the_user_is_pinned_like_the_first(format, pair, stable):
    messages = [user("Go."), *[m for i in range(4) for m in pair(i, words(200, i))], model("What next?"), user(ORDER)]
    messages += [m for i in range(40) for m in pair(10 + i, words(200, i))]
    fitted = fit(messages, 1_200, format, stable=stable)
    assert "Go." in str(fitted.messages[0])
    assert messages[10] in fitted.messages


@pytest.mark.parametrize("reminder", ["<system-reminder>Keep calm.</system-reminder>", ""])
def test_a_reminder_beside_a_result_does_not_take_the_place_of_the_instruction(reminder):
    messages = [user("Go."), *block_pair(0, words(200)), model("What next?"), user(ORDER)]
    for i in range(40):
        called, given = block_pair(10 + i, words(200, i))
        messages += [called, gives(*given["content"], *([text(reminder)] if reminder else []))]
    assert ORDER in str(fit(messages, 1_200, "anthropic").messages)


@BY_FORMAT
@pytest.mark.parametrize("stable", [False, True])
def test_the_question_stays_before_a_prefilled_answer(format, pair, stable):
    question, prefill = user("Which crane was it? Answer with its number."), model("Crane")
    messages = [user("Go."), *[m for i in range(30) for m in pair(i, words(200, i))], model("Done."), question, prefill]
    fitted = fit(messages, 300, format, stable=stable)
    assert fitted.messages[-2:] == [question, prefill]


@pytest.mark.parametrize("stable", [False, True])
def test_reminders_leave_with_their_turns(stable):
    messages = [system("Rules."), user("Go.")]
    for i in range(60):
        messages += [*chat_pair(i, words(100, i)), system(f"Reminder {i}: " + WORDS * 10)]
    messages.append(user("What now?"))
    fitted = fit(messages, 2_500, stable=stable, excerpts=False)
    shown = [message for message in fitted.messages if message["role"] == "system"]
    assert shown[0] is messages[0]
    assert 2 < len(shown) < 20
    assert shown[-1] is messages[-2]
    for message in shown[1:]:
        assert fitted.messages[fitted.messages.index(message) - 1] is messages[messages.index(message) - 1]


@pytest.mark.slow
def test_a_text_too_long_for_any_memo_is_divided_and_counted_a_few_times(monkeypatch):
    """A result of 6 MB of numbers took nine minutes: it was divided at every look at one of its parts."""
    from brim.history import rendering

    divided = []
    whole = rendering.TextParts
    monkeypatch.setattr(rendering, "TextParts", lambda text, **sizes: divided.append(len(text)) or whole(text, **sizes))
    numbers = json.dumps([n / 7 for n in range(250_000)])
    assert len(numbers) > 4 * 1024 * 1024
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Which number is the largest?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": numbers},
        {"role": "assistant", "content": "I will look at the end of the list."},
        {"role": "user", "content": "Go on."},
    ]
    fitted = brim.fit_messages(messages, 2_000, meter="chars/4")
    assert fitted.used <= 2_000
    assert divided.count(len(numbers)) == 1


def test_the_note_says_how_many_of_the_steps_are_shortened():
    """ "The note says "Included 31 of 35 steps" while their results are marks"."""
    messages = [user("Go."), *[m for i in range(40) for m in block_pair(i, words(200, i))]]
    fitted = fit(messages, 700, "anthropic")
    note = fitted.messages[0]["content"][-1]["text"]
    found = re.search(r"Included (\d+) of 41 history steps \((\d+) omitted, (\d+) shortened,", note)
    included, omitted, less = map(int, found.groups())
    assert included + omitted == 41
    assert less == sum("omitted]" in str(message) for message in fitted.messages[1:]) >= 4
    assert fit(fitted.messages, 700, "anthropic").messages == fitted.messages
