"""Calls a model with a request that fits, retries once with a smaller one after a refusal, and reports the usage.

`run`, `arun`, `stream` and `astream` do this for each way of calling. A `ClientCall` has the fields that a client
sends, in any format.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, ClassVar, Self, TypeVar

from brim.integrations.messages import Translation, format_for, from_wire, to_wire
from brim.meter.catalogue import with_long_window
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import FittedRequest
from brim.settings import load_config
from brim.wire import Format, Wire, plain, wire
from brim.wire.base import (
    answer_limits,
    changed,
    is_stateful,
    jsonable,
    lowered_limits,
    other_fields,
    place_of,
    value_at,
)
from brim.wire.message import Path

CallValue = TypeVar("CallValue")
Usage = Callable[[Any], Any]
"""Returns the usage in an answer or an event, or `None`."""


class FittedCall:
    """One call of a model: the request to send, and what to do with its answer."""

    def __init__(
        self, request: FittedRequest, originals: Sequence[Any] | None = None, write: Callable[[Any], Any] | None = None
    ) -> None:
        """Begin.

        Args:
            request: the fitted request.
            originals: the framework's messages, one for each of the request; by default they are its own.
            write: converts a message that brim made to one of the framework.
        """
        self.request = request
        """The request to send; a smaller one after a refusal."""
        self._originals, self._write = originals, write

    @property
    def messages(self) -> list[Any]:
        """The messages to send; unchanged ones are the caller's objects."""
        if self._originals is None or self._write is None:
            return self.request.messages
        return self.request.written(self._originals, self._write)

    def shrink(self, error: Exception) -> bool:
        """Make the request smaller after a refusal.

        Returns:
            Whether to send it again: not if `error` is not an overflow, or the request was made smaller before.
        """
        smaller = self.request.refused(error)
        self.request = smaller or self.request
        return smaller is not None

    def answered(self, usage: Any) -> None:
        """Record the usage in the answer; `None` if it has none."""
        self.request.answered(usage)


class TranslatedCall(FittedCall):
    """A call with the messages of a framework."""

    def __init__(
        self,
        conversations: Conversations,
        translation: Translation,
        messages: Sequence[Any],
        *,
        model: str | None,
        format: Format | None = None,
        **options: Any,
    ) -> None:
        """Fit the messages.

        Args:
            conversations: the conversations of the program.
            translation: reads and writes the framework's messages.
            messages: the whole history.
            model: the model that is called.
            format: the wire format; by default that of the model's provider.
            options: more arguments of `Conversations.request`.

        Raises:
            DoesNotFit: the required messages exceed the budget.
        """
        self._translation, self._given = translation, list(messages)
        self._read = translation.read(self._given)
        format = format or format_for(model)
        wire = to_wire(self._read, format)
        super().__init__(conversations.request(wire, model=model, format=format, **options))

    @property
    def messages(self) -> list[Any]:
        """The messages to send; unchanged ones are the caller's objects."""
        if not self.request.changed:
            return self._given
        return from_wire(self.request, self._read, self._given, self._translation)


MOST_OPEN = 4_096
"""The most calls without an answer to remember: some are given up and never reported."""


class OpenCalls(OrderedDict[str, CallValue]):
    """Values of calls without an answer, by the id of the call; the oldest are dropped first."""

    def __setitem__(self, key: str, value: CallValue) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > MOST_OPEN:
            self.popitem(last=False)


class FittedCalls:
    """The base of a framework's class that fits model calls."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        session: str | None = None,
        conversations: Conversations | None = None,
        **settings: Any,
    ) -> None:
        """Begin.

        Args:
            window: the window of the model; by default that of the settings or the catalogue.
            session: the name of the conversation, if there is only one; by default the name that the framework has for
                it, or else it is recognised by its messages.
            conversations: conversations to share.
            settings: more arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        self.conversations, self.session = conversations or configured(window, **settings), session


def configured(window: Window | int | None = None, **options: Any) -> Conversations:
    """Return conversations with the settings of the program (`brim.yaml`, the environment), overridden by options.

    Raises:
        SourceError: a setting is invalid.
        StoreError: the store cannot be opened.
    """
    options = {name: value for name, value in {"window": window, **options}.items() if value is not None}
    return load_config().resolve().conversations(**options)


Call = TypeVar("Call", bound=FittedCall)


def usage_of(
    prompt: int | None, answer: int | None, cached: int | None = None, cache_written: int | None = None
) -> dict[str, Any] | None:
    """Return a usage in the format of Responses, or `None` if the size of the prompt is unknown.

    Args:
        prompt: tokens of the whole prompt.
        answer: tokens of the answer.
        cached: tokens of the prompt that were read from the provider's cache.
        cache_written: tokens of the prompt that were written to it.
    """
    details = {"cached_tokens": cached, "cache_write_tokens": cache_written}
    return {"input_tokens": prompt, "output_tokens": answer, "input_tokens_details": details} if prompt else None


def function_tool(name: str, description: str | None, schema: Any) -> dict[str, Any]:
    """Return the definition of a tool in the format of Chat Completions."""
    return {"type": "function", "function": {"name": name, "description": description or "", "parameters": schema}}


def run(call: Call, send: Callable[[Call], Any], usage: Usage | None = None) -> Any:
    """Return the answer to a call.

    Args:
        call: the call, which is made smaller after a refusal.
        send: sends it; errors that are not overflows are raised unchanged.
        usage: reads the usage of the answer; without it, the caller reports the usage.
    """
    while True:
        try:
            answer = send(call)
            break
        except Exception as error:  # Providers have no common error class.
            if not call.shrink(error):
                raise
    if usage is not None:
        call.answered(usage(answer))
    return answer


async def arun(
    call: Call,
    send: Callable[[Call], Awaitable[Any]],
    usage: Usage | None = None,
    thread: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> Any:
    """Return the answer to a call, like `run`; a smaller request is fitted in a thread."""
    while True:
        try:
            answer = await send(call)
            break
        except Exception as error:  # As in `run`.
            if not await thread(call.shrink, error):
                raise
    if usage is not None:
        await thread(call.answered, usage(answer))
    return answer


def stream(call: Call, send: Callable[[Call], Iterable[Any]], usage: Usage) -> Iterator[Any]:
    """Yield the events of the answer to a call; there is no retry after the first event."""
    begun, reported = False, None
    while True:
        try:
            for event in send(call):
                begun, reported = True, usage(event) or reported
                yield event
            break
        except Exception as error:  # As in `run`.
            if begun or not call.shrink(error):
                raise
    call.answered(reported)


async def astream(
    call: Call, send: Callable[[Call], Awaitable[AsyncIterable[Any]]], usage: Usage | None = None
) -> AsyncIterator[Any]:
    """Yield the events of the answer to a call, like `stream`; a smaller request is fitted in a thread."""
    begun, reported = False, None
    while True:
        try:
            async for event in await send(call):
                begun, reported = True, (usage(event) if usage else None) or reported
                yield event
            break
        except Exception as error:  # As in `run`.
            if begun or not await asyncio.to_thread(call.shrink, error):
                raise
    await asyncio.to_thread(call.answered, reported)


class ClientCall(FittedCall):
    """A call that a client is about to make; one that fits is sent unchanged.

    Copies of the messages are recorded, since callers change theirs: cache marks move from message to message as a
    conversation grows.
    """

    model_key = "model"
    """The field with the name of the model."""
    sent: ClassVar[Collection[str] | None] = None
    """The fields besides messages, system prompt and tools that are sent to the provider; `None` means all."""

    @classmethod
    def of(cls, values: Any, format: Format, conversations: Conversations, session: str | None = None) -> Self | None:
        """Return a call that fits, or `None` if the fields do not contain the messages.

        Args:
            values: the fields of the body.
            format: the format of the messages.
            conversations: the conversations of the program.
            session: the name of the conversation; by default it is recognised by its messages.

        Raises:
            DoesNotFit: the required messages exceed the budget.
            InvalidValue: a message or a tool is invalid.
        """
        if not isinstance(values, Mapping) or is_stateful(values, format):
            return None
        key, at = wire(format).list_key, place_of(values, wire(format).tools_at)
        given = _field(values, key)
        if isinstance(given, str) and given and format == "responses":
            return cls(values, [{"role": "user", "content": given}], format, conversations, session)
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            return None
        # An iterator can be read only once.
        messages, tools = list(given), _listed(value_at(values, at)) if at else []
        values = changed(values, {(key,): messages, **({at: tools} if at and tools else {})})
        return cls(values, messages, format, conversations, session)

    def __init__(
        self,
        values: Mapping[str, Any],
        messages: list[Any],
        format: Format,
        conversations: Conversations,
        session: str | None,
    ) -> None:
        chosen = wire(format)
        self._values, self._list = values, chosen.list_key
        model = _field(values, self.model_key)
        functions = [{"type": "function", "function": plain(each)} for each in _listed(_field(values, "functions"))]
        system = value_at(values, (chosen.system_key,)) if chosen.system_key else None
        request = conversations.request(
            messages,
            model=with_long_window(model, str(values.get("betas"))) if isinstance(model, str) else None,
            tools=[*map(plain, _listed(value_at(values, chosen.tools_at))), *functions] or None,
            system=jsonable(value_given(system)),
            fields=_other({key: values[key] for key in values if self.sent is None or key in self.sent}, chosen),
            format=format,
            answer=max(self._limits.values(), default=None),
            session=session,
            changes=True,
        )
        super().__init__(request, messages, self.made)

    @property
    def _limits(self) -> dict[Path, int]:
        """The limits of the answer in tokens, by path."""
        return {place: limit for place, limit in answer_limits(self._values).items() if isinstance(limit, int)}

    def made(self, raw: Any) -> Any:
        """Return a message made by brim in the form that the client accepts."""
        return raw

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields to send, with the fitted messages."""
        values, request = self._values, self.request
        if request.answer is not None:
            values = changed(values, lowered_limits(values, request.answer))
        if not request.changed:
            return values
        return {**values, self._list: self.messages}


def value_given(value: Any) -> Any:
    """Return a value, or `None` for the object with which a client marks an omitted field."""
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def _other(values: Mapping[str, Any], format: Wire) -> dict[str, Any]:
    """Return the fields besides messages, system prompt and tools."""
    given = {key: value for key in values if (value := _field(values, key)) is not None}
    return {key: jsonable(value) for key, value in other_fields(given, format).items()}


def _field(values: Mapping[str, Any], key: str) -> Any:
    return value_given(values.get(key))


def _listed(value: Any) -> list[Any]:
    value = value_given(value)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
