"""Prints what `fit_request` does on recorded conversations: the fill of chats over documents, the cost, the tools kept.

Usage: python scripts/request_figures.py FOLDER [QUESTIONS [DEFINITIONS]]

FOLDER has the files that `bench` reads too: `locomo_dev`, `swe_coding_tools`, `tau_airline` and `tau_retail`. The
recordings have no tool definitions: each tool has the name and the arguments that were called. DEFINITIONS is a folder
of other tools to choose among: JSON lines, each with a list `function`.
"""

from __future__ import annotations

import copy
import gc
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

import toktok

import brim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peers

_BUDGETS = (2_000, 4_000, 8_000)
_ROUNDS = 5
"""How often the cost is measured."""


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


def cost(documents: list[dict[str, Any]], recorded: list[list[dict[str, Any]]]) -> None:
    """Print the warm cost of `fit_request` beside a tokenisation pass: chats over documents, then long runs over them.

    Warm: all but the newest message was fitted before. The message is added and the request fitted, as a program does
    before each call; then the same request is fitted again. A pass encodes every text of the same request. Times are
    CPU times of this process with the garbage collector off, in both arms the least of some rounds. In each round every
    text is another one, so that nothing is known from the round before.
    """
    gc.disable()
    chats = [given["messages"] for given in documents]
    for name, runs in (("chats", chats), ("long runs", recorded)):
        measured = [_warm(given, messages) for given, messages in zip(documents, runs, strict=True)]
        grown, again, tiktoken, toktok = (1e3 * median(times) for times in zip(*measured, strict=True))
        told = f"one more message {grown:.2f} ms, the same again {again:.2f} ms"
        for library, at in (("tiktoken", 2), ("toktok", 3)):
            shares = [[row[which] / row[at] for row in measured] for which in (0, 1)]
            told += f"; of a pass of {library}" + " and".join(
                f" {median(share):.1%} ({min(share):.1%} to {max(share):.1%})" for share in shares
            )
        print(f"{name}, {len(measured)}: {told}; a pass {tiktoken:.1f} and {toktok:.1f} ms", flush=True)
    gc.enable()


def _warm(given: dict[str, Any], recorded: list[dict[str, Any]]) -> tuple[float, ...]:
    """Return the CPU seconds of a fit with one more message, of the same fit again, and of two tokenizers' passes.

    Of each of the last nine messages the least of the rounds counts; the median of the nine is returned.
    """
    rounds = [_round(*_reworded(given, recorded, number)) for number in range(_ROUNDS)]
    grown, again, tiktoken, toktok = (
        [min(times) for times in zip(*arm, strict=True)] for arm in zip(*rounds, strict=True)
    )
    return median(grown), median(again), min(tiktoken), min(toktok)


def _round(given: dict[str, Any], messages: list[dict[str, Any]]) -> tuple[list[float], ...]:
    texts = [part for section in (*given["system"], *given["user"]) for part in _parts(section.content)]
    texts += [text for message in messages for text in _said(message)]
    count = peers.tiktoken_count()
    assert [count(text) for text in texts] == toktok.batch_count(texts, "o200k_base", 1)
    history = brim.History(model="gpt-5")
    history.extend(messages[:-9])
    gc.collect()

    def fit() -> None:
        brim.fit_request(**{**given, "messages": history}, budget=8_000, model="gpt-5")

    def grow(message: dict[str, Any]) -> None:
        history.extend([message])
        fit()

    fit()
    times = [(_seconds(partial(grow, message)), _seconds(fit)) for message in messages[-9:]]
    passes = [_seconds(lambda: [count(text) for text in texts]) for _ in range(2)]
    others = [_seconds(lambda: toktok.batch_count(texts, "o200k_base", 1)) for _ in range(2)]
    return [grown for grown, _ in times], [again for _, again in times], passes, others


def _reworded(
    given: dict[str, Any], messages: list[dict[str, Any]], number: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return sections and messages with a number after each text."""
    sections = {
        page: [replace(each, content=_numbered(each.content, number)) for each in given[page]]
        for page in ("system", "user")
    }
    told = copy.deepcopy(messages)
    for message in told:
        message["content"] = _numbered(str(message.get("content") or ""), number)
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] += " " * number  # Still JSON.
    return {**given, **sections}, told


def _numbered(content: str | Sequence[str], number: int) -> str | list[str]:
    return f"{content} ({number})" if isinstance(content, str) else [f"{text} ({number})" for text in content]


def _seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def _parts(content: str | Sequence[str]) -> Sequence[str]:
    return [content] if isinstance(content, str) else content


def _said(message: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a message: what was said, and the names and the arguments of its calls."""
    yield str(message.get("content") or "")
    for call in message.get("tool_calls") or ():
        yield from (call["function"]["name"], call["function"]["arguments"])


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

    The constants were chosen on recordings of even numbers, so those of odd numbers are measured.
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
    documents = list(chats(folder / "locomo_dev.jsonl.gz", 1))
    runs = [record["messages"] for record in lines(folder / "swe_coding_tools.jsonl.gz")]
    cost(documents, sorted(runs, key=lambda messages: len(str(messages)))[-len(documents) :])
    for name in ("tau_airline", "tau_retail"):
        tools_kept(folder / f"{name}.jsonl.gz", max(1, most // 4), others)
    return 0


if __name__ == "__main__":
    sys.exit(main())
