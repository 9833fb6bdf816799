"""Generated requests of sections, a history and tools, and the promise checked on each: for the suite and `make prove`.

A case comes from one seed. Sections are those of `promise.py`, histories those of `traffic.py`. The body that comes out
is read and counted here: messages by the tally of `traffic.py`, tools by the rules that providers publish, single texts
by the vocabulary itself. Nothing of it is shared with brim.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import brim
import promise
import traffic
from brim.receipts.receipt import FILLS, POLICIES
from provider_formats import compact

_KINDS = ("all", "all", "all", "all", "sections", "messages", "system and messages", "messages and user")
_TOOL_NAMES = "get find list search create update delete order flight user weather file invoice report"
_TOOL_WORDS = _TOOL_NAMES.split()


@dataclass
class Case:
    """One generated call of `brim.fit_request`."""

    seed: int
    kind: str
    history: traffic.Case
    system: list[brim.Section]
    user: list[brim.Section]
    tools: list[dict[str, Any]] | None
    budget: int
    bigger: int
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int, formats: tuple[str, ...] = traffic.FORMATS) -> Case:
        """Return the case of a seed."""
        rng = random.Random(f"request {seed}")
        kind = rng.choice(_KINDS)
        history = traffic.Case.of(seed, formats)
        names = [f"s{i}" for i in range(rng.choice((1, 2, 3, 4, 6)))]
        sections = [_section(rng, name) for name in names]
        leading = rng.randrange(len(sections) + 1)
        if kind in ("messages", "messages and user"):
            leading = 0
        elif kind == "system and messages":
            leading = len(sections)
        elif kind == "sections":
            leading = rng.choice((0, len(sections)))
        if kind == "messages":
            sections = []
        messages = [] if kind == "sections" else history.messages
        history.messages = messages
        if not messages:
            history.options.pop("pin", None)
        tools = None if rng.random() < 0.4 else _tools(rng, history.given, history.format)
        count = traffic.plain(history.meter)
        size = sum(count(section.text) for section in sections) + sum(count(json.dumps(m)) for m in history.given)
        size += sum(count(json.dumps(tool)) for tool in tools or ())
        budget = int(size * rng.choice((0.1, 0.25, 0.5, 0.75, 1.0, 1.3)) * rng.uniform(0.8, 1.2)) + rng.randrange(60)
        options = {
            "separator": rng.choice(("\n\n", "\n\n", "", "\n---\n")),
            "fill": rng.choice(FILLS),
            "policy": rng.choice((*[POLICIES[0]] * 4, *POLICIES)),
            "history_priority": rng.choice(("high", "medium", "low", rng.randrange(6))),
            "keep_tools": rng.choice(("all", "relevant")),
        }
        if kind in ("messages", "sections"):
            options["keep_tools"] = "all"
        bigger = budget + rng.choice((1, 1, 2, 5, rng.randrange(1, 200)))
        return cls(seed, kind, history, sections[:leading], sections[leading:], tools, budget, bigger, options)

    def fit(self, budget: int | None = None, **extra: Any) -> brim.Request:
        """Run the fit."""
        return brim.fit_request(
            system=self.system,
            messages=self.history.messages,
            user=self.user,
            tools=self.tools,
            budget=self.budget if budget is None else budget,
            meter=self.history.meter,
            format=self.history.format,
            **self.history.options,
            **self.options,
            **extra,
        )

    @property
    def shares(self) -> bool:
        """Whether anything is a share of the budget."""
        amounts = [amount for s in (*self.system, *self.user) for amount in (s.floor, s.ceiling)]
        return any(isinstance(amount, str) for amount in amounts) or self.options["keep_tools"] == "relevant"


def _section(rng: random.Random, name: str) -> brim.Section:
    section = promise._section(rng, name)
    if isinstance(section.content, str) or rng.random() < 0.5:
        return section
    scores = [rng.choice((0, 1, 2.5, -3)) for _ in section.content]
    return brim.Section(
        name,
        section.content,
        priority=section.priority,
        required=section.required,
        floor=section.floor,
        ceiling=section.ceiling,
        keep="best",
        scores=scores,
        ids=[f"id{i}" for i in range(len(scores))],
    )


def _tools(rng: random.Random, messages: list[dict[str, Any]], format: str) -> list[dict[str, Any]]:
    called = {name for m in messages for name in called_in(m)}
    others = {f"{rng.choice(_TOOL_WORDS)}_{rng.choice(_TOOL_WORDS)}_{i}" for i in range(rng.randrange(8))}
    return [_tool(rng, name, format) for name in sorted(called | others)]


def _tool(rng: random.Random, name: str, format: str) -> dict[str, Any]:
    properties = {word: {"type": "string", "description": word * 2} for word in rng.sample(_TOOL_WORDS, 2)}
    schema = {"type": "object", "properties": properties}
    about = " ".join(rng.choices(_TOOL_WORDS, k=rng.randrange(1, 30)))
    if format == "anthropic":
        return {"name": name, "description": about, "input_schema": schema}
    if format == "bedrock":
        return {"toolSpec": {"name": name, "description": about, "inputSchema": {"json": schema}}}
    if format == "gemini":
        return {"functionDeclarations": [{"name": name, "description": about, "parameters": schema}]}
    function = {"name": name, "description": about, "parameters": schema}
    return {"type": "function", **function} if format == "responses" else {"type": "function", "function": function}


def called_in(m: dict[str, Any]) -> list[str]:
    """Return the names of the tools that a message calls."""
    if m.get("type") == "function_call":
        return [m["name"]]
    content = m.get("content")
    blocks = [part["name"] for part in content if part.get("type") == "tool_use"] if isinstance(content, list) else []
    return [call["function"]["name"] for call in m.get("tool_calls") or []] + blocks


def definition(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the name, the description and the schema of a tool, as its format writes them."""
    if "functionDeclarations" in tool:
        (tool,) = tool["functionDeclarations"]
    spec = tool.get("toolSpec")
    if spec is not None:  # The model is shown the schema itself.
        return {**spec, "inputSchema": spec["inputSchema"]["json"]}
    return tool.get("function") or tool


def counted(case: Case, request: brim.Request) -> int:
    """Count a body by means of our own."""
    history = case.history
    tally = traffic.Tally(history.meter, history.format)
    body = request.body
    messages = history.read(next(body[key] for key in ("input", "contents", "messages") if key in body))
    total = sum(map(tally.message, messages)) + tally.reply
    apart = body.get("system") or body.get("instructions") or body.get("systemInstruction")
    if apart:
        parts = apart["parts"] if isinstance(apart, dict) else apart
        text = parts if isinstance(parts, str) else "".join(part["text"] for part in parts)
        total += tally.frame("system") + tally.count(text)
    tools = body.get("tools") or body.get("toolConfig", {}).get("tools")
    maker = traffic.MAKERS.get(history.meter) or _MAKERS[history.format]
    prompt = {"anthropic": 588 if history.meter in traffic.MAKERS else 804}.get(maker, 200)
    if maker == "openai":
        prompt = 12 + (0 if apart or _leads(messages) else 4)
    return total + (prompt + sum(tool_units(definition(tool), maker, tally.count) for tool in tools) if tools else 0)


_MAKERS = {"openai": "openai", "responses": "openai", "anthropic": "anthropic", "bedrock": "anthropic", "gemini": ""}


def tool_units(tool: dict[str, Any], maker: str, count: Any) -> int:
    """Count a tool with flat parameters by OpenAI's cookbook for gpt-4o, or as JSON with what is put around it."""
    if maker != "openai":
        return 12 + count(compact(tool))
    total = 7 + count(f"{tool['name']}:{tool['description'].removesuffix('.')}") + 3
    schema = next(tool[key] for key in ("parameters", "input_schema", "inputSchema") if key in tool)
    for name, row in schema["properties"].items():
        total += 3 + count(f"{name}:{row['type']}:{row['description'].removesuffix('.')}")
    return total


def _leads(messages: list[dict[str, Any]]) -> bool:
    return bool(messages) and messages[0].get("role") in ("system", "developer")


def check(case: Case) -> str:
    """Check every line of the promise on one case; return how the fit ended.

    Raises:
        AssertionError: a line does not hold.
    """
    before = copy.deepcopy(case.history.messages)
    try:
        request = case.fit()
    except brim.DoesNotFit as error:
        refusal = error
    else:
        refusal = None
    if refusal is not None:
        assert refusal.needed > refusal.available, refusal
        promise.check_advice(case.fit, case.budget, refusal)
        _check_alone(case, None)
        return "refused"
    assert case.history.messages == before, "the input was changed"
    used = counted(case, request)
    assert used <= case.budget, f"{used} > {case.budget}"
    assert request.used == used == request.receipt.used, f"said {request.used}, counted {used}"
    _check_legal(case, request)
    _check_accounts(case, request)
    _check_tools(case, request)
    again = case.fit(capture=True)
    assert again.body == request.body, "not the same twice"
    assert replace(again.receipt, captured=False) == request.receipt, "not the same receipt twice"
    replayed = brim.replay(json.loads(again.receipt.to_json()))
    assert replayed.body == request.body, "not the same replayed"
    assert replayed.receipt == again.receipt, "not the same receipt replayed"
    _check_alone(case, request)
    _check_bigger(case, request)
    return "cut" if request.receipt.truncated else "whole"


def _check_legal(case: Case, request: brim.Request) -> None:
    history = case.history
    messages, given = history.read(request.messages), history.given
    assert not traffic.illegal(messages, history.rules), traffic.illegal(messages, history.rules)
    reminded = any(m.get("role") == "system" for m in given)  # The user may follow the reminder.
    if history.rules == "anthropic" and not (history.broken or reminded) and traffic.alternates(given):
        assert traffic.alternates(messages), "two of the user's in a row"
    own = {id(m) for m in history.messages}
    new = [m for raw, m in zip(request.messages, messages, strict=True) if id(raw) not in own]
    texts = [text for m in new if m.get("content") for text in traffic.texts(m)]
    present = [s.name for s in case.user if s.name in request.texts]
    if present:
        asked = case.options["separator"].join(request.texts[name] for name in present)
        assert texts[-1].endswith(asked), "the message of the user is not the last"


def _check_accounts(case: Case, request: brim.Request) -> None:
    receipt = request.receipt
    assert receipt.used == receipt.joins + sum(part.used for part in receipt.parts)
    assert len({part.name for part in receipt.parts}) == len(receipt.parts), "two parts of one name"
    for section in (*case.system, *case.user):
        part, text = receipt.part(section.name), request.texts.get(section.name, "")
        assert bool(text) == part.present
        assert part.used == brim.meter(case.history.meter).count(text)
        assert part.ceiling is None or part.used <= part.ceiling
        assert not section.required or text or not section.text or not section.enabled
        if not isinstance(section.content, str):
            assert len(part.entries) == len(section.content)
            whole = {entry.index for entry in part.entries if entry.state == "whole"}
            assert all(section.content[i] in text for i in whole)
            assert [kept.id for kept in part.kept] == [
                (section.ids or {}) and section.ids[k.index] for k in part.kept
            ] or (section.ids is None)
            if part.state == "whole" and section.most is None:
                assert len(whole) == len(section.content)
            if section.scores is not None and part.state == "cut" and whole and "shortened" not in part.entry_states:
                count = traffic.plain(case.history.meter)
                gone = [i for i, state in enumerate(part.entry_states) if state == "dropped"]
                for better, worse in ((i, j) for i in gone for j in whole if section.scores[i] > section.scores[j]):
                    assert count(section.content[better]) >= count(section.content[worse]), "a worse entry stayed"


def _check_tools(case: Case, request: brim.Request) -> None:
    if case.tools is None:
        assert request.tools is None
        return
    kept = [tool for tool in case.tools if any(tool is each for each in request.tools or ())]
    assert kept == request.tools, "tools are not in the order given"
    if case.options["keep_tools"] == "all":
        assert kept == case.tools
        return
    names = {definition(tool)["name"] for tool in kept}
    known = {definition(tool)["name"] for tool in case.tools}
    called = {name for m in case.history.read(request.messages) for name in called_in(m)} & known
    assert called <= names, f"called, and not defined: {called - names}"
    part = request.receipt.part("tools") if case.tools else None
    if part is not None and part.entries:
        assert [each.id for each in part.kept] == [definition(tool)["name"] for tool in kept]


def _check_alone(case: Case, request: brim.Request | None) -> None:
    """With sections alone it is `fit`, with messages alone `fit_messages`, to the byte."""
    if case.kind == "messages":
        try:
            fitted = case.history.fit(budget=case.budget, tools=case.tools)
        except brim.DoesNotFit:
            assert request is None
            return
        assert request is not None, "refused, and fit_messages fits"
        assert request.messages == fitted.messages
        assert request.used == fitted.used
    if case.kind == "sections" and not case.tools and case.history.meter != "chars/4":
        tally = traffic.Tally(case.history.meter, case.history.format)
        frame = tally.frame("user" if case.user else "system") + tally.reply
        if frame and case.shares:
            return
        options = {name: case.options[name] for name in ("separator", "fill", "policy")}
        try:
            prompt = brim.fit(
                [*case.system, *case.user], max(0, case.budget - frame), meter=case.history.meter, **options
            )
        except brim.DoesNotFit:
            assert request is None
            return
        if request is None:
            assert case.budget < frame, "refused, and fit fits"
            return
        assert "".join(request.texts.values()) == "".join(prompt.texts.values())
        read = case.history.read(request.messages)
        said = request.system if case.system else "".join(t for m in read for t in traffic.texts(m))
        assert said == prompt.text
        if case.budget >= frame:
            assert request.receipt.parts == prompt.receipt.parts


def _check_bigger(case: Case, request: brim.Request) -> None:
    """At the first class whose grants differ, the bigger budget has more."""
    try:
        bigger = case.fit(case.bigger)
    except brim.DoesNotFit as error:
        if not case.shares:
            raise AssertionError(f"a bigger budget is refused: {error}") from error
        return
    small, large = request.receipt, bigger.receipt
    sections = {s.name: s for s in (*case.system, *case.user)}
    toll = traffic.plain(case.history.meter)(case.options["separator"])
    for part in small.parts:
        if part.name in sections and bool(part.wanted) != bool(large.part(part.name).wanted):
            return  # a ceiling in percent lets it in for the first time
    required = [s for s in sections.values() if s.required]
    if case.shares and (required or case.options["keep_tools"] == "relevant"):
        return
    if _required(small, sections) != _required(large, sections):
        turns = [part for part in large.parts if part.name.startswith("messages[") and part.required]
        cut = any(part.state != "whole" for part in turns)
        assert cut or _required(small, sections) < _required(large, sections), (
            "the bigger budget gives less of the required"
        )
        return
    ranks = {s.rank for s in sections.values() if not s.required} | {_history_rank(case)}
    for level in sorted(ranks):
        sums, steps = [], False
        for receipt in (small, large):
            total = receipt.history["granted"] if receipt.history and level == _history_rank(case) else 0
            turns = [part for part in receipt.parts if part.name.startswith("messages")]
            steps |= level == _history_rank(case) and any(part.state != "whole" for part in turns)
            for name, section in sections.items():
                part = receipt.part(name)
                if section.required or section.rank != level:
                    continue
                total += part.granted + toll if part.granted else 0
                smooth = section.keep in ("head", "tail", "ends") and isinstance(section.content, str)
                steps |= part.state in ("form", "summarised") or (part.state == "cut" and not smooth)
            sums.append(total)
        if steps:
            return
        if sums[0] != sums[1]:
            assert sums[1] > sums[0], f"the bigger budget {case.bigger} gives less at {level}: {sums}"
            return


def _required(receipt: brim.Receipt, sections: dict[str, brim.Section]) -> int:
    """Return the tokens of what is required: the first class."""
    ours = [part for part in receipt.parts if part.name in sections or part.name.startswith("messages[")]
    return sum(part.used for part in ours if part.required)


def _history_rank(case: Case) -> int:
    return brim.Section("history", "", priority=case.options["history_priority"]).rank
