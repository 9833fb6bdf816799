"""Conversations with a simulated provider that reports what it counts: no prompt is over its window.

A case comes from a seed: a door of brim, a world of ratios by kind of text, what the conversation is about at first and
later, reports that are missing, restarts, and a second provider behind the same name. Reports begin low: the first
texts have the lowest ratios, and later ones count as much as brim's bound allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import brim
from simulated_provider import LOWEST, ROWS, Provider, text

LENGTHS = (0.1, 0.2, 0.3, 0.3, 0.6, 1.2)
"""Characters of a turn, as shares of the tokens of the window."""
KNOWN = ("claude-sonnet-4-5",)
MODELS = {"claude-sonnet-4-5": 1.0, "a-model-that-nobody-knows": 0.7}
"""The models, with the ratio of a provider of that name to one that counts as much as the bound for Claude."""


class Sent(NamedTuple):
    """One prompt."""

    size: int
    """Its tokens by the provider's count."""
    used: int
    """Its tokens by brim's count."""
    cut: bool


class Counts:
    """What a provider counts, and what it reports."""

    def __init__(self, provider: Provider, *, reports: bool) -> None:
        self.provider, self.reports, self.sizes = provider, reports, list[int]()

    def __call__(self, messages: list[Any]) -> int | None:
        """Count a prompt, and return the report if there is one."""
        self.sizes.append(self.provider.size(messages))
        return self.sizes[-1] if self.reports else None


Report = Callable[[list[Any]], int | None]
"""Counts a prompt as the provider does, and returns what it reports."""
Door = Callable[[list[Any], Report], tuple[int, bool]]
"""Sends a history, and returns its tokens by brim's count and whether it was cut."""


def by_session(model: str, window: int, store: str | None) -> Door:
    """Return the door of `brim.Session`; with a store, each request opens the session again."""
    named = {"model": model} if model in KNOWN else {"meter": "other"}
    kept, done = brim.Session(window, **named), 0

    def send(history: list[Any], report: Report) -> tuple[int, bool]:
        nonlocal done
        session = brim.Session.open("a", store=store, create=True, window=window, **named) if store else kept
        session.add(history[done:])
        done = len(history)
        fitted = session.prompt()
        if (size := report(fitted.messages)) is not None:
            session.record_usage(input_tokens=size)
        return fitted.used, bool(fitted.receipt.losses)

    return send


def by_conversations(model: str, window: int, store: str | None, *, log: bool = True) -> Door:
    """Return the door of `brim.Conversations`; with a store, requests alternate between two processes that restart."""
    engines: list[brim.Conversations] = []

    def send(history: list[Any], report: Report) -> tuple[int, bool]:
        engines.append(brim.Conversations(window, log=log, store=store))
        engine = engines[0 if store is None else max(0, len(engines) - (1 if len(engines) % 5 < 2 else 3))]
        made = engine.request(history, model=model)
        if (size := report(made.messages)) is not None:
            made.answered({"prompt_tokens": size, "completion_tokens": 1})
        return made.used or 0, made.changed

    return send


def by_wrap(model: str, window: int, store: str | None) -> Door:
    """Return the door of `brim.wrap` around the client of OpenAI."""
    import httpx2 as httpx
    from openai import OpenAI

    counts: list[Report] = []

    def answer(request: httpx.Request) -> httpx.Response:
        size = counts[-1](json.loads(request.content)["messages"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
        usage = {} if size is None else {"usage": {"prompt_tokens": size, "completion_tokens": 1, "total_tokens": size}}
        return httpx.Response(200, json=body | usage)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    client = brim.wrap(OpenAI(api_key="x", base_url="http://a", http_client=http), window, store=store)

    def send(history: list[Any], report: Report) -> tuple[int, bool]:
        counts.append(report)
        client.chat.completions.create(model=model, messages=history)
        assert client.brim.last is not None
        return client.brim.last.used or 0, client.brim.last.changed

    return send


DOORS: dict[str, Callable[[str, int, str | None], Door]] = {
    "session": by_session,
    "conversations": by_conversations,
    "conversations without a log": partial(by_conversations, log=False),
    "wrap": by_wrap,
}


def turn(dice: Random, kind: str, length: int, number: int) -> list[Any]:
    """Return what a conversation says about one kind of text: questions and answers, or a call and its result."""
    said = text(dice, kind, length)
    if dice.random() < 0.5:
        call = {"name": "read", "arguments": json.dumps({"part": number})}
        return [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": said},
        ]
    return [{"role": "assistant", "content": said}, {"role": "user", "content": "Go on, please."}]


class Case(NamedTuple):
    """A conversation in one world."""

    door: str
    model: str
    window: int
    providers: list[Provider]
    begin: list[str]
    """The kinds of text at the start of the conversation."""
    restarts: bool
    unreported: float
    """The share of answers without a report."""

    @classmethod
    def of(cls, seed: int) -> Case:
        """Return the case of a seed."""
        dice = Random(seed)
        begin = dice.sample(sorted(ROWS), dice.choice([1, 1, 2, 3]))
        model = dice.choice([*MODELS, "claude-sonnet-4-5"])
        low = {kind: LOWEST[kind] if kind in begin else dice.choice([1.0, 1.0, LOWEST[kind]]) for kind in ROWS}
        scaled = {kind: ratio * MODELS[model] for kind, ratio in low.items()}
        window = dice.randint(2_500, 12_000)
        one = Provider(window, scaled)
        other = Provider(window, dict.fromkeys(ROWS, 1.0) if model.startswith("claude") else scaled)
        providers = [one, other] if dice.random() < 0.25 else [one]
        restarts = dice.random() < 0.25
        return cls(dice.choice(sorted(DOORS)), model, window, providers, begin, restarts, dice.choice([0.0, 0.0, 0.3]))

    def run(self, seed: int, requests: int = 25) -> list[Sent]:
        """Return what is sent."""
        dice, sent = Random(seed + 1), list[Sent]()
        history = [
            {"role": "system", "content": "You are a careful engineer."},
            {"role": "user", "content": "Find out why the build fails."},
        ]
        with TemporaryDirectory() as folder:
            store = f"sqlite:///{Path(folder) / 'a.db'}" if self.restarts else None
            send = DOORS[self.door](self.model, self.window, store)
            turns = dice.randint(8, 20)
            """The turns of the first part, which fill the window once or twice."""
            for number in range(requests):
                kinds = self.begin if number < turns else sorted(ROWS)
                length = int(self.window * dice.choice(LENGTHS))
                history += turn(dice, dice.choice(kinds), length, number)
                provider = self.providers[number % len(self.providers)]
                counts = Counts(provider, reports=dice.random() >= self.unreported)
                used, cut = send(history, counts)
                sent.append(Sent(counts.sizes[0], used, cut))
        return sent


def check(seed: int) -> str:
    """Return the door of a seed's conversation; raise if a prompt is over the window by the provider's count."""
    case = Case.of(seed)
    over = [(at, each) for at, each in enumerate(case.run(seed)) if each.size > case.window]
    assert not over, (case, over)
    return case.door
