"""Several processes that serve one address. They share a store, so that each cuts a conversation in the same way.

The parent passes signals on and restarts workers that die. A worker stops when its parent is gone.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from brim.errors import InvalidValue, SourceError
from brim.gateway.settings import GatewaySettings
from brim.observe.uncaught import log_error
from brim.store import open_store

LOG = logging.getLogger("brim.gateway")
_YOUNG = 5.0
"""If a worker ends within this many seconds, its start has failed, and nothing is restarted."""
_PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP")


@contextmanager
def shared_store(settings: GatewaySettings) -> Iterator[str | None]:
    """Yield the address of the store that workers share; `None` for one worker without a store.

    Raises:
        InvalidValue: this system cannot fork processes.
        StoreError: the store cannot be opened.
    """
    if settings.workers == 1:
        yield settings.store
        return
    if not hasattr(os, "fork"):
        raise InvalidValue("gateway.workers", settings.workers, "1 on this system, which cannot fork processes")
    with tempfile.TemporaryDirectory(prefix="brim-gateway-") as name:
        place = settings.store or f"sqlite:///{name}/brim.db"
        open_store(place).close()  # Report errors once, not in each worker.
        settings.secrets()
        settings.own_keys()
        yield place


class Workers:
    """The processes of one gateway."""

    def __init__(self, count: int, serve: Callable[[int, int, bool], None]) -> None:
        """Create the workers.

        Args:
            count: the number of workers.
            serve: serves until the process is terminated. It takes the number of the worker, from 1, a descriptor that
                becomes readable once the parent is gone, and whether this is the first process of that number.
        """
        self._count = count
        self._serve = serve
        self._running: dict[int, tuple[int, float]] = {}
        """The number and start time of each process."""
        self._ending = False
        self._alive = os.pipe()

    def run(self) -> None:
        """Serve until the process is terminated.

        Raises:
            SourceError: a worker could not start.
        """
        for name in _PASSED_ON:
            signal.signal(getattr(signal, name), self._pass_on)
        for number in range(1, self._count + 1):
            self._start(number, first=True)
        failed = False
        while self._running:
            process, status = os.wait()
            number, began = self._running.pop(process, (0, 0.0))
            if not number or self._ending:
                continue
            code = os.waitstatus_to_exitcode(status)
            if time.monotonic() - began < _YOUNG and code > 0:
                failed = True
                self._pass_on(signal.SIGTERM, None)
                continue
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
            LOG.error("worker %d %s, and is restarted", number, how)
            self._start(number)
        if failed:
            raise SourceError("brim gateway", "a worker could not start; see the error above")

    def _start(self, number: int, *, first: bool = False) -> None:
        process = os.fork()
        if process:
            self._running[process] = (number, time.monotonic())
            return
        code = 1
        try:
            os.setpgid(0, 0)  # Ctrl-C goes to the parent alone: a second signal would end streams at once.
            os.close(self._alive[1])
            for name in _PASSED_ON:
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            self._serve(number, self._alive[0], first)
            code = 0
        except BaseException as error:  # No code of the parent may run in the child.
            log_error(f"worker {number}", error, LOG)
        finally:
            os._exit(code)

    def _pass_on(self, number: int, _: Any) -> None:
        """Pass a signal on; all but SIGHUP stop the workers."""
        sent = number if number == getattr(signal, "SIGHUP", None) else signal.SIGTERM
        self._ending = self._ending or sent == signal.SIGTERM
        for process in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(process, sent)
