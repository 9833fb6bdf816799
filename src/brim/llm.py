"""The one place that calls a model: any endpoint that speaks like OpenAI's chat completions or Anthropic's messages.

It needs nothing but the standard library. No redirect is followed, so that a key goes to the host that was named and no
other; the answer is bounded in size and in time; and the key is read from the environment when it is needed, so that it
stands in no value, no message and no log.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

from brim.errors import InvalidType, InvalidValue, ModelError, check_choice

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

APIS = ("openai", "anthropic")

LENGTH = "length"
"""The `stop` of an answer that was cut off at the model's limit on answers."""

_MOST_BYTES = 16 * 1024 * 1024
"""Bytes of an answer: far more than any model writes, far less than a machine has."""
_PIECE = 64 * 1024
_EXCERPT = 300
"""Characters of a refusal that a message repeats."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_VERSION = "2023-06-01"
"""The version of Anthropic's messages that is spoken."""

_STOPS = {
    "stop": "end",
    "end_turn": "end",
    "stop_sequence": "end",
    "length": LENGTH,
    "max_tokens": LENGTH,
    "model_context_window_exceeded": LENGTH,
    "tool_calls": "tool",
    "tool_use": "tool",
    "content_filter": "refusal",
    "refusal": "refusal",
}

Messages = str | Sequence[Mapping[str, Any]]
"""A text that the user says, or messages with a role and a content each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens that a call took, as its maker counted them; `None` where it did not say."""

    input: int | None = None
    output: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    usage: Usage = field(default_factory=Usage)
    stop: str = "end"
    """Why it stopped: `end`, `length` (the limit on answers), `tool`, `refusal`, or the maker's own word."""

    @property
    def complete(self) -> bool:
        """Whether it was not cut off at the model's limit on answers."""
        return self.stop != LENGTH


class LanguageModel(Protocol):
    """Anything that can be asked."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return what the model answers."""


@dataclass(frozen=True, slots=True)
class LLM:
    """A model behind an HTTP endpoint."""

    url: str = field(repr=False)
    """Where the API begins, such as `http://127.0.0.1:8101/v1`."""
    model: str
    key: str | None = None
    """The NAME of the environment variable that holds the key."""
    api: str = "openai"
    """Which of `APIS` it speaks."""
    timeout: float = 30
    """Seconds for a whole call."""

    def __post_init__(self) -> None:
        check_choice("api", self.api, APIS)
        if not isinstance(self.model, str) or not self.model:
            raise InvalidType("model", self.model, "a text that is not empty")
        _parted(self.url)
        if self.key is not None and not (isinstance(self.key, str) and _NAME.fullmatch(self.key)):
            # Whoever gave the key itself by mistake does not want to see it in a log.
            raise InvalidValue("key", "what was given", "the name of an environment variable that holds the key")
        number = isinstance(self.timeout, int | float) and not isinstance(self.timeout, bool)
        if not (number and 0 < self.timeout <= 86_400):
            raise InvalidValue("timeout", self.timeout, "seconds above 0, up to a day")

    @property
    def place(self) -> str:
        """The endpoint as it may be shown: without what stands after a question mark."""
        parts = _parted(self.url)
        return f"{parts.scheme}://{parts.netloc}{self._path(parts)}"

    def complete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return what the model answers.

        Nothing limits the answer but the model: where the API demands a number, it is the model's own maximum.

        Raises:
            ModelError: no answer in time, a refusal, or an answer that is not one.
            InvalidValue: messages that cannot be, a key that is not set, or a model whose maximum is not known.
        """
        body = json.dumps(self._body(_listed(messages), system)).encode()
        key = self._secret()
        status, answer = self._posted(body, key)
        if status != 200:
            told = _excerpt(answer, key)
            raise ModelError(f"{self.place} answered {status}{_meaning(status)}", status=status, excerpt=told)
        try:
            values = json.loads(answer)
            return _openai(values) if self.api == "openai" else _anthropic(values)
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            told = _excerpt(answer, key)
            problem = f"{self.place} answered something that is no {self.api} answer"
            raise ModelError(problem, status=status, excerpt=told) from None

    async def acomplete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return what the model answers, without holding the event loop; raises what `complete` raises."""
        import asyncio

        return await asyncio.to_thread(self.complete, messages, system)

    def _secret(self) -> str:
        """Return the key, or nothing where none is named."""
        if self.key is None:
            return ""
        found = os.environ.get(self.key, "").strip()
        if not found:
            raise InvalidValue("key", self.key, "the name of an environment variable that is set")
        if not (found.isascii() and found.isprintable()):
            raise InvalidValue(f"the key in {self.key}", "what it holds", "plain characters on one line")
        return found

    def _body(self, messages: list[dict[str, Any]], system: str | None) -> dict[str, Any]:
        if self.api == "openai":
            first = [{"role": "system", "content": system}] if system else []
            return {"model": self.model, "messages": [*first, *messages]}
        said = [system] if system else []
        said += [_spoken(message["content"]) for message in messages if message["role"] in ("system", "developer")]
        spoken = [message for message in messages if message["role"] not in ("system", "developer")]
        body: dict[str, Any] = {"model": self.model, "max_tokens": _longest(self.model), "messages": spoken}
        return {**body, "system": "\n\n".join(said)} if said else body

    def _path(self, parts: SplitResult) -> str:
        path = parts.path.rstrip("/")
        if self.api == "openai":
            return path if path.endswith("/chat/completions") else f"{path}/chat/completions"
        if path.endswith("/messages"):
            return path
        return f"{path}/messages" if path.endswith("/v1") else f"{path}/v1/messages"

    def _headers(self, key: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self.api == "anthropic":
            headers["anthropic-version"] = _VERSION
            return {**headers, "x-api-key": key} if key else headers
        return {**headers, "Authorization": f"Bearer {key}"} if key else headers

    def _posted(self, body: bytes, key: str) -> tuple[int, bytes]:
        """Return the status and the bytes of the answer.

        Raises:
            ModelError: there is none in time, or it is too big.
        """
        from http.client import HTTPException

        connection = self._connection()
        watch = _Watch(connection, self.timeout)
        try:
            connection.connect()
            watch.start()
            parts = _parted(self.url)
            target = self._path(parts) + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, self._headers(key))
            with connection.getresponse() as response:
                status, answer = response.status, self._read(response)
        except (OSError, HTTPException, ValueError) as error:
            if watch.late or isinstance(error, TimeoutError):
                raise self._too_late() from None
            raise ModelError(f"{self.place} cannot be asked: {_why(error)}") from error
        finally:
            watch.stop()
            connection.close()
        if watch.late:
            raise self._too_late()
        return status, answer

    def _connection(self) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        parts = _parted(self.url)
        made = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return made(parts.hostname or "", parts.port, timeout=self.timeout)

    def _read(self, response: HTTPResponse) -> bytes:
        pieces, size = [], 0
        while piece := response.read(_PIECE):
            size += len(piece)
            if size > _MOST_BYTES:
                raise ModelError(
                    f"{self.place} answered more than the {_MOST_BYTES:,} bytes that are read", status=response.status
                )
            pieces.append(piece)
        return b"".join(pieces)

    def _too_late(self) -> ModelError:
        return ModelError(f"{self.place} gave no whole answer within {self.timeout:g} seconds: raise the timeout")


class _Watch:
    """Ends a connection when its time is up, however slowly the other side drips."""

    def __init__(self, connection: HTTPConnection, seconds: float) -> None:
        from threading import Timer

        self._connection = connection
        self._sock: Any = None
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True
        self.late = False

    def start(self) -> None:
        self._sock = self._connection.sock
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        import socket

        self.late = True
        try:
            # Of the plain socket: that of TLS would take its state away under the reader.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        except OSError:
            return


def cost(model: str, usage: Usage) -> float | None:
    """Return the US dollars that a call cost by the catalogue; unknown is `None`."""
    from brim.meter import catalogue

    row = catalogue.lookup(model)
    prices = row.prices if row is not None else None
    if prices is None or None in (usage.input, usage.output, prices.input, prices.output):
        return None
    return round(((usage.input or 0) * (prices.input or 0) + (usage.output or 0) * (prices.output or 0)) / 1e6, 9)


def _parted(url: object) -> SplitResult:
    """Return the parts of an address.

    Raises:
        InvalidValue: it is none, or carries a password.
    """
    expected = "an address such as http://127.0.0.1:8101/v1"
    if not isinstance(url, str):
        raise InvalidType("url", url, expected)
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or not url.isprintable() or " " in url:
        raise InvalidValue("url", url.partition("?")[0].rpartition("@")[2], expected)
    if "@" in parts.netloc:
        raise InvalidValue("url", parts.hostname, "without a user and a password: give the name of a variable as key")
    return parts


def _listed(messages: object) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if not isinstance(messages, Sequence) or isinstance(messages, bytes):
        raise InvalidType("messages", messages, "a text or a list of messages")
    for i, message in enumerate(messages):
        if not (isinstance(message, Mapping) and isinstance(message.get("role"), str) and "content" in message):
            raise InvalidType(f"messages[{i}]", message, "a message with a role and a content")
    return [dict(message) for message in messages]


def _spoken(content: Any) -> str:
    """Return the text of a message's content, which may be a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if isinstance(block, Mapping) and "text" in block)


def _longest(model: str) -> int:
    """Return the most tokens that a model answers.

    Raises:
        InvalidValue: nobody knows.
    """
    from brim.meter import catalogue

    row = catalogue.lookup(model)
    most = row.max_output if row is not None else None
    if most is None:
        raise InvalidValue(
            "model", model, "one whose longest answer is known: declare its max_output in brim.models.yaml"
        )
    return most


def _openai(values: Any) -> Reply:
    choice = values["choices"][0]
    content = choice["message"].get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    text = content if content is not None else choice["message"].get("refusal") or ""
    usage = values.get("usage") or {}
    told = Usage(input=_count(usage.get("prompt_tokens")), output=_count(usage.get("completion_tokens")))
    return Reply(text=_text(text), usage=told, stop=_stop(choice.get("finish_reason")))


def _anthropic(values: Any) -> Reply:
    texts = [_text(block["text"]) for block in values["content"] if block["type"] == "text"]
    usage = values.get("usage") or {}
    parts = [_count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    taken = None if parts[0] is None else sum(part or 0 for part in parts)
    told = Usage(input=taken, output=_count(usage.get("output_tokens")))
    return Reply(text="".join(texts), usage=told, stop=_stop(values.get("stop_reason")))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _stop(word: object) -> str:
    return _STOPS.get(word, word[:40]) if isinstance(word, str) else "end"


def _excerpt(answer: bytes, key: str) -> str:
    """Return the start of an answer as one line, without the key."""
    # The whole is searched for the key before any of it is left out: half of a key is a secret too.
    said = answer.decode("utf-8", "replace")
    told = " ".join((said.replace(key, "[key]") if key else said)[: 8 * _EXCERPT].split())
    return told if len(told) <= _EXCERPT else told[: _EXCERPT - 1] + "…"


def _meaning(status: int) -> str:
    if 300 <= status < 400:
        return " (a redirect, which is not followed: give the address that it leads to)"
    return {401: " (the key is missing or wrong)", 404: " (no such model or address)"}.get(status, "")


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
