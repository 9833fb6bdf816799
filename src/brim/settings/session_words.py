"""The vocabulary of `context`, in which a long-running assistant writes its cap and its warning.

Each word is another name of a setting. Percentages are numbers: `max_utilization_pct: 20` is `window: {cap: "20%"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brim.settings.kinds import Kind, number, whole

NAME = "context"
LOOP_WORD = "max_context_pct"
"""The word of the group `loop` for its `tick_cap`."""
_PERCENT = number(100)
WORDS: Mapping[str, tuple[str, Kind, str]] = {
    "max_utilization_pct": ("window.cap", _PERCENT, "The largest share of the window to use, in percent."),
    "warning_pct": ("window.warn", _PERCENT, "The share of the window at which to warn, in percent."),
    "model_context_tokens": ("window.size", whole(1), "The model's context window in tokens."),
    LOOP_WORD: ("loop.tick_cap", _PERCENT, "The share of the window of a loop's tick, in percent."),
}
"""Each word: its setting, what it takes, what it means."""


def meant(word: str, value: Any) -> Any:
    """Return the value of the setting that a word stands for."""
    return f"{value}%" if WORDS[word][1] is _PERCENT else value


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `context`."""
    words = {name: {"description": doc, **kind.schema} for name, (_, kind, doc) in WORDS.items()}
    return {
        "description": "The cap and the warning of a window in the words of a long-running assistant.",
        "type": ["object", "null"],
        "properties": words,
        "additionalProperties": False,
    }


def loop_schema() -> dict[str, Any]:
    """Return the JSON Schema of the word in the group `loop`."""
    _, kind, doc = WORDS[LOOP_WORD]
    return {LOOP_WORD: {"description": doc, **kind.schema}}
