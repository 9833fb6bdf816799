"""Whether exact values of the past are in the prompt: keys, routes, tool outputs, corrections and checkpoints.

The fixtures are those of the repository algal/pi-openai-server-compaction (MIT), which its author asked the provider's
own compaction and a text summary about. They are not part of this project: `--traces` names the folder that has them,
any `fixtures.json` below it. A value is kept if the prompt has it to the last character. No model is called.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import brim
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.history.history import History

BUDGETS = {42_691: 0.75, 32_969: 0.62}
"""Tokens that the model read after the provider's own compaction, and after a text summary, with what must be kept."""
PUBLISHED = {42_691: "the provider's own compaction: 0.780", 32_969: "a text summary: 0.480"}
_MODEL = "gpt-5"

Fixture = dict[str, Any]


def run(setting: Setting) -> Outcome:
    given = sorted(setting.traces.rglob("fixtures.json")) if setting.traces else []
    fixtures = [each for path in given for each in json.loads(path.read_text(encoding="utf-8"))]
    fixtures = [each for each in fixtures if len(each.get("questions", ())) and "messages" in each]
    if not fixtures:
        note = "Not run: --traces must name a folder with the fixtures of algal/pi-openai-server-compaction."
        return Outcome(name="values", tables=[Table(title="Exact values", columns=["case"], rows=[], notes=[note])])
    rows, gates = list[list[Cell]](), list[Gate]()
    for budget, least in BUDGETS.items():
        shares = {}
        for way, fitted in (("held and grown", grown), ("all at once", at_once), ("newest messages", newest)):
            kept, asked = Counter[str](), Counter[str]()
            for fixture in fixtures:
                text = fitted(chat(fixture["messages"]), budget)
                asked.update(each["category"] for each in fixture["questions"])
                kept.update(each["category"] for each in fixture["questions"] if each["expected"] in text)
            shares[way] = kept.total() / asked.total()
            rows.append([f"{budget:,}, {way}", shares[way], *(kept[name] / asked[name] for name in sorted(asked))])
        name = f"values: {budget:,} tokens, held"
        gates.append(Gate(name=name, value=shares["held and grown"], limit=least, unit="of the values", at_least=True))
    columns = ["budget", "kept", *sorted({each["category"] for each in fixtures[0]["questions"]})]
    notes = [f"Published for {budget:,}: {told} of 600 questions." for budget, told in PUBLISHED.items()]
    return Outcome(
        name="values", tables=[Table(title="Exact values", columns=columns, rows=rows, notes=notes)], gates=gates
    )


def chat(messages: list[Any]) -> list[Any]:
    """Return the messages of a fixture, which are pi's, as those of Chat Completions."""
    return [*_chat(messages)]


def _chat(messages: list[Any]) -> Iterator[Any]:
    for raw in messages:
        content = raw["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [_call(block) for block in blocks if block["type"] == "toolCall"]
        if raw["role"] == "toolResult":
            yield {"role": "tool", "tool_call_id": raw["toolCallId"], "content": text}
        elif calls:
            yield {"role": "assistant", "content": text or None, "tool_calls": calls}
        else:
            yield {"role": raw["role"], "content": text}


def _call(block: Any) -> Any:
    function = {"name": block["name"], "arguments": json.dumps(block["arguments"])}
    return {"id": block["id"], "type": "function", "function": function}


def grown(messages: list[Any], budget: int) -> str:
    """Return the last prompt of a history that was fitted before each answer of the model, its cut held."""
    history = History(model=_MODEL, stable=True)
    for at, raw in enumerate(messages):
        history.extend([raw])
        if raw["role"] != "assistant" and messages[at + 1 : at + 2] and messages[at + 1]["role"] == "assistant":
            history.fit(budget)
    return history.fit(budget).text


def at_once(messages: list[Any], budget: int) -> str:
    """Return the prompt of the whole history."""
    return brim.fit_messages(messages, budget, model=_MODEL).text


def newest(messages: list[Any], budget: int) -> str:
    """Return the newest messages that have room."""
    meter, kept = brim.meter(_MODEL), list[Any]()
    for raw in reversed(messages):
        if meter.count_messages([raw, *kept]) > budget:
            break
        kept.insert(0, raw)
    return "\n".join(str(raw["content"]) for raw in kept)
