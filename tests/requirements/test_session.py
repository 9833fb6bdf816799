"""S3: a long-running assistant: its window, warning and budgets, as its author writes them; tests/sessions has what it does."""

import re

import pytest

import brim
from brim.errors import SourceError

CONFIG = """\
context:
  max_utilization_pct: 20    # target ceiling as % of model context window
  warning_pct: 15            # emit a warning when crossing this threshold
  model_context_tokens: 1000000  # or derive from model name
loop:
  max_context_pct: 15   # per-tick budget (leave headroom for the tick itself)
"""


def settings(tmp_path, text="profile: session\n", **asked):
    (tmp_path / "brim.yaml").write_text(text)
    return brim.load_config(tmp_path, environ={}).resolve(**asked)


@pytest.mark.requirement("S3.1", "S3.6")
def test_the_block_of_the_document_gives_its_ceiling_its_warning_and_its_tick(tmp_path):
    made = settings(tmp_path, CONFIG)
    window = made.window()
    assert (window.size, window.budget, window.warning) == (1_000_000, 200_000, 150_000)
    for text, budget in ((CONFIG, 150_000), (CONFIG.replace("max_context_pct: 15", "max_context_pct: 10"), 100_000)):
        loop = settings(tmp_path, text).loop("Look.", lambda tick: brim.Step(end="goal"), meter="chars/4")
        assert loop.session.budget == budget
    assert made["window.cap"].where.endswith("brim.yaml:2")


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profile: session\n", (1_000_000, 200_000, 150_000)),
        (
            "profile: m\nprofiles: {m: {extends: session, model: gpt-4o, window: {size: null}}}",
            (128_000, 25_600, 19_200),
        ),
        ("profile: session\nwindow: {cap: 30%}\n", (1_000_000, 300_000, 150_000)),
        *((f"window: {{size: 1000, cap: {cap}, warn: 15}}\n", (1_000, 200, 150)) for cap in ("20", '"20%"', "0.2")),
        ('window: {size: 1000, cap: "20%", warn: "20%"}\n', (1_000, 200, 200)),
        ('window: {size: 1000, cap: "100%", warn: "100%"}\n', (1_000, 1_000, 1_000)),
    ],
)
def test_the_window_comes_from_the_profile_the_model_or_the_project(tmp_path, text, expected):
    window = settings(tmp_path, text).window()
    assert (window.size, window.budget, window.warning) == expected


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("pct: 20", "pct: 0", "brim.yaml:2: context.max_utilization_pct must be a number above 0 and at most 100"),
        ("pct: 20", "pct: 101", "brim.yaml:2: context.max_utilization_pct must be a number above 0"),
        ("warning_pct: 15", "warning_pct: 25", "brim.yaml"),
        ("warning_pct: 15", "warning_pct: 0", "brim.yaml:3"),
        ("warning_pct", "warn_pct", "brim.yaml:3: context has no key 'warn_pct'; did you mean 'warning_pct'?"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_line(tmp_path, old, new, told):
    with pytest.raises(SourceError, match=re.escape(told)):
        settings(tmp_path, CONFIG.replace(old, new)).window()


@pytest.mark.requirement("S3.13")
@pytest.mark.parametrize("limit", [50_000, 20_000])
def test_the_memory_context_has_its_own_budget_which_can_be_set(tmp_path, limit):
    text = f"profile: m\nmeter: chars/4\nprofiles: {{m: {{extends: session, sections: {{memory: {{ceiling: {limit}}}}}}}}}\n"
    facts = [f"fact {i} " + "is known to many. " * 50 for i in range(400)]
    part = settings(tmp_path, text).fit({"system": "Help.", "memory": facts}).receipt.part("memory")
    assert limit - 300 < part.used <= limit


@pytest.mark.requirement("S3.12")
def test_working_memory_has_seventy_five_lines(tmp_path):
    lines = [f"line {i}" for i in range(200)]
    assert settings(tmp_path).fit({"working_memory": lines}).text.split("\n") == lines[-75:]


@pytest.mark.requirement("S3.1")
def test_a_thread_is_held_to_the_cap_and_not_to_the_window(tmp_path):
    text = "profile: mine\nmeter: chars\nprofiles: {mine: {extends: session, window: {size: 10000}}}\n"
    thread = [{"role": "user", "content": "Read the logs."}]
    thread += [{"role": role, "content": "a line. " * 60} for _ in range(9) for role in ("assistant", "user")]
    fitted = settings(tmp_path, text).fit_messages(thread)
    assert fitted.budget == 2_000
    assert 1_500 < fitted.used <= 2_000
    assert (fitted.messages[0], fitted.messages[-1]) == (thread[0], thread[-1])
