"""The audit: finds the conversations of recordings, replays each under every policy, and adds up the results."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from brim.audit.comparison import Comparison, ReplayPlan
from brim.audit.index import RecordSpan, Scan, Scanned, parts, scanned
from brim.audit.policy import Policy, default_policy
from brim.audit.records import RANGE, Recording, lines_in, opened, ranges
from brim.audit.report import AuditReport
from brim.audit.threads import ConversationThreads, RecordReader
from brim.audit.totals import RECORDED, AuditTotals
from brim.audit.trace import Place
from brim.errors import InvalidValue, SourceError
from brim.files.text_files import expand

Job = TypeVar("Job")
Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with the name of the step, the bytes processed so far, and the total bytes."""


def audit(
    paths: Sequence[str],
    policies: Sequence[Policy] = (),
    *,
    model: str | None = None,
    window: int | None = None,
    limit: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Return the report on recorded traffic, replayed under policies.

    Args:
        paths: files, patterns or directories; compressed with gzip or not; `-` is standard input.
        policies: the policies to replay under; without any, each model's own window.
        model: the model of all requests; without it, the one that each request names.
        window: the tokens of every model's window; without it, those of the catalogue.
        limit: the maximum number of conversations to replay; the same recordings always give the same sample.
        workers: the number of processes; without it, one per core.
        progress: a function that is called with the progress.

    Raises:
        SourceError: a file cannot be read, or none of its records can.
        InvalidValue: an argument is invalid.
    """
    if not paths:
        raise InvalidValue("traces", [], "at least one file")
    plan = ReplayPlan(policies=tuple(policies) or (default_policy(),), model=model, window=window)
    tell = progress or (lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="brim-audit.") as folder:
        recordings = _opened(paths, folder)
        locate = partial(_located, recordings, {})
        size = sum(each.size for each in recordings)
        with processes((os.cpu_count() or 1 if size > RANGE else 1) if workers is None else workers) as run:
            found, conversations = _scanned(recordings, run, tell, locate)
            # A key is a hash, so the lowest keys are a fair sample.
            kept = [conversations[key] for key in sorted(conversations)[:limit]]
            totals, done, total = AuditTotals(), 0, sum(span.length for spans in kept for span in spans)
            for replayed_bytes, part in run(partial(_replayed, recordings, plan), parts(kept)):
                totals.merge(part)
                done += replayed_bytes
                tell("replaying", done, total)
        return AuditReport.of(plan, recordings, found, totals, locate)


@contextmanager
def processes(workers: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]]:
    """Yield a `map` that runs in several processes of this machine, or in this process for one worker.

    Raises:
        SourceError: a worker process was killed.
    """
    if workers == 1:
        yield map
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        yield pool.map
    except BrokenProcessPool as error:
        problem = "a worker process was killed, perhaps because memory ran out: try --workers 1"
        raise SourceError("audit", problem) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _replayed(
    recordings: tuple[Recording, ...], plan: ReplayPlan, conversations: list[list[RecordSpan]]
) -> tuple[int, AuditTotals]:
    """Replay some conversations; return how many bytes they have, and their totals."""
    reader, totals = RecordReader(recordings), AuditTotals()
    for spans in sorted(conversations, key=lambda spans: (spans[0].file, spans[0].offset)):
        threads = ConversationThreads(
            partial(Comparison, plan, totals), problem=totals.name, parted=partial(totals.add, RECORDED, "parted")
        )
        threads.run(reader.items(spans))
    return sum(span.length for spans in conversations for span in spans), totals


def _opened(paths: Sequence[str], folder: str) -> tuple[Recording, ...]:
    """Return the files, unpacked where necessary.

    Raises:
        SourceError: a file passed by name cannot be read, or there are no files.
    """
    recordings = tuple(opened(file, folder) for file in expand(paths))
    if not recordings:
        raise SourceError(", ".join(paths), "there are no files in it")
    for recording in recordings:
        if recording.problem and recording.named:
            raise SourceError(recording.name, recording.problem)
    return recordings


def _scanned(
    recordings: tuple[Recording, ...],
    run: Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]],
    tell: Progress,
    locate: Callable[[Place], tuple[str, int]],
) -> tuple[Scanned, dict[str, list[RecordSpan]]]:
    """Return what was found in all files, and the spans of each conversation by its key.

    Raises:
        SourceError: a file has no record that can be read.
    """
    done, size, by_file = 0, sum(each.size for each in recordings), [Scanned() for _ in recordings]
    conversations: dict[str, list[RecordSpan]] = {}
    scans = [Scan(each, file, *span) for file, each in enumerate(recordings) for span in ranges(each)]
    for part in run(scanned, scans):
        for span in part.spans:
            conversations.setdefault(span.key, []).append(span)
        by_file[part.file].merge(part)
        done += part.size
        tell("reading", done, size)
    found, empty = Scanned(), [file for file, each in enumerate(by_file) if not each.formats]
    for file in empty:
        if recordings[file].named or len(empty) == len(by_file):
            raise _nothing(recordings[file], by_file[file], locate)
    for each in by_file:
        if each.formats:
            found.merge(each)
    found.silent_files = len(empty)
    return found, conversations


def _nothing(recording: Recording, found: Scanned, locate: Callable[[Place], tuple[str, int]]) -> SourceError:
    """Return the error for a file without a record that can be read."""
    if recording.problem:
        return SourceError(recording.name, recording.problem)
    if not found.named:
        return SourceError(recording.name, "the file is empty")
    place, problem = found.named[0]
    message = f"none of its records can be read; the first: {problem}"
    return SourceError(recording.name, message, line=locate(place)[1])


def _located(recordings: Sequence[Recording], lines: dict[Place, int], place: Place) -> tuple[str, int]:
    """Return the file and the line of a place; `lines` caches the lines of known places."""
    recording = recordings[place.file]
    before = max((each for each in lines if each.file == place.file and each <= place), default=Place(place.file, 0))
    lines[place] = lines.get(before, 1) + lines_in(recording, before.offset, place.offset)
    return recording.name, lines[place]
