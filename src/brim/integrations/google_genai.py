"""Fits the requests of a `google-genai` client: `generate_content`, its stream, chats and automatic function calls.

The client sends everything through four methods of its API client, which take the body as JSON values: sync and async,
whole answers and streams. brim replaces these four in a copy; the rest of the client is unchanged.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from copy import copy
from typing import Any, Self

from brim.integrations.calls import ClientCall, arun, astream, run, stream
from brim.sessions.conversations import Conversations
from brim.sessions.learning.usage import usage_in

_NEEDED = ("request", "request_streamed", "async_request", "async_request_streamed")
_PATH = re.compile(r"(?:.*/)?(?P<model>[^/:]+):(?:generateContent|streamGenerateContent)(?:\?.*)?")
"""The path of a model call: `models/gemini-3-pro:generateContent`, with a prefix on Vertex AI."""


def is_client(client: Any) -> bool:
    """Return whether this is a client of `google-genai`."""
    return all(callable(getattr(getattr(client, "_api_client", None), name, None)) for name in _NEEDED)


def wrapped(client: Any, conversations: Conversations, session: str | None) -> Any:
    """Return a client whose requests fit; it shares the connections of the original."""
    made = _copied(client, client._api_client, _fitted_api(client._api_client, conversations, session))
    made.brim, made._brim_original = conversations, client  # The original closes the connections when deleted.
    return made


def _copied(part: Any, old: Any, new: Any) -> Any:
    """Return a part of a client with the old API client replaced by the new one."""
    if part is old:
        return new
    if not hasattr(part, "__dict__") or not any(each is old for each in vars(part).values()):
        return part
    made = _shared(part)
    made.__dict__.update({name: _copied(each, old, new) for name, each in vars(part).items()})
    return made


def _shared(part: Any) -> Any:
    """Return a copy that does not close the connections when deleted."""
    made = copy(part)
    if hasattr(made, "__del__"):
        made.__class__ = type(type(part).__name__, (type(part),), {"__del__": lambda _: None})
    return made


class GeminiCall(ClientCall):
    """A call of `generateContent`."""

    @classmethod
    def at(cls, path: str, values: Any, conversations: Conversations, session: str | None) -> Self | None:
        """Return a call that fits, or `None` if the path does not call a model or the body has no messages."""
        found = _PATH.fullmatch(path)
        if found is None or not isinstance(values, dict):
            return None
        return cls.of({**values, "model": found["model"]}, "gemini", conversations, session)


CallOf = Callable[[str, Any], GeminiCall | None]


def _body(call: GeminiCall, values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields to send: those of the request, without the model in its path."""
    fields = call.fields
    return {key: fields[key] for key in values}


def _usage(answer: Any) -> Any:
    """Return the usage in an answer or a chunk of a stream."""
    try:
        return usage_in(json.loads(answer.body)) if answer.body else None
    except ValueError:
        return None


def _fitted_api(api: Any, conversations: Conversations, session: str | None) -> Any:
    """Return an API client whose requests fit."""

    def call_of(path: str, values: Any) -> GeminiCall | None:
        return GeminiCall.at(path, values, conversations, session)

    made = _shared(api)
    for name in _NEEDED:
        sent = getattr(api, name)
        plain = getattr(sent, "plain", sent)  # A client that is wrapped twice is fitted once.
        fitted = (_async if name.startswith("async") else _sync)(plain, call_of, streams=name.endswith("streamed"))
        fitted.plain = plain  # type: ignore[attr-defined]
        setattr(made, name, fitted)
    return made


def _sync(plain: Callable[..., Any], call_of: CallOf, *, streams: bool) -> Callable[..., Any]:
    """Return the method that sends a request and returns the answer or its chunks."""

    def fitted(method: str, path: str, values: Any, *more: Any, **fields: Any) -> Any:
        call = call_of(path, values)
        if call is None:
            return plain(method, path, values, *more, **fields)

        def send(call: GeminiCall) -> Any:
            return plain(method, path, _body(call, values), *more, **fields)

        return (stream if streams else run)(call, send, _usage)

    return fitted


def _async(plain: Callable[..., Any], call_of: CallOf, *, streams: bool) -> Callable[..., Any]:
    """Return the asynchronous method that sends a request and returns the answer or its chunks."""

    async def fitted(method: str, path: str, values: Any, *more: Any, **fields: Any) -> Any:
        call = await asyncio.to_thread(call_of, path, values)
        if call is None:
            return await plain(method, path, values, *more, **fields)

        async def send(call: GeminiCall) -> Any:
            return await plain(method, path, _body(call, values), *more, **fields)

        return astream(call, send, _usage) if streams else await arun(call, send, _usage)

    return fitted
