"""Prints what `fit_request` does on recorded conversations: the fill of chats over documents, the cost, the tools kept.

Usage: python scripts/request_figures.py FOLDER [QUESTIONS [DEFINITIONS]]

FOLDER has the files that `bench` reads too: `locomo_dev`, `swe_coding_tools`, `tau_airline` and `tau_retail`. The
recordings have no tool definitions: each tool has the name and the arguments that were called. DEFINITIONS is a folder
of other tools to choose among: JSON lines, each with a list `function`.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

import toktok

import brim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers

_BUDGETS = (2_000, 4_000, 8_000)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as opened:
        yield from map(json.loads, opened)


def chats(path: Path, most: int) -> Iterator[dict[str, Any]]:
    """Yield the arguments of chats over documents: the last session is the chat, those before are the documents."""
    for record in lines(path):
        sessions: dict[Any, list[Any]] = {}
        for turn in record["turns"]:
            sessions.setdefault(turn["session"], []).append(turn)
        *older, last = sessions.values()
        chunks = [
            "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in session[at : at + 6])
            for session in older
            for at in range(0, len(session), 6)
        ]
        roles = dict(zip(record["speakers"], ("user", "assistant"), strict=False))
        messages = [{"role": roles.get(turn["speaker"], "user"), "content": turn["text"]} for turn in last]
        for asked in record["qa"][:most]:
            words = set(str(asked["question"]).lower().split())
            scores = [len(words & set(chunk.lower().split())) for chunk in chunks]
            yield {
                "system": [brim.Section("rules", "Answer from the documents. Be brief.", priority="required")],
                "messages": messages,
                "user": [
                    brim.Section("documents", chunks, keep="best", scores=scores, floor="20%"),
                    brim.Section("question", str(asked["question"]), priority="required"),
                ],
            }


def fill(path: Path, most: int) -> None:
    """Print how full the budgets of chats over documents are."""
    for budget in _BUDGETS:
        shares = []
        for given in chats(path, most):
            request = brim.fit_request(**given, budget=budget, model="gpt-5")
            assert request.used <= budget
            if request.receipt.truncated:
                shares.append(request.used / budget)
        print(
            f"fill at {budget:,}: mean {mean(shares):.3f}, least {min(shares):.3f}, {len(shares)} requests", flush=True
        )


def cost(chat: dict[str, Any], recorded: list[dict[str, Any]]) -> None:
    """Print what a fit with one more message costs beside one pass of a tokenizer over all texts."""
    count = peers.tiktoken_count()
    for name, messages in (("short chat", chat["messages"]), ("long run", recorded)):
        texts = [*chat["user"][0].content, *(str(message.get("content") or "") for message in messages)]
        history = brim.History(model="gpt-5")
        history.extend(messages[:-9])
        grown, again = list[float](), list[float]()
        for message in messages[-9:]:
            history.extend([message])
            for times in (grown, again):
                began = time.process_time()
                brim.fit_request(**{**chat, "messages": history}, budget=8_000, model="gpt-5")
                times.append(time.process_time() - began)
        began = time.process_time()
        counted = [count(text) for text in texts]
        between = time.process_time()
        assert counted == toktok.batch_count(texts, "o200k_base", 1)
        passes = {"tiktoken": 1e3 * (between - began), "toktok": 1e3 * (time.process_time() - between)}
        one, same = 1e3 * median(grown[1:]), 1e3 * median(again)
        told = f"a fit with one more message {one:.1f} ms, the same again {same:.1f} ms"
        for library, pass_ms in passes.items():
            told += f"; a pass of {library} {pass_ms:.1f} ms: {one / pass_ms:.0%}, {same / pass_ms:.0%}"
        print(f"{name}, {sum(map(len, texts)):,} characters: {told}", flush=True)


def called_tools(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions of the tools that recordings call, with the names and the arguments of the calls."""
    called: dict[str, set[str]] = {}
    for record in records:
        for message in record["messages"]:
            for call in message.get("tool_calls") or ():
                arguments = json.loads(call["function"]["arguments"] or "{}")
                called.setdefault(call["function"]["name"], set()).update(arguments)
    return [
        _tool(name, name.replace("_", " "), {key: {"type": "string"} for key in sorted(keys)})
        for name, keys in sorted(called.items())
    ]


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def other_tools(folder: Path, count: int) -> list[dict[str, Any]]:
    """Return definitions of a collection: files of JSON lines, each with a list `function`."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for each in json.loads(line).get("function") or ():
                found.setdefault(each["name"], {"type": "function", "function": each})
    return Random(5).sample([found[name] for name in sorted(found)], count)


def tools_kept(path: Path, steps_each: int, others: Path | None) -> None:
    """Print how often the tool of the next call is kept: of 300 tools in a budget for 40, or of those recorded.

    The weights were tuned on recordings of even numbers, so those of odd numbers are measured.
    """
    records = list(lines(path))
    tools = called_tools(records)
    shares = [0.75, 0.9]
    if others is not None:
        tools, shares = [*tools, *other_tools(others, 300 - len(tools))], [40 / 300]
        Random(5).shuffle(tools)
    whole = brim.meter("gpt-4o").count_messages([], tools)
    for share in shares:
        hits = total = kept = 0
        for number, record in enumerate(records[1::2]):
            messages = record["messages"]
            at = [i for i, message in enumerate(messages) if message.get("tool_calls") and i > 1]
            for i in Random(number).sample(at, min(steps_each, len(at))):
                request = brim.fit_request(
                    messages=messages[:i],
                    tools=tools,
                    keep_tools="relevant",
                    tools_ceiling=int(whole * share),
                    budget=100_000,
                    model="gpt-4o",
                )
                names = {tool["function"]["name"] for tool in request.tools or ()}
                hits += messages[i]["tool_calls"][0]["function"]["name"] in names
                kept += len(names)
                total += 1
        print(
            f"{path.name}: next tool kept in {hits / total:.3f} of {total} steps,"
            f" {kept / total:.1f} of {len(tools)} tools in {share:.0%} of the tokens of all",
            flush=True,
        )


def main() -> int:
    """Read the arguments and print the figures."""
    if len(sys.argv) < 2:
        sys.exit("usage: python scripts/request_figures.py FOLDER [MOST]: FOLDER has recorded runs as *.jsonl.gz")
    folder, most = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    others = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    fill(folder / "locomo_dev.jsonl.gz", most)
    longest = max(lines(folder / "swe_coding_tools.jsonl.gz"), key=lambda record: len(str(record["messages"])))
    cost(next(chats(folder / "locomo_dev.jsonl.gz", 1)), longest["messages"])
    for name in ("tau_airline", "tau_retail"):
        tools_kept(folder / f"{name}.jsonl.gz", max(1, most // 4), others)
    return 0


if __name__ == "__main__":
    sys.exit(main())
