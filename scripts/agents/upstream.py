"""The part of an upstream that every protocol shares: the rules, the window, the cache, the script and the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from scripts.agents.cache import CacheUse, PromptPart
from scripts.agents.illegal import IllegalRequest
from scripts.agents.request_log import RequestLog, Row
from scripts.agents.script import Script, ScriptedAnswer, Seen

_UNUSED = CacheUse(0, 0, 0)
_UNREAD = ("id", "type", "role", "signature", "encrypted_content", "thoughtSignature", "cache_control")
"""Fields that no model reads."""


class Cache(Protocol):
    """A prompt cache."""

    def use(self, parts: list[PromptPart]) -> CacheUse:
        """Return what a prompt reads and writes, and store it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRequest:
    """A request as a protocol read it."""

    body: dict[str, Any]
    seen: Seen
    fixed: list[PromptPart]
    """Tools and system prompt."""
    messages: list[PromptPart]
    asked: int
    """Tokens that are requested for the answer; 0 if none are named."""
    check: Callable[[], None]
    reports: bool = True
    """Whether the answer reports usage; a stream of Chat Completions does so only if it is asked to."""
    path: str
    client: str

    @property
    def tokens(self) -> int:
        """The tokens of the prompt."""
        return sum(part.tokens for part in (*self.fixed, *self.messages))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """What an upstream makes of a request: an answer, or a refusal."""

    number: int
    tokens: int
    answer: ScriptedAnswer | None = None
    use: CacheUse = _UNUSED
    illegal: IllegalRequest | None = None

    @property
    def request_id(self) -> str:
        """The id by which the client's side of the log is joined to this one."""
        return f"req_{self.number:05d}"


class Upstream:
    """Decides on requests, one conversation of an agent and its side requests."""

    def __init__(
        self, *, script: Script, log: RequestLog, cache: Cache, window: int, answer_counts: bool = False
    ) -> None:
        self.script, self.log, self._cache = script, log, cache
        self.window, self.answer_counts = window, answer_counts

    def decide(self, request: ReadRequest) -> Decided:
        """Check a request, and answer it if it is legal and fits."""
        row = self._row(request)
        try:
            request.check()
        except IllegalRequest as error:
            row = self.log.write({**row, "status": 400, "illegal": str(error)}, request.body)
            return Decided(number=row["n"], tokens=row["tokens"], illegal=error)
        if row["tokens"] + (request.asked if self.answer_counts else 0) > self.window:
            row = self.log.write({**row, "status": 400, "overflow": True}, request.body)
            return Decided(number=row["n"], tokens=row["tokens"])
        answer, use = self.script.answer(request.seen), self._cache.use([*request.fixed, *request.messages])
        said = {"kind": answer.kind, "step": answer.step, "shown": answer.shown}
        row = self.log.write({**row, "status": 200, **said, "read": use.read}, request.body)
        return Decided(number=row["n"], tokens=row["tokens"], answer=answer, use=use)

    @staticmethod
    def _row(request: ReadRequest) -> Row:
        return {
            "path": request.path,
            "client": request.client,
            "model": request.body.get("model"),
            "tokens": request.tokens,
            "asked": request.asked,
        }


def text_of(value: Any) -> str:
    """Return all that a model reads of messages: their strings, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, Mapping):
        return "\n".join(text_of(each) for key, each in value.items() if key not in _UNREAD)
    return ""


def compared(value: Mapping[str, Any]) -> str:
    """Return a tool, a block or a message as text to compare: without its breakpoint."""
    return json.dumps({key: each for key, each in value.items() if key != "cache_control"}, sort_keys=True)


def pieces(text: str, size: int = 24) -> list[str]:
    """Return the pieces in which a text is streamed."""
    return [text[start : start + size] for start in range(0, len(text), size)]
