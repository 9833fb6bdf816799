"""Generated histories, and the promise checked on each: shared by the test suite and `make prove`.

A case comes from one seed. The checks read the messages by themselves, vendor by vendor, and count with nothing of
brim but the meter of single texts.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any

import brim
from provider_formats import Reader, compact, to_bedrock, to_gemini

METERS = ("o200k_base", "o200k_base", "cl100k_base", "chars", "chars/4", "gpt-4o", "claude-sonnet-4-5")
MAKERS = {"gpt-4o": "openai", "claude-sonnet-4-5": "anthropic"}
"""Whose rules the meter of a model counts by; the others are no model's."""
_TAKES_THINKING = ("claude-sonnet-4-5",)
"""Models that are known to take thinking after something before it has changed."""
FORMATS = ("openai", "openai", "anthropic", "responses")
NEW_FORMATS = ("gemini", "bedrock")
ALL_FORMATS = (*FORMATS, *NEW_FORMATS)
_RULES = {"gemini": "anthropic", "bedrock": "anthropic"}
"""Formats whose histories are read as those of another, and judged by its rules."""
_NEVER_BLANK = ("anthropic", "bedrock")
"""Formats whose providers refuse a blank text."""
_SENTENCE = (
    "the quick brown fox reads file.py and finds ERROR 42 in naïve Über code; it's done, don't ask why 你好 世界"
)
_WORDS = _SENTENCE.split(" ")
_ODD = (
    "",
    "<|endoftext|>",
    "\ud800",
    "\x00",
    "😀👩‍👩‍👧‍👦",
    "\r\n",
    '{"a": [1, 2, {"b": "c"}]}',
    "```py\nx = 1\n```",
    "-\n//",
    "   ",
)
_NOTE = "[CONTEXT_TRUNCATED]"
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass
class Case:
    """One history, and how it is to be fitted."""

    seed: int
    format: str
    messages: list[dict[str, Any]]
    budget: int
    meter: str
    options: dict[str, Any] = field(default_factory=dict)
    broken: bool = False
    """Whether something was done to it that no provider would take."""
    read: Reader = field(default_factory=Reader, repr=False)
    """Reads messages in the form in which they are judged."""

    @classmethod
    def of(cls, seed: int, formats: tuple[str, ...] = FORMATS) -> Case:
        """Return the case of a seed."""
        rng = random.Random(seed)
        format = rng.choice(formats)
        rules = _RULES.get(format, format)
        maker = {"openai": Chat, "anthropic": Anthropic, "responses": Responses}[rules](rng)
        maker.converse()
        messages = maker.messages
        read, breaks = Reader(), rng.random() < 0.25
        if format == "gemini":
            messages = to_gemini(messages, random.Random(seed), mixed=not breaks and not illegal(messages, rules))
        elif format == "bedrock":
            messages = to_bedrock(messages, random.Random(seed))
        broken = (breaks and _break(rng, messages)) or bool(illegal(read(messages), rules))
        broken = broken or has_refused_blank(read(messages), format)
        meter = rng.choice(METERS)
        total = size(read(messages), format, meter) if not broken else sum(len(str(m)) for m in messages) // 4
        if rng.random() < 0.15:
            budget = rng.randint(0, 60)
        else:
            budget = int(total * rng.choice((0.1, 0.25, 0.5, 0.75, 0.97, 1.0, 1.2)) * rng.uniform(0.9, 1.1))
        case = cls(seed, format, messages, budget, meter, _options(rng, total, len(messages)), bool(broken), read)
        if rng.random() < 0.1 and not broken:
            case.budget = total
        return case

    @property
    def rules(self) -> str:
        """The format whose rules its histories are judged by."""
        return _RULES.get(self.format, self.format)

    @property
    def given(self) -> list[dict[str, Any]]:
        """Its messages in the form in which they are judged."""
        return self.read(self.messages)

    def fit(self, budget: int | None = None, messages: list[dict[str, Any]] | None = None, **more: Any) -> brim.Fitted:
        """Run the fit."""
        return brim.fit_messages(
            self.messages if messages is None else messages,
            self.budget if budget is None else budget,
            meter=self.meter,
            format=self.format,
            **{**self.options, **more},
        )


def _options(rng: random.Random, total: int, length: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    ways = ("recency", "recency", "priority", "relevance", "priority+relevance", "recency+relevance")
    options["select"] = rng.choice(ways)
    if rng.random() < 0.15:
        options["recent"] = rng.randint(10, max(11, total // 2))
    if rng.random() < 0.15:
        options["older"] = rng.randint(10, max(11, total // 4))
    if "relevance" in options["select"] and rng.random() < 0.5:
        options["query"] = " ".join(rng.choices(_WORDS, k=3))
    if rng.random() < 0.1:
        options["pin_first_user"] = True
    if rng.random() < 0.1:
        options["note"] = False
    if rng.random() < 0.1 and length:
        options["pin"] = [rng.randrange(length)]
    return options


class Maker:
    """Makes a conversation in one shape."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.messages: list[dict[str, Any]] = []
        self.calls = 0

    def text(self, most: int = 40) -> str:
        """Return some text, now and then odd or long."""
        rng = self.rng
        if rng.random() < 0.08:
            return rng.choice(_ODD)
        words = rng.choices(_WORDS, k=rng.randint(1, most if rng.random() < 0.9 else most * 12))
        return rng.choice((" ", " ", "\n")).join(words)

    def call_id(self) -> str:
        """Return an id; now and then one that came before, as some clients do."""
        self.calls += 1
        return f"call_{self.calls % 7 if self.rng.random() < 0.05 else self.calls}"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {"path": self.text(3), "body": self.text(20)} if self.rng.random() < 0.8 else {}

    def converse(self) -> None:
        """Make the messages."""
        rng = self.rng
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            self.system(self.text(30))
        if rng.random() < 0.97:
            self.user(self.text(30))
        loop = rng.random() < 0.7
        for _ in range(rng.randint(0, 14)):
            if rng.random() < (0.8 if loop else 0.2):
                self.tools(rng.choice((1, 1, 1, 2, 3)))
            else:
                self.answer(self.text(30))
                self.user(self.text(20))
            if rng.random() < 0.03:
                self.system(self.text(10))

    def system(self, text: str) -> None:
        """Give instructions."""
        self.messages.append({"role": "system", "content": text})

    def user(self, text: str) -> None:
        """Speak as the user."""
        self.messages.append({"role": "user", "content": text})

    def answer(self, text: str) -> None:
        """Speak as the model."""
        self.messages.append({"role": "assistant", "content": text})


class Chat(Maker):
    """Makes OpenAI chat messages."""

    def user(self, text: str) -> None:
        """Speak as the user, now and then with a picture."""
        content: Any = text
        if self.rng.random() < 0.1:
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}"}}
            content = [{"type": "text", "text": text}, image, {"type": "novel", "x": 1}]
        message = {"role": "user", "content": content}
        self.messages.append({**message, "name": "Ann"} if self.rng.random() < 0.05 else message)

    def tools(self, count: int) -> None:
        """Call and answer."""
        ids = [self.call_id() for _ in range(count)]
        calls = [
            {"id": i, "type": "function", "function": {"name": "read", "arguments": json.dumps(self.arguments())}}
            for i in dict.fromkeys(ids)
        ]
        content = self.text(15) if self.rng.random() < 0.6 else None
        self.messages.append({"role": "assistant", "content": content, "tool_calls": calls})
        order = [call["id"] for call in calls]
        self.rng.shuffle(order)
        for i in order:
            self.messages.append({"role": "tool", "tool_call_id": i, "content": self.text(80)})


class Anthropic(Maker):
    """Makes Anthropic messages."""

    def system(self, text: str) -> None:
        """Give instructions in the middle, after the user; the first ones stand apart."""
        if self.messages and self.messages[-1]["role"] == "user":
            self.messages.append({"role": "system", "content": text or "."})

    def user(self, text: str) -> None:
        """Speak as the user; after a result, in the same message."""
        block = {"type": "text", "text": text or "."}
        if self.messages and self.messages[-1]["role"] == "user":
            last = self.messages[-1]
            blocks = (
                last["content"] if isinstance(last["content"], list) else [{"type": "text", "text": last["content"]}]
            )
            last["content"] = [*blocks, block]
        else:
            self.messages.append({"role": "user", "content": text or "."})

    def answer(self, text: str) -> None:
        """Speak as the model, now and then after some thought."""
        blocks: list[Any] = [{"type": "text", "text": text or "."}]
        if self.rng.random() < 0.3:
            blocks.insert(0, {"type": "thinking", "thinking": self.text(20), "signature": "c2ln"})
        self.messages.append({"role": "assistant", "content": blocks if self.rng.random() < 0.8 else text or "."})

    def tools(self, count: int) -> None:
        """Call and answer."""
        rng = self.rng
        ids = list(dict.fromkeys(self.call_id() for _ in range(count)))
        blocks: list[Any] = [{"type": "tool_use", "id": i, "name": "read", "input": self.arguments()} for i in ids]
        if rng.random() < 0.4:
            blocks.insert(0, {"type": "text", "text": self.text(10) or "."})
        if rng.random() < 0.3:
            blocks.insert(0, {"type": "thinking", "thinking": self.text(20), "signature": "c2ln"})
        elif rng.random() < 0.1:
            blocks.insert(0, {"type": "redacted_thinking", "data": "x" * 40})
        self.messages.append({"role": "assistant", "content": blocks})
        results: list[Any] = []
        for i in ids:
            said: Any = self.text(80)
            if rng.random() < 0.15:
                said = [{"type": "text", "text": said}, {"type": "image", "source": {"type": "base64", "data": _PNG}}]
            results.append({"type": "tool_result", "tool_use_id": i, "content": said})
        rng.shuffle(results)
        if rng.random() < 0.2:
            results.append({"type": "text", "text": self.text(10) or "."})
        self.messages.append({"role": "user", "content": results})


class Responses(Maker):
    """Makes OpenAI Responses items."""

    def user(self, text: str) -> None:
        """Speak as the user."""
        content: Any = text if self.rng.random() < 0.5 else [{"type": "input_text", "text": text}]
        self.messages.append({"role": "user", "content": content})

    def answer(self, text: str) -> None:
        """Speak as the model."""
        said = [{"type": "output_text", "text": text, "annotations": []}]
        self.messages.append({"type": "message", "id": "msg", "role": "assistant", "content": said})

    def tools(self, count: int) -> None:
        """Think, call and answer."""
        rng = self.rng
        ids = list(dict.fromkeys(self.call_id() for _ in range(count)))
        if rng.random() < 0.4:
            thought = [{"type": "summary_text", "text": self.text(10)}]
            self.messages.append({"type": "reasoning", "id": "rs", "summary": thought, "encrypted_content": "x" * 40})
        for i in ids:
            said = json.dumps(self.arguments())
            self.messages.append({"type": "function_call", "call_id": i, "name": "read", "arguments": said})
        rng.shuffle(ids)
        for i in ids:
            self.messages.append({"type": "function_call_output", "call_id": i, "output": self.text(80)})


def _break(rng: random.Random, messages: list[dict[str, Any]]) -> bool:
    """Do something to a history that no provider would take."""
    if len(messages) < 3:
        return False
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(messages))
        kind = rng.random()
        if kind < 0.5:
            del messages[at]
        elif kind < 0.8:
            messages.insert(rng.randrange(len(messages)), messages.pop(at))
        else:
            messages.insert(at, copy.deepcopy(messages[at]))
    return True


# --- reading, counting and judging, without brim's own reading


def plain(meter: str) -> Any:
    """Return what a single text counts."""
    scale = brim.meter(meter)
    return scale.load


class Tally:
    """Counts messages by the rule as it is written down.

    Of no model: three units a message, its texts, its names and one unit more for each, the name and the arguments of
    each call. A model's: its role as a text, three for each call, three for the reply; ids only where its maker is
    not OpenAI. Characters have no frame.
    """

    def __init__(self, meter: str, format: str, most: int | None = None) -> None:
        """Count all of it or, where `most` is given, what is left when it is cut as far as that."""
        maker = MAKERS.get(meter)
        self.count = plain(meter)
        self.most = most
        # That of other formats depends on nothing, and stays.
        self.thinks = most is None or format in ("responses", "gemini")
        self.plain = 0 if meter == "chars" else 3
        self.tuned = maker is not None
        self.per_name = min(1, self.plain)
        self.per_call = self.reply = 0 if maker is None else 3
        self.ids = maker == "anthropic"
        # A picture of one pixel: one tile at high detail, as published for gpt-4o, is 85 + 170; or one patch.
        self.picture = 1 if (maker or _RULES.get(format, format)) == "anthropic" else 255
        if maker is None and format == "gemini":
            self.picture = 1_120

    def frame(self, role: str) -> int:
        """Return the units of a message that says nothing."""
        return self.plain + (self.count("system" if role == "developer" else role) if self.tuned else 0)

    def text(self, said: str) -> int:
        """Return the units of a text, which can be cut."""
        units = self.count(said)
        return units if self.most is None else min(units, self.most)

    def thought(self, units: int) -> int:
        """Return the units of thinking, which can go, but for items: OpenAI asks for those before their calls."""
        return units if self.thinks else 0

    def called(self, name: str, arguments: str, call: str) -> int:
        """Return the units of a call; its arguments can be cut to an object without anything in it."""
        units = self.count(arguments)
        if self.most is not None:
            units = min(units, self.count("{}"))
        return self.count(name) + units + self.per_call + self.named(call)

    def named(self, call: str) -> int:
        """Return the units of an id."""
        return self.count(call) if self.ids else 0

    def message(self, m: dict[str, Any], *, owed: bool = False) -> int:
        """Return the units of a message; the thinking of the last one that calls stays, since providers ask for it."""
        if owed and not self.thinks:
            self.thinks = True
            units = self.message(m)
            self.thinks = False
            return units
        kind = m.get("type")
        if kind == "function_call":
            return self.frame("assistant") + self.called(m["name"], m["arguments"], m["call_id"])
        if kind == "function_call_output":
            return self.frame("tool") + self.named(m["call_id"]) + self.content(m["output"])
        if kind == "reasoning":
            sealed = -(-len(m["encrypted_content"]) // 4)
            return self.thought(
                self.frame("assistant") + sum(self.count(part["text"]) for part in m["summary"]) + sealed
            )
        units = self.frame(m["role"]) + self.content(m.get("content")) + self.named(m.get("tool_call_id") or "")
        if m.get("name"):
            units += self.count(m["name"]) + self.per_name
        calls = [(call["function"], call["id"]) for call in m.get("tool_calls") or []]
        return units + sum(self.called(body["name"], body["arguments"], i) for body, i in calls)

    def content(self, content: Any) -> int:
        """Return the units of what a message or a result says."""
        if content is None or isinstance(content, str):
            return self.text(content or "")
        return sum(self.part(part) for part in content)

    def part(self, part: dict[str, Any]) -> int:
        """Return the units of one part of it."""
        kind = part["type"]
        if kind in ("text", "input_text", "output_text"):
            return self.text(part["text"])
        if kind in ("image_url", "image"):
            return self.picture
        if kind == "thinking":
            return self.thought(self.count(part["thinking"]))
        if kind == "redacted_thinking":
            return self.thought(-(-len(part["data"]) // 4))
        if kind == "tool_use":
            return self.called(part["name"], compact(part["input"]), part["id"])
        if kind == "tool_result":
            return (
                self.named(part["tool_use_id"]) + self.count(part.get("name", "")) + self.content(part.get("content"))
            )
        return 0 if kind == "cache_point" else self.count(compact(part))


def size(messages: list[Any], format: str, meter: str) -> int:
    """Return the units of a request."""
    tally = Tally(meter, format)
    return sum(map(tally.message, messages)) + tally.reply


def leading(messages: list[dict[str, Any]]) -> list[int]:
    """Return the indexes of the system messages that stand before all others."""
    return list(takewhile(lambda i: messages[i].get("role") == "system", range(len(messages))))


def turns(messages: list[dict[str, Any]], format: str) -> list[list[int]]:
    """Return the indexes of what cannot be parted in a legal history, without its leading system messages."""
    found: list[list[int]] = []
    waiting: list[str] = []
    last: dict[str, Any] | None = None
    for i, m in enumerate(messages):
        if m.get("role") == "system":
            if found:
                found[-1].append(i)
            continue
        joined = bool(waiting)
        if last is not None and format == "anthropic":
            joined |= m["role"] != "assistant" or last["role"] == "assistant"
        if last is not None and format == "responses":
            joined |= _is_models(last) and _is_models(m)
        if joined:
            found[-1].append(i)
        else:
            found.append([i])
        last = m
        calls, results = calls_and_results(m)
        for call in results:
            waiting.remove(call)
        waiting += calls
    return found


class Ladder:
    """What the task, the newest turn and what is pinned take of a legal history, step by step.

    The task may be cut only where it takes more than a quarter of the room, or does not fit whole beside the newest turn
    with each of its texts cut to four floors; be missing or nothing but a mark only where both do not fit with each text cut to the floor. It is missing
    never where it is pinned or the model would speak first, and a mark only there.
    """

    def __init__(self, case: Case) -> None:
        given, format = case.given, case.rules
        found = turns(given, format)
        last = next((i for i in range(len(given) - 1, -1, -1) if given[i].get("role") == "assistant"), -1)
        owed = last if last >= 0 and calls_and_results(given[last])[0] else -1
        pins = set(case.options.get("pin") or ())
        first = next((i for i, m in enumerate(given) if m.get("role") == "user"), None)
        mark = plain(case.meter)("…")
        self.floor = 3 + mark
        self.task = next((turn for turn in found if first in turn), [])
        self.newest = found[-1] if found else []
        pinned = [turn for turn in found if pins & set(turn)]
        if case.options.get("pin_first_user") and self.task not in pinned:
            pinned.append(self.task)
        self.pins_task = self.task in pinned
        both = [self.task] if self.task == self.newest else [self.task, self.newest]
        kept = [turn for turn in both if turn not in pinned]

        def units(most: int | None, some: list[list[int]]) -> int:
            tally = Tally(case.meter, case.format, most)
            return sum(tally.message(given[i], owed=i == owed) for turn in some for i in turn)

        whole = units(None, pinned)
        systems = leading(given)
        self.beside = units(None, [systems]) + Tally(case.meter, case.format).reply
        first_cut = [turn for turn in kept if turn == self.newest]
        self.task_whole = (
            whole + units(None, [t for t in kept if t not in first_cut]) + units(4 * self.floor, first_cut)
        )
        self.task_alone = units(None, [self.task])
        self.task_cut = whole + units(self.floor, kept)
        self.stays = format == "anthropic"
        self.least = whole + units(mark, kept if self.stays else first_cut)


def calls_and_results(m: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ids that a message calls and answers."""
    if m.get("type") == "function_call":
        return [m["call_id"]], []
    if m.get("type") == "function_call_output":
        return [], [m["call_id"]]
    if m.get("role") == "tool":
        return [], [m["tool_call_id"]]
    calls = [call["id"] for call in m.get("tool_calls") or []]
    blocks = m["content"] if isinstance(m.get("content"), list) else []
    calls += [b["id"] for b in blocks if b["type"] == "tool_use"]
    return calls, [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]


def misplaced(messages: list[dict[str, Any]], format: str) -> str:
    """Return where a system message stands in the middle that a provider refuses there, or an empty text.

    Anthropic and Bedrock take one after the user, and before the model or at the end.
    """
    for i in range(len(leading(messages)), len(messages) if format == "anthropic" else 0):
        around = [each["role"] for each in (*messages[i - 1 : i], *messages[i + 1 : i + 2])]
        if messages[i]["role"] == "system" and around not in (["user"], ["user", "assistant"]):
            return f"the system message {i} stands between {around}"
    return ""


def illegal(messages: list[dict[str, Any]], format: str) -> str:
    """Return why a provider would refuse a history, or an empty text."""
    waiting: dict[str, int] = {}
    if any(m.get("content") == [] for m in messages):
        return "a message has an empty list"
    messages = _combined(messages) if format == "anthropic" else messages
    for i, m in enumerate(messages):
        calls, results = calls_and_results(m)
        if format != "responses" and waiting and not results and m.get("role") != "system":
            return f"message {i} comes before the results of {sorted(waiting)}"
        for call in results:
            if not waiting.get(call):
                return f"message {i} answers {call!r}, which nothing waits for"
            waiting[call] -= 1
            waiting = {c: n for c, n in waiting.items() if n}
        if format == "anthropic" and results and waiting:
            return f"message {i} leaves {sorted(waiting)} unanswered"
        for call in calls:
            waiting[call] = waiting.get(call, 0) + 1
        if m.get("tool_calls") == []:
            return f"message {i} has an empty list"
        after = messages[i + 1] if i + 1 < len(messages) else {}
        if m.get("type") == "reasoning" and not _is_models(after):
            return f"no output follows the reasoning of message {i}"
    if waiting:
        return f"nothing answers {sorted(waiting)}"
    spoken = messages[len(leading(messages)) :]
    if format == "anthropic" and spoken and spoken[0]["role"] != "user":
        return "the first message is not the user's"
    return ""


def has_refused_blank(messages: list[dict[str, Any]], format: str) -> bool:
    """Return whether a text is blank, in a format whose providers refuse that; a result may be."""
    blocks = (block for m in _combined(messages) for block in m["content"]) if format in _NEVER_BLANK else ()
    return any(block.get("type") == "text" and not block["text"].strip() for block in blocks)


def _combined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages as the provider reads them: those of one role that follow each other are one."""
    out: list[dict[str, Any]] = []
    for m in messages:
        content = [{"type": "text", "text": m["content"]}] if isinstance(m["content"], str) else list(m["content"])
        if out and out[-1]["role"] == m["role"]:
            out[-1]["content"] += content
        else:
            out.append({"role": m["role"], "content": content})
    return out


def _is_models(m: dict[str, Any]) -> bool:
    return m.get("role") == "assistant" or m.get("type") in ("function_call", "reasoning")


def alternates(messages: list[dict[str, Any]]) -> bool:
    """Return whether user and model take turns."""
    roles = [m["role"] for m in messages if m["role"] != "system"]
    return all(a != b for a, b in pairwise(roles))


def is_note(m: dict[str, Any]) -> bool:
    """Return whether a message is the note, or ends with it."""
    return _NOTE in str(m.get("content"))


# --- the promise


def check(case: Case) -> str:
    """Check every line of the promise on a case; return how the fit ended.

    Raises:
        AssertionError: a line does not hold.
    """
    before = copy.deepcopy(case.messages)
    try:
        fitted = case.fit()
    except brim.DoesNotFit as error:
        refusal = error
    else:
        refusal = None
    if refusal is not None:
        assert refusal.needed > refusal.available == case.budget, "a refusal that says nothing"
        assert case.messages == before
        if not case.broken:
            ladder = Ladder(case)
            assert refusal.needed == ladder.beside + ladder.least, f"{ladder.beside} + {ladder.least} are needed"
        return "refused"
    assert case.messages == before, "the input was changed"
    given, out = case.given, case.read(fitted.messages)
    counted = size(out, case.format, case.meter)
    assert counted <= case.budget, f"{counted} > {case.budget}"
    assert fitted.used == counted == fitted.receipt.used, f"said {fitted.used}, counted {counted}"
    assert not illegal(out, case.rules), illegal(out, case.rules)
    assert not has_refused_blank(out, case.format), "a text is blank"
    _check_kept(case, out)
    _check_thinking(case, out)
    _check_receipt(case, fitted)
    again = case.fit()
    assert again.messages == fitted.messages, "not the same twice"
    assert again.receipt == fitted.receipt, "not the same receipt twice"
    _check_again(case, fitted.messages)
    _check_bigger(case, fitted)
    _check_growing(case, fitted)
    return "whole" if len(out) == len(given) and all(a is b for a, b in zip(out, given, strict=True)) else "cut"


def _check_kept(case: Case, out: list[dict[str, Any]]) -> None:
    own = {id(m): i for i, m in enumerate(case.given)}
    kept = [own[id(m)] for m in out if id(m) in own]
    if not case.broken:
        assert not misplaced(out, case.rules), misplaced(out, case.rules)
        assert kept == sorted(kept), "the order changed"
        assert not illegal(case.given, case.rules), illegal(case.given, case.rules)
        systems = leading(case.given)
        assert [i for i in kept if i in set(systems)] == systems, "a system message is missing"
        whole = size(case.given, case.format, case.meter)
        if whole <= case.budget and not {"recent", "older"} & set(case.options):
            assert len(out) == len(case.given) == len(kept), "it fitted and was changed"
        if case.rules == "anthropic" and alternates(case.given):
            assert alternates(out), "two messages of one side follow each other"
        last = case.given[-1] if case.given else None
        if last is not None and last.get("role") != "system":
            assert calls_and_results(out[-1]) == calls_and_results(last), "the newest message is missing"
        _check_task(case, out)
        signed = (
            [b["signed"] for m in out for b in m["content"] or () if "signed" in b] if case.format == "gemini" else []
        )
        calls = sum(bool(calls_and_results(m)[0]) for m in out)
        assert sum(signed) == (calls if signed else 0), "a signature is missing"
    notes = sum(is_note(m) for m in out)
    assert notes <= 1
    assert notes == 0 or case.options.get("note", True)


def _check_task(case: Case, out: list[dict[str, Any]]) -> None:
    """The task is there, and whole, unless the budget leaves no room: see `Ladder`."""
    fate, ladder = fate_of_task(case, out), Ladder(case)
    room = case.budget - ladder.beside
    if fate != "whole":
        assert not ladder.pins_task, f"a pinned task is {fate}"
        long = ladder.task_alone > room // 4  # Such a task is cut before the newest turn, if it is most of both.
        assert long or room < ladder.task_whole, f"the task is {fate}, and {ladder.task_whole} would fit in {room}"
    few = (
        64 if case.meter not in ("chars", "bytes") else 256
    )  # Sizes are estimates: a mark may be smaller than thought.
    if fate in ("a mark", "gone"):
        assert room < max(ladder.task_cut, few), f"the task is {fate}, and {ladder.task_cut} would fit in {room}"
    assert fate != ("gone" if ladder.stays else "a mark"), f"the task is {fate}"


def fate_of_task(case: Case, out: list[dict[str, Any]]) -> str:
    """Return what became of the task of a legal history: it is whole, cut, a mark or gone."""
    ladder, own = Ladder(case), {id(m) for m in case.given}
    if not ladder.task or ladder.task == ladder.newest:
        return "whole"
    first = case.given[ladder.task[0]]
    spoken = [m for m in out if m.get("role") != "system" and m.get("type") != "reasoning"]
    newest = [case.given[i] for i in ladder.newest]
    after = sum(m.get("type") != "reasoning" and m.get("role") != "system" for m in newest)
    told = [m for m in spoken[:-after] if m.get("role") == "user" and not str(m["content"]).startswith(_NOTE)]
    task = next((m for m in told if m is first or id(m) not in own), None)
    if task is None:
        return "gone"
    if task is first or is_note(task):
        return "whole"
    said, left = "".join(texts(first)), {*texts(task)}
    # Where the first character alone is bigger than the floor, a mark is all that can be left.
    return "a mark" if left == {"…"} and plain(case.meter)(said[0] + "…") <= ladder.floor else "cut"


def texts(m: dict[str, Any]) -> list[str]:
    """Return what a message says."""
    said = m["content"]
    return [said] if isinstance(said, str) else [part["text"] for part in said if "text" in part]


def _check_thinking(case: Case, out: list[dict[str, Any]]) -> None:
    """After the first message that is not the caller's own, no thinking but that of the last call."""
    if case.rules != "anthropic" or case.format == "gemini":
        return
    # Blank texts, which providers refuse, are left out on arrival: that is no edit.
    given, changed = [m for m in map(without_blanks, case.given) if m["content"] not in ("", [])], False
    spoken = [i for i, m in enumerate(out) if m["role"] == "assistant"]
    if case.broken:  # Several messages of the model in a row are one for the provider: the call may be in any of them.
        spoken = [i for i in spoken if calls_and_results(out[i])[0]]
    last = max(spoken, default=-1)
    for i, m in enumerate(out):
        changed |= i >= len(given) or (m is not given[i] and m != given[i])
        if i == last and calls_and_results(m)[0]:
            continue
        if changed and isinstance(m["content"], list) and case.meter not in _TAKES_THINKING:
            assert not any("thinking" in b["type"] for b in m["content"]), "thinking after an edit"
    _check_last_call(given, out, last, case.broken)


def without_blanks(m: dict[str, Any]) -> dict[str, Any]:
    """Return a message without its blank texts."""
    said = m["content"]
    if isinstance(said, str):
        return m if said.strip() else {**m, "content": ""}
    kept = [block for block in said or () if "text" not in block or block["text"].strip()]
    return m if len(kept) == len(said or ()) else {**m, "content": kept}


def _check_last_call(given: list[Any], out: list[Any], last: int, broken: bool) -> None:
    """A last call that came with thinking keeps it: providers ask for it."""
    models = [m for m in given if m["role"] == "assistant"]
    if not broken and models and calls_and_results(models[-1])[0] and last >= 0:
        came = [b["type"] for b in models[-1]["content"]]
        assert ("thinking" in came[0]) == ("thinking" in out[last]["content"][0]["type"]), (
            "the thinking of the last call"
        )


def _check_receipt(case: Case, fitted: brim.Fitted) -> None:
    receipt = fitted.receipt
    assert receipt.used == sum(part.used for part in receipt.parts) + receipt.joins
    assert len({part.name for part in receipt.parts}) == len(receipt.parts), "two parts of one name"
    assert brim.Receipt.from_json(receipt.to_json()) == receipt
    assert receipt.history is not None
    told = receipt.history["context_truncation"]
    assert told["steps_included"] <= told["steps_total"]
    assert bool(receipt.history["note"]) == any(is_note(m) for m in case.read(fitted.messages))
    if not case.broken:
        assert not receipt.history["repairs"]
        covered = sum(_covered(part.name) for part in receipt.parts if part.name.startswith("messages"))
        assert covered == len(case.messages), "a message is in no part, or in two"


def _covered(name: str) -> int:
    first, _, last = name.removeprefix("messages[").removesuffix("]").partition(":")
    return int(last) - int(first) if last else 1


def _check_again(case: Case, out: list[dict[str, Any]]) -> None:
    # A repair may part a turn that was one, and items of the model that have become neighbours are one turn: what is
    # over its cap then differs the next time.
    capped = (case.broken or case.format == "responses") and {"recent", "older"} & set(case.options)
    if "pin" not in case.options and not capped:
        again = case.fit(messages=out)
        assert again.messages == out, "fitting what was fitted changed it"


_SYSTEM = ("system", "developer")


def _check_bigger(case: Case, fitted: brim.Fitted) -> None:
    """Read the grants of two budgets: the task, the newest, what was said last each alone, then the others together.

    More room may show one older turn more and less of a result for it, but never less in all: whole lines and whole
    turns leave a rest, which is at most a part of the largest of them.
    """
    if case.options["select"] != "recency" or case.broken:
        return
    bigger = case.fit(budget=case.budget + 1 + case.seed % 97)
    small = [part for part in fitted.receipt.parts if part.name.startswith("messages")]
    large = {part.name: part for part in bigger.receipt.parts}
    order = sorted(small, key=lambda part: (not part.required, -_start(part.name)))
    stay = [part for part in order if part.required]
    said = [part for part in reversed(stay[1:]) if case.messages[_start(part.name)].get("role") not in _SYSTEM]
    for part in (*said[:1], *stay[:1], *said[1:]):
        other = large[part.name]
        if part.state == other.state == "cut" or other.used > part.used:
            return
        assert other.used == part.used, f"{part.name}: {part.used} at the smaller budget, {other.used} at the bigger"
    rest = [part for part in order if not part.required]
    had, has = sum(part.used for part in rest), sum(large[part.name].used for part in rest)
    largest = max((part.size for part in rest), default=0)
    assert has >= had - largest, f"the others: {had} at the smaller budget, {has} at the bigger"


def _start(name: str) -> int:
    return int(name.removeprefix("messages[").removesuffix("]").partition(":")[0])


def _check_growing(case: Case, fitted: brim.Fitted) -> None:
    """A history that came message by message fits as one that came at once."""
    rng = random.Random(case.seed)
    history = brim.History(meter=case.meter, format=case.format)
    at = 0
    while at < len(case.messages):
        step = rng.randint(1, 4)
        history.extend(case.messages[at : at + step])
        at += step
        if rng.random() < 0.2:
            try:
                history.fit(case.budget)
            except brim.DoesNotFit:
                continue
    grown = history.fit(case.budget, **case.options)
    assert grown.messages == fitted.messages, "it matters how the messages came"
    assert grown.receipt.parts == fitted.receipt.parts


def check_stable(seed: int, formats: tuple[str, ...] = FORMATS) -> str:
    """Replay a case as it grows, in stable mode: every prompt fits, is legal, and says truly what it shares."""
    case = Case.of(seed, formats)
    stable: Any = True
    history = brim.History(meter=case.meter, format=case.format, stable=True)
    last: list[Any] = []
    at = 0
    tally = Tally(case.meter, case.format)
    rng = random.Random(seed)
    while at < len(case.messages):
        step = rng.randint(1, 3)
        at += step
        given = case.messages[:at]
        history.extend(case.messages[at - step : at])
        try:
            fitted = brim.fit_messages(given, case.budget, meter=case.meter, format=case.format, stable=stable)
        except brim.DoesNotFit:
            try:
                history.fit(case.budget)
            except brim.DoesNotFit:
                continue
            raise AssertionError("a history fits that its messages do not") from None
        stable = fitted.stable
        grown = history.fit(case.budget)
        assert grown.messages == fitted.messages, "state in a value and state in a history differ"
        out = case.read(fitted.messages)
        counted = size(out, case.format, case.meter)
        assert counted == fitted.used <= case.budget, f"said {fitted.used}, counted {counted}, budget {case.budget}"
        assert not illegal(out, case.rules), illegal(out, case.rules)
        assert case.broken or not misplaced(out, case.rules), misplaced(out, case.rules)
        shared = 0
        for a, b in zip(last, out, strict=False):
            if a != b:
                break
            shared += tally.message(b)
        assert grown.receipt.stable_prefix == shared, f"said {grown.stable_prefix}, shares {shared}"
        # A result that was moved changes positions, so a value does not recognise the history.
        known = (0, shared) if case.broken else (shared,)
        assert fitted.stable_prefix in known, f"said {fitted.stable_prefix}, shares {shared}"
        last = out
    return "held"
