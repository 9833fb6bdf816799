"""Generated requests with as many tools as agents have, and definitions as long: for the suite.

A case comes from one seed: 10 to 200 tools, a history of an agent, of a chat or of both, and sections with floors and
ceilings.
"""

from __future__ import annotations

import json
import random
from typing import Any

import brim

_VERBS, _NOUNS, _FIELDS, _WORDS = map(
    str.split,
    (
        "get list search create update delete cancel export import merge approve assign",
        "order flight invoice ticket customer report shipment refund policy calendar document deployment",
        "id name date limit region status owner note filter page sort kind",
        "the value of this field is used when a request has been made by an agent for another customer and must not be "
        "empty unless the account was closed before or its region has no rate",
    ),
)
_LINES = (2, 15, 60, 200)
"""Lines of a result."""


def case(seed: int) -> dict[str, Any]:
    """Return the arguments of `brim.fit_request` for a seed."""
    rng = random.Random(f"tools {seed}")
    tools = [tool(rng, i, rng.choice((1, 6, 10))) for i in range(rng.choice((10, 40, 40, 80, 200)))]
    messages = _history(rng, [each["function"]["name"] for each in tools])
    rules = "Follow the policy. " + _text(rng, rng.choice((30, 300)))
    system, user = [brim.Section("rules", rules, priority="required")], []
    if rng.random() < 0.5:
        memory = [f"memory {i}: " + _text(rng, 12) for i in range(60)]
        level = rng.choice(("high", "low"))
        system.append(brim.Section("memory", memory, keep="newest", ceiling="15%", priority=level))
    if rng.random() < 0.5:
        found, floor = [f"[{i}] " + _text(rng, 80) for i in range(60)], rng.choice((0, "20%", 500))
        level = rng.choice(("high", "medium", "low"))
        user.append(brim.Section("documents", found, keep="best", floor=floor, priority=level))
        user.append(brim.Section("question", f"What about the {rng.choice(_NOUNS)}?", priority="required"))
    values = [*tools, *messages, *(section.text for section in (*system, *user))]
    size = sum(brim.meter("gpt-4o").count(json.dumps(value)) for value in values)
    given: dict[str, Any] = {"history_priority": rng.choice(("high", "high", "high", "medium", "low"))}
    if rng.random() < 0.15:
        given["select"] = rng.choice(("relevance", "priority"))
    if rng.random() < 0.1:
        given["excerpts"] = False
    if rng.random() < 0.1:
        given["recent"] = 1_500
    budget = int(size * rng.choice((0.15, 0.3, 0.5, 0.7, 0.9)))
    given |= {"system": system, "messages": messages, "user": user, "tools": tools, "budget": budget}
    return {**given, "keep_tools": "relevant", "model": "gpt-4o"}


def tool(rng: random.Random, number: int, fields: int) -> dict[str, Any]:
    """Return a tool with some described fields."""
    verb, noun = rng.choice(_VERBS), rng.choice(_NOUNS)
    properties = {
        f"{noun}_{name}": {"type": "string", "description": _text(rng, rng.randint(8, 20))}
        for name in rng.sample(_FIELDS, fields)
    }
    function = {
        "name": f"{verb}_{noun}_{number}",
        "description": f"{verb} the {noun}: " + _text(rng, rng.randint(10, 40)),
        "parameters": {"type": "object", "properties": properties},
    }
    return {"type": "function", "function": function}


def called(messages: list[dict[str, Any]]) -> set[str]:
    """Return the names of the tools that messages call."""
    return {call["function"]["name"] for each in messages for call in each.get("tool_calls") or ()}


def _history(rng: random.Random, names: list[str]) -> list[dict[str, Any]]:
    calls = rng.choice((0.0, 0.4, 1.0, 1.0))
    used = rng.sample(names, min(len(names), rng.choice((2, 5, 12))))
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Please {rng.choice(_VERBS)} the {rng.choice(_NOUNS)}, and " + _text(rng, 40)}
    ]
    for i in range(rng.choice((3, 20, 60))):
        if rng.random() < calls:
            messages += _step(rng, used, i)
            continue
        answers = ("Yes.", "And now " + _text(rng, rng.randint(5, 60)), "No: " + _text(rng, 15))
        messages.append({"role": "assistant", "content": "I think " + _text(rng, rng.randint(10, 120))})
        messages.append({"role": "user", "content": rng.choice(answers)})
    return messages


def _step(rng: random.Random, used: list[str], number: int) -> list[dict[str, Any]]:
    made = [
        {
            "id": f"c{number}_{k}",
            "type": "function",
            "function": {"name": rng.choice(used), "arguments": json.dumps({"note": _text(rng, rng.randint(2, 20))})},
        }
        for k in range(rng.choice((1, 1, 1, 2)))
    ]
    said = rng.choice((None, "Next I look at " + _text(rng, 12)))
    results = [
        {"role": "tool", "tool_call_id": each["id"], "content": "\n".join(_rows(rng, rng.choice(_LINES)))}
        for each in made
    ]
    return [{"role": "assistant", "content": said, "tool_calls": made}, *results]


def _rows(rng: random.Random, number: int) -> list[str]:
    return [f"{k}: {_text(rng, 8)} {rng.randrange(10**6)}" for k in range(number)]


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))
