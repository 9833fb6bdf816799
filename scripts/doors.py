"""Write the measured part of docs/which.md: the same task by each way into brim, and its outcome.

    python scripts/doors.py            write it
    python scripts/doors.py --check    fail if it is out of date

The task is an agent's run of tool calls, made up from a fixed seed: each call reads a file whose path an earlier result
named. A prompt is right for a call if the line with that path is still in it. The lines of code are those of this file.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import brim

PAGE = Path(__file__).parent.parent / "docs" / "which.md"
BEGIN, END = "<!-- measured: written by scripts/doors.py -->", "<!-- end of measured -->"
BUDGET, CALLS, SEED = 6_000, 80, 7
_CACHED = 0.1
"""The price of a cached token, as a share of the full price."""
_WORDS = (
    *("build", "cache", "config", "disk", "error", "index", "job", "log", "merge", "node", "queue", "shard", "worker"),
)

Talk = list[dict[str, Any]]
Prompt = tuple[Any, int]
"""What is sent, and its tokens."""


def run() -> tuple[Talk, list[str]]:
    """Return the messages of the run, and for each call the path that it needs."""
    dice = random.Random(SEED)
    talk: Talk = [
        {"role": "system", "content": "You are a careful engineer. Read before you write."},
        {"role": "user", "content": "Find out why the nightly build fails, and name the file at fault."},
    ]
    paths, needs = [f"src/start_{SEED}.py"], []
    for i in range(CALLS):
        near = paths[-6:]
        needed = dice.choice(near if dice.random() < 0.7 else paths)
        needs.append(needed)
        arguments = f'{{"path": "{needed}"}}'
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": arguments}}
        named = f"src/{dice.choice(_WORDS)}_{i}.py"
        lines = [" ".join(dice.choices(_WORDS, k=9)) for _ in range(30)]
        lines[dice.randrange(30)] = f"from here see {named} for the {dice.choice(_WORDS)}"
        paths.append(named)
        talk.append({"role": "assistant", "content": None, "tool_calls": [call]})
        talk.append({"role": "tool", "tool_call_id": f"c{i}", "content": "\n".join(lines)})
    return talk, needs


def by_fit(talk: Talk) -> Iterator[Prompt]:
    """`fit`: sections."""
    for seen in before_each_call(talk):
        results = [message["content"] for message in seen if message["role"] == "tool"]
        sections = [
            brim.Section("task", seen[1]["content"], required=True),
            brim.Section("results", results, keep="newest"),
        ]
        prompt = brim.fit(sections, BUDGET, model="gpt-5")
        yield prompt.text, prompt.receipt.used


def by_fit_messages(talk: Talk) -> Iterator[Prompt]:
    """`fit_messages`: a history, each time anew."""
    for seen in before_each_call(talk):
        fitted = brim.fit_messages(seen, BUDGET, model="gpt-5")
        yield fitted.messages, fitted.used


def by_fit_request(talk: Talk) -> Iterator[Prompt]:
    """`fit_request`: system prompt, history, question and tools under one budget."""
    for seen in before_each_call(talk):
        request = brim.fit_request(system=seen[0]["content"], messages=seen[1:], budget=BUDGET, model="gpt-5")
        yield request.messages, request.receipt.used


def by_history(talk: Talk) -> Iterator[Prompt]:
    """`History`: a history that grows, with a cut that is held."""
    history, known = brim.History(model="gpt-5", stable=True), 0
    for seen in before_each_call(talk):
        history.extend(seen[known:])
        known, fitted = len(seen), history.fit(BUDGET)
        yield fitted.messages, fitted.used


def by_conversations(talk: Talk) -> Iterator[Prompt]:
    """`wrap`, a framework's middleware, the gateway: requests that bring their whole history."""
    conversations = brim.Conversations(brim.Window(BUDGET), model="gpt-5")
    for seen in before_each_call(talk):
        request = conversations.request(seen)
        yield request.messages, brim.meter("gpt-5").count_messages(request.messages)


def by_session(talk: Talk) -> Iterator[Prompt]:
    """`Session`: a conversation that your code owns."""
    session, known = brim.Session(brim.Window(BUDGET), model="gpt-5"), 1
    for seen in before_each_call(talk):
        session.add(seen[known:])
        known, fitted = len(seen), session.prompt(system=talk[0]["content"])
        yield fitted.messages, fitted.used


def by_loop(talk: Talk) -> Iterator[Prompt]:
    """`Loop`: work in contexts that are handed over."""
    sent: list[Prompt] = []

    def act(tick: brim.Tick) -> brim.Step:
        at = 2 + 2 * len(sent)
        sent.append((list(tick.messages), brim.meter("gpt-5").count_messages(tick.messages)))
        return brim.Step(messages=talk[at : at + 2], end="continue" if len(sent) < CALLS else "goal")

    system, goal, window = talk[0]["content"], talk[1]["content"], brim.Window(BUDGET)
    brim.Loop(goal=goal, act=act, window=window, model="gpt-5", system=system, tick_cap=1.0, max_sub_ticks=CALLS).run()
    yield from sent


DOORS: dict[str, Callable[[Talk], Iterator[Prompt]]] = {
    "`wrap`, middleware, gateway": by_conversations,
    "`Session`": by_session,
    "`History`": by_history,
    "`fit_messages`": by_fit_messages,
    "`fit_request`": by_fit_request,
    "`Loop`": by_loop,
    "`fit`": by_fit,
}


def before_each_call(talk: Talk) -> Iterator[Talk]:
    """Yield the history that the model sees before each of its calls."""
    for i in range(CALLS):
        yield talk[: 2 + 2 * i]


def measured() -> str:
    """Return the table: what of the needed lines was there, what it cost, and how long its code is."""
    talk, needs = run()
    counts = [brim.meter("gpt-5").count_messages(seen) for seen in before_each_call(talk)]
    rows = [
        "| way | needed lines still there | tokens sent | cost with a cache | lines of code |",
        "|---|---:|---:|---:|---:|",
        f"| nothing trimmed | 1.00, over the budget from call {sum(n <= BUDGET for n in counts) + 1} on |"
        f" {sum(counts):,} | - | - |",
    ]
    for name, way in DOORS.items():
        prompts = list(way(talk))
        assert len(prompts) == CALLS, (name, len(prompts))
        assert all(used <= BUDGET for _, used in prompts), name
        there = sum(need in _text(sent) for (sent, _), need in zip(prompts[1:], needs[1:], strict=True))
        cost = sum(_cost(before, now) for before, now in zip([("", 0), *prompts], prompts, strict=False))
        tokens = sum(used for _, used in prompts)
        rows.append(f"| {name} | {there / (CALLS - 1):.2f} | {tokens:,} | {cost:,.0f} | {lines_of(way)} |")
    return "\n".join(rows)


def lines_of(way: Callable[[Talk], Iterator[Prompt]]) -> int:
    """Return the lines of code of a way."""
    return len([line for line in inspect.getsource(way).splitlines()[2:] if line.strip()])


def _text(sent: Any) -> str:
    return sent if isinstance(sent, str) else repr(sent)


def _cost(before: Prompt, now: Prompt) -> float:
    """Return the price of a prompt in full tokens; what it shares with the start of the last one is cached."""
    one, two = _text(before[0]), _text(now[0])
    shared = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    part = now[1] * shared / max(1, len(two))
    return part * _CACHED + now[1] - part


def page() -> str:
    """Return the page with the measured part renewed."""
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{measured()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    from generated import run as write

    sys.exit(write(PAGE, page))
