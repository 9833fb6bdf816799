"""The configuration of the session document, as its author writes it; tests/sessions has what it does."""

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


def settings(tmp_path, text=CONFIG, **asked):
    (tmp_path / "brim.yaml").write_text(text)
    return brim.load_config(tmp_path, environ={}).resolve(**asked)


@pytest.mark.requirement("S3.1", "S3.6")
def test_the_block_of_the_document_gives_its_ceiling_its_warning_and_its_tick(tmp_path):
    made = settings(tmp_path)
    window = made.window()
    assert (window.size, window.budget, window.warning) == (1_000_000, 200_000, 150_000)
    loop = made.loop("Look.", lambda tick: brim.Step(end="goal"), meter="chars/4")
    assert loop.session.budget == 150_000
    tighter = settings(tmp_path, CONFIG.replace("max_context_pct: 15", "max_context_pct: 10"))
    assert tighter.loop("Look.", lambda tick: brim.Step(end="goal"), meter="chars/4").session.budget == 100_000
    assert made["window.cap"].where.endswith("brim.yaml:2")


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize("cap", ["20", '"20%"', "0.2"])
def test_a_cap_may_be_written_as_a_number_of_percent(tmp_path, cap):
    made = settings(tmp_path, f"window: {{size: 1000000, cap: {cap}, warn: 15}}\n")
    assert (made.window().budget, made.window().warning) == (200_000, 150_000)


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("pct: 20", "pct: 0", "brim.yaml:2: context.max_utilization_pct must be a number above 0 and at most 100"),
        ("pct: 20", "pct: 101", "brim.yaml:2: context.max_utilization_pct must be a number above 0"),
        ("warning_pct: 15", "warning_pct: 25", "brim.yaml"),
        ("warning_pct", "warn_pct", "brim.yaml:3: context has no key 'warn_pct'; did you mean 'warning_pct'?"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_line(tmp_path, old, new, told):
    with pytest.raises(SourceError, match=re.escape(told)):
        settings(tmp_path, CONFIG.replace(old, new)).window()


def test_what_the_project_says_beside_the_profile_wins(tmp_path):
    made = settings(tmp_path, "profile: session\nwindow: {cap: 30%}\n")
    assert (made.window().budget, made.window().warning) == (300_000, 150_000)
