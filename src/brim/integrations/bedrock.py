"""Fits the requests of the client `bedrock-runtime` of `boto3`: `converse` and `converse_stream`.

Every operation of such a client goes through its method `_make_api_call`. brim replaces it in a copy, which shares the
connections; other operations are sent unchanged.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any

from brim.integrations.calls import ClientCall, run
from brim.sessions.conversations import Conversations
from brim.sessions.learning.usage import usage_in

_SERVICE = "bedrock-runtime"
_OPERATIONS = ("Converse", "ConverseStream")
_STORED = ":prompt/"
"""Part of the ARN of a stored prompt, whose text brim cannot count."""
_BYTES = ("bytes", "redactedContent")
"""Fields with bytes, which are recorded as base64."""


def is_client(client: Any) -> bool:
    """Return whether this is the client of the service in `boto3` or `botocore`."""
    model = getattr(getattr(client, "meta", None), "service_model", None)
    sent = getattr(client, "_make_api_call", None)
    return getattr(model, "service_name", None) == _SERVICE and callable(sent) and not iscoroutinefunction(sent)


def wrapped(client: Any, conversations: Conversations, session: str | None) -> Any:
    """Return a client whose requests fit; it shares the connections of the original."""
    made, sent = object.__new__(type(client)), client._make_api_call
    made.__dict__.update(vars(client))  # `copy` would trigger the client's events.
    plain = getattr(sent, "plain", sent)  # A client that is wrapped twice is fitted once.

    def fitted(operation: str, values: Any) -> Any:
        fits = operation in _OPERATIONS and _STORED not in str(values.get("modelId"))
        call = ConverseCall.of(values, "bedrock", conversations, session) if fits else None
        if call is None:
            return plain(operation, values)
        if operation == "Converse":
            return run(call, lambda call: plain(operation, dict(call.fields)), usage_in)
        answer = run(call, lambda call: plain(operation, dict(call.fields)))
        return {**answer, "stream": _WatchedStream(answer["stream"], call)}

    fitted.plain = plain  # type: ignore[attr-defined]
    made._make_api_call = fitted
    made.brim = conversations
    return made


class ConverseCall(ClientCall):
    """A call of Converse or ConverseStream."""

    model_key = "modelId"

    def made(self, raw: Any) -> Any:
        """Return a message made by brim with its base64 decoded."""
        return decoded(raw)


def decoded(raw: Any) -> Any:
    """Return a message with its base64 decoded."""
    if isinstance(raw, dict):
        return {
            key: b64decode(each) if key in _BYTES and isinstance(each, str) else decoded(each)
            for key, each in raw.items()
        }
    return [decoded(each) for each in raw] if isinstance(raw, list) else raw


class _WatchedStream:
    """The events of an answer, whose usage is reported."""

    def __init__(self, events: Any, call: ConverseCall) -> None:
        self._events, self._call = events, call

    def __iter__(self) -> Iterator[Any]:
        for event in self._events:
            if (usage := usage_in(event)) is not None:
                self._call.answered(usage)
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)
