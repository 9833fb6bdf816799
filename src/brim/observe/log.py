"""Events as lines of JSON, for files and for whatever collects them."""

from __future__ import annotations

import json
import logging
import threading
from typing import IO

from brim.observe.event import Event


class JsonLines:
    """Writes each event as one line of JSON to a stream."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def observe(self, event: Event) -> None:
        """Write the event, and see that it is written before the next."""
        line = line_of(event)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()


class Logged:
    """Logs each event as one line of JSON by Python's logging, as `brim.events`."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("brim.events")

    def observe(self, event: Event) -> None:
        """Log the event: what a person should look at as a warning, all else as information."""
        level = logging.WARNING if event.name in ("warning", "overflow") else logging.INFO
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", line_of(event))


def line_of(event: Event) -> str:
    """Return an event as one line of JSON; what JSON does not know is told in its own words."""
    return json.dumps(event.to_dict(), ensure_ascii=True, separators=(",", ":"), default=str)
