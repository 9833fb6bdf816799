"""The demo: a workspace recorded with brim's own sessions and loops from the texts in this file.

It is the same each time. No model is called: a simulated provider counts each prompt with a real meter, and caches what
it has seen.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from importlib.resources import as_file, files
from itertools import count, takewhile
from shutil import copytree
from typing import Any, Literal

from brim.meter import meter
from brim.meter.window import Window
from brim.sessions import Session
from brim.sessions.loop import Loop, Step
from brim.store import open_store
from brim.studio.workspace import FILE, Workspace

_START = 1_790_000_000.0
"""The start of the demo, in seconds since 1970."""
_MODEL = "gpt-5"
_MINIMUM = 1_024
"""Tokens from which the simulated cache holds a prompt."""
_TEXTS = json.loads(files("brim.studio").joinpath("demo_texts.json").read_text("utf-8"))
_SERVICES, _FINDINGS = _TEXTS["services"], _TEXTS["findings"]


def _clock() -> Callable[[], float]:
    """Return a clock that advances by 3.7 seconds with each call."""
    return count(_START + 3.7, 3.7).__next__


def record(folder: str) -> Workspace:
    """Record the demo in an empty directory, and return its workspace."""
    clock = _clock()
    with open_store(FILE + os.path.join(folder, "demo.db"), clock=clock) as store, store.transaction():
        _loop(store, clock)
        _session(store, clock)
    with as_file(files("brim.studio").joinpath("demo_project")) as project:
        copytree(project, folder, dirs_exist_ok=True)
    return workspace(folder)


def workspace(folder: str) -> Workspace:
    """Return the workspace of a recorded demo."""
    url = FILE + os.path.join(folder, "demo.db")
    return Workspace(url=url, config=folder)


class _Provider:
    """A simulated provider: it reports the tokens of a prompt, and how many it had of the previous prompt's start."""

    def __init__(self, model: str, tools: list[dict[str, Any]] | None = None) -> None:
        self._meter = meter(model)
        self._tools = tools
        self._last: list[Any] = []

    def usage(self, messages: list[Any], answer: str) -> dict[str, Any]:
        """Return the usage of a prompt, and cache it."""
        same = len([*takewhile(lambda pair: pair[0] == pair[1], zip(self._last, messages, strict=False))])
        self._last = messages
        found = self._meter.count_messages(messages[:same], tools=self._tools) if same else 0
        return {
            "input_tokens": self._meter.count_messages(messages, tools=self._tools),
            "input_tokens_details": {"cached_tokens": found if found >= _MINIMUM else 0},
            "output_tokens": self._meter.count(answer),
        }


def _session(store: Any, clock: Callable[[], float]) -> None:
    """Record a session that crosses the warning line, is compacted twice, and has one result shortened."""
    window = Window(32_000, reserve=2_000, cap=0.20, warn=0.15)
    asked: dict[str, Any] = {"clock": clock, "capture": True, "summarise": "extract", "tool_limit": "25%"}
    session = Session(window, model=_MODEL, store=store, id="orders-incident", **asked)
    provider = _Provider(_MODEL, _TEXTS["tools"])
    for i in range(34):
        question, call, result, answer = turn(i)
        session.add(question)
        _prompt(session, provider, json.dumps(call["tool_calls"]))
        session.add([call, result])
        _prompt(session, provider, answer["content"])
        session.add(answer)
    session.add(
        {"role": "user", "content": "Write the summary for the morning: what we know, what we decided, what is open."}
    )
    _prompt(session, provider, "We know that retries made it worse. We decided to slow the callers down.")


def _prompt(session: Any, provider: _Provider, answer: str) -> None:
    """Record a prompt and its usage."""
    fitted = session.prompt(**{name: _TEXTS[name] for name in ("system", "tools", "memory")})
    session.record_usage(provider.usage(fitted.messages, answer))


def turn(i: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a question, a tool call, its result and the answer."""
    chance = random.Random(i)
    service = _SERVICES[i % len(_SERVICES)]
    finding = _FINDINGS[i % len(_FINDINGS)].format(service=service, number=4_000 + 7 * i)
    call = {
        "id": f"call-{i}",
        "type": "function",
        "function": {"name": "read_log", "arguments": f'{{"what": "{service}"}}'},
    }
    question = _TEXTS["questions"][i % len(_TEXTS["questions"])].format(service=service)
    lines = 600 if i == 9 else chance.randint(8, 26)
    log = "\n".join(_line(chance, service, n) for n in range(lines))
    return (
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call-{i}", "content": log},
        {
            "role": "assistant",
            "content": f"{finding} I read {lines} lines of its log; the pattern is the same as before.",
        },
    )


def _line(chance: random.Random, service: str, n: int) -> str:
    order = chance.randint(10_000, 99_999)
    if chance.random() < 0.12:
        return f"14:{n % 60:02d} ERROR {service} order {order}: upstream timed out after 2,000 ms (attempt {n % 5 + 1})"
    return f"14:{n % 60:02d} INFO  {service} order {order} done in {chance.randint(20, 900)} ms"


def _loop(store: Any, clock: Callable[[], float]) -> None:
    """Record a loop whose iterations continue in fresh contexts."""
    done = 0
    provider = _Provider(_MODEL)

    def act(tick: Any) -> Any:
        nonlocal done
        chance = random.Random(1_000 + done)
        done += 1
        text = " ".join(_line(chance, _SERVICES[done % 6], n) for n in range(9))
        answer = {"role": "assistant", "content": f"Batch {done}: I checked the orders of this minute. {text}"}
        usage = provider.usage(list(tick.messages), answer["content"])
        if done >= 24:
            return Step(messages=[answer], end="goal", result={"batch": done, "wrong": 0}, usage=usage)
        end: Literal["iteration", "continue"] = "iteration" if done % 6 == 0 else "continue"
        return Step(messages=[answer], end=end, result={"batch": done, "wrong": done % 3}, usage=usage)

    goal = "Go through the orders of the incident, minute by minute, and list those that were charged twice."
    window = Window(16_000)
    Loop(goal, act, window=window, model=_MODEL, store=store, id="orders-recount", tick_cap=0.12, clock=clock).run()
