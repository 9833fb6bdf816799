"""Generated histories that the provider has compacted, and an upstream that reads them by the published rules.

The rules are written down here a second time, on the raw JSON: Anthropic ignores every block before the last compaction
with content; OpenAI reads on from the last compaction item, or the window of `/responses/compact` as it was returned.
Deferred tools count once a `tool_reference` names them (Anthropic), or by name and description (OpenAI).
"""

from __future__ import annotations

import json
import random
from typing import Any

import brim
from brim.history.history import History

FORMATS = ("anthropic", "responses", "openai", "gemini", "bedrock")
_MODELS = {"anthropic": "claude-sonnet-5", "bedrock": "claude-sonnet-5", "gemini": "gemini-2.5-pro"}
_SENTENCE = "the agent reads a file and finds 42 errors in src/app.py line by line then writes port=8443 again"
_WORDS = _SENTENCE.split()
WITHIN = 0.04
"""The most by which our count of what the provider reads may differ from the upstream's."""


def check(seed: int) -> str:
    """Fit a generated history at several budgets, whole and grown; return how it ended."""
    case = Case(seed)
    whole = brim.fit_messages(case.messages, 10_000_000, meter="o200k_base", format=case.format, tools=case.tools)
    reads = case.read()
    assert whole.messages == reads, "what the provider reads is sent as it came, and nothing else"
    expected = case.count(reads)
    assert abs(whole.used - expected) <= WITHIN * expected, f"{whole.used} instead of {expected}"
    ended = "whole"
    for share in (0.9, 0.5, 0.2):
        budget = int(whole.used * share)
        try:
            fitted = brim.fit_messages(case.messages, budget, meter="o200k_base", format=case.format, tools=case.tools)
        except brim.DoesNotFit:
            ended = "does not fit"
            continue
        case.check_kept(fitted.messages)
        assert fitted.used <= budget
    case.check_grown(int(whole.used * 0.6))
    return ended


class Case:
    """One history, by its seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.format: Any = self._random.choice(FORMATS)
        self.blocks: list[Any] = []
        """The compactions that count, as they stand in the history; only the last of them is read."""
        self.messages: list[Any] = []
        self.tools = self._tools() if self._random.random() < 0.5 else None
        self._calls = 0
        for turn in range(self._random.randint(2, 14)):
            self._turn(first=turn == 0)
        self._say()

    def read(self) -> list[Any]:
        """Return the messages that the upstream reads, by the published rules."""
        if not self.blocks:
            return self.messages
        block = self.blocks[-1]
        at = next(i for i, raw in enumerate(self.messages) if _holds(raw, block))
        system = 1 if self.messages[0].get("role") in ("system", "developer") else 0
        before = self.messages[system:at]
        if self.format == "responses" and all(raw.get("role") == "user" for raw in before):
            return self.messages
        start = at
        if self.format == "responses":
            while start > system and self.messages[start - 1].get("type") in ("function_call", "reasoning"):
                start -= 1
            calls = {raw.get("call_id") for raw in self.messages[start:at]} - {None}
            later = {raw.get("call_id") for raw in self.messages[at:] if raw.get("type") == "function_call_output"}
            start = start if calls & later else at
        return [*self.messages[:system], *self.messages[start:]]

    def count(self, messages: list[Any]) -> int:
        """Return the tokens that the upstream reports for what it reads."""
        meter, tokens = brim.meter("o200k_base"), 0
        named = {name for raw in messages for name in _references(raw)}
        for raw in messages:
            tokens += 3
            for block in _blocks(raw, self.blocks[-1] if self.blocks else None):
                kind = block.get("type") if isinstance(block, dict) else None
                if kind in ("compaction", "compaction_summary") and "content" not in block:
                    tokens += len(block.get("encrypted_content") or "") // 3
                elif kind == "compaction":
                    tokens += meter.count(block["content"] or "")
                else:
                    tokens += meter.count(_text(block))
        shown = [_eager(tool, named, self.format) for tool in self.tools or ()]
        return tokens + meter.count_messages([], [tool for tool in shown if tool], format=self.format)

    def check_kept(self, sent: list[Any]) -> None:
        """Check that the newest compaction is sent as it came, in its place, and nothing that it stands for."""
        places = [i for block in self.blocks for i, raw in enumerate(sent) if _holds(raw, block)]
        assert len(places) == min(1, len(self.blocks)), "the block is lost, or an old one is sent"
        reads = self.read()
        known = {id(raw): at for at, raw in enumerate(reads)}
        order = [known[id(raw)] for raw in sent if id(raw) in known]
        assert order == sorted(order)
        if self.blocks:
            assert _holds(sent[places[0]], self.blocks[-1]), "an old block is sent"
            gone = [raw for raw in self.messages if id(raw) not in known]
            assert not any(raw is old for raw in sent for old in gone), "what was compacted is sent"
            at = next(i for i, raw in enumerate(reads) if _holds(raw, self.blocks[-1]))
            before = {id(raw) for raw in reads[:at]}
            assert all(id(raw) not in before for raw in sent[places[0] :]), "the block has moved"
        calls = {raw.get("call_id") for raw in sent if raw.get("type") == "function_call"}
        answers = {raw.get("call_id") for raw in sent if raw.get("type") == "function_call_output"}
        assert calls == answers

    def check_grown(self, budget: int) -> None:
        """Check the same of a history that grows message by message, with its cut held."""
        history = History(meter="o200k_base", format=self.format, stable=True)
        for raw in self.messages:
            history.extend([raw])
        try:
            fitted = history.fit(budget, tools=self.tools)
            history.extend(last := [self._user()])
            again = history.fit(budget + 200, tools=self.tools)
        except brim.DoesNotFit:
            return
        self.check_kept(fitted.messages)
        self.messages += last
        self.check_kept(again.messages)
        assert again.used <= budget + 200

    # What a history is made of.

    def _words(self, most: int = 120) -> str:
        return " ".join(self._random.choices(_WORDS, k=self._random.randint(3, most)))

    def _user(self) -> Any:
        if self.format in ("gemini", "bedrock"):
            return {"role": "user", "parts" if self.format == "gemini" else "content": [{"text": self._words()}]}
        return {"role": "user", "content": self._words()}

    def _say(self) -> None:
        self.messages.append(self._user())

    def _turn(self, *, first: bool) -> None:
        """Add what a user says, what the model does, and now and then a compaction."""
        if first and self.format in ("responses", "openai") and self._random.random() < 0.5:
            self.messages.append({"role": "system", "content": self._words(30)})
        self._say()
        write = {"anthropic": self._anthropic, "responses": self._responses}.get(self.format, self._plain)
        write()

    def _plain(self) -> None:
        text = self._words()
        answer = {
            "openai": {"role": "assistant", "content": text},
            "gemini": {"role": "model", "parts": [{"text": text}]},
            "bedrock": {"role": "assistant", "content": [{"text": text}]},
        }
        self.messages.append(answer[self.format])

    def _anthropic(self) -> None:
        blocks: list[Any] = []
        chance = self._random.random()
        if chance < 0.15:
            block = {"type": "compaction", "content": self._words(300), "signature": "s" * 300}
            if self._random.random() < 0.5:
                block["encrypted_content"] = "e" * 800
            if self._random.random() < 0.3:
                blocks.append({"type": "text", "text": self._words()})
            blocks.append(block)
            self.blocks.append(block)
        elif chance < 0.2:
            blocks.append({"type": "compaction", "content": None})
        if self._random.random() < 0.2 and self.tools:
            name = self._random.choice([tool["name"] for tool in self.tools])
            found = [{"type": "tool_reference", "tool_name": name}]
            result = {"type": "tool_search_tool_search_result", "tool_references": found}
            blocks.append({"type": "server_tool_use", "id": "s1", "name": "tool_search", "input": {}})
            blocks.append({"type": "tool_search_tool_result", "tool_use_id": "s1", "content": result})
        blocks.append({"type": "text", "text": self._words()})
        if self._random.random() < 0.5:
            self._calls += 1
            call = {"type": "tool_use", "id": f"t{self._calls}", "name": "read", "input": {"path": self._words(5)}}
            self.messages.append({"role": "assistant", "content": [*blocks, call]})
            output = {"type": "tool_result", "tool_use_id": call["id"], "content": self._words(400)}
            self.messages.append({"role": "user", "content": [output]})
            blocks = [{"type": "text", "text": self._words()}]
        self.messages.append({"role": "assistant", "content": blocks})

    def _responses(self) -> None:
        chance = self._random.random()
        item = {"type": "compaction", "id": f"cmp_{len(self.blocks)}", "encrypted_content": "Zm9v" * 200}
        if self._random.random() < 0.2:
            item["type"] = "compaction_summary"
        if chance < 0.12:
            self._add_item(item)
        if self._random.random() < 0.5:
            self._calls += 1
            call = {"type": "function_call", "call_id": f"c{self._calls}", "name": "read", "arguments": "{}"}
            self.messages.append(call)
            if chance > 0.95:  # It was compacted before the result came.
                self._add_item(item)
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": self._words(400)}
            self.messages.append(output)
        self.messages.append({"type": "message", "role": "assistant", "content": self._words()})

    def _add_item(self, item: Any) -> None:
        self.blocks.append(item)
        self.messages.append(item)

    def _tools(self) -> list[Any]:
        tools = []
        for at in range(self._random.randint(1, 12)):
            schema = {"type": "object", "properties": {"path": {"type": "string", "description": self._words(20)}}}
            tool = {"name": f"tool_{at}", "description": self._words(20)}
            if self.format in ("openai", "responses"):
                tool |= {"type": "function", "parameters": schema}
            elif self.format == "gemini":
                tool = {"functionDeclarations": [{**tool, "parameters": schema}]}
            else:
                tool |= {"input_schema": schema}
            if at and self._random.random() < 0.6 and self.format in ("anthropic", "responses"):
                tool["defer_loading"] = True
            tools.append(tool)
        return tools


def _holds(raw: Any, block: Any) -> bool:
    """Return whether a message is a compaction, or has it among its blocks."""
    content = raw.get("content") if isinstance(raw, dict) else None
    return raw is block or (isinstance(content, list) and any(each is block for each in content))


def _blocks(raw: Any, newest: Any) -> list[Any]:
    """Return the parts of a message that the upstream reads."""
    content = raw.get("content", raw.get("parts"))
    if not isinstance(content, list):
        return [raw]
    at = next((i for i, block in enumerate(content) if block is newest), 0)
    return content[at:]


def _references(raw: Any) -> list[str]:
    """Return the tools that a message loads."""
    if isinstance(raw, dict):
        own = [raw["tool_name"]] if raw.get("type") == "tool_reference" else []
        return own + [name for each in raw.values() for name in _references(each)]
    return [name for each in raw for name in _references(each)] if isinstance(raw, list) else []


def _text(block: Any) -> str:
    """Return the text of a part as the upstream shows it."""
    kind = block.get("type")
    for key in ("text", "output", "arguments"):
        if isinstance(block.get(key), str):
            return f"{block.get('name', '')} {block[key]}".strip()
    if kind == "tool_use":
        return f"{block['name']} {json.dumps(block['input'], separators=(',', ':'))}"
    if isinstance(block.get("content"), str):
        return str(block["content"])
    return json.dumps(block, separators=(",", ":"))


def _eager(tool: Any, named: set[str], format: str) -> Any:
    """Return a tool as the upstream shows it to the model, without the mark that defers it."""
    bare = {key: value for key, value in tool.items() if key != "defer_loading"}
    if not tool.get("defer_loading") or tool["name"] in named:
        return bare
    if format == "responses":
        return {key: value for key, value in bare.items() if key != "parameters"}
    return None
