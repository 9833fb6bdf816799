"""Executors, which run the jobs of an audit: in this process, in several of this machine, or on a Ray cluster.

An executor takes a function and jobs, and yields the results in any order. It takes jobs only as fast as it can run
them, so that few are in memory however many there are.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Literal, TypeVar, get_args

from brim.errors import SourceError, check_choice

Engine = Literal["processes", "ray"]
_SMALL = 8 * 1024 * 1024
"""Bytes up to which starting processes costs more time than they save."""
_AHEAD = 2
"""Jobs that wait for each worker."""
_PATIENCE = 5.0
"""Seconds that an address has to answer."""
_ADVICE = "start one with `ray start --head`, or name one with --ray-address"

Job = TypeVar("Job")
Result = TypeVar("Result")


def _cores() -> int:
    """Return how many processes can run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor:
    """Runs jobs in processes of this machine, or in this process if there is one worker or little to read."""

    def __init__(self, workers: int | None = None) -> None:
        self._least = _SMALL if workers is None else -1
        self._workers = _cores() if workers is None else workers
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

        def next_results(waiting: list[Future[Result]]) -> tuple[list[Result], list[Future[Result]]]:
            done, rest = wait(waiting, return_when=FIRST_COMPLETED)
            return [each.result() for each in done], list(rest)

        try:
            yield from _windowed(lambda job: pool.submit(function, job), next_results, jobs, self._workers * _AHEAD)
        except BrokenProcessPool as error:
            problem = "one of its processes was ended from outside, perhaps for lack of memory: try --workers 1"
            raise SourceError("audit", problem) from error

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class RayExecutor:
    """Runs jobs as tasks of a Ray cluster: the one that runs on this machine, or one at an address.

    Every machine of the cluster must be able to read the files under the same names.
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
                problem = f"no Ray cluster answers: {' '.join(str(error).split())}; {_ADVICE}"
                raise SourceError(address or "ray", problem) from error
        self._ahead = max(1, int(ray.cluster_resources().get("CPU", 1))) * _AHEAD

    def map(self, function: Callable[[Job], Result], jobs: Iterable[Job], size: int) -> Iterator[Result]:  # noqa: ARG002 - a cluster runs all jobs, however small
        """Yield the result of each job when it is done.

        Raises:
            SourceError: a task was lost, or brim is not installed on a machine of the cluster.
        """
        task, folder = self._ray.remote(num_cpus=1)(_run_in), os.getcwd()

        def next_results(waiting: list[Any]) -> tuple[list[Result], list[Any]]:
            done, rest = self._ray.wait(waiting, num_returns=1)
            return self._ray.get(done), rest

        try:
            yield from _windowed(lambda job: task.remote(folder, function, job), next_results, jobs, self._ahead)
        except self._ray.exceptions.RayError as error:
            problem = " ".join(str(error).split())[-600:]
            raise SourceError("ray", f"a task of the cluster failed: {problem}") from error

    def close(self) -> None:
        """Disconnect from the cluster, if the connection was made here."""
        if self._started:
            self._ray.shutdown()


Executor = LocalExecutor | RayExecutor


def _windowed(
    submit: Callable[[Job], Any],
    next_results: Callable[[list[Any]], tuple[list[Result], list[Any]]],
    jobs: Iterable[Job],
    most: int,
) -> Iterator[Result]:
    """Yield results as they come, with at most so many jobs submitted at a time."""
    waiting: list[Any] = []
    for job in jobs:
        if len(waiting) >= most:
            results, waiting = next_results(waiting)
            yield from results
        waiting.append(submit(job))
    while waiting:
        results, waiting = next_results(waiting)
        yield from results


def _reach(address: str | None) -> None:
    """Raise `SourceError` if nothing listens at an address, because Ray itself would try without end."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise SourceError(str(address), f"no Ray cluster answers: {error}; {_ADVICE}") from error


def _run_in(folder: str, function: Callable[[Job], Result], job: Job) -> Result:
    """Run a job in the caller's directory, where the project's own models are declared."""
    if os.path.isdir(folder):
        os.chdir(folder)
    return function(job)


def executor_of(engine: Engine, workers: int | None, address: str | None) -> Executor:
    """Return the executor of an engine.

    Raises:
        InvalidValue: the engine is unknown.
        SourceError: Ray is not installed, or no cluster answers.
    """
    check_choice("--engine", engine, get_args(Engine))
    return RayExecutor(address) if engine == "ray" else LocalExecutor(workers)
