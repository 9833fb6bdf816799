"""The part of an upstream that every protocol shares: the rules, the window, the cache, the script and the log."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

from scripts.agents.cache import CacheUse, PromptPart
from scripts.agents.script import Script, ScriptedAnswer, Seen
from scripts.agents.server import ApiReply, RequestLog, Row

Vocabulary = Literal["o200k_base", "cl100k_base"]
_UNUSED = CacheUse(0, 0, 0)
_UNREAD = ("id", "type", "role", "signature", "encrypted_content", "thoughtSignature", "cache_control")
"""Fields that no model reads."""
_UNCOUNTED = ("cache_control", "signature", "encrypted_content", "id", "status")
_IMAGE = 1_500
_CHARS_OF_A_HIDDEN_TOKEN = 5
"""Encrypted reasoning counts, since the model reads it in plain."""


class IllegalRequest(Exception):
    """A request that the provider answers with `invalid_request_error`; the message is the provider's text."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param, self.code = param, code


class Cache(Protocol):
    """A prompt cache."""

    def use(self, parts: list[PromptPart]) -> CacheUse:
        """Return what a prompt reads and writes, and store it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRequest:
    """A request as a protocol read it."""

    seen: Seen
    fixed: list[PromptPart]
    """Tools and system prompt."""
    messages: list[PromptPart]
    check: Callable[[], None]

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


class Upstream:
    """Decides on requests, one conversation of an agent and its side requests."""

    def __init__(self, *, script: Script, log: RequestLog, cache: Cache, window: int) -> None:
        self.script, self.log, self._cache, self.window = script, log, cache, window

    def decide(self, request: ReadRequest, body: Mapping[str, Any], path: str) -> Decided:
        """Check a request, and answer it if it is legal and fits."""
        row: Row = {"path": path, "model": body.get("model"), "tokens": request.tokens}
        try:
            request.check()
        except IllegalRequest as error:
            row = self.log.write({**row, "status": 400, "illegal": str(error)}, body)
            return Decided(number=row["n"], tokens=row["tokens"], illegal=error)
        if row["tokens"] > self.window:
            row = self.log.write({**row, "status": 400, "overflow": True}, body)
            return Decided(number=row["n"], tokens=row["tokens"])
        answer, use = self.script.answer(request.seen), self._cache.use([*request.fixed, *request.messages])
        said = {"kind": answer.kind, "step": answer.step, "shown": answer.shown}
        row = self.log.write({**row, "status": 200, **said, "read": use.read}, body)
        return Decided(number=row["n"], tokens=row["tokens"], answer=answer, use=use)


class ProviderApi:
    """The API of a provider: a protocol reads a request, and encodes what the upstream decided."""

    paths: ClassVar[re.Pattern[str]]
    vocabulary: ClassVar[Vocabulary] = "o200k_base"

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:  # noqa: ARG002 - some list their models
        """Answer a request without a body."""
        return self.error(404, f"Not found: {path}")

    def post(self, path: str, request: dict[str, Any]) -> ApiReply:
        """Answer or refuse a request."""
        path, _, _ = path.partition("?")
        if not self.paths.search(path):
            return self.error(404, f"Not found: {path}")
        read = self.read(request)
        if re.search(r"count_?tokens$", path, re.IGNORECASE):
            return ApiReply(value={"input_tokens": read.tokens, "totalTokens": read.tokens})
        decided = self.upstream.decide(read, request, path)
        if (illegal := decided.illegal) is not None:
            return self.error(400, str(illegal), illegal.param, illegal.code)
        if decided.answer is None:
            return self.overflow(decided, request)
        value = self.answer(decided, decided.answer, request)
        if request.get("stream") or "streamGenerateContent" in path:
            return ApiReply(events=self.events(value, request))
        return ApiReply(value=value)

    def read(self, request: dict[str, Any]) -> ReadRequest:
        """Return a request as the upstream reads it."""
        raise NotImplementedError

    def answer(self, decided: Decided, answer: ScriptedAnswer, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return an answer as the protocol writes it."""
        raise NotImplementedError

    def events(self, value: dict[str, Any], request: Mapping[str, Any]) -> Iterator[str]:
        """Yield an answer as a stream."""
        raise NotImplementedError

    def error(self, status: int, said: str, param: str | None = None, code: str | None = None) -> ApiReply:
        """Return an error, as OpenAI writes it."""
        value = {"error": {"message": said, "type": "invalid_request_error", "param": param, "code": code}}
        return ApiReply(status=status, value=value)

    def overflow(self, decided: Decided, request: Mapping[str, Any]) -> ApiReply:
        """Refuse a request that is too long."""
        raise NotImplementedError

    def tool(self, tool: Mapping[str, Any]) -> PromptPart:
        """Return a tool as a part of the prompt: its definition as JSON, keys included."""
        shown = {key: value for key, value in tool.items() if key != "cache_control"}
        tokens = 4 + text_tokens(json.dumps(shown, ensure_ascii=False, separators=(",", ":")), self.vocabulary)
        return PromptPart(compared(tool), tokens, "cache_control" in tool)

    def part(self, message: Any, prefix: str = "") -> PromptPart:
        """Return a message or a block as a part of the prompt."""
        text = message if isinstance(message, str) else compared(message)
        marked = not isinstance(message, str) and "cache_control" in message
        return PromptPart(prefix + text, self.tokens(message), marked)

    def tokens(self, value: Any) -> int:
        """Return the tokens of messages: their strings, and a little for each field and each message.

        An oracle of its own: nothing of brim's meters, templates or corrections takes part.
        """
        if isinstance(value, str):
            return text_tokens(value, self.vocabulary)
        if isinstance(value, Mapping):
            if value.get("type") in ("image", "image_url", "input_image"):
                return _IMAGE
            hidden = len(value.get("encrypted_content") or "") // _CHARS_OF_A_HIDDEN_TOKEN
            return 2 + hidden + sum(1 + self.tokens(each) for key, each in value.items() if key not in _UNCOUNTED)
        if isinstance(value, list):
            return 1 + sum(map(self.tokens, value))
        return 0 if value is None else 1


@lru_cache(maxsize=20_000)
def text_tokens(text: str, vocabulary: Vocabulary) -> int:
    """Return the tokens of a text."""
    import toktok

    counted: list[int] = toktok.batch_count([text], vocabulary, 1)
    return counted[0]


def text_of(value: Any) -> str:
    """Return all that a model reads of messages: their strings, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, Mapping):
        return "\n".join(text_of(each) for key, each in value.items() if key not in _UNREAD)
    return ""


def after_answer(messages: list[Any], is_answer: Callable[[Any], bool]) -> list[Any]:
    """Return the messages after the last one of the assistant."""
    last = max((i for i, message in enumerate(messages) if is_answer(message)), default=-1)
    return messages[last + 1 :]


def compared(value: Mapping[str, Any]) -> str:
    """Return a tool, a block or a message as text to compare: without its breakpoint."""
    return json.dumps({key: each for key, each in value.items() if key != "cache_control"}, sort_keys=True)


def event(value: Mapping[str, Any], kind: str = "") -> str:
    """Return an event of a stream."""
    return (f"event: {kind}\n" if kind else "") + f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def pieces(text: str, size: int = 24) -> list[str]:
    """Return the pieces in which a text is streamed."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def signature(text: str) -> str:
    """Return what the upstream signs its thinking with."""
    return hmac.new(b"rig", text.encode(), hashlib.sha256).hexdigest()


def sealed(text: str) -> str:
    """Return a text as encrypted reasoning content."""
    return f"gAAAA{text}{signature(text)}"


def is_sealed(content: str) -> bool:
    """Return whether encrypted content is unchanged."""
    return content.startswith("gAAAA") and content == sealed(content[5:-64])
