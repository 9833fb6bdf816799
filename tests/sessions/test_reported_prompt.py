"""What a provider reported for the last prompt corrects the count of the next one."""

import random
from dataclasses import replace

import pytest

import brim
from brim.meter import meter_for
from brim.sessions.conversations import Conversations
from brim.sessions.learning.reported_prompt import ReportedPrompt, report
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


def claude():
    return meter_for(None, "claude-sonnet-4-5")


def prompt(counted, reported, shared=None, agreeing=4, scale=None):
    numbers = [counted, reported, counted if shared is None else shared, agreeing]
    return ReportedPrompt.of(numbers, scale or claude())


class Texts:
    """Texts with an upper bound and a true count each, and prompts that are sets of them."""

    def __init__(self, numbers):
        self.bounds = [numbers.randint(1, 900) for _ in range(numbers.randint(1, 30))]
        self.true = [numbers.randint(-(-bound // 4), bound) for bound in self.bounds]
        self.numbers = numbers

    def prompt(self, near=()):
        share = self.numbers.random()
        kept = {at for at in near if self.numbers.random() < 0.9}
        return kept | {at for at in range(len(self.bounds)) if self.numbers.random() < share} or {0}

    def bound(self, prompt):
        return sum(self.bounds[at] for at in prompt)

    def size(self, prompt):
        return sum(self.true[at] for at in prompt)


def test_whatever_a_prompt_shares_with_the_reported_one_its_bound_is_not_below_its_size():
    numbers = random.Random(5)
    raised = 0
    for _ in range(6_000):
        texts = Texts(numbers)
        one = texts.prompt()
        other = texts.prompt(one)
        known = prompt(texts.bound(one), texts.size(one))
        if known is not None:
            bound = known.bound(texts.bound(other), texts.bound(one & other))
            assert texts.size(other) <= bound <= texts.bound(other)
            raised += bound < texts.bound(other)
    assert raised > 1_000


def test_a_prompt_within_its_budget_is_within_what_it_may_take():
    numbers = random.Random(7)
    for _ in range(8_000):
        counted = numbers.randint(1, 20_000)
        scale = numbers.choice([claude(), brim.meter("claude-sonnet-4-5"), brim.meter("gpt-4o")])
        reported = numbers.randint(-(-counted // 4), counted * 4)
        known = prompt(counted, reported, agreeing=numbers.choice([0, 1, 4]), scale=scale)
        shared = numbers.choice([0, counted, numbers.randint(0, counted)])
        tokens = numbers.choice([numbers.randint(0, 30_000), reported])
        budget = known.budget(tokens, shared)
        if budget >= shared:
            assert known.bound(budget, shared) <= tokens
            assert known.bound(budget + 2, shared) > tokens


def test_reports_of_one_provider_agree_and_then_raise_the_budget():
    numbers = random.Random(3)
    for _ in range(2_000):
        texts = Texts(numbers)
        last = texts.prompt()
        known = report(None, texts.bound(last), texts.size(last), claude())
        for _ in range(6):
            now = texts.prompt(last)
            known = replace(known, shared=texts.bound(last & now))
            known = report(known, texts.bound(now), texts.size(now), claude())
            assert known.agreeing > 0
            last = now
    known = None
    for tokens in (900, 1_000, 1_100, 1_200, 1_300):
        known = report(known, tokens, tokens * 8 // 10, claude())
        assert known.budget(4_000, tokens) == (4_000 if tokens < 1_200 else 4_000 + tokens * 2 // 10)


@pytest.mark.parametrize(("low", "high"), [(0.7, 1.0), (0.9, 1.0), (0.25, 0.5)])
def test_two_providers_behind_one_name_raise_nothing(low, high):
    """Each second request went to a provider that counted more: 1,158 tokens for a window of 1,000."""
    known, tokens = None, 400
    for ratio in [low, high] * 8:
        known = report(known, tokens, int(tokens * ratio), claude())
        assert known.budget(4_000, tokens) == 4_000
        tokens += 60
    assert known.agreeing == 0


def test_a_proxy_that_leaves_out_what_is_cached_raises_nothing():
    known = None
    for tokens in range(1_000, 3_000, 100):
        known = report(known, tokens, 900 if known is None else 300 + tokens // 100, claude())
        assert known.budget(4_000, tokens) == 4_000


def test_a_meter_that_is_right_to_the_token_is_not_corrected():
    exact, rough = brim.meter("gpt-4o"), brim.meter("chars/4")
    assert prompt(1_000, 1_000, scale=exact).bound(1_800, 1_000) == 1_800
    assert prompt(1_000, 700, scale=exact).budget(1_800, 1_000) == 1_800
    assert prompt(1_000, 1_000, scale=rough).bound(1_800, 1_000) == 1_900


def test_a_report_of_something_else_is_not_believed():
    assert report(None, 900, 225, claude()) is not None
    others = [report(None, *numbers, claude()) for numbers in ((901, 225), (225, 901), (300, 0))]
    assert [*others, report(None, 900, 900, brim.meter("chars"))] == [None] * 4


@pytest.mark.parametrize("excess", [0, 30, 300])
def test_after_a_refusal_the_budget_and_the_use_of_a_session_are_both_by_the_providers_count(excess):
    session = brim.Session(window=8_000, model="gpt-5")
    for i in range(20):
        session.add([{"role": "user", "content": "Go on."}, {"role": "assistant", "content": f"{i} is well. " * 10}])
    whole = session.prompt().used
    session.record_usage(input_tokens=whole + excess)
    budget = session.refused(brim.is_overflow("prompt is too long"))
    assert whole // 2 + excess < budget < whole + excess == session.estimate()
    fitted, status = session.prompt(), session.status()
    assert (fitted.budget, status.budget) == (budget, budget)
    assert budget // 2 < fitted.used == status.used <= budget


def tokens_of(messages, tools):
    """Count as another provider might: a fifth less for tools, a tenth more for texts."""
    meter = brim.meter("cl100k_base")
    return int(meter.count_messages(messages) * 1.1 + meter.count(str(tools)) * 0.8)


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_reminder_that_moves_along_at_the_end_continues_the_conversation():
    engine = Conversations(model="gpt-4o", log=False)
    reminder = {"role": "system", "content": "Answer in English."}
    for steps in range(3, 9):
        request = RequestInput(messages=[*history(steps), reminder], model="gpt-4o", format="openai")
        engine.fit(request, engine.plan(request, WindowLimits(size=9_000)))
    assert len(engine) == 1


def test_a_report_below_the_count_of_the_models_own_vocabulary_gives_no_more_tokens():
    """A proxy that leaves out what was cached reports half: the window was exceeded by 88 %."""
    talk, meter = brim.Conversations(brim.Window(4_000), model="gpt-5"), brim.meter("gpt-5")
    history = [{"role": "system", "content": "You audit."}, {"role": "user", "content": "Audit crates."}]
    sizes = []
    for i in range(40):
        request = talk.request(history)
        sizes.append(meter.count_messages(request.messages))
        request.answered({"prompt_tokens": sizes[-1] // 2, "completion_tokens": 10})
        history.append({"role": "assistant", "content": "scan weight 7 kg temp 3. " * 40})
        history.append({"role": "user", "content": f"next {i}"})
    assert 3_000 < max(sizes) <= 4_000


@LOGS
def test_the_receipt_says_why_its_budget_is_not_that_of_the_window(log):
    """ "A budget of 5,500 shows as 5,417 in the receipt; nothing says why." """
    engine = Conversations(brim.Window(6_000, reserve=500), model="gpt-4o", log=log)
    whole = engine.request(history(53))
    assert not whole.changed
    whole.answered({"prompt_tokens": whole.used + 83, "completion_tokens": 10})
    receipt = engine.request(history(150)).receipt
    told = (
        f"a budget of 5,500 is {receipt.budget:,} by brim's count: of an earlier prompt, the provider counted"
        f" {whole.used + 83:,} tokens, brim {whole.used:,}"
    )
    assert receipt.budget == 5_417
    assert receipt.history["correction"] == told
    assert told in str(receipt)
    assert brim.Receipt.from_dict(receipt.to_dict()).history["correction"] == told
    plain = Conversations(brim.Window(6_000, reserve=500), model="gpt-4o", log=log).request(history(150)).receipt
    assert plain.budget == 5_500
    assert "correction" not in plain.history
