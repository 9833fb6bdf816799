"""What a provider reported for the last prompt corrects the count of the next one."""

import random
from dataclasses import replace

import pytest

import brim
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.reported_size import ReportedSize
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.windows import WindowLimits
from sessions.test_conversations import history, legal

LOGS = pytest.mark.parametrize("log", [True, False], ids=["log", "no log"])
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{i}",
            "description": "Reads a part of the log and returns it, with what stood around it. " * 6,
            "parameters": {"type": "object", "properties": {"part": {"type": "integer", "minimum": i}}},
        },
    }
    for i in range(20)
]


def size(counted, reported, least=None, messages=0, asked=0):
    sent, scale = RequestInput(messages=[None] * messages), brim.meter("gpt-4o")
    return ReportedSize(counted=counted, reported=reported, sent=sent, scale=scale, least=least, asked=asked)


@pytest.mark.parametrize(
    ("counted", "reported", "tokens", "correction"),
    [
        (1_000, 800, 1_000, -200),
        (1_000, 800, 1_080, -190),
        (1_000, 800, 500, -90),
        (1_000, 800, 990, -190),
        (1_000, 1_500, 1_000, 500),
        (1_000, 1_500, 1_008, 501),
        (1_000, 1_500, 500, 260),
        (1_000, 1_125, 500, 125),
        (1_000, 1_126, 500, 73),
    ],
)
def test_most_of_the_next_prompt_was_in_the_last_one(counted, reported, tokens, correction):
    assert size(counted, reported).correction(tokens, 9) == correction


def test_a_prompt_within_its_budget_is_within_what_it_may_take():
    numbers = random.Random(7)
    for _ in range(8_000):
        counted = least = numbers.randint(1, 20_000)
        messages = numbers.randint(0, 50)
        asked = messages + numbers.choice([0, 100])
        known = size(counted, numbers.randint(-(-counted // 3), counted * 3), messages=messages, asked=asked)
        if numbers.random() < 0.7:
            least = numbers.randint(1, counted)
            known = known.after(size(least, numbers.randint(-(-least // 3), least * 3), messages=numbers.randint(0, 9)))
        if numbers.random() < 0.5:
            known = replace(known, taken=(numbers.randint(1, counted), numbers.randint(1, counted)))
        tokens = numbers.choice([numbers.randint(0, 30_000), known.reported - 1, least])
        new = numbers.randint(0, 5)
        budget = known.budget(tokens, asked + new)
        for used in {budget, budget - 1, budget // 2, min(budget, least - 1)}:
            for sent in (messages + new, messages // 2):
                assert used < 0 or used + known.correction(used, sent) <= tokens


def test_a_cut_prompt_is_counted_between_the_smallest_and_the_last():
    # Tools of 1,000 tokens by our count and 1,400 by theirs; texts of 9,000 and 8,100.
    known = size(10_000, 9_500, least=size(1_000, 1_400))
    assert known.correction(5_500, 9) + 5_500 == 1_400 + 4_050 + 4_050 // 50 + 1
    assert size(10_000, 9_500).correction(5_500, 9) + 5_500 == 5_335


def test_what_the_last_cut_took_away_tells_how_the_next_one_counts():
    first = size(5_000, 6_000)
    before = size(30_000, 29_000).after(first)
    cut = size(18_000, 18_200).after(before)  # Results: 12,000 counted, 10,800 reported.
    assert cut.taken == (12_000, 10_800)
    grown = size(30_000, 29_500).after(cut)
    assert grown.taken == (12_000, 10_800)
    assert abs(grown.correction(20_000, 9) + 20_000 - (29_500 - 9_000 * 0.98)) < 2
    assert grown.recounted(lambda _: 60_000, grown.scale).taken == (24_000, 10_800)
    assert size(30_000, 29_500).after(size(30_500, 30_000)).taken is None  # Too little for a cut.


def test_messages_that_were_shortened_keep_what_the_provider_counts_for_each():
    # Tools of 1,000 tokens by our count and 700 by theirs; 100 messages of 90 tokens each, and 130 by theirs.
    known = size(10_000, 13_700, least=size(1_000, 700), messages=100, asked=100)
    assert known.correction(5_500, 100) + 5_500 == 700 + 4_500 + 4_000
    assert known.correction(5_500, 90) + 5_500 == 700 + 4_500 + 3_600
    # By text it is more if messages are left out.
    assert known.correction(5_500, 50) + 5_500 == 700 + 6_500 + 6_500 // 50 + 1
    assert known.budget(9_200, 100) == 5_500
    assert known.budget(9_200, 102) == 5_500 - 2 * 40
    # One more for the note, and those that were left out already do not come back.
    cut = size(10_000, 13_700, least=size(1_000, 700), messages=100, asked=300)
    assert cut.budget(9_200, 300) == 5_500 - 40


def test_a_meter_that_is_right_to_the_token_is_not_corrected():
    assert size(1_000, 1_000).correction(1_800, 9) == 0
    assert size(1_000, 1_000).budget(1_800, 9) == 1_800
    estimate = replace(size(1_000, 1_000), scale=brim.meter("chars/4"))
    assert estimate.correction(1_800, 9) == 100


def test_the_smallest_prompt_of_a_conversation_is_remembered():
    first, second, third = size(100, 90), size(50, 44), size(300, 280)
    assert first.after(None).least is None
    assert second.after(first).least is None
    assert third.after(second.after(first)).least.counted == 50


def test_a_report_of_something_else_is_not_believed():
    assert size(900, 300).plausible
    assert not size(901, 300).plausible
    assert not size(300, 901).plausible
    assert not size(300, 0).plausible


def tokens_of(messages, tools):
    """Count as another provider might: a fifth less for tools, a tenth more for texts."""
    meter = brim.meter("cl100k_base")
    return int(meter.count_messages(messages) * 1.1 + meter.count(str(tools)) * 0.8)


@LOGS
@pytest.mark.parametrize("model", ["mystery", "claude-sonnet-4-5", "gpt-4o"])
def test_after_a_few_answers_the_count_is_near_what_is_reported_tools_included(model, log):
    engine = Conversations(model=model, log=log)
    off = []
    for steps in range(1, 16):
        request = RequestInput(messages=history(steps * 3), model=model, tools=TOOLS, format="openai")
        made = engine.fit(request, engine.plan(request, WindowLimits(size=100_000)))
        actual = tokens_of(made.messages, TOOLS)
        off.append(made.used / actual - 1)
        made.answered({"prompt_tokens": actual, "completion_tokens": 1})
    assert min(off[10:]) > -0.01
    assert max(off[10:]) < 0.05


@LOGS
def test_a_meter_that_learns_does_not_cut_anew(log):
    engine = Conversations(model="mystery", log=log, compact_at="never")
    last, kept, cut = [], 0, 0
    for steps in range(30, 60):
        request = RequestInput(messages=history(steps), model="mystery", format="openai")
        made = engine.fit(request, engine.plan(request, WindowLimits(size=3_000)))
        assert legal(made.messages)
        kept += made.messages[: len(last)] == last
        cut += made.changed
        last = made.messages
        made.answered({"prompt_tokens": tokens_of(made.messages, None), "completion_tokens": 1})
    assert cut > 20
    assert kept >= 25


@LOGS
def test_a_clock_in_the_system_prompt_is_sent_as_it_is_and_keeps_the_cut(log):
    engine = Conversations(2_000, model="gpt-4o", log=log, compact_at="never")
    last, kept = [], 0
    for steps in range(30, 44):
        clock = {"role": "system", "content": f"It is 10:{steps}." + " Be brief." * (steps % 3)}
        request = engine.request([clock, *history(steps)[1:]])
        assert request.messages[0] == clock
        assert request.used <= 2_000
        kept += request.messages[1 : len(last)] == last[1:]
        last = request.messages
    assert len(engine) == 1
    assert kept >= 10


@LOGS
def test_a_longer_system_prompt_is_counted(log):
    engine = Conversations(2_000, model="gpt-4o", log=log, compact_at="never")
    engine.request(history(30))
    long = {"role": "system", "content": "Never forget a rule. " * 150}
    request = engine.request([long, *history(31)[1:]])
    assert request.messages[0] == long
    assert brim.meter("gpt-4o").count_messages(request.messages) <= request.used <= 2_000
    assert len(engine) == 1


def test_a_reminder_that_moves_along_at_the_end_continues_the_conversation():
    engine = Conversations(model="gpt-4o", log=False)
    reminder = {"role": "system", "content": "Answer in English."}
    for steps in range(3, 9):
        request = RequestInput(messages=[*history(steps), reminder], model="gpt-4o", format="openai")
        engine.fit(request, engine.plan(request, WindowLimits(size=9_000)))
    assert len(engine) == 1
