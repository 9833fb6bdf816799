"""A long thread under a cap: what each query would cost, when it warns, and what is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import brim
from brim.memory.working import Working

HERE = Path(__file__).parent

CHARS = 120_000
"""Characters of each tool result: about 30,000 tokens."""


def exchange(number: int) -> list[dict[str, Any]]:
    """Return one question, the tool call that it led to, the result and the answer."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    result = f"log {number}: " + "a line of a long log. " * (CHARS // 22)
    return [
        {"role": "user", "content": f"What does log {number} say?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        {"role": "assistant", "content": f"Log {number} says nothing new."},
    ]


def system(settings: Any) -> str:
    """Return what stands before the conversation: instructions, memory within 50,000 tokens, 75 lines of notes."""
    page = Working("\n".join(f"note {i}" for i in range(100)))
    print(f"working memory: {page.warning}")
    facts = [f"fact {i}: " + "somebody once said this. " * 40 for i in range(400)]
    prompt = settings.fit(
        {"system": "You are an assistant.", "memory": facts, "working_memory": page.shown.splitlines()}
    )
    for part in prompt.receipt.parts:
        print(f"  {part.name}: {part.state}, {part.used:,} of {part.size:,} tokens")
    return prompt.text


def main() -> None:
    """Let a thread grow past the warning and past the cap."""
    config = brim.load_config(HERE)
    settings = config.resolve()
    window, meter = settings.window(), settings.meter()
    print(f"window {window.size:,} tokens, budget {window.budget:,}, warning from {window.warning:,}")
    small = config.resolve(profile="small").window()
    print(f"on gpt-4o: window {small.size:,} tokens, budget {small.budget:,}, warning from {small.warning:,}")
    said = system(settings)
    thread: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs with me, one after the other."}]
    for number in range(1, 9):
        thread += exchange(number)
        query = [*thread, {"role": "user", "content": "Go on."}]
        estimate = meter.count(said) + meter.count_messages(query)
        state = "over the cap" if estimate > window.budget else "warning" if estimate >= window.warning else "fine"
        fitted = settings.fit_messages(query, system=said)
        print(f"query {number}: about {estimate:,} tokens ({state}); sent {fitted.used:,} of {fitted.budget:,}")
        if fitted.receipt.losses:
            lost = sum(loss.units for loss in fitted.receipt.losses)
            print(f"  {len(fitted.receipt.losses)} of the older results cleared, {lost:,} tokens")


if __name__ == "__main__":
    main()
