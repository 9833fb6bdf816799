"""Runs the jobs of an audit: in this process, or in several of this machine.

Jobs are taken only as fast as they can run, so that few are in memory however many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from brim.errors import SourceError

_SMALL = 8 * 1024 * 1024
"""Bytes up to which starting processes costs more time than they save."""
_AHEAD = 2
"""Jobs that wait for each worker."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Executor:
    """Runs jobs in processes, or in this process if there is one worker or little to read."""

    def __init__(self, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._least = _SMALL if workers is None else -1
        self._workers = cores if workers is None else workers
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[Job], Result], jobs: Iterable[Job], size: int) -> Iterator[Result]:
        """Yield the result of each job when it is done; `size` is the number of bytes that all jobs read.

        Raises:
            SourceError: a process was ended from outside.
        """
        if self._pool is None and (self._workers == 1 or size <= self._least):
            yield from map(function, jobs)
            return
        pool = self._pool = self._pool or ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        waiting: set[Future[Result]] = set()
        try:
            for job in jobs:
                while len(waiting) >= self._workers * _AHEAD:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (each.result() for each in done)
                waiting.add(pool.submit(function, job))
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        except BrokenProcessPool as error:
            problem = "one of its processes was ended from outside, perhaps for lack of memory: try --workers 1"
            raise SourceError("audit", problem) from error

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
