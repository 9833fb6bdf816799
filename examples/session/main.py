"""A long thread under a cap: it warns, compacts and never goes over; then a loop with sub-ticks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import brim
from brim.sessions.memory import WorkingMemory
from brim.settings.resolved import Resolved
from brim.store import Store

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
        {
            "role": "assistant",
            "content": f"Log {number} says: error E{number}00 in /srv/worker{number}.py. Use queue B.",
        },
    ]


def system(settings: Resolved) -> str:
    """Return what stands before the conversation: instructions, memory within 50,000 tokens, 75 lines of notes."""
    page = WorkingMemory("\n".join(f"note {i}" for i in range(100)))
    print(f"working memory: {page.warning}")
    facts = [f"fact {i}: " + "somebody once said this. " * 40 for i in range(400)]
    prompt = settings.fit(
        {"system": "You are an assistant.", "memory": facts, "working_memory": page.shown.splitlines()}
    )
    for part in prompt.receipt.parts:
        print(f"  {part.name}: {part.state}, {part.used:,} of {part.size:,} tokens")
    return prompt.text


def thread(settings: Resolved, said: str, store: Store) -> None:
    """Let a thread grow past the warning and past the cap, close it, and open it again."""
    session = settings.session(store=store, id="thread", on_notice=lambda text: print(f"  to the user: {text}"))
    session.add({"role": "user", "content": "Read the logs with me, one after the other."})
    for number in range(1, 9):
        session.add(exchange(number))
        session.add({"role": "user", "content": "Go on."})
        estimate, before = session.estimate(said), session.status()
        state = "over the cap" if estimate > before.budget else "warning" if estimate >= before.warning else "fine"
        fitted = session.prompt(said)
        print(f"query {number}: about {estimate:,} tokens ({state}); sent {fitted.used:,} of {fitted.budget:,}")
    told = session.status()
    peak = f"{100 * told.peak_utilization:.1f} % of the window"
    print(f"warned {told.warnings} times, compacted {told.compactions} times, peak {peak}")
    again = brim.Session.open("thread", store=store)
    same = again.prompt(said).messages == fitted.messages
    print(f"opened again, its prompt is {'the same' if same else 'another one'}")
    found = again.search("log 1: a line of a long log")
    print(f"recalled: {again.recall(found[0].handle).splitlines()[0][:60]}")


def loop(settings: Resolved, store: Store) -> None:
    """Run a loop whose iterations are longer than a tick may be."""

    def act(tick: brim.Tick) -> brim.Step:
        n = tick.state["n"] = tick.state.get("n", 0) + 1
        end = "goal" if n == 18 else "iteration" if n % 6 == 0 else "continue"
        return brim.Step(messages=exchange(n)[1:], end=end, result=f"read up to log {n}" if n % 6 == 0 else None)

    outcome = settings.loop("Read all logs. Never delete one.", act, store=store, id="logs").run()
    print(f"loop: ended by {outcome.ended} after {outcome.iterations} iterations and {outcome.sub_ticks} sub-ticks")
    print(f"  results: {'; '.join(outcome.results)}")


def main() -> None:
    """Show the window, a thread and a loop."""
    config = brim.load_config(HERE)
    settings = config.resolve()
    window = settings.window()
    print(f"window {window.size:,} tokens, budget {window.budget:,}, warning from {window.warning:,}")
    small = config.resolve(profile="small").window()
    print(f"on gpt-4o: window {small.size:,} tokens, budget {small.budget:,}, warning from {small.warning:,}")
    with brim.open_store("sqlite:///:memory:") as store:
        thread(settings, system(settings), store)
        loop(settings, store)


if __name__ == "__main__":
    main()
