"""What a provider reports is read in its own shape, corrects an estimate, and shows in the status."""

from types import SimpleNamespace

import pytest

import brim
from brim.errors import InvalidValue
from brim.llm import Usage
from brim.sessions.learning.usage import ReportedUsage, reported
from sessions.talking import SYSTEM, Seen, turn, window

FORMATS = {
    "chat": (
        {
            "prompt_tokens": 1_000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 100},
        },
        ReportedUsage(input=1_000, output=50, cached=800, written=100),
    ),
    "chat, with Anthropic's cache": (
        {"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 0},
        ReportedUsage(input=100, output=5),
    ),
    "responses": (
        {"input_tokens": 1_000, "output_tokens": 50, "input_tokens_details": {"cached_tokens": 800}},
        ReportedUsage(input=1_000, output=50, cached=800),
    ),
    "anthropic": (
        {
            "input_tokens": 10,
            "cache_creation_input_tokens": 190,
            "cache_read_input_tokens": 800,
            "output_tokens": 50,
        },
        ReportedUsage(input=1_000, output=50, cached=800, written=190),
    ),
    "anthropic, several passes": (
        {"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 5, "iterations": [{}, {}]},
        ReportedUsage(input=10, output=5, passes=2),
    ),
    "our own": (Usage(input=1_000, output=50), ReportedUsage(input=1_000, output=50)),
    "an object": (SimpleNamespace(prompt_tokens=7, completion_tokens=1), ReportedUsage(input=7, output=1)),
}


@pytest.mark.requirement("X4")
@pytest.mark.parametrize(("usage", "expected"), FORMATS.values(), ids=FORMATS)
def test_the_input_is_the_whole_prompt_in_every_shape(usage, expected):
    assert reported(usage) == expected
    assert reported({"id": "x", "usage": usage}) == expected


@pytest.mark.parametrize("usage", [{}, 7, "x", {"input_tokens": -1}, {"prompt_tokens": True}, {"input_tokens": "9"}])
def test_what_is_no_usage_is_refused(usage):
    with pytest.raises(InvalidValue, match="usage"):
        reported(usage)


def test_numbers_alone_are_taken_too_and_something_has_to_be_told():
    assert reported(input_tokens=9, cached_tokens=3) == ReportedUsage(input=9, cached=3)
    with pytest.raises(InvalidValue, match="unless input_tokens is set"):
        reported()


@pytest.mark.requirement("X4", "S3.11")
def test_the_status_shows_what_the_provider_counted():
    talk = brim.Session(window=window(), meter="o200k_base")
    talk.add(turn(1))
    talk.prompt()
    talk.record_usage({"prompt_tokens": 777, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 512}})
    assert (talk.status().reported, talk.status().cached) == (777, 512)
    talk.record_usage(input_tokens=240)
    status = talk.status()
    assert (status.reported, status.cached, status.used, sum(status.categories.values())) == (240, None, 240, 240)


@pytest.mark.requirement("X4")
def test_a_use_above_the_line_that_only_the_provider_saw_is_warned_of_once():
    seen = Seen()
    talk = brim.Session(window=brim.Window(1_000), meter="o200k_base", observers=[seen], compact_at="never")
    assert talk.status().warning == 850
    talk.add([*turn(1), *turn(2)])
    for i in range(3):
        talk.prompt()
        talk.record_usage(input_tokens=850 + i)
        assert talk.status().warnings == 1
    assert len(seen.of("warning")) == 1


@pytest.mark.requirement("S3.3", "X4")
def test_an_estimate_is_corrected_until_it_is_close_and_not_below():
    true = brim.meter("o200k_base")
    talk = brim.Session(window=brim.Window(100_000), meter="chars/4")
    for i in range(30):
        talk.add({"role": "user", "content": f"Frage {i}: 为什么构建失败了？请检查日志并修复它。" * 8})
        talk.add({"role": "assistant", "content": f"def f{i}(x):\n    return x[{i}] + 0x{i:04x}\n" * 6})
        fitted = talk.prompt(system=SYSTEM)
        actual = true.count_messages(fitted.messages)
        talk.record_usage(input_tokens=actual)
    fitted = talk.prompt(system=SYSTEM)
    actual = true.count_messages(fitted.messages)
    assert actual * 0.99 <= fitted.used <= actual * 1.15
    raw = brim.meter("chars/4").count_messages(fitted.messages)
    assert raw < actual * 0.8


def test_a_sum_of_several_passes_is_no_size_of_a_prompt():
    talk = brim.Session(window=window(), meter="chars/4")
    talk.add(turn(1))
    talk.prompt()
    talk.record_usage({"input_tokens": 5_000, "cache_read_input_tokens": 0, "output_tokens": 1, "iterations": [1, 2]})
    assert talk.status().reported is None
    assert talk.meter.name == "chars/4"
