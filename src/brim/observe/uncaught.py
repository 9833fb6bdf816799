"""Uncaught errors of background tasks, threads and destructors, logged without their text.

The text of an error may contain a setting or a prompt, and so a key. Its type and place are enough to find it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

LOG = logging.getLogger("brim")


def placed(error: BaseException) -> str:
    """Return the type of an error and the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def traced(error: BaseException) -> str:
    """Return the lines of a traceback with the types of the errors, and without their texts."""
    chain: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        lines = "".join(traceback.format_tb(current.__traceback__))
        chain.append(f"Traceback (most recent call last):\n{lines}{type(current).__name__} (its text is not shown)")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n\n".join(reversed(chain))


def log_error(job: str, error: BaseException, log: logging.Logger = LOG) -> None:
    """Log that a job failed, without the text of the error."""
    log.error("%s failed: %s", job, placed(error))


def log_loop_error(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Log an error that reached the event loop, without the rest of its context, which may contain text."""
    error = context.get("exception")
    if isinstance(error, BaseException):
        log_error("a task", error)
    else:
        LOG.error("the event loop reports a problem without an error")


@contextmanager
def told_without_text() -> Iterator[None]:
    """Log errors of threads and destructors without their texts inside this context."""
    thread_hook, destructor_hook = threading.excepthook, sys.unraisablehook

    def of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            log_error("a thread", args.exc_value)

    def of_destructor(args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            log_error("a destructor", args.exc_value)

    threading.excepthook, sys.unraisablehook = of_thread, of_destructor
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = thread_hook, destructor_hook
