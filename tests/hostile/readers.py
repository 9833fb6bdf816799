"""Everything that reads a stranger's text: each regular expression of the package, and functions by name.

Expressions are found by walking the package, with the methods by which their module uses them.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any, get_args

import brim
from brim import fit_messages
from brim.audit.formats import FORMATS, found
from brim.audit.records import _record
from brim.errors import BrimError
from brim.files.json_body import body_of
from brim.files.source import parse
from brim.gateway.client import names as identity
from brim.gateway.client.body import json_value
from brim.gateway.http.admitted import _is_plain
from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream.server_event import EventStream
from brim.history import envelopes, names, rendering
from brim.history.compact import lines, summary
from brim.history.compact.continuation import continuation
from brim.hosts import split_host
from brim.meter import meter_for
from brim.meter.catalogue import find
from brim.meter.engines import SplintrEngine, classes
from brim.meter.grapheme import boundary_after, boundary_before
from brim.meter.media import pages
from brim.meter.vocabularies import CLASSES, vocabulary
from brim.receipts.receipt import Receipt
from brim.receipts.section import KeepName
from brim.redaction import redact
from brim.relevance.lexical import Relevance
from brim.sessions.log.dropped_texts import MemoryLog
from brim.sessions.memory.lessons import distilled
from brim.sessions.memory.working_memory import WorkingMemory
from brim.settings.spec import read_spec
from brim.settings.yaml_editor import with_value
from brim.store.texts import handle_of
from brim.store.values import decode_body, encode_body
from brim.store.words import excerpt, query_words
from brim.studio.prompt_rows import taken
from brim.studio.views.sessions import readable
from brim.truncate import cut
from brim.truncate.failure import reports_failure
from brim.truncate.parts import TextParts
from brim.truncate.records import Records
from brim.wire import wire
from brim.wire.base import Format, loaded_tools
from brim.wire.message import Message, Piece
from brim.wire.overflow import is_overflow
from gateway.conftest import parsed

Read = Callable[[str], Any]
_REFUSALS = (BrimError, HttpProblem)
_ANCHORED = {"match", "fullmatch"}
_USES = re.compile(r"\b(\w+)\.(match|search|sub|subn|findall|finditer|split|fullmatch)\(")

BOUNDED: dict[str, Callable[[str], str]] = {
    "history.compact.continuation._PATH": lambda text: text[:1_300],
    "history.compact.lines._SIGN": lambda text: text[:400],
    "history.compact.lines._PLACE": lambda text: text[:400],
    "history.compact.lines._SENTENCE_END": lambda text: text[:8_000],
    "truncate.shape._CODE_LINE": lambda text: text[:200],
    "truncate.shape._LOG_LINE": lambda text: text[:200],
    "truncate.failure._CODE": lambda text: text[:400],
    "truncate.shape._OUTPUT": lambda text: text[:20_000],
    "truncate.shape._HEADING": lambda text: text[:20_000],
    "truncate.shape._DIFF": lambda text: text[:20_000],
    "truncate.code._CONTAINER": lambda text: text[:200],
    "wire.overflow._PHRASES": lambda text: text[:4_000],
    "wire.overflow._RATE": lambda text: text[:4_000],
    "meter.catalogue.": lambda text: text[:512],
    "sessions.memory.lessons.": lambda text: text[:40_000],
    "redaction._PLACEHOLDER": lambda text: text[:400],
}
"""Expressions that are given a bounded part of a text, as their callers cut it."""


def _modules() -> Iterator[Any]:
    for found_module in pkgutil.walk_packages(brim.__path__, "brim."):
        try:
            yield importlib.import_module(found_module.name)
        except ImportError:
            continue  # An integration whose framework is not installed.


def _held(value: Any, name: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, tuple | list):
        for i, each in enumerate(value):
            yield from _held(each, f"{name}[{i}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _held(each, f"{name}[{key}]")


@cache
def patterns() -> dict[str, tuple[re.Pattern[Any], Read]]:
    """Return each expression of the package by its place, and how it reads a text."""
    made: dict[str, tuple[re.Pattern[Any], Read]] = {}
    seen: set[int] = set()
    for module in _modules():
        used: dict[str, set[str]] = {}
        for name, method in _USES.findall(inspect.getsource(module)):
            used.setdefault(name, set()).add(method)
        for name, value in vars(module).items():
            for place, pattern in _held(value, f"{module.__name__.removeprefix('brim.')}.{name}"):
                if id(pattern) not in seen:
                    seen.add(id(pattern))
                    anchored = used.get(name, {""}) <= _ANCHORED
                    made[place] = pattern, _reading(place, pattern, anchored=anchored)
    return made


def _reading(place: str, pattern: re.Pattern[Any], *, anchored: bool) -> Read:
    bound = next((each for start, each in BOUNDED.items() if place.startswith(start)), lambda text: text)
    binary = isinstance(pattern.pattern, bytes)

    def read(text: str) -> None:
        given: Any = bound(text).encode("utf-8", "surrogatepass") if binary else bound(text)
        if anchored:
            pattern.match(given)
            pattern.fullmatch(given)
        else:
            for _ in pattern.finditer(given):
                pass

    return read


def _cutting(keep: str) -> Read:
    return lambda text: cut(text, 500, "chars", keep=keep)


_OPEN = ("llama3", "gemma3")
"""A vocabulary with word patterns and one without."""
_open_engine = cache(SplintrEngine)


def _counting(name: str) -> Read:
    def count(text: str) -> int:
        meter = vocabulary(name)
        meter.memo.clear()
        return meter.count(text)

    return count


def _body(text: str) -> bytes:
    return json.dumps({"model": "gpt-4o", "user": text, "messages": [{"role": "user", "content": text}]}).encode()


def _stream(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _in_memory(text: str) -> None:
    log = MemoryLog()
    log.append([("text", {"text": text})])
    log.search(text, session="", limit=5)
    assert log.text(handle_of(text)) == text or not text


def _admitted(text: str) -> bool:
    _is_plain.cache_clear()
    return _is_plain(_stream("/" + text)[:131_072])


def _ranked(text: str) -> Any:
    index = Relevance()
    index.add(text)
    return index.rank(text)


def _fitting(format: str) -> Read:
    def fit(text: str) -> Any:
        said = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "ok"},
            {"role": "user", "content": text},
        ]
        return fit_messages(said, 500, meter="chars", format=format)

    return fit


CHARS = meter_for("chars", None)

READERS: dict[str, Read] = {
    **{f"truncate:{keep}": _cutting(keep) for keep in get_args(KeepName)},
    **{f"wire:{format}": _fitting(format) for format in get_args(Format)},
    **{f"meter:{name}": _counting(name) for name in ("o200k_base", "cl100k_base", "qwen3.5")},
    f"meter:{CLASSES}": classes,
    **{
        f"audit:{each.NAME}": lambda text, each=each: each.items(
            {"body": {"messages": text}, "type": text, "message": {"content": text}}
        )
        for each in FORMATS
    },
    "audit.formats.found": lambda text: [*found(json_value(_stream(text)))],
    "audit.records": lambda text: _record(text.encode("utf-8", "surrogatepass"), 0, 1),
    "files.json_body.body_of": lambda text: body_of(text, "body", ("messages",)),
    "files.source.parse": lambda text: parse(text[:100_000], "text"),
    "gateway.client.parsed.parse": lambda text: parsed("chat", _body(text)),
    "gateway.client.parsed.parse, not JSON": lambda text: parsed("chat", _stream(text)),
    "gateway.http.admitted": _admitted,
    "gateway.client.names.conversation_name": lambda text: identity.conversation_name(
        {}, {"user": text}, "key", ["some-key"]
    ),
    "gateway.client.names.conversation_name, header": lambda text: identity.conversation_name(
        {"x-brim-session-id": text}, {}, "key", ["some-key"]
    ),
    "gateway.upstream.server_event.EventStream.feed": lambda text: EventStream().feed(_stream(text)),
    "history.envelopes.enveloped": envelopes.enveloped,
    "history.envelopes.compacting_agent": envelopes.compacting_agent,
    "history.envelopes.heard": envelopes.heard,
    "history.compact.summary.summarise": lambda text: summary.summarise(text, 500, CHARS),
    "history.compact.summary.condensed": lambda text: summary.condensed(
        lines.read_text("assistant", text), 500, CHARS, text
    ),
    "redaction.redact": redact,
    "history.compact.continuation.continuation": lambda text: continuation(
        [{"role": "assistant", "content": text}, {"role": "user", "content": text}], goal=text
    ),
    "history.rendering.parts_of": lambda text: rendering.parts_of(text).show(rendering.parts_of(text).ending()),
    "history.rendering.parts_of, written": lambda text: rendering.parts_of(text, written=True).show([0]),
    "history.rendering.brief_arguments": lambda text: rendering.brief_arguments(
        json.dumps({"a": text, "b": [text] * 2}), 100
    ),
    "wire.base.Wire.value": lambda text: wire("anthropic").value(
        Piece("call", "", ("input",)), json.dumps({"a": text})
    ),
    "studio.views.sessions.readable": readable,
    "studio.prompt_rows.taken": lambda text: taken(text, text[::2]),
    "history.names.names_in": lambda text: [*names.names_in(text)],
    "history.names.single_places": lambda text: [*names.single_places(text, text.split()[:99])],
    "wire.base.loaded_tools": lambda text: loaded_tools(
        Message("user", (Piece("opaque", '"type":"tool_reference"' + text, ()),), {})
    ),
    "relevance.lexical.Relevance": _ranked,
    "hosts.split_host": lambda text: split_host(text[:131_072]),
    "meter.media.pages": lambda text: pages(_stream(text)),
    "meter.catalogue.find": find,
    "meter.grapheme": lambda text: (boundary_before(text, len(text) // 2), boundary_after(text, len(text) // 2)),
    "meter.engines.SplintrEngine.count": lambda text: [_open_engine(name).count(text) for name in _OPEN],
    "receipts.receipt.Receipt.from_json": Receipt.from_json,
    "sessions.memory.lessons.distilled": distilled,
    "sessions.memory.working_memory": lambda text: WorkingMemory("context_budget\n" + text).override,
    "settings.spec.read_spec": lambda text: read_spec("a.yaml", text),
    "settings.yaml_editor.with_value": lambda text: with_value("a: 1\n" + text[:20_000], "a.yaml", ("b",), 1),
    "sessions.log.dropped_texts.MemoryLog": _in_memory,
    "store.values": lambda text: decode_body("here", encode_body("body", {"$bytes": text, "more": [text]})),
    "store.words.excerpt": lambda text: excerpt(text, ["a"]),
    "store.words.query_words": query_words,
    "truncate.failure.reports_failure": reports_failure,
    "truncate.parts.TextParts": lambda text: TextParts(text, longest=90).failures(code=True),
    "truncate.records.Records.select": lambda text: Records().select(text.split("\n"), 60, meter_for("chars", None)),
    "wire.overflow.is_overflow": is_overflow,
}
"""Functions by name. What they raise for text that they refuse is an answer, too."""


def reading(name: str) -> Read:
    """Return a reader whose refusals are answers."""
    read = READERS[name]

    def safely(text: str) -> None:
        with contextlib.suppress(_REFUSALS):
            read(text)

    return safely


class Shape:
    """A history of any length."""

    start = pump = end = ""

    def __init__(self, format: str, together: bool, results: str, same: bool, text: str) -> None:
        self.format, self._together, self._results, self._same, self._text = format, together, results, same, text

    def __str__(self) -> str:
        calls = "one message of calls" if self._together else "a message for each call"
        return f"{self.format}: {calls}, results {self._results}, {'equal' if self._same else 'own'} ids, {len(self._text)} characters"

    def of(self, size: int) -> list[Any]:
        """Return the messages, of about `size` characters as JSON."""
        count = max(1, size // (120 + len(self._text)))
        ids = ["c" if self._same else f"c{i}" for i in range(count)]
        calls = [self._call(ids)] if self._together else [self._call([each]) for each in ids]
        results = [self._result(each) for each in (reversed(ids) if self._results == "reversed" else ids)]
        said = {"role": "user", "content": "x"}
        if self._results == "missing":
            parts: list[Any] = [calls]
        elif self._results == "orphaned":
            parts = [results]
        elif self._results == "late":
            parts = [calls, [said] * 3, results]
        elif self._results == "twice":
            parts = [calls, results, results]
        elif self._results == "parted" and not self._together:
            parts = [[each for call, result in zip(calls, results, strict=True) for each in (call, said, result)]]
        else:
            parts = [calls, results]
        flat = [each for part in parts for each in part]
        return [said, *[each for item in flat for each in (item if isinstance(item, list) else [item])], said]

    def _call(self, ids: list[str]) -> Any:
        if self.format == "openai":
            made = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
            return {"role": "assistant", "content": None, "tool_calls": made}
        if self.format == "anthropic":
            return {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in ids],
            }
        return [{"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"} for each in ids]

    def _result(self, id: str) -> Any:
        if self.format == "openai":
            return {"role": "tool", "tool_call_id": id, "content": self._text}
        if self.format == "anthropic":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": self._text}]}
        return {"type": "function_call_output", "call_id": id, "output": self._text}


RESULTS = ("in order", "reversed", "missing", "orphaned", "late", "twice", "parted")


def shapes() -> list[Shape]:
    """Return histories of many calls, by format, place of the calls, order of the results, ids and texts."""
    return [Shape(*each) for each in product(get_args(Format), (True, False), RESULTS, (False, True), ("o", "x" * 240))]


def fitted(messages: list[Any], format: str) -> None:
    """Fit a history to a third of its size, as the rules of its format allow."""
    with contextlib.suppress(BrimError):
        fit_messages(messages, 60 + len(messages) * 8, meter="chars", format=format)
