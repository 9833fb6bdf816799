"""Wraps the clients of model providers, so that every request fits.

An `openai` or `anthropic` client sends everything through its method `request` and reads every answer through
`_process_response_data`: Chat Completions, Responses and Messages, streams, raw responses and structured output. brim
replaces these methods and leaves the rest of the client unchanged. Clients of other packages have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from brim.errors import InvalidType
from brim.integrations import bedrock, google_genai
from brim.integrations.calls import ClientCall, arun, configured, run, value_given
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.identity import NAME_HEADER
from brim.sessions.learning.usage import usage_in
from brim.sessions.settings import ConversationOptions, check_options
from brim.store import Store
from brim.wire import Format

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI

    # The types of wrapped clients for type checkers: their class, with the conversations.
    class WrappedOpenAI(OpenAI):
        """A wrapped `OpenAI`."""

        brim: Conversations

    class WrappedAsyncOpenAI(AsyncOpenAI):
        """A wrapped `AsyncOpenAI`."""

        brim: Conversations

    class WrappedAnthropic(Anthropic):
        """A wrapped `Anthropic`."""

        brim: Conversations

    class WrappedAsyncAnthropic(AsyncAnthropic):
        """A wrapped `AsyncAnthropic`."""

        brim: Conversations


class WrapOptions(ConversationOptions, total=False):
    """The options of `wrap`."""

    store: Store | str | None
    session: str | None
    conversations: Conversations | None


Client = TypeVar("Client")

_FORMATS: dict[str, Format] = {"/chat/completions": "openai", "/responses": "responses", "/messages": "anthropic"}
"""The format of the messages by the end of the URL's path."""
_NEEDED = ("request", "copy", "_process_response", "_process_response_data")
_LAST = ("message_stop", "response.completed", "response.incomplete", "response.failed")
"""The last event of a stream that reports usage."""
_EXTENSION = "brim"
"""The key of the call in the extensions of a response."""


@overload
def wrap(client: OpenAI, window: Window | int | None = None, **options: Unpack[WrapOptions]) -> WrappedOpenAI: ...
@overload
def wrap(
    client: AsyncOpenAI, window: Window | int | None = None, **options: Unpack[WrapOptions]
) -> WrappedAsyncOpenAI: ...
@overload
def wrap(client: Anthropic, window: Window | int | None = None, **options: Unpack[WrapOptions]) -> WrappedAnthropic: ...
@overload
def wrap(
    client: AsyncAnthropic, window: Window | int | None = None, **options: Unpack[WrapOptions]
) -> WrappedAsyncAnthropic: ...
@overload
def wrap(client: Client, window: Window | int | None = None, **options: Unpack[WrapOptions]) -> Client: ...
def wrap(
    client: Any,
    window: Window | int | None = None,
    *,
    store: Store | str | None = None,
    session: str | None = None,
    conversations: Conversations | None = None,
    **settings: Unpack[ConversationOptions],
) -> Any:
    """Return a client of the same class whose requests fit; it shares the connections of the original.

    Its attribute `brim` holds the conversations: `client.brim.last.receipt` is the receipt of the newest request,
    `client.brim.sessions` are the sessions.

    Args:
        client: an `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic`, or one of their variants for a cloud; the
            `Client` of `google-genai`; the client `bedrock-runtime` of `boto3`.
        window: the window of the models and the share of it that a prompt may use; by default that of the settings,
            or the window of each model.
        store: a store for the sessions, or its URL; by default the `store.url` of the settings, or memory. With a
            store, the next process continues a conversation whose messages its request begins with.
        session: the name of the conversation, for a client with only one. A call names its own with
            `extra_headers={"x-brim-session-id": name}`, which is not sent. Without a name, a request continues the
            conversation whose messages it contains, and recalls only what it contains.
        conversations: conversations to share with other clients, instead of the settings and the store.
        settings: more arguments of `brim.Conversations` and `Session`: `model`, `meter`, `summarise`, `on_notice`,
            `keep_turns`, ...

    Raises:
        InvalidType: `client` is not such a client.
        InvalidValue: a setting is unknown; the message suggests the nearest.
        StoreError: the store cannot be opened.
    """
    others = [each for each in (google_genai, bedrock) if not isinstance(client, type) and each.is_client(client)]
    known = not isinstance(client, type) and all(callable(getattr(client, name, None)) for name in _NEEDED)
    if not others and not known:
        expected = "an openai, anthropic, google-genai or boto3 bedrock-runtime client"
        raise InvalidType("client", client, expected)
    check_options(settings, ConversationOptions)
    shared = conversations if conversations is not None else configured(window, store=store, **settings)
    if others:
        return others[0].wrapped(client, shared, session)
    wrapper = _Wrapper(shared, session)
    copied = client.copy
    return wrapper.attach(getattr(copied, "plain", copied)())


class _WatchedCall(ClientCall):
    """A call in progress, and the usage reported so far."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._usage: dict[str, Any] = {}
        self._done = False

    def read(self, values: Any) -> None:
        """Read the usage in an answer or in an event of a stream, and report it once."""
        if isinstance(values, Mapping) and isinstance(values.get("data"), Mapping) and "event" in values:
            values = values["data"]
        if self._done or not isinstance(values, Mapping):
            return
        self._usage |= {key: each for key, each in (usage_in(values) or {}).items() if each is not None}
        if self._usage and _is_last(values):
            self._done = True
            self.answered(self._usage)

    def shrink(self, error: Exception) -> bool:
        """Make the request smaller after a refusal by the provider."""
        return getattr(error, "status_code", None) is not None and super().shrink(error)


def _is_last(values: Mapping[str, Any]) -> bool:
    """Return whether an answer is complete, or an event is the last one with a usage."""
    if values.get("object") == "chat.completion.chunk":
        choices = values.get("choices") or [{"finish_reason": "none are left"}]
        return isinstance(values.get("usage"), Mapping) and bool(choices[0].get("finish_reason"))
    kind = values.get("type")
    return kind in (None, "message", *_LAST) or values.get("object") == "response"


_current: ContextVar[_WatchedCall | None] = ContextVar("brim_current_call", default=None)


@contextmanager
def _sending(call: _WatchedCall) -> Iterator[None]:
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


class _Wrapper:
    """Replaces the methods of a client that send requests and read answers."""

    def __init__(self, conversations: Conversations, session: str | None) -> None:
        self._conversations, self._session = conversations, session

    def attach(self, client: Any) -> Any:
        """Fit every request of a client and of its copies."""
        copied, request, process = client.copy, client.request, client._process_response
        read = client._process_response_data

        def duplicate(**changes: Any) -> Any:
            return self.attach(copied(**changes))

        def process_response(**fields: Any) -> Any:
            if (call := _current.get()) is not None:
                fields["response"].extensions[_EXTENSION] = call
            return process(**fields)

        def process_data(**fields: Any) -> Any:
            if (call := fields["response"].extensions.get(_EXTENSION)) is not None:
                call.read(fields["data"])
            return read(**fields)

        duplicate.plain = copied  # type: ignore[attr-defined]  # a client that is wrapped twice is fitted once
        client.brim = self._conversations
        client.copy = client.with_options = duplicate
        client.request = self._async(request) if iscoroutinefunction(type(client).request) else self._sync(request)
        client._process_response, client._process_response_data = process_response, process_data
        return client

    def _sync(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def fitted(cast_to: Any, options: Any, **fields: Any) -> Any:
            def send(call: _WatchedCall) -> Any:
                with _sending(call):
                    return request(cast_to, _with_fields(options, call), **fields)

            call = self._call(options)
            return request(cast_to, options, **fields) if call is None else run(call, send)

        return fitted

    def _async(self, request: Callable[..., Any]) -> Callable[..., Any]:
        from anyio.to_thread import run_sync  # the clients need it themselves

        async def fitted(cast_to: Any, options: Any, **fields: Any) -> Any:
            async def send(call: _WatchedCall) -> Any:
                with _sending(call):
                    return await request(cast_to, _with_fields(options, call), **fields)

            call = await run_sync(self._call, options) if _format(options) else None
            if call is None:
                return await request(cast_to, options, **fields)
            return await arun(call, send, thread=run_sync)

        return fitted

    def _call(self, options: Any) -> _WatchedCall | None:
        """Return a call that fits, or `None` if the request has no readable messages."""
        format = _format(options)
        if format is None:
            return None
        headers = value_given(options.headers) or {}
        named = next((value for name, value in headers.items() if name.lower() == NAME_HEADER), None)
        return _WatchedCall.of(_body(options), format, self._conversations, named or self._session)


def _format(options: Any) -> Format | None:
    """Return the format of a request, or `None` if it does not call a model."""
    path = str(options.url).partition("?")[0].rstrip("/")
    formats = (format for end, format in _FORMATS.items() if path.endswith(end))
    return next(formats, None) if str(options.method).lower() == "post" else None


def _body(options: Any) -> Any:
    """Return the fields of a request as the client will send them; `extra_body` overrides the others."""
    fields, extra = options.json_data, options.extra_json
    if extra is None or not isinstance(fields, Mapping | None):
        return fields
    return {**(fields or {}), **extra}


def _with_fields(options: Any, call: _WatchedCall) -> Any:
    """Return the options of a request with the fitted fields."""
    changed = copy(options)
    changed.json_data, changed.extra_json = call.fields, None
    if value_given(changed.headers):
        changed.headers = {name: value for name, value in changed.headers.items() if name.lower() != NAME_HEADER}
    return changed
