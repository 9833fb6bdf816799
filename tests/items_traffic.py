"""Generated histories of agents with real sizes, and what must hold of them when the past is made of items.

A case comes from one seed. Its history is written in one of five formats, with attachments, long values, long results
and unknown parts as big as real ones. The checks read what comes out by a reader of their own, format by format, and
share nothing with brim but its meter. `python tests/items_traffic.py SEED` tells what holds of one case.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import brim
import traffic
from provider_formats import Reader, compact

METER = "o200k_base"
FORMATS = ("openai", "responses", "anthropic", "gemini", "bedrock")
PAIRED = ("anthropic", "gemini", "bedrock")
"""Formats in which user and model take turns, and results stand in messages of the user."""
FLAVOURS = ("coding", "browser", "service", "operations", "chat")

_OMITTED = re.compile(r"\[[^\[\]\n]{0,200}(?:omitted|later|removed)[^\n]{0,200}\]|…")
"""What stands for something missing: ordinary words in brackets, or the shortest mark."""
_THERE = re.compile(r"\[the same (result|text)[^\[\]\n]{0,80}later[^\[\]\n]{0,80}\]")
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@lru_cache(maxsize=200_000)
def tokens(text: str) -> int:
    """Return the tokens of a text."""
    return int(brim.meter(METER).count(text))


# --- texts


_VOCABULARY = """
account adapter after again agent already archive balance batch because before border branch bridge budget button
cache calendar called careful change channel check cluster column commit config connection copper customer daily
deadline decide default delivery deploy directory discount draft during early engine error every export failed
February field filter finally folder forward garden gateway green handle harbour header hotel identical import index
inside invoice journey kernel language ledger letter library limit machine market measure member memory message
migration minute mirror missing monitor morning motor native nearly network nothing notice number office only open
order orphan output owner parcel partial passenger payment permission phone pipeline please policy printer private
process promise queue quiet reason receipt record refund region release reminder remote repair report request
reservation retry review river runner safety schedule schema second secret seller server session several shard ship
signal silver single snapshot socket station status still stock storage street student summer supplier table teacher
temporary thread ticket timeout today token transfer travel trigger twice under unless update upload usual vendor
version village volume waiting warehouse weather window winter without worker writer yellow yesterday zone
"""
_WORDS = _VOCABULARY.split()
_FOREIGN = (
    "Не трогайте рабочую базу, пока не закончится выгрузка.",
    "サーバーの再起動は午後十時以降にしてください。",
    "Bitte prüfen Sie vorher die Größe der Übertragung.",
    "الملف الثاني أكبر من المتوقع.",
)


class Texts:
    """Writes texts as people, agents and programs write them; no two are the same."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def name(self) -> str:
        """Return the name of something."""
        first, second = self.rng.choices(_WORDS, k=2)
        return f"{first}_{second}_{self.rng.randrange(10_000)}".lower()

    def path(self) -> str:
        """Return the path of a file."""
        rng = self.rng
        return f"src/{rng.choice(_WORDS)}/{self.name()}.{rng.choice(('py', 'ts', 'sql', 'md', 'json'))}"

    def sentence(self) -> str:
        """Return a sentence, now and then with a name or in another script."""
        rng = self.rng
        if rng.random() < 0.03:
            return rng.choice(_FOREIGN)
        words = rng.choices(_WORDS, k=rng.randint(3, 18))
        if rng.random() < 0.3:
            words[rng.randrange(len(words))] = rng.choice((self.name(), f"`{self.path()}`", f"#{rng.randrange(9_999)}"))
        return " ".join([words[0].capitalize(), *words[1:]]) + rng.choice((".", ".", ".", "?", "!", ":"))

    def prose(self, sentences: int) -> str:
        """Return some sentences, in paragraphs or as a list."""
        said = [self.sentence() for _ in range(sentences)]
        glue = self.rng.choice((" ", " ", "\n", "\n\n", "\n- "))
        return glue.join(said)

    def code(self, lines: int) -> str:
        """Return a file of so many lines."""
        rng, out = self.rng, list[str]()
        while len(out) < lines:
            name = self.name()
            out += [f"def {name}({rng.choice(_WORDS)}, {rng.choice(_WORDS)}=None):", f'    """{self.sentence()}"""']
            for _ in range(rng.randint(1, 9)):
                left, right = rng.choices(_WORDS, k=2)
                out.append(f"    {left} = {right}.{rng.choice(_WORDS)}({rng.randrange(1_000)}, {self.name()!r})")
            out += ["    return " + rng.choice(_WORDS), "", ""]
        return "\n".join(out[:lines])

    def log(self, lines: int) -> str:
        """Return the output of a service."""
        rng, out = self.rng, []
        for i in range(lines):
            level = rng.choice(("INFO", "INFO", "INFO", "DEBUG", "WARNING", "ERROR"))
            words = " ".join(rng.choices(_WORDS, k=rng.randint(2, 7)))
            out.append(
                f"2026-11-{1 + i // 1440 % 28:02d}T{i // 60 % 24:02d}:{i % 60:02d}Z {level} {self.name()}: {words}"
            )
        return "\n".join(out)

    def listing(self, lines: int) -> str:
        """Return the names of files, or of rows of a table."""
        rng = self.rng
        if rng.random() < 0.5:
            return "\n".join(self.path() for _ in range(lines))
        rows = (
            f"{rng.randrange(10**6)},{self.name()},{rng.random() * 900:.2f},{rng.choice(_WORDS)}" for _ in range(lines)
        )
        return "\n".join(("id,name,price,state", *rows))

    def failure(self, lines: int) -> str:
        """Return the output of a test run that failed."""
        rng = self.rng
        frames = []
        for _ in range(rng.randint(2, 5)):
            frames += [
                f'  File "{self.path()}", line {rng.randrange(1, 900)}, in {self.name()}',
                f"    {self.name()}()",
            ]
        head = "\n".join(f"{self.path()}::test_{self.name()} PASSED" for _ in range(max(1, lines - 12)))
        kind = rng.choice(("KeyError", "ValueError", "AssertionError"))
        return "\n".join((head, "Traceback (most recent call last):", *frames, f"{kind}: {self.name()}", "1 failed"))

    def minified(self, lines: int) -> str:
        """Return a page written without line breaks."""
        return "".join(f'<li class="{self.name()}">{self.sentence()}</li>' for _ in range(max(1, lines // 8)))

    def output(self, lines: int) -> str:
        """Return what a tool printed."""
        kinds = (self.code, self.log, self.listing, self.failure, self.prose)
        made = self.rng.choice(kinds)(lines)
        return self.minified(lines) if self.rng.random() < 0.05 else made

    def rows(self, count: int) -> list[Any]:
        """Return records as a service returns them."""
        rng = self.rng
        return [
            {
                "id": f"#W{rng.randrange(10**7)}",
                "name": self.name(),
                "price": round(rng.random() * 900, 2),
                "paid": rng.choice((True, False, None)),
                "items": [{"sku": rng.randrange(10**9), "title": " ".join(rng.choices(_WORDS, k=3))} for _ in range(2)],
                "note": self.sentence() if rng.random() < 0.5 else "",
            }
            for _ in range(count)
        ]

    def value(self, count: int) -> Any:
        """Return an object or a list with so many records."""
        if self.rng.random() < 0.5:
            return self.rows(count)
        names = {self.name(): self.rng.choice((self.sentence(), 7, None, True, 1.5)) for _ in range(8)}
        return {"user_id": self.name(), **names, "orders": self.rows(count)}


# --- attachments


class Attachment(NamedTuple):
    """A picture or a document."""

    kind: str
    """`image` or `pdf`."""
    source: bytes | str
    """The file, or its id at the provider."""

    @property
    def base64(self) -> str:
        """The file in base64."""
        assert isinstance(self.source, bytes)
        return base64.b64encode(self.source).decode()


def png(rng: random.Random, width: int = 1_568, height: int = 1_003, size: int = 150_000) -> bytes:
    """Return a PNG file of which header and size are right; the data is noise, as many bytes as a screenshot has."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rng.randbytes(size)) + chunk(b"IEND", b"")


def pdf(rng: random.Random, pages: int, size: int = 75_000) -> bytes:
    """Return a PDF file with so many pages, padded to its size."""
    listed = b"".join(b"%d 0 obj << /Type /Page /Parent 1 0 R >> endobj\n" % (i + 2) for i in range(pages))
    return b"%PDF-1.7\n" + listed + b"%" + rng.randbytes(size).replace(b"/", b"_").replace(b"stream", b"______")


# --- formats: how each writes a history, and how it is read


class Call(NamedTuple):
    """A call with its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    texts: tuple[str, ...]
    """The texts of the result: more than one in a list of parts."""
    native: Any = None
    """The result as an object, where a format has room for one."""
    media: tuple[Attachment, ...] = ()


class Seen(NamedTuple):
    """Something that a message holds."""

    at: int
    """The index of the message."""
    kind: str
    """`system`, `person`, `agent` for texts; `call`, `result`, `media`, `block` or `field`."""
    text: str = ""
    key: str = ""
    """The id of a call or a result, the source of an attachment."""
    raw: Any = None
    """The arguments of a call; the texts of a result; the part with an attachment, the block or the field."""


class Form:
    """Writes and reads one format."""

    name = ""
    paired = True
    parts_key = "content"

    def text(self, said: str, role: str) -> Any:
        """Return a text as a part."""
        return {"type": "text", "text": said}

    def attachment(self, given: Attachment) -> Any:
        """Return an attachment as a part."""
        raise NotImplementedError

    def novel(self, payload: Any) -> Any:
        """Return a part that nobody knows."""
        return {"type": "memory_snapshot", "payload": payload}

    def said(self, role: str, parts: list[Any]) -> Any:
        """Return a message of a person or the agent; one text alone is a string where the format allows it."""
        only = parts[0].get("text") if len(parts) == 1 and set(parts[0]) <= {"type", "text"} else None
        return {"role": role, "content": parts if only is None else only}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        """Return the messages of the agent that call."""
        raise NotImplementedError

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        """Return the messages with the results; `after` are parts that follow them in the same message."""
        raise NotImplementedError

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        """Yield what a message holds."""
        raise NotImplementedError

    def view(self, messages: list[Any]) -> View:
        """Return what the messages hold."""
        return View([seen for at, message in enumerate(messages) for seen in self.read(message, at)])

    def holding(self, part: Any) -> Any:
        """Return a message of a person with this part alone."""
        return {"role": "user", self.parts_key: [part]}

    @staticmethod
    def fields(message: dict[str, Any], at: int, known: tuple[str, ...]) -> Iterator[Seen]:
        """Yield the fields of a message that nobody knows."""
        for key, value in message.items():
            if key not in known:
                yield Seen(at, "field", compact(value), key, {key: value})


_SPEAKERS = {"system": "system", "developer": "system", "user": "person", "assistant": "agent"}


class Chat(Form):
    """OpenAI Chat Completions."""

    name, paired = "openai", False

    def attachment(self, given: Attachment) -> Any:
        if given.kind == "image":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{given.base64}"}}
        if isinstance(given.source, str):
            return {"type": "file", "file": {"file_id": given.source}}
        data = f"data:application/pdf;base64,{given.base64}"
        return {"type": "file", "file": {"filename": "report.pdf", "file_data": data}}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        made = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
            for c in calls
        ]
        return [{"role": "assistant", "content": text or None, "tool_calls": made}]

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        results = []
        for call in calls:
            parts = [self.text(text, "tool") for text in call.texts]
            content = call.texts[0] if len(parts) == 1 else parts
            results.append({"role": "tool", "tool_call_id": call.id, "content": content})
        return results

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        role, content = message["role"], message.get("content")
        parts = [self.text(content, role)] if isinstance(content, str) else content or []
        if role == "tool":
            texts = tuple(part["text"] for part in parts)
            yield Seen(at, "result", "\n".join(texts), message["tool_call_id"], texts)
        else:
            yield from self._parts(parts, _SPEAKERS[role], at)
        for call in message.get("tool_calls") or ():
            yield Seen(at, "call", call["function"]["name"], call["id"], loaded(call["function"]["arguments"]))
        yield from self.fields(message, at, ("role", "content", "tool_calls", "tool_call_id"))

    @staticmethod
    def _parts(parts: list[Any], speaker: str, at: int) -> Iterator[Seen]:
        for part in parts:
            kind = part["type"]
            if kind == "text":
                yield Seen(at, speaker, part["text"])
            elif kind == "image_url":
                yield Seen(at, "media", "", part["image_url"]["url"], part)
            elif kind == "file":
                yield Seen(at, "media", "", part["file"].get("file_id") or part["file"]["file_data"], part)
            else:
                yield Seen(at, "block", compact(part), "", part)


class Items(Form):
    """OpenAI Responses."""

    name, paired = "responses", False

    def text(self, said: str, role: str) -> Any:
        if role == "assistant":
            return {"type": "output_text", "text": said, "annotations": []}
        return {"type": "input_text", "text": said}

    def attachment(self, given: Attachment) -> Any:
        if given.kind == "image":
            return {"type": "input_image", "image_url": f"data:image/png;base64,{given.base64}"}
        if isinstance(given.source, str):
            return {"type": "input_file", "file_id": given.source}
        data = f"data:application/pdf;base64,{given.base64}"
        return {"type": "input_file", "filename": "report.pdf", "file_data": data}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        told = [{"type": "message", "role": "assistant", "content": [self.text(text, "assistant")]}] if text else []
        made = [
            {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": json.dumps(c.arguments)}
            for c in calls
        ]
        return [*told, *made]

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        results = []
        for call in calls:
            parts = [self.text(text, "tool") for text in call.texts] + [*map(self.attachment, call.media)]
            output = call.texts[0] if len(parts) == 1 else parts
            results.append({"type": "function_call_output", "call_id": call.id, "output": output})
        return results

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        kind = message.get("type") or "message"
        if kind == "function_call":
            yield Seen(at, "call", message["name"], message["call_id"], loaded(message["arguments"]))
        elif kind == "function_call_output":
            output = message["output"]
            found = [*self._parts([self.text(output, "tool")] if isinstance(output, str) else output, "output", at)]
            texts = tuple(seen.text for seen in found if seen.kind == "output")
            yield Seen(at, "result", "\n".join(texts), message["call_id"], texts)
            yield from (seen for seen in found if seen.kind != "output")
        else:
            said, role = message["content"], message["role"]
            yield from self._parts([self.text(said, role)] if isinstance(said, str) else said, _SPEAKERS[role], at)
        yield from self.fields(message, at, ("type", "role", "content", "call_id", "name", "arguments", "output"))

    @staticmethod
    def _parts(parts: list[Any], speaker: str, at: int) -> Iterator[Seen]:
        for part in parts:
            if part["type"] in ("input_text", "output_text"):
                yield Seen(at, speaker, part["text"])
            elif part["type"] == "input_image":
                yield Seen(at, "media", "", part["image_url"], part)
            elif part["type"] == "input_file":
                yield Seen(at, "media", "", part.get("file_id") or part["file_data"], part)
            else:
                yield Seen(at, "block", compact(part), "", part)


class Blocks(Form):
    """Anthropic Messages."""

    name = "anthropic"

    def attachment(self, given: Attachment) -> Any:
        media = "image/png" if given.kind == "image" else "application/pdf"
        source = {"type": "file", "file_id": given.source}
        if isinstance(given.source, bytes):
            source = {"type": "base64", "media_type": media, "data": given.base64}
        return {"type": "image" if given.kind == "image" else "document", "source": source}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        told = [self.text(text, "assistant")] if text else []
        made = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
        return [{"role": "assistant", "content": [*told, *made]}]

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        return [{"role": "user", "content": [*map(self._result, calls), *after]}]

    def _result(self, call: Call) -> Any:
        parts = [self.text(text, "tool") for text in call.texts] + [*map(self.attachment, call.media)]
        content = call.texts[0] if len(parts) == 1 else parts
        return {"type": "tool_result", "tool_use_id": call.id, "content": content}

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        content = message["content"]
        parts = [self.text(content, "")] if isinstance(content, str) else content
        yield from self._parts(parts, _SPEAKERS[message["role"]], at)
        yield from self.fields(message, at, ("role", "content"))

    def _parts(self, parts: list[Any], speaker: str, at: int) -> Iterator[Seen]:
        for part in parts:
            kind = part["type"]
            if kind == "text":
                yield Seen(at, speaker, part["text"])
            elif kind == "tool_use":
                yield Seen(at, "call", part["name"], part["id"], part["input"])
            elif kind == "tool_result":
                inner = part.get("content") or []
                found = [*self._parts([self.text(inner, "")] if isinstance(inner, str) else inner, "output", at)]
                texts = tuple(seen.text for seen in found if seen.kind == "output")
                yield Seen(at, "result", "\n".join(texts), part["tool_use_id"], texts)
                yield from (seen for seen in found if seen.kind != "output")
            elif kind in ("image", "document"):
                source = part["source"]
                yield Seen(at, "media", "", source.get("data") or source.get("file_id") or compact(source), part)
            elif kind not in ("thinking", "redacted_thinking"):
                yield Seen(at, "block", compact(part), "", part)


class Contents(Form):
    """Gemini."""

    name, parts_key = "gemini", "parts"

    def text(self, said: str, role: str) -> Any:
        return {"text": said}

    def attachment(self, given: Attachment) -> Any:
        media = "image/png" if given.kind == "image" else "application/pdf"
        if isinstance(given.source, str):
            return {"fileData": {"mimeType": media, "fileUri": f"https://generativelanguage.example/v1/{given.source}"}}
        return {"inlineData": {"mimeType": media, "data": given.base64}}

    def novel(self, payload: Any) -> Any:
        return {"memorySnapshot": payload}

    def said(self, role: str, parts: list[Any]) -> Any:
        return {"role": "model" if role == "assistant" else role, "parts": parts}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        told = [self.text(text, "assistant")] if text else []
        made = [{"functionCall": {"id": c.id, "name": c.name, "args": c.arguments}} for c in calls]
        return [{"role": "model", "parts": [*told, *made]}]

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        return [{"role": "user", "parts": [*map(self._result, calls), *after]}]

    def _result(self, call: Call) -> Any:
        response: Any = {"output": call.texts[0]}
        if isinstance(call.native, dict):
            response = call.native
        elif len(call.texts) > 1:
            response = {"content": [{"type": "text", "text": text} for text in call.texts]}
        answer: dict[str, Any] = {"id": call.id, "name": call.name, "response": response}
        if call.media:
            answer["parts"] = [*map(self.attachment, call.media)]
        return {"functionResponse": answer}

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        speaker = "agent" if message["role"] == "model" else "person"
        for part in message["parts"]:
            if "functionCall" in part:
                call = part["functionCall"]
                yield Seen(at, "call", call["name"], call["id"], call.get("args") or {})
            elif "functionResponse" in part:
                answer = part["functionResponse"]
                texts = tuple(_responded(answer["response"]))
                yield Seen(at, "result", "\n".join(texts), answer["id"], texts)
                yield from (self._media(each, at) for each in answer.get("parts") or ())
            elif "text" in part:
                yield Seen(at, speaker, part["text"])
            else:
                yield self._media(part, at)
        yield from self.fields(message, at, ("role", "parts"))

    @staticmethod
    def _media(part: Any, at: int) -> Seen:
        if "inlineData" in part:
            return Seen(at, "media", "", part["inlineData"]["data"], part)
        if "fileData" in part:
            return Seen(at, "media", "", part["fileData"]["fileUri"], part)
        return Seen(at, "block", compact(part), "", part)


def _responded(response: dict[str, Any]) -> list[str]:
    """Return the texts in the response of a function: the only one, or the object as JSON."""
    only = next(iter(response.values())) if len(response) == 1 else None
    return [only if isinstance(only, str) else compact(response)]


class Converse(Form):
    """Bedrock Converse."""

    name = "bedrock"

    def text(self, said: str, role: str) -> Any:
        return {"text": said}

    def attachment(self, given: Attachment) -> Any:
        if given.kind == "image":
            return {"image": {"format": "png", "source": {"bytes": given.source}}}
        source: dict[str, Any] = {"s3Location": {"uri": f"s3://reports/{given.source!s}.pdf"}}
        if isinstance(given.source, bytes):
            source = {"bytes": given.source}
        return {"document": {"format": "pdf", "name": "report", "source": source}}

    def novel(self, payload: Any) -> Any:
        return {"memorySnapshot": payload}

    def said(self, role: str, parts: list[Any]) -> Any:
        return {"role": role, "content": parts}

    def called(self, text: str, calls: list[Call]) -> list[Any]:
        told = [self.text(text, "assistant")] if text else []
        made = [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.arguments}} for c in calls]
        return [{"role": "assistant", "content": [*told, *made]}]

    def answered(self, calls: list[Call], after: list[Any]) -> list[Any]:
        return [{"role": "user", "content": [*map(self._result, calls), *after]}]

    def _result(self, call: Call) -> Any:
        content = [self.text(text, "tool") for text in call.texts]
        if isinstance(call.native, dict):
            content = [{"json": call.native}]
        return {"toolResult": {"toolUseId": call.id, "content": [*content, *map(self.attachment, call.media)]}}

    def read(self, message: Any, at: int) -> Iterator[Seen]:
        yield from self._parts(message["content"], _SPEAKERS[message["role"]], at)
        yield from self.fields(message, at, ("role", "content"))

    def _parts(self, parts: list[Any], speaker: str, at: int) -> Iterator[Seen]:
        for part in parts:
            if "text" in part or "json" in part:
                yield Seen(at, speaker, part["text"] if "text" in part else compact(part["json"]))
            elif "toolUse" in part:
                use = part["toolUse"]
                yield Seen(at, "call", use["name"], use["toolUseId"], use["input"])
            elif "toolResult" in part:
                found = [*self._parts(part["toolResult"]["content"], "output", at)]
                texts = tuple(seen.text for seen in found if seen.kind == "output")
                yield Seen(at, "result", "\n".join(texts), part["toolResult"]["toolUseId"], texts)
                yield from (seen for seen in found if seen.kind != "output")
            elif "image" in part or "document" in part:
                source = (part.get("image") or part["document"])["source"]
                key = source["bytes"] if "bytes" in source else compact(source)
                yield Seen(at, "media", "", key if isinstance(key, str) else base64.b64encode(key).decode(), part)
            elif "reasoningContent" not in part and "cachePoint" not in part:
                yield Seen(at, "block", compact(part), "", part)


FORMS: dict[str, Form] = {form.name: form for form in (Chat(), Items(), Blocks(), Contents(), Converse())}


class View:
    """What the messages of a history hold, in order."""

    def __init__(self, seen: list[Seen]) -> None:
        self.seen = seen
        self.calls = {each.key: each for each in seen if each.kind == "call"}
        self.results = {each.key: each for each in seen if each.kind == "result"}
        self.media = {each.key: each for each in seen if each.kind == "media"}
        self.blocks = {each.text: each for each in seen if each.kind == "block"}
        self.fields = {each.text: each for each in seen if each.kind == "field"}
        self.said = {
            speaker: [each for each in seen if each.kind == speaker] for speaker in ("system", "person", "agent")
        }
        self.spoken = {speaker: "\0".join(each.text for each in said) for speaker, said in self.said.items()}

    def says(self, speaker: str, text: str) -> bool:
        """Return whether a text of somebody stands whole."""
        return text in self.spoken[speaker]


class Digits(str):
    """A number in JSON that is longer than Python reads."""

    __slots__ = ()


def loaded(text: str) -> Any:
    """Return JSON with numbers of any length; a text that is no JSON is returned as it is."""
    try:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4_000 else Digits(digits))
    except ValueError:
        return text


# --- histories


class Script:
    """Writes a history step by step, and notes what a check must know of it."""

    def __init__(self, format: str) -> None:
        self.form = FORMS[format]
        self.messages: list[Any] = []
        self.turns: list[list[int]] = []
        """The indexes of the messages that stay or go together."""
        self.people: list[Seen] = []
        """What people said, in order."""
        self.last: list[int] = []
        """The indexes of the newest step: a call with its results, or a message."""

    def system(self, text: str) -> None:
        """Give instructions, before all others or, in formats that take it, in the middle."""
        self._add([{"role": "system", "content": text}], turn=False)

    def person(self, texts: list[str], *extra: Any, **fields: Any) -> None:
        """Speak as a person, with other parts, and fields that nobody knows."""
        parts = [self.form.text(text, "user") for text in texts]
        self._add([{**self.form.said("user", [*parts, *extra]), **fields}], turn=not self.form.paired)
        self.people += [Seen(self.last[0], "person", text) for text in texts]

    def program(self, text: str) -> None:
        """Speak as a program in the role of the user."""
        self._add([self.form.said("user", [self.form.text(text, "user")])], turn=not self.form.paired)

    def agent(self, text: str) -> None:
        """Speak as the agent."""
        message = self.form.said("assistant", [self.form.text(text, "assistant")])
        self._add([{"type": "message", **message} if self.form.name == "responses" else message])

    def step(self, text: str, calls: list[Call], reminder: str = "") -> None:
        """Call and answer; the reminder of a program stands after the results where it can."""
        after = [self.form.text(reminder, "user")] if reminder and self.form.paired else []
        self._add([*self.form.called(text, calls), *self.form.answered(calls, after)])
        if reminder and not after:
            self.system(reminder)

    def _add(self, messages: list[Any], *, turn: bool = True) -> None:
        at = range(len(self.messages), len(self.messages) + len(messages))
        self.messages += messages
        if messages[0].get("role") != "system":
            self.last = [*at]
        if turn or not self.turns:
            self.turns.append([*at])
        else:
            self.turns[-1] += at


_RULES = (
    "Never touch {name}, whatever happens.",
    "Do not push to {name} before I say so.",
    "From now on write every date as {name}.",
    "Only Petra may approve {name}; ask her first.",
    "The password of {name} must not be printed.",
)


class Writer:
    """Makes a history of one flavour."""

    def __init__(self, rng: random.Random, format: str, flavour: str) -> None:
        self.rng, self.text, self.flavour = rng, Texts(rng), flavour
        self.script = Script(format)
        self.form = self.script.form
        self.rules: list[str] = []
        """What people forbade or asked for once."""
        self.reminder = self._reminder() if rng.random() < (0.5 if flavour == "operations" else 0.15) else ""
        self.calls = 0
        self.before: list[Call] = []
        """Calls whose results may come again."""

    def converse(self) -> Script:
        """Make the history."""
        rng, script = self.rng, self.script
        if not self.form.paired and rng.random() < 0.5:
            script.system(self.text.prose(rng.randint(1, 6)))
        self._task()
        for i in range(self._length()):
            if self.flavour == "chat" or rng.random() < 0.12:
                self._exchange()
            else:
                self._step(self.reminder if i % 3 == 2 else "")
        if rng.random() < 0.3 and self.flavour != "chat":
            self._exchange()
        elif self.flavour == "chat":
            script.person([self.text.prose(rng.randint(1, 5))]) if not self.form.paired else None
        return script

    def _length(self) -> int:
        few, many = {"coding": (3, 12), "browser": (3, 14), "service": (4, 24), "operations": (4, 26), "chat": (3, 20)}[
            self.flavour
        ]
        return self.rng.randint(few, many)

    def _task(self) -> None:
        rng = self.rng
        texts = [self.text.prose(rng.randint(1, 8))]
        if rng.random() < 0.6:
            texts[0] += " " + self._rule()
        if rng.random() < 0.15:
            texts.append(self.text.prose(rng.randint(20, 60)))
        parts: list[Any] = []
        if rng.random() < {"browser": 0.7, "chat": 0.35}.get(self.flavour, 0.1):
            parts += [self._picture() for _ in range(rng.choice((1, 2, 5)))]
        if rng.random() < 0.12:
            parts.append(self._document())
        if rng.random() < 0.12:
            parts.append(self._block())
        self.script.person(texts, *parts, **self._fields(0.12))

    def _exchange(self) -> None:
        rng = self.rng
        self.script.agent(self.text.prose(rng.choice((1, 2, 4, 8, 25))))
        texts = [self.text.prose(rng.choice((1, 1, 2, 5)))]
        if rng.random() < 0.4:
            texts[0] += " " + self._rule()
        parts: list[Any] = []
        if rng.random() < 0.12:
            parts.append(rng.choice((self._picture, self._document, self._block))())
        self.script.person(texts, *parts, **self._fields(0.06))

    def _step(self, reminder: str) -> None:
        rng = self.rng
        many = rng.choice((1, 1, 1, 1, 2, 3, 6))
        text = self.text.prose(rng.choice((1, 1, 2, 3))) if rng.random() < 0.7 else ""
        self.script.step(text, [self._call() for _ in range(many)], reminder)

    def _call(self) -> Call:
        rng = self.rng
        self.calls += 1
        id_ = f"call_{self.calls}_{rng.randrange(10**6):06d}"
        if self.before and rng.random() < 0.15:
            return rng.choice(self.before)._replace(id=id_, media=())
        if self.flavour == "coding" and rng.random() < 0.3:
            lines = rng.choice((190, 190, 240, 300, 450, 900, 2_200))
            arguments = {"path": self.text.path(), "content": self.text.code(lines)}
            return Call(id_, "write_file", arguments, ("ok",))
        made = self._json(id_) if rng.random() < {"service": 0.8, "browser": 0.5}.get(self.flavour, 0.1) else None
        if made is None:
            made = Call(id_, rng.choice(("bash", "read")), self._arguments(), (self.text.output(self._lines()),))
        if self.flavour == "browser" and rng.random() < 0.5 and self.form.name != "openai":
            made = made._replace(media=(Attachment("image", png(rng)),))
        self.before.append(made)
        return made

    def _lines(self) -> int:
        short = (3, 8, 20, 50, 50, 80, 120)
        return int(
            self.rng.choice((*short, *short, 300, 600, *((2_000, 5_000) if self.flavour == "operations" else ())))
        )

    def _arguments(self) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.5:
            return {"command": f"python -m {self.text.name()} --limit {rng.randrange(99)}"}
        return {"path": self.text.path(), "lines": [1, rng.randrange(2, 900)], "follow": rng.random() < 0.5}

    def _json(self, id_: str) -> Call:
        """Return a call whose result is JSON: as a text, wrapped as by MCP servers, as parts or as an object."""
        rng = self.rng
        value = self.text.value(rng.choice((1, 2, 3, 5, 10, 40)))
        indent = rng.choice((None, None, 2))
        way, native = rng.randrange(6), None
        texts: tuple[str, ...] = (json.dumps(value, ensure_ascii=False, indent=indent),)
        part = {"type": "text", "text": texts[0]}
        if way == 1:
            texts = (json.dumps(part, ensure_ascii=False),)
        elif way == 2:
            other = {"type": "text", "text": json.dumps(self.text.value(2))}
            texts = (json.dumps([part, other], ensure_ascii=False),)
        elif way == 3:
            texts = (json.dumps({"content": [part], "isError": False}, ensure_ascii=False),)
        elif way == 4:
            texts = (*texts, self.text.prose(3))
        elif way == 5 and isinstance(value, dict):
            native = value
        arguments = {"order_id": f"#W{rng.randrange(10**7)}", "fields": ["price", "state"]}
        return Call(id_, f"get_{rng.choice(_WORDS)}_details".lower(), arguments, texts, native)

    def _rule(self) -> str:
        rule = self.rng.choice(_RULES).format(name=f"prod_db-{self.rng.randrange(10_000)}")
        self.rules.append(rule)
        return rule

    def _reminder(self) -> str:
        done = "\n".join(f"- [ ] {self.text.sentence()}" for _ in range(self.rng.randint(2, 8)))
        return f"<system-reminder>\nThese are your open tasks:\n{done}\n</system-reminder>"

    def _picture(self) -> Any:
        return self.form.attachment(Attachment("image", png(self.rng)))

    def _document(self) -> Any:
        rng = self.rng
        source: bytes | str = pdf(rng, rng.choice((1, 2, 5))) if rng.random() < 0.6 else f"file-{rng.randrange(10**9)}"
        return self.form.attachment(Attachment("pdf", source))

    def _block(self) -> Any:
        return self.form.novel({"state": self.text.rows(26), "id": self.text.name()})

    def _fields(self, share: float) -> dict[str, Any]:
        return {"workspace_state": self.text.code(185)} if self.rng.random() < share else {}


@dataclass
class Case:
    """One history, and the budget into which it is to be fitted."""

    seed: int
    format: Any
    """One of `FORMATS`."""
    messages: list[Any]
    budget: int
    script: Script = field(repr=False)
    flavour: str = ""
    rules: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int) -> Case:
        """Return the case of a seed."""
        rng = random.Random(f"items {seed}")
        format, flavour = rng.choice(FORMATS), rng.choice(FLAVOURS)
        writer = Writer(rng, format, flavour)
        script = writer.converse()
        case = cls(seed, format, script.messages, 300, script, flavour, writer.rules)
        total = case.count(script.messages)
        way = rng.random()
        if way < 0.1:
            case.budget = total - rng.choice((1, 10, 73))
        elif way < 0.2:
            case.budget = int(total * 0.97)
        elif way < 0.3:
            case.budget = rng.randint(300, 900)
        elif way < 0.6:
            case.budget = int(total * rng.uniform(0.05, 0.97))
        else:
            case.budget = int(300 * (max(301, total * 0.97) / 300) ** rng.uniform(0.2, 1))
        case.budget = max(300, case.budget)
        if rng.random() < 0.07:
            some = [turn for turn in script.turns if case.count([script.messages[i] for i in turn]) < case.budget // 4]
            case.options["pin"] = rng.choice(some) if some else []
        return case

    @property
    def form(self) -> Form:
        """How its format is written and read."""
        return self.script.form

    @cached_property
    def given(self) -> View:
        """What the history holds."""
        return self.form.view(self.messages)

    @cached_property
    def pinned(self) -> set[int]:
        """The indexes of the messages that the caller pinned, with the turns that they are in."""
        pins = set(self.options.get("pin") or ())
        return {at for turn in self.script.turns if pins & {*turn} for at in turn}

    @property
    def leading(self) -> list[int]:
        """The indexes of the system messages before all others."""
        return traffic.leading(self.messages)

    def count(self, messages: list[Any]) -> int:
        """Return the tokens of messages in its format."""
        return int(brim.meter(METER).count_messages(messages, format=self.format))

    def fit(self, budget: int | None = None, messages: list[Any] | None = None) -> brim.Fitted:
        """Run the fit."""
        return brim.fit_messages(
            self.messages if messages is None else messages,
            self.budget if budget is None else budget,
            meter=METER,
            format=self.format,
            **self.options,
        )

    def turn_of(self, at: int) -> list[int]:
        """Return the turn of a message."""
        return next((turn for turn in self.script.turns if at in turn), [at])


@dataclass
class Outcome:
    """What came of a case: the messages to send, or a refusal."""

    case: Case
    messages: list[Any]
    used: int
    fitted: brim.Fitted | None = None
    refusal: brim.DoesNotFit | None = None
    changed: bool = False
    """Whether the fit changed its input."""

    @classmethod
    def of(cls, case: Case) -> Outcome:
        """Fit a case."""
        before = copy.deepcopy(case.messages)
        try:
            fitted = case.fit()
        except brim.DoesNotFit as error:
            return cls(case, [], 0, None, error, case.messages != before)
        return cls(case, fitted.messages, fitted.used, fitted, None, case.messages != before)

    @cached_property
    def out(self) -> View:
        """What the messages to send hold."""
        return self.case.form.view(self.messages)

    @property
    def free(self) -> int:
        """The tokens of the budget that were not used."""
        return self.case.budget - self.used


# --- what is left out


class Missing(NamedTuple):
    """Something that could stand in the prompt and does not."""

    at: int
    what: str
    tokens: int
    """An upper estimate of what it would take: itself, the marks beside it, the frame of its turn if that is gone."""


_BESIDE = 24
"""Tokens for the marks on both sides of a line, and for a short neighbour that goes with it."""
_MEMBER = 200
"""Tokens up to which a member of a JSON result is one thing."""


def missing(outcome: Outcome) -> Iterator[Missing]:
    """Yield the smallest missing thing of each text, value and result, and each missing attachment and unknown part.

    What a program reminds of is said again each time, and is missed by nobody.
    """
    case, out = outcome.case, outcome.out
    times = Counter(seen.text for seen in case.given.seen if seen.kind in ("person", "system"))
    for seen in case.given.seen:
        if seen.kind in ("person", "agent") and times[seen.text] < 2 and not out.says(seen.kind, seen.text):
            left = [each for each in _SENTENCES.split(seen.text) if each and each not in out.spoken[seen.kind]]
            gone = len(left) == len([each for each in _SENTENCES.split(seen.text) if each])
            yield from _smallest(case, seen, "a sentence", left, gone=gone)
        elif seen.kind == "result":
            there = out.results.get(seen.key)
            if there is None or there.raw != seen.raw:
                yield from _smallest(case, seen, "a line of a result", _left(seen, there), gone=there is None)
        elif seen.kind == "call":
            other = out.calls.get(seen.key)
            for path, value in strings(seen.raw):
                shown = None if other is None else at_path(other.raw, path)
                if shown != value:
                    yield from _smallest(case, seen, "a line of a value", _lines_left(value, shown), gone=other is None)
        elif seen.kind in ("media", "block", "field"):
            standing = {"media": out.media, "block": out.blocks, "field": out.fields}[seen.kind]
            if (seen.key if seen.kind == "media" else seen.text) not in standing:
                gone = not _stands(outcome, seen.at)
                yield Missing(seen.at, seen.kind, _cost(case, seen) + _BESIDE + (_frame(case, seen.at) if gone else 0))


def _smallest(case: Case, seen: Seen, what: str, left: list[str], *, gone: bool) -> Iterator[Missing]:
    shortest = sorted((each for each in left if each.strip()), key=len)[:5]
    if shortest:
        least = min(map(tokens, shortest))
        yield Missing(seen.at, what, least + _BESIDE + (_frame(case, seen.at) if gone else 0))


def _left(seen: Seen, there: Seen | None) -> list[str]:
    """Return the lines or members of a result that do not stand."""
    left: list[str] = []
    for text in seen.raw:
        rows = members(text)
        shown = "" if there is None else there.text
        if there is not None and text in there.raw:
            continue
        parsed = None if there is None else [row for each in there.raw for row in members(each) or ()]
        as_lines = "\n" in shown and not parsed
        if rows is not None and not as_lines:
            left += (Counter(rows) - Counter(parsed or ())).elements()
        else:
            left += _lines_left(text, shown)
    return left


def _lines_left(text: str, shown: object) -> list[str]:
    lines = text.split("\n")
    return [*(Counter(lines) - Counter(shown.split("\n") if isinstance(shown, str) else ())).elements()]


def members(text: str) -> list[str] | None:
    """Return the members of a text that is JSON, small ones whole, with what is JSON inside of their strings.

    `None` if the text is no object and no list.
    """
    value = loaded(text) if text[:1] in ("{", "[") else None
    if not isinstance(value, dict | list):
        return None
    found: list[str] = []
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        inner = members(each) if isinstance(each, str) else None
        named = compact({key: each}) if isinstance(value, dict) else compact(each)
        if inner is None and isinstance(each, dict | list) and tokens(named) > _MEMBER:
            inner = members(compact(each))
        found += [named] if inner is None else inner
    return found


def strings(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield each string of a value with its path."""
    if isinstance(value, str) and not isinstance(value, Digits):
        yield path, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings(each, (*path, key))


def at_path(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path, `None` if there is none."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _stands(outcome: Outcome, at: int) -> bool:
    """Return whether anything of a message stands."""
    message, out = outcome.case.messages[at], outcome.out
    for seen in outcome.case.form.read(message, at):
        if seen.key and (seen.key in out.results or seen.key in out.calls):
            return True
        said = [each for each in _SENTENCES.split(seen.text) if each]
        if seen.kind in out.spoken and any(each in out.spoken[seen.kind] for each in said):
            return True
    return False


def _cost(case: Case, seen: Seen) -> int:
    """Return the tokens of an attachment or an unknown part."""
    if seen.kind == "field":
        return tokens(compact(seen.raw))
    return case.count([case.form.holding(seen.raw)]) - case.count([case.form.holding(case.form.text("", "user"))])


_MARK = 40
"""Tokens of the longest mark, which shows how a long value begins."""


def _frame(case: Case, at: int) -> int:
    """Return an upper estimate of a turn of which nothing stands but its calls and a mark for each text."""
    total = 0
    for i in case.turn_of(at):
        total += 4
        for seen in case.form.read(case.messages[i], i):
            if seen.kind == "call":
                total += tokens(seen.text) + 8
                total += sum(min(_MARK, tokens(value)) + 8 for _, value in strings(seen.raw))
            else:
                total += 12
    return total


# --- what must hold


Property = Callable[[Case, Outcome], None]


def fits(case: Case, outcome: Outcome) -> None:
    """It fits, counted as a whole, and says what it counts; its input is as it was."""
    counted = case.count(outcome.messages)
    assert counted == outcome.used, f"says {outcome.used}, counts {counted}"
    assert counted <= case.budget, f"{counted} > {case.budget}"
    assert not outcome.changed, "the input was changed"
    if outcome.fitted is not None:
        assert outcome.fitted.receipt.used == counted, f"the receipt says {outcome.fitted.receipt.used}"


def fills(case: Case, outcome: Outcome) -> None:
    """Not more than a tenth stays free while something that would fit is left out."""
    if 10 * outcome.used >= 9 * case.budget:
        return
    least = min(missing(outcome), key=lambda each: each.tokens, default=None)
    assert least is None or least.tokens > outcome.free, (
        f"{outcome.free} of {case.budget} are free, and {least.what} of message {least.at} takes {least.tokens}"
    )


_GLIMPSE, _LONG = 40, 300
"""Tokens of a result that count as little; tokens from which a value is long."""


def keeps_the_newest(case: Case, outcome: Outcome) -> None:
    """The newest turn loses nothing that the room of older results, long values and attachments could hold."""
    newest = set(case.script.last)
    lost = [each for each in missing(outcome) if each.at in newest and each.what not in ("media", "block", "field")]
    if not lost:
        return
    older = [*_standing(case, outcome, newest)]
    gain = sum(gained for _, gained in older)
    least = min(lost, key=lambda each: each.tokens)
    assert not older or least.tokens > outcome.free + gain, (
        f"{least.what} of the newest turn takes {least.tokens} and is missing, and there stands {older[0][0]}"
    )


def _standing(case: Case, outcome: Outcome, newest: set[int]) -> Iterator[tuple[str, int]]:
    """Yield the older results, values and attachments that stand in more than a mark and a glimpse, with their gain."""
    out, kept = outcome.out, newest | case.pinned
    for seen in case.given.seen:
        if seen.at in kept:
            continue
        if seen.kind == "result" and seen.key in out.results and tokens(seen.text) > _GLIMPSE:
            shown = out.results[seen.key].text
            if shown == seen.text or tokens(shown) > _GLIMPSE + _MARK:
                yield f"a result of message {seen.at} with {tokens(shown)} tokens", tokens(shown) - _GLIMPSE
        elif seen.kind == "call" and seen.key in out.calls:
            for path, value in strings(seen.raw):
                shown = at_path(out.calls[seen.key].raw, path)
                if tokens(value) > _LONG and isinstance(shown, str) and tokens(shown) > _GLIMPSE + _MARK:
                    yield f"a value of message {seen.at} with {tokens(shown)} tokens", tokens(shown) - _GLIMPSE
        elif seen.kind == "media" and seen.key in out.media:
            yield f"an attachment of message {seen.at}", _cost(case, seen)


def points_to_what_stands(case: Case, outcome: Outcome) -> None:
    """Each mark that sends the reader to a later place is right."""
    out, given = outcome.out, case.given
    times = Counter(seen.text for seen in given.seen if seen.kind in ("person", "system"))
    often = [text for text, count in times.items() if count > 1]
    for seen in out.seen:
        if not _THERE.search(seen.text):
            continue
        if seen.kind == "result":
            marks = sum(bool(_THERE.search(text)) for text in seen.raw)
            after = [each for each in out.results.values() if each.at > seen.at or _is_after(out, each, seen)]
            texts = [text for text in given.results[seen.key].raw if text not in seen.raw]
            right = sum(any(text in each.raw for each in after) for text in texts)
            assert right >= marks, f"{seen.text[:80]!r} of {seen.key}: it stands nowhere later"
        elif seen.kind in ("person", "system"):
            later = "\0".join(each.text for each in out.seen if each.at > seen.at and each.kind in out.spoken)
            assert any(text in later for text in often), f"{seen.text!r} in message {seen.at}: nothing stands later"


def _is_after(out: View, one: Seen, other: Seen) -> bool:
    """Return whether one of two results in the same message follows the other."""
    return one.at == other.at and out.seen.index(one) > out.seen.index(other)


def keeps_words(case: Case, outcome: Outcome) -> None:
    """The task and what was said last stand whole where all of it and 300 tokens fit, whatever stands beside it."""
    people = case.script.people
    ends = {people[0].at, people[-1].at}
    words = [seen.text for seen in people if seen.at in ends and tokens(seen.text) <= case.budget // 4]
    fixed = case.count([case.messages[at] for at in sorted({*case.leading, *case.pinned})])
    if sum(map(tokens, words)) + fixed + 300 > case.budget:
        return
    for text in words:
        assert outcome.out.says("person", text), f"{text[:80]!r} ({tokens(text)} tokens) is not whole in {case.budget}"


def keeps_rules(case: Case, outcome: Outcome) -> None:
    """What people said once in the middle stands where all they said and the newest turn are half of the budget.

    This is more than the rule asks for, and what a reader must find: what people wrote stays as long as anything else
    can give way.
    """
    words = sum(tokens(seen.text) for seen in case.script.people)
    newest = case.count([case.messages[at] for at in case.script.last])
    fixed = case.count([case.messages[at] for at in sorted({*case.leading, *case.pinned})])
    if 2 * (words + newest + fixed) + 300 > case.budget:
        return
    for rule in case.rules:
        assert outcome.out.says("person", rule), f"{rule!r} is gone, of {words} tokens that people said"


def is_legal(case: Case, outcome: Outcome) -> None:
    """A provider takes it; there is something in it; a refusal is one of what no words could fit."""
    rules = "anthropic" if case.form.paired else case.format
    if outcome.refusal is not None:
        least = case.count(_least(case))
        assert outcome.refusal.needed > case.budget == outcome.refusal.available, "a refusal that says nothing"
        assert least > case.budget, f"refused, and {least} would fit in {case.budget}"
        return
    assert outcome.messages, "nothing is left"
    read = Reader()(_readable(case.format, outcome.messages))
    assert not traffic.illegal(read, rules), traffic.illegal(read, rules)
    assert not traffic.misplaced(read, rules), traffic.misplaced(read, rules)
    assert rules != "anthropic" or traffic.alternates(read), "two messages of one side follow each other"
    assert not any(seen.kind in ("person", "agent") and not seen.text for seen in outcome.out.seen), "an empty text"
    for seen in outcome.out.seen:
        if seen.kind == "call":
            assert isinstance(seen.raw, dict), f"the arguments of {seen.key} are no object: {seen.raw!r:.80}"
    assert {*outcome.out.calls} == {*outcome.out.results}, "calls and results differ"


def _readable(format: str, messages: list[Any]) -> list[Any]:
    """Return the messages for the reader of other checks, which knows no documents and no unknown blocks."""
    if format != "bedrock":
        return messages
    known = ("text", "json", "image", "cachePoint", "reasoningContent", "toolUse")

    def block(part: Any) -> Any:
        if "toolResult" in part:
            body = part["toolResult"]
            return {"toolResult": {**body, "content": [*map(block, body["content"])]}}
        return part if any(key in part for key in known) else {"image": {}}

    return [{**message, "content": [*map(block, message["content"])]} for message in messages]


def _least(case: Case) -> list[Any]:
    """Return the fewest words that a prompt of this history has: what is fixed, a task and a newest turn of marks."""
    form, script = case.form, Script(case.format)
    fixed = [case.messages[at] for at in sorted({*case.leading, *case.pinned})]
    newest = [seen for at in case.script.last for seen in form.read(case.messages[at], at)]
    calls = [Call(seen.key, seen.text, {}, ("…",)) for seen in newest if seen.kind == "call"]
    script.person(["…"])
    if calls:
        script.step("…", calls)
    elif form.paired:
        script.agent("…")
        script.person(["…"])
    else:
        script.person(["…"])
    return [*fixed, *script.messages]


def keeps_json(case: Case, outcome: Outcome) -> None:
    """A JSON result in part is JSON with its own values, inside of strings too, or a mark, or whole lines."""
    for seen in outcome.out.results.values():
        given = case.given.results[seen.key]
        if not any(isinstance(loaded(text), dict | list) for text in given.raw):
            continue
        for text in seen.raw:
            if text not in given.raw:
                _check_json(text, given.raw, f"the result {seen.key}")
    for seen in outcome.out.calls.values():
        given = case.given.calls[seen.key]
        if seen.raw != given.raw:
            _check_values(seen.raw, [given.raw], f"the call {seen.key}")


def _check_json(text: str, originals: tuple[str, ...] | list[str], place: str) -> None:
    """A part of one of some texts is JSON, a mark or whole lines."""
    if _OMITTED.fullmatch(text.strip()):
        return
    value = loaded(text) if text.lstrip()[:1] in ("{", "[") else None
    if isinstance(value, dict | list):
        found = [loaded(original) for original in originals if original.lstrip()[:1] in ("{", "[")]
        _check_values(value, found, place)
        return
    own = {line for original in originals for line in original.split("\n")}
    for line in text.split("\n"):
        told = line in own or not line or _OMITTED.search(line)
        assert told, f"{place} is neither JSON nor a mark nor whole lines: {line[:120]!r}"


def _check_values(value: Any, originals: list[Any], place: str) -> None:
    """Strings that were JSON are JSON, and all other values are the own ones."""
    own = [leaf for original in originals for leaf in _leaves(original)]
    written = [leaf for leaf in own if type(leaf) is str]
    boxes = [leaf for leaf in written if leaf.lstrip()[:1] in ("{", "[") and isinstance(loaded(leaf), dict | list)]
    kinds = {(type(leaf), leaf) for leaf in own}
    for leaf in _leaves(value):
        if leaf is None or (type(leaf), leaf) in kinds:
            continue
        assert type(leaf) is str, f"{place} has the value {leaf!r:.80}, which is not its own"
        if boxes and (leaf.lstrip()[:1] in ("{", "[") or not _is_part(leaf, written)):
            _check_json(leaf, boxes, f"a text in {place}")


def _is_part(text: str, originals: list[str]) -> bool:
    """Return whether each piece of a text between marks stands in one of the originals."""
    pieces = [piece.strip() for piece in _OMITTED.split(text)]
    return any(all(piece in original for piece in pieces) for original in originals)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value


def grows_with_the_budget(case: Case, outcome: Outcome) -> None:
    """With a slightly bigger budget, the words of the task and then the newest turn get no fewer tokens."""
    if outcome.fitted is None:
        return
    bigger = case.fit(case.budget + 1 + case.seed % 97)
    had, has = _task_words(case, outcome.out), _task_words(case, case.form.view(bigger.messages))
    assert has >= had - 6, f"the task has {had} tokens of words, and {has} in a bigger budget"
    if has > had:
        return
    parts = {part.name: part for part in bigger.receipt.parts}
    for part in outcome.fitted.receipt.parts:
        if part.name.startswith("messages[") and case.script.last[-1] in _covered(part.name):
            other = parts[part.name]
            # A line may take less than the mark for it; above two fifths of the room, words of the agent come first.
            grace = max(12, part.used - int(case.budget * 0.4)) if part.state == other.state == "cut" else 0
            told = f"the newest turn has {part.used}, and {other.used} in a bigger budget"
            assert other.used >= part.used - grace, told


def _covered(name: str) -> range:
    first, _, last = name.removeprefix("messages[").partition("]")[0].partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def _task_words(case: Case, out: View) -> int:
    """Return the tokens of the sentences of the task that stand."""
    task = [seen.text for seen in case.script.people if seen.at == case.script.people[0].at]
    said = [each for text in task for each in _SENTENCES.split(text)]
    return sum(tokens(each) for each in said if each in out.spoken["person"])


def is_the_same_again(case: Case, outcome: Outcome) -> None:
    """The same fit gives the same, and fitting what was fitted changes nothing."""
    if outcome.fitted is None:
        return
    again = case.fit()
    assert again.messages == outcome.messages, "not the same twice"
    assert again.receipt == outcome.fitted.receipt, "not the same receipt twice"
    if "pin" not in case.options:  # The pinned indexes are others then.
        assert case.fit(messages=outcome.messages).messages == outcome.messages, "fitting what was fitted changed it"


PROPERTIES: dict[str, Property] = {
    "fits": fits,
    "fills": fills,
    "keeps the newest": keeps_the_newest,
    "points to what stands": points_to_what_stands,
    "keeps words": keeps_words,
    "keeps rules": keeps_rules,
    "is legal": is_legal,
    "keeps JSON": keeps_json,
    "grows with the budget": grows_with_the_budget,
    "is the same again": is_the_same_again,
}
"""What must hold, by name."""


def check_property(name: str, case: Case, outcome: Outcome) -> None:
    """Check one property; of a refusal, only whether it was right.

    Raises:
        AssertionError: it does not hold.
    """
    if outcome.refusal is None or name == "is legal":
        PROPERTIES[name](case, outcome)


def violations(outcome: Outcome) -> dict[str, str]:
    """Return what does not hold of an outcome, by property."""
    found: dict[str, str] = {}
    for name in PROPERTIES:
        try:
            check_property(name, outcome.case, outcome)
        except AssertionError as error:
            found[name] = str(error)
    return found


def check(seed: int) -> str:
    """Check all properties of a seed; return how the fit ended.

    Raises:
        AssertionError: some do not hold; the message has each of them.
    """
    outcome = Outcome.of(Case.of(seed))
    found = violations(outcome)
    assert not found, "; ".join(f"{name}: {told}" for name, told in found.items())
    return "refused" if outcome.refusal else "whole" if outcome.messages == outcome.case.messages else "cut"


def main() -> None:
    """Tell what does not hold of the seeds that are given."""
    for seed in map(int, sys.argv[1:]):
        case = Case.of(seed)
        total = case.count(case.messages)
        print(f"seed {seed}: {case.format}, {case.flavour}, {len(case.messages)} messages, {total} in {case.budget}")
        for name, told in violations(Outcome.of(case)).items():
            print(f"  {name}: {told}")


if __name__ == "__main__":
    main()
