"""Calls a model with a request that fits, once more with a smaller one if it is refused, and reports the usage.

The functions at the end are this sequence for each way of calling: sync or async, whole answers or streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from brim.integrations.messages import Translation, format_for, from_wire, to_wire
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import FittedRequest
from brim.settings import load_config
from brim.wire import Format

Usage = Callable[[Any], Any]
"""Returns the usage that an answer or an event reports; `None` if it reports none."""


class FittedCall:
    """One call of a model: the request to send, and the effect of its answer."""

    def __init__(self, request: FittedRequest) -> None:
        self.request = request
        """The request to send; after a refusal, a smaller one."""

    @property
    def messages(self) -> list[Any]:
        """The messages to send."""
        return self.request.messages

    def shrink(self, error: Exception) -> bool:
        """Make the request smaller after a refusal.

        Returns:
            Whether to send it again: not if `error` is no overflow, or if the request was made smaller before.
        """
        smaller = self.request.refused(error)
        self.request = smaller or self.request
        return smaller is not None

    def answered(self, usage: Any) -> None:
        """Record the usage that the answer reports; `None` if it reports none."""
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
            options: further arguments of `Conversations.request`.

        Raises:
            DoesNotFit: the required messages exceed the budget.
        """
        self._translation, self._originals = translation, list(messages)
        self._read = translation.read(self._originals)
        self._format = format or format_for(model)
        wire = to_wire(self._read, self._format)
        super().__init__(conversations.request(wire, model=model, format=self._format, **options))

    @property
    def messages(self) -> list[Any]:
        """The messages to send; unchanged ones are the caller's own."""
        if not self.request.changed:
            return self._originals
        return from_wire(self.request, self._read, self._format, self._originals, self._translation)


class FittedCalls:
    """The base of a framework's class that fits the calls of a model."""

    def __init__(
        self, window: Window | int | None = None, *, conversations: Conversations | None = None, **settings: Any
    ) -> None:
        """Begin.

        Args:
            window: the window of the model; by default that of the settings, or of the catalogue.
            conversations: the conversations to use, if they are shared.
            settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
        """
        self.conversations = conversations or configured(window, **settings)


def configured(window: Window | int | None = None, **options: Any) -> Conversations:
    """Return the conversations of a program by its settings (`brim.yaml`, the environment); options override them.

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
    """Return a usage as Responses reports it; `None` if the prompt is unknown.

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
        call: the call, which is made smaller if it is refused.
        send: sends it. Any exception may be an overflow; other errors are raised as they are.
        usage: reads the usage of the answer; without it, the caller reports it.
    """
    while True:
        try:
            answer = send(call)
            break
        except Exception as error:  # Providers have no common class of errors.
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
    """Return the answer to a call, as `run` does; a smaller request is fitted in a thread."""
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
    """Yield the events of the answer to a call; after the first event it is not called again."""
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
    """Yield the events of the answer to a call, as `stream` does; a smaller request is fitted in a thread."""
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
