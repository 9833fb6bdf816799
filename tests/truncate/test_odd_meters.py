"""A meter may add tokens of its own to each text, or count oddly where texts join: no cut fails for it."""

from typing import get_args

import pytest

import brim
from brim.receipts.section import KeepName

VOCABULARY = brim.meter("o200k_base")
LOG = "\n".join(f"line {i}: the quick brown fox {i * 7} jumps, ERROR at {i}" for i in range(120))
JSON = '{"rows":[' + ",".join(f'{{"key":{i},"value":"text {i}"}}' for i in range(90)) + "]}"
METERS = {
    "begins with a token": lambda text: VOCABULARY.count(text) + 1,
    "begins and ends with one": lambda text: VOCABULARY.count(text) + 2,
    "adds fifty": lambda text: VOCABULARY.count(text) + 50,
    "odd at joins": lambda text: VOCABULARY.count(text) + 3 * text.startswith((" ", "\n")) + len(text) % 3,
    "lines are cheap": lambda text: 2 * VOCABULARY.count(text) - text.count("\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", METERS.values(), ids=METERS)
@pytest.mark.parametrize("keep", get_args(KeepName))
def test_a_section_is_cut_within_its_budget_or_refused(keep, count):
    for text in (LOG, JSON):
        for budget in (0, 1, 3, 12, 53, 200):
            try:
                prompt = brim.fit([brim.Section("log", text, keep=keep)], budget, meter=count)
            except brim.DoesNotFit:
                continue
            assert not prompt.text or count(prompt.text) <= budget


@pytest.mark.parametrize("count", METERS.values(), ids=METERS)
@pytest.mark.parametrize("options", [{}, {"stable": True}, {"select": "relevance"}], ids=str)
def test_a_history_is_cut_within_its_budget_or_refused(options, count):
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": LOG[i * 40 : i * 40 + 900]} for i in range(11)]
    for budget in (0, 40, 90, 300, 1_000, 3_000):
        try:
            fitted = brim.fit_messages(messages, budget, meter=count, **options)
        except brim.DoesNotFit:
            continue
        assert brim.meter(count).count_messages(fitted.messages) == fitted.used <= budget
