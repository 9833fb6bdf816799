"""A demo recorded by brim's own sessions, loops, flows and gateway, on what is said here.

It is the same each time. No model was asked: what is said comes from here, and a provider of our own counts each prompt
by the real meter and finds in its cache what it has seen before. What the gateway did is a recording of a real one
(`scripts/record_demo.py`). It lives in a folder of its own, so whatever is tried out in it touches nothing else.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from brim.studio.desk import FILE, Desk

_START = 1_790_000_000.0
"""When the demo begins, in seconds since 1970."""
_MODEL = "gpt-5"
_STEP = 128
"""Tokens by which what a cache holds grows."""
_HELD = 8
"""Prompts whose beginnings it holds."""
_SYSTEM = (
    "You are the engineer on call for the orders service. Find out what is wrong, say what you know and what you only "
    "suspect, and change nothing in production before somebody has agreed to it."
)
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": told,
            "parameters": {"type": "object", "properties": {"what": {"type": "string", "description": "Which one."}}},
        },
    }
    for name, told in (
        ("read_log", "Read the newest lines of a service's log."),
        ("query_metrics", "Read a metric of the last hour, minute by minute."),
        ("read_file", "Read a file of the repository."),
    )
]
_SERVICES = ("checkout", "payments", "inventory", "shipping", "search", "mail")
_FINDINGS = (
    "The queue of {service} grows by 40 orders a minute since 14:07.",
    "{service} retries without a pause, so each failure becomes five requests.",
    "The pool of {service} has 20 connections and 20 are in use.",
    "We decided to leave {service} as it is and to slow its callers down.",
    "The certificate of {service} is fine until March; it is not the cause.",
    "Ticket OPS-{number} asks for a limit on retries in {service}.",
)
_YAML = """\
# The settings of the demo: change them, save, undo.
model: gpt-5
window:
  cap: 0.20        # a fifth of the window is enough for a step
  warn: 0.15
budgets:
  context_budget_chars: 200000
profiles:
  quick:
    description: Small budgets for small models.
    budget_overrides:
      context_budget_chars: 60000
"""
_BUILD = """\
flow: build
description: From a ticket to a reviewed change.
budget_overrides:
  context_budget_chars: 12000   # the plan and the newest step are what counts
  history_max_recent_chars: 6000
steps:
  - id: load
    agent: context-loader
    task: Gather what the ticket touches.
  - id: plan
    agent: work-planner
    task: Plan the change.
    artifacts: [plan.md]
  - id: code
    agent: code-implementer
    task: Make the change.
    budget_overrides:
      context_budget_chars: 18000   # needs the whole plan
    teaching_notes:
      inputs: [plan.md]
      emphasizes: [retries, timeouts]
  - id: test
    agent: test-author
    task: Write the tests.
  - id: review
    agent: code-critic
    task: Review it.
    teaching_notes:
      emphasizes: [error handling]
"""
_DEPLOY = """\
flow: deploy
description: Put it out, and watch.
budget_overrides:
  context_budget_chars: 900000   # beyond what is allowed: the guardrail lowers it
steps:
  - id: ship
    agent: deployer
    task: Roll it out to one machine in ten.
  - id: watch
    agent: monitor
    task: Watch the error rate for an hour.
"""


class _Clock:
    """Time that passes by itself, a little at each look."""

    def __init__(self, start: float) -> None:
        self.now = start

    def __call__(self) -> float:
        self.now += 3.7
        return self.now


def desk(folder: str) -> Desk:
    """Record the demo into a folder that is empty, and return the desk that looks at it."""
    from brim.store import open_store

    url = FILE + os.path.join(folder, "demo.db")
    clock = _Clock(_START)
    with open_store(url, clock=clock) as store, store.transaction():
        _gateway(store)
        _loop(store, clock)
        _session(store, clock)
    _flows(folder)
    return Desk(name="demo", url=url, config=folder, runs=os.path.join(folder, "runs"))


class _Provider:
    """What a provider reports of a prompt: its tokens by the real meter, and how many of them its cache has seen.

    The cache holds the beginnings of the prompts before, in whole messages and in steps, from so many tokens on as the
    catalogue says of the model.
    """

    def __init__(self, model: str, tools: list[dict[str, Any]] | None = None) -> None:
        from brim.meter import catalogue, meter

        self._meter = meter(model)
        self._tools = tools
        self._units: dict[str, int] = {}
        self._seen: list[list[str]] = []
        known = catalogue.find(model).cache
        self._minimum = known.minimum if known is not None and known.minimum is not None else _STEP

    def usage(self, messages: list[Any], answer: str) -> dict[str, Any]:
        """Return what it reports, and hold the prompt."""
        written = [json.dumps(message, sort_keys=True) for message in messages]
        for text, message in zip(written, messages, strict=True):
            if text not in self._units:
                self._units[text] = self._meter.count_messages([message]) - self._meter.count_messages([])
        same = max((_same(written, seen) for seen in self._seen[-_HELD:]), default=0)
        self._seen.append(written)
        beside = self._meter.count_messages(messages[:1], tools=self._tools) - self._units[written[0]]
        found = beside + sum(self._units[text] for text in written[:same])
        kept = found // _STEP * _STEP if same and found >= self._minimum else 0
        return {
            "input_tokens": beside + sum(self._units[text] for text in written),
            "input_tokens_details": {"cached_tokens": kept},
            "output_tokens": self._meter.count(answer),
        }


def _same(one: list[str], other: list[str]) -> int:
    """Return how many messages two prompts begin with alike."""
    return next(
        (i for i, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), len(one[: len(other)])
    )


def _session(store: Any, clock: _Clock) -> None:
    """Record a conversation of an afternoon: it warns, is compacted twice, and one result is cut."""
    from brim.meter.window import Window
    from brim.sessions import Session

    window = Window(32_000, reserve=2_000, cap=0.20, warn=0.15)
    session = Session(window, model=_MODEL, store=store, id="orders-incident", clock=clock, capture=True)
    provider = _Provider(_MODEL, _TOOLS)
    for i in range(34):
        question, call, result, answer = turn(i)
        session.add(question)
        _asked(session, provider, json.dumps(call["tool_calls"]))
        session.add([call, result])
        _asked(session, provider, answer["content"])
        session.add(answer)
    session.add(
        {"role": "user", "content": "Write the summary for the morning: what we know, what we decided, what is open."}
    )
    _asked(session, provider, "We know that retries made it worse. We decided to slow the callers down.")


def _asked(session: Any, provider: _Provider, answer: str) -> None:
    """Make a prompt, and report what the provider counted."""
    memory = ["The on-call rota changes at 18:00.", "Nadia owns payments; ask her before anything is restarted there."]
    fitted = session.prompt(system=_SYSTEM, tools=_TOOLS, memory=memory)
    session.record_usage(provider.usage(fitted.messages, answer))


def turn(i: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a question, a call, its result and the answer."""
    chance = random.Random(i)
    service = _SERVICES[i % len(_SERVICES)]
    finding = _FINDINGS[i % len(_FINDINGS)].format(service=service, number=4_000 + 7 * i)
    call = {
        "id": f"call-{i}",
        "type": "function",
        "function": {"name": "read_log", "arguments": f'{{"what": "{service}"}}'},
    }
    lines = 600 if i == 9 else chance.randint(8, 26)
    log = "\n".join(_line(chance, service, n) for n in range(lines))
    asked = (
        f"What does {service} say?",
        f"Is {service} part of it?",
        f"Look at {service} again, its error rate moved.",
        f"Before we go on: could {service} be the cause rather than the victim?",
    )
    return (
        {"role": "user", "content": asked[i % len(asked)]},
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


def _loop(store: Any, clock: _Clock) -> None:
    """Record a loop whose iterations go on in fresh contexts."""
    from brim.meter.window import Window
    from brim.sessions.loop import Loop, Step

    done = 0
    provider = _Provider(_MODEL)

    def act(tick: Any) -> Any:
        nonlocal done
        chance = random.Random(1_000 + done)
        done += 1
        text = " ".join(_line(chance, _SERVICES[done % 6], n) for n in range(9))
        said = {"role": "assistant", "content": f"Batch {done}: I checked the orders of this minute. {text}"}
        usage = provider.usage(list(tick.messages), said["content"])
        if done >= 24:
            return Step(messages=[said], end="goal", result={"batch": done, "wrong": 0}, usage=usage)
        end = "iteration" if done % 6 == 0 else "continue"
        return Step(messages=[said], end=end, result={"batch": done, "wrong": done % 3}, usage=usage)

    goal = "Go through the orders of the incident, minute by minute, and list those that were charged twice."
    window = Window(16_000)
    Loop(goal, act, window=window, model=_MODEL, store=store, id="orders-recount", tick_cap=0.12, clock=clock).run()


def _gateway(store: Any) -> None:
    """Write what a gateway wrote to its store when it was recorded."""
    from brim.store import META

    told = json.loads(files("brim.studio").joinpath("demo_gateway.json").read_text("utf-8"))
    for name, prompts in told["talks"].items():
        for body in prompts:
            store.append(name, [("prompt", body), (META, {"kind": "gateway", "status": body})])
    store.save("gateway-traffic", told["traffic"]["address"], told["traffic"], version=0)


def _flows(folder: str) -> None:
    """Write the settings and the flows, and run one of them with answers from here."""
    from brim.flows.run import run_flow
    from brim.settings import load_config
    from brim.testing import Scripted

    os.makedirs(os.path.join(folder, "flows"), exist_ok=True)
    for name, text in (("brim.yaml", _YAML), ("flows/build.yaml", _BUILD), ("flows/deploy.yaml", _DEPLOY)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    answers = list(_answers())
    clock = _Clock(_START)
    base = os.path.join(folder, "runs")
    run_flow(load_config(folder), "build", Scripted(answers), run_base=base, clock=clock)
    run_flow(load_config(folder), "deploy", Scripted(answers[:2]), run_base=base, clock=clock)


def _answers() -> Iterator[str]:
    for i, name in enumerate(("load", "plan", "code", "test", "review")):
        chance = random.Random(50 + i)
        points = [_FINDINGS[n % 6].format(service=_SERVICES[n % 6], number=4_000 + n) for n in range(30 + 30 * i)]
        lines = [f"- {point} Seen {chance.randint(2, 400)} times." for point in points]
        yield f"# {name}\n\n" + "\n".join(lines)
