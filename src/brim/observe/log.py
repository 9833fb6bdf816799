"""Events as lines of JSON, for files and log collectors."""

from __future__ import annotations

import json
import threading
from typing import IO

from brim.observe.events import Event


class JsonLines:
    """Writes each event as one line of JSON to a stream."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def observe(self, event: Event) -> None:
        """Write the event and flush the stream; values that are not JSON become strings."""
        line = json.dumps(event.to_dict(), ensure_ascii=True, separators=(",", ":"), default=str)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
