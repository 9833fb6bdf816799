"""The plain `openai` and `anthropic` clients, sync and async: the same client, and every request of it fits.

Whatever a client sends goes through its method `request`, and whatever it reads of an answer through
`_process_response_data`: chat, Responses and Messages, streams, raw responses and structured output alike. These two
are where brim stands; the rest of the client is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from copy import copy
from typing import Any, TypeVar

from brim.errors import InvalidType
from brim.meter.window import Window
from brim.sessions.call import ClientCall
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest
from brim.sessions.usage import usage_in
from brim.settings import load_config
from brim.store import Store

Client = TypeVar("Client")

_FORMATS = {"/chat/completions": "openai", "/responses": "responses", "/messages": "anthropic"}
"""The shape of the messages by the end of the path."""
_NEEDED = ("request", "copy", "_process_response", "_process_response_data")
_LAST = ("message_stop", "response.completed", "response.incomplete", "response.failed")
"""Events after which a stream reports nothing more."""
_TAKEN = "brim"


def wrap(
    client: Client,
    window: Window | int | None = None,
    *,
    store: Store | str | None = None,
    session: str | None = None,
    **settings: Any,
) -> Client:
    """Return a client of the same class whose requests fit, and which shares the connections of this one.

    Its attribute `brim` holds the conversations: `client.brim.last.receipt` tells what the newest request took and what
    left it, `client.brim.sessions` the sessions.

    Args:
        client: an `OpenAI`, `AsyncOpenAI`, `Anthropic` or `AsyncAnthropic`, or one of their kin for a cloud.
        window: what the models hold and what of it a prompt may use; without it, that of the settings, or the window
            of each model.
        store: where the sessions are kept, or its URL; without it, the `store.url` of the settings, or memory.
        session: the name of the conversation, for a client that has only one; without it, each request goes on with
            the conversation whose messages it begins with.
        settings: further arguments of `brim.Conversations` and of a `Session`: `model`, `meter`,
            `summarise`, `on_notice`, `keep_turns`, ...

    Raises:
        InvalidType: it is no such client.
        StoreError: the store cannot be opened.
    """
    if isinstance(client, type) or not all(callable(getattr(client, name, None)) for name in _NEEDED):
        raise InvalidType("client", client, "a client of the openai or the anthropic package, sync or async")
    given = {"window": window, "store": store, **settings}
    asked = {name: value for name, value in given.items() if value is not None}
    fitting = _Fitting(load_config().resolve().conversations(**asked), session)
    own = client.copy  # type: ignore[attr-defined]
    return fitting.put_into(getattr(own, "plain", own)())  # type: ignore[no-any-return]


class _Taken:
    """One request on its way, and what its answer has reported so far."""

    def __init__(self, call: ClientCall, request: FittedRequest) -> None:
        self.call, self.request = call, request
        self._usage: dict[str, Any] = {}
        self._done = False

    def read(self, values: Any) -> None:
        """Take note of an answer, or of an event of one; the usage is told once."""
        if isinstance(values, Mapping) and isinstance(values.get("data"), Mapping) and "event" in values:
            values = values["data"]
        if self._done or not isinstance(values, Mapping):
            return
        self._usage |= {key: each for key, each in (usage_in(values) or {}).items() if each is not None}
        if self._usage and _ends(values):
            self._done = True
            self.request.answered(self._usage)


def _ends(values: Mapping[str, Any]) -> bool:
    """Return whether an answer is whole, or an event the last one that reports something."""
    if values.get("object") == "chat.completion.chunk":
        choices = values.get("choices") or [{"finish_reason": "none are left"}]
        return isinstance(values.get("usage"), Mapping) and bool(choices[0].get("finish_reason"))
    kind = values.get("type")
    return kind in (None, "message", *_LAST) or values.get("object") == "response"


_sending: ContextVar[_Taken | None] = ContextVar("brim_sending", default=None)


class _Fitting:
    """What stands in a client's way."""

    def __init__(self, conversations: Conversations, session: str | None) -> None:
        self._conversations, self._session = conversations, session

    def put_into(self, client: Any) -> Any:
        """Let every request of a client pass here, and those of its copies."""
        copied, request, process = client.copy, client.request, client._process_response
        read = client._process_response_data

        def duplicate(**changes: Any) -> Any:
            return self.put_into(copied(**changes))

        def processed(**given: Any) -> Any:
            if (taken := _sending.get()) is not None:
                given["response"].extensions[_TAKEN] = taken
            return process(**given)

        def learned(**given: Any) -> Any:
            if (taken := given["response"].extensions.get(_TAKEN)) is not None:
                taken.read(given["data"])
            return read(**given)

        duplicate.plain = copied  # type: ignore[attr-defined]  # a client that is wrapped again is not fitted twice
        client.brim = self._conversations
        client.copy = client.with_options = duplicate
        client.request = self._awaited(request) if _is_async(client) else self._called(request)
        client._process_response, client._process_response_data = processed, learned
        return client

    def _called(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def fitted(cast_to: Any, options: Any, **given: Any) -> Any:
            taken = self._taken(options)
            token = _sending.set(taken)
            try:
                return request(cast_to, _with(options, taken), **given)
            except Exception as error:  # each client has errors of its own
                if (taken := _smaller(taken, error)) is None:
                    raise
                _sending.set(taken)
                return request(cast_to, _with(options, taken), **given)
            finally:
                _sending.reset(token)

        return fitted

    def _awaited(self, request: Callable[..., Any]) -> Callable[..., Any]:
        from anyio.to_thread import run_sync  # the clients need it themselves

        async def fitted(cast_to: Any, options: Any, **given: Any) -> Any:
            taken = await run_sync(self._taken, options) if _format(options) else None
            token = _sending.set(taken)
            try:
                return await request(cast_to, _with(options, taken), **given)
            except Exception as error:  # each client has errors of its own
                if taken is None or (taken := await run_sync(_smaller, taken, error)) is None:
                    raise
                _sending.set(taken)
                return await request(cast_to, _with(options, taken), **given)
            finally:
                _sending.reset(token)

        return fitted

    def _taken(self, options: Any) -> _Taken | None:
        """Return a request that fits; nothing where the call carries no messages that can be seen."""
        format = _format(options)
        call = ClientCall.of(options.json_data, format) if format is not None else None
        return None if call is None else _Taken(call, call.fit(self._conversations, self._session))


def _is_async(client: Any) -> bool:
    from inspect import iscoroutinefunction

    return iscoroutinefunction(type(client).request)


def _format(options: Any) -> str | None:
    """Return the shape of what a call carries; nothing where it is no call of a model."""
    path = str(options.url).partition("?")[0].rstrip("/")
    found = (format for end, format in _FORMATS.items() if path.endswith(end))
    return next(found, None) if str(options.method).lower() == "post" else None


def _with(options: Any, taken: _Taken | None) -> Any:
    """Return the options of a call with what fits in them."""
    if taken is None:
        return options
    made = copy(options)
    made.json_data = taken.call.written(taken.request)
    return made


def _smaller(taken: _Taken | None, error: Exception) -> _Taken | None:
    """Return a smaller request after a refusal; nothing where a smaller one would not help."""
    if taken is None or getattr(error, "status_code", None) is None:
        return None
    made = taken.request.refused(error)
    return None if made is None else _Taken(taken.call, made)
