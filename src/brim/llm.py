"""Calls a model with the API of OpenAI's Chat Completions or Anthropic's Messages, using only the standard library.

Redirects are not followed, so a key is never sent to another host. The answer is limited in size and time. The key is
read from the environment for each call, so it is never stored or logged.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal, Protocol
from urllib.parse import SplitResult, urlsplit

from brim.errors import InvalidType, InvalidValue, ModelError, check_choice

APIS = ("openai", "anthropic")

LENGTH = "length"
"""The `stop` of an answer that was cut off at the model's output limit."""

_MOST_BYTES = 16 * 1024 * 1024
"""Maximum bytes of an answer, far more than any model writes."""
_EXCERPT = 300
"""Characters of an error answer that are quoted in a message."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SAID = ("content", "tool_calls")
_VERSION = "2023-06-01"
"""The version of Anthropic's API."""

_STOPS = {
    "stop": "end",
    "end_turn": "end",
    "stop_sequence": "end",
    "length": LENGTH,
    "max_tokens": LENGTH,
    "MAX_TOKENS": LENGTH,
    "max_output_tokens": LENGTH,
    "model_context_window_exceeded": LENGTH,
    "tool_calls": "tool",
    "tool_use": "tool",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_MEANINGS = {401: " (the key is missing or wrong)", 404: " (no such model or address)"}

Messages = str | Sequence[Mapping[str, Any]]
"""A text of the user, or messages with role and content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a call as the provider counted them; `None` if it did not report them."""

    input: int | None = None
    output: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """The answer of a model."""

    text: str
    usage: Usage = field(default_factory=Usage)
    stop: str = "end"
    """Why it stopped: `end`, `length` (the output limit), `tool`, `refusal`, or the provider's own word."""

    @property
    def complete(self) -> bool:
        """Whether it was not cut off at the model's output limit."""
        return _STOPS.get(self.stop, self.stop) != LENGTH


class LanguageModel(Protocol):
    """Anything that answers messages."""

    def complete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return the model's answer."""


@dataclass(frozen=True, slots=True)
class LLM:
    """A model behind an HTTP endpoint."""

    url: str = field(repr=False)
    """The address of the API, such as `http://127.0.0.1:8101/v1`."""
    model: str
    key: str | None = None
    """The NAME of the environment variable with the key."""
    api: Literal["openai", "anthropic"] = "openai"
    """One of `APIS`."""
    timeout: float = 30
    """Seconds for a whole call."""

    def __post_init__(self) -> None:
        check_choice("api", self.api, APIS)
        if not isinstance(self.model, str) or not self.model:
            raise InvalidType("model", self.model, "a non-empty string")
        _split(self.url)
        if self.key is not None and not (isinstance(self.key, str) and _NAME.fullmatch(self.key)):
            # A key that was passed by mistake must not appear in a log.
            raise InvalidValue("key", "the value", "the name of an environment variable with the key")
        number = isinstance(self.timeout, int | float) and not isinstance(self.timeout, bool)
        if not (number and 0 < self.timeout <= 86_400):
            raise InvalidValue("timeout", self.timeout, "seconds above 0, up to a day")

    @property
    def place(self) -> str:
        """The endpoint without its query, for messages."""
        parts = _split(self.url)
        return f"{parts.scheme}://{parts.netloc}{self._path(parts)}"

    def complete(self, messages: Messages, system: Any = None, tools: Sequence[Any] | None = None) -> Reply:
        """Return the model's answer.

        The answer may be as long as the model allows: if the API requires a limit, the model's maximum is sent.

        Raises:
            ModelError: no answer in time, an error, or an invalid answer.
            InvalidValue: the messages are invalid, the key is not set, or the model's maximum is unknown.
        """
        body = json.dumps(self._body(_message_list(messages), system, tools)).encode()
        key = self._secret()
        status, answer = self._post(body, key)
        if status != 200:
            meaning = " (a redirect, which brim does not follow: use its target as the address)"
            meaning = meaning if 300 <= status < 400 else _MEANINGS.get(status, "")
            raise ModelError(f"{self.place} answered {status}{meaning}", status=status, excerpt=_excerpt(answer, key))
        try:
            values = json.loads(answer)
            return _openai_reply(values) if self.api == "openai" else _anthropic_reply(values)
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            problem = f"{self.place} did not return a valid {self.api} answer"
            raise ModelError(problem, status=status, excerpt=_excerpt(answer, key)) from None

    def _secret(self) -> str:
        """Return the key; empty if no variable is set."""
        if self.key is None:
            return ""
        found = os.environ.get(self.key, "").strip()
        if not found:
            raise InvalidValue("key", self.key, "the name of an environment variable that is set")
        if not (found.isascii() and found.isprintable()):
            raise InvalidValue(f"the key in {self.key}", "its value", "plain characters on one line")
        return found

    def _body(self, messages: list[dict[str, Any]], system: Any, tools: Sequence[Any] | None) -> dict[str, Any]:
        more = {"tools": list(tools)} if tools else {}
        if self.api == "openai":
            first = [{"role": "system", "content": system}] if system else []
            return {"model": self.model, "messages": [*first, *messages], **more}
        if isinstance(system, list):  # Blocks keep their marks for the cache.
            more["system"] = system
        systems = [system] if isinstance(system, str) and system else []
        rest = []
        for message in messages:
            if message["role"] in ("system", "developer"):
                systems.append(_content_text(message["content"]))
            else:
                rest.append(message)
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": _longest_answer(self.model),
            "messages": rest,
            **more,
        }
        return {**body, "system": "\n\n".join(systems)} if systems else body

    def _path(self, parts: SplitResult) -> str:
        path = parts.path.rstrip("/")
        end = "/chat/completions" if self.api == "openai" else "/messages"
        if path.endswith(end):
            return path
        return path + end if self.api == "openai" or path.endswith("/v1") else f"{path}/v1{end}"

    def _headers(self, key: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self.api == "anthropic":
            headers["anthropic-version"] = _VERSION
        if key:
            name, value = ("x-api-key", key) if self.api == "anthropic" else ("Authorization", f"Bearer {key}")
            headers[name] = value
        return headers

    def _post(self, body: bytes, key: str) -> tuple[int, bytes]:
        """Return the status and the bytes of the answer.

        Raises:
            ModelError: there is no answer in time, or it is too large.
        """
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        parts = _split(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        until = monotonic() + self.timeout
        try:
            connection.connect()
            sock = connection.sock  # The connection drops it once the answer has begun.
            target = self._path(parts) + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, self._headers(key))
            with connection.getresponse() as response:
                status, answer = response.status, bytearray()
                while len(answer) <= _MOST_BYTES and (part := response.read1()):
                    answer += part
                    if (left := until - monotonic()) <= 0:
                        raise TimeoutError
                    sock.settimeout(left)
        except TimeoutError:
            problem = f"{self.place} did not finish its answer within {self.timeout:g} seconds: raise the timeout"
            raise ModelError(problem) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
            raise ModelError(f"{self.place} cannot be reached: {reason}") from error
        finally:
            connection.close()
        if len(answer) > _MOST_BYTES:
            raise ModelError(f"{self.place} answered more than {_MOST_BYTES:,} bytes", status=status)
        return status, bytes(answer)


def cost(model: str, usage: Usage) -> float | None:
    """Return the price of a call in US dollars by the catalogue; `None` if unknown."""
    from brim.meter.catalogue import lookup

    row = lookup(model)
    prices = None if row is None else row.prices
    if prices is None or None in (usage.input, usage.output, prices.input, prices.output):
        return None
    return round(((usage.input or 0) * (prices.input or 0) + (usage.output or 0) * (prices.output or 0)) / 1e6, 9)


def _split(url: object) -> SplitResult:
    """Return the parts of an address.

    Raises:
        InvalidValue: it is invalid, or has a password.
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
        raise InvalidValue("url", parts.hostname, "without a user and a password: set key to the name of a variable")
    return parts


def _message_list(messages: object) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if not isinstance(messages, Sequence) or isinstance(messages, bytes):
        raise InvalidType("messages", messages, "a string or a list of messages")
    for i, message in enumerate(messages):
        if not (
            isinstance(message, Mapping)
            and isinstance(message.get("role"), str)
            and not message.keys().isdisjoint(_SAID)
        ):
            raise InvalidType(f"messages[{i}]", message, "a message with a role and a content")
    return [dict(message) for message in messages]


def _content_text(content: Any) -> str:
    """Return the text of a content, which may be a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if isinstance(block, Mapping) and "text" in block)


def _longest_answer(model: str) -> int:
    """Return the output limit of a model.

    Raises:
        InvalidValue: the limit is unknown.
    """
    from brim.meter.catalogue import lookup

    row = lookup(model)
    if row is None or row.max_output is None:
        expected = "a model with a known output limit: declare its max_output in brim.models.yaml"
        raise InvalidValue("model", model, expected)
    return row.max_output


def _openai_reply(values: Any) -> Reply:
    choice = values["choices"][0]
    content = choice["message"].get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    text = content if content is not None else choice["message"].get("refusal") or ""
    usage = values.get("usage") or {}
    return _reply(text, choice.get("finish_reason"), usage.get("prompt_tokens"), usage.get("completion_tokens"))


def _anthropic_reply(values: Any) -> Reply:
    text = "".join(block["text"] for block in values["content"] if block["type"] == "text")
    usage = values.get("usage") or {}
    read, *cached = [_count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    prompt = None if read is None else read + sum(each or 0 for each in cached)
    return _reply(text, values.get("stop_reason"), prompt, usage.get("output_tokens"))


def _reply(text: object, stop: object, prompt: object, answer: object) -> Reply:
    if not isinstance(text, str):
        raise TypeError("no text")
    word = _STOPS.get(stop, stop[:40]) if isinstance(stop, str) else "end"
    return Reply(text=text, usage=Usage(input=_count(prompt), output=_count(answer)), stop=word)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _excerpt(answer: bytes, key: str) -> str:
    """Return the start of an answer as one line, without the key."""
    # The key is removed before the answer is cut: half of a key is a secret too.
    text = answer.decode("utf-8", "replace")
    line = " ".join((text.replace(key, "[key]") if key else text)[: 8 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"
