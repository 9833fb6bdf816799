"""What runs the jobs of an audit: this process, several of this machine, or a Ray cluster.

An engine is handed a function and jobs, and yields what the function makes of them, in any order. It asks for jobs
only as fast as it can do them, so that however many there are, few are in memory.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from brim.errors import InvalidValue, SourceError

ENGINES = ("processes", "ray")
_AHEAD = 2
"""Jobs that wait for each worker."""
_PATIENCE = 5.0
"""Seconds that an address has to answer."""
_ADVICE = "start one with `ray start --head`, or name one with --ray-address"

Job = TypeVar("Job")
Made = TypeVar("Made")


class Executor(Protocol):
    """Something that does jobs."""

    def map(self, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        """Yield what is made of each job, in any order."""

    def close(self) -> None:
        """Let go of the workers."""


class Here:
    """Does the jobs in this process, one after the other."""

    def map(self, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        """Yield what is made of each job."""
        return map(do, jobs)

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class Processes:
    """Does the jobs in processes of this machine, started when the first job comes."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def map(self, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        """Yield what is made of each job, as it is done.

        Raises:
            SourceError: a process was ended from outside.
        """
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        try:
            yield from self._done(self._pool, do, jobs)
        except BrokenProcessPool as error:
            told = "one of its processes was ended from outside, perhaps for want of memory: try --workers 1"
            raise SourceError("audit", told) from error

    def _done(self, pool: ProcessPoolExecutor, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        waiting: set[Future[Made]] = set()
        for job in jobs:
            if len(waiting) >= self._workers * _AHEAD:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
            waiting.add(pool.submit(do, job))
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class Ray:
    """Does the jobs as tasks of a Ray cluster: the one that runs, or one at an address.

    The files must be where every machine of the cluster can read them under the same name.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise SourceError("ray", "it is not installed: pip install 'brim[ray]'") from error
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            _reach(address)
            try:
                ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, ValueError, RuntimeError) as error:
                told = " ".join(str(error).split())
                raise SourceError(address or "ray", f"no Ray cluster answers: {told}; {_ADVICE}") from error
        self._ahead = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD

    def map(self, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        """Yield what is made of each job, as it is done.

        Raises:
            SourceError: a task was lost, or brim is not installed on a machine of the cluster.
        """
        try:
            yield from self._done(do, jobs)
        except self._ray.exceptions.RayError as error:
            told = " ".join(str(error).split())
            raise SourceError("ray", f"a task of the cluster failed: {told[-600:]}") from error

    def _done(self, do: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
        task = self._ray.remote(num_cpus=1)(_placed)
        folder = os.getcwd()
        waiting: list[Any] = []
        for job in jobs:
            if len(waiting) >= self._ahead:
                done, waiting = self._ray.wait(waiting, num_returns=1)
                yield from self._ray.get(done)
            waiting.append(task.remote(folder, do, job))
        while waiting:
            done, waiting = self._ray.wait(waiting, num_returns=1)
            yield from self._ray.get(done)

    def close(self) -> None:
        """Leave the cluster, if it was entered here."""
        if self._started:
            self._ray.shutdown()


def _reach(address: str | None) -> None:
    """Pass if something listens at an address; Ray itself would try for as long as nobody stops it.

    Raises:
        SourceError: nothing does.
    """
    host, parted, port = (address or "").removeprefix("ray://").rpartition(":")
    if not parted or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise SourceError(str(address), f"no Ray cluster answers: {error}; {_ADVICE}") from error


def _placed(folder: str, do: Callable[[Job], Made], job: Job) -> Made:
    """Do a job in the folder of whoever asked for it, where the project's own models are declared."""
    if os.path.isdir(folder):
        os.chdir(folder)
    return do(job)


def engine_of(name: str, workers: int | None, address: str | None, *, small: bool) -> Executor:
    """Return the engine of a name; a small audit, or one worker, is done in this process.

    Raises:
        InvalidValue: there is none of that name.
        SourceError: Ray is not installed, or no cluster answers.
    """
    if name == "ray":
        return Ray(address)
    if name != "processes":
        raise InvalidValue("--engine", name, f"one of {', '.join(ENGINES)}")
    count = workers if workers is not None else cores()
    return Here() if count == 1 or (small and workers is None) else Processes(count)


def cores() -> int:
    """Return how many processes can run at a time."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Not every system tells.
        return os.cpu_count() or 1
