"""Steps of a loop that are awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from brim.errors import InvalidType


def is_async(act: Any) -> bool:
    """Return whether calling `act` returns an awaitable."""
    return inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(getattr(act, "__call__", None))  # noqa: B004


def run_async(waiting: Any, act: object) -> Any:
    """Return the result of an awaitable, from outside any event loop.

    Raises:
        InvalidType: an event loop is running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waited(waiting))
    waiting.close()
    raise InvalidType("act", act, "awaited by arun() inside a running event loop")


async def waited(waiting: Any) -> Any:
    """Return the result of an awaitable."""
    return await waiting


async def here(function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns."""
    return function(*given)


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Return what a function returns that may wait for a store, while the event loop goes on.

    What was begun is finished even if the task is cancelled meanwhile: a step is written, or not at all.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function, *given))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
