"""The audit: finds the conversations of recordings, replays each under every policy, and adds up the results."""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

from brim.audit.comparison import ReplayPlan
from brim.audit.executor import Engine, Executor, executor_of
from brim.audit.index import ConversationIndex, Scan, Scanned, scanned
from brim.audit.policy import WINDOW, Policy
from brim.audit.records import Recording, opened, ranges
from brim.audit.replay import ReplayJob, replayed
from brim.audit.report import AuditReport
from brim.audit.totals import AuditTotals
from brim.audit.trace import Place
from brim.errors import InvalidValue, SourceError
from brim.files.source import STDIN
from brim.files.text_files import expand

Progress = Callable[[str, int, int], None]
"""Called with the name of the step, the bytes that are done, and the bytes in total."""


def audit(
    paths: Sequence[str],
    policies: Sequence[Policy] = (),
    *,
    model: str | None = None,
    window: int | None = None,
    limit: int | None = None,
    engine: Engine = "processes",
    workers: int | None = None,
    ray_address: str | None = None,
    spool: str | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Return the report on recorded traffic, replayed under policies.

    Args:
        paths: files, patterns or directories; compressed with gzip or not; `-` is standard input.
        policies: the policies to replay under; without any, each model's own window.
        model: the model of all requests; without it, the one that each request names.
        window: the tokens of every model's window; without it, those of the catalogue.
        limit: the most conversations to replay; the choice depends only on the conversations themselves.
        engine: `processes` of this machine, or `ray`.
        workers: the number of processes; without it, one per core.
        ray_address: the address of the Ray cluster; without it, the one that runs on this machine.
        spool: a directory for temporary files; machines of a cluster must share it if files are compressed.
        progress: a function that is called with the progress.

    Raises:
        SourceError: a file cannot be read, none of its records can, or no Ray cluster answers.
        InvalidValue: an argument is invalid.
    """
    if not paths:
        raise InvalidValue("traces", [], "one file at least")
    plan = ReplayPlan(policies=tuple(policies) or (Policy(name=WINDOW),), model=model, window=window)
    report_progress = progress or (lambda *_: None)
    with (
        tempfile.TemporaryDirectory(prefix="brim-audit.", dir=spool) as folder,
        closing(executor_of(engine, workers, ray_address)) as executor,
    ):
        corpus = _Corpus(_opened(paths, folder, executor), folder, limit)
        corpus.scan(executor, report_progress)
        totals, done = AuditTotals(), 0
        for weight, part in executor.map(replayed, corpus.jobs(plan), corpus.size):
            totals.merge(part)
            done += weight
            report_progress("replaying", done, corpus.index.weight)
    return AuditReport.of(plan, corpus.recordings, corpus.found, totals, corpus.locate)


def _opened(paths: Sequence[str], folder: str, executor: Executor) -> tuple[Recording, ...]:
    """Return the files, unpacked where necessary.

    Raises:
        SourceError: a file that was named cannot be read, or there is none.
    """
    files = expand(paths)
    if not files:
        raise SourceError(", ".join(paths), "no file is in it")
    unpack = partial(opened, spool=folder)
    if len(files) == 1 or any(file.path == STDIN for file in files):
        recordings = [unpack(file) for file in files]
    else:
        order = {file.path: at for at, file in enumerate(files)}
        size = sum(os.path.getsize(file.path) for file in files if os.path.isfile(file.path))
        recordings = sorted(executor.map(unpack, files, size), key=lambda recording: order[recording.name])
    for recording in recordings:
        if recording.problem and recording.named:
            raise SourceError(recording.name, recording.problem)
    return tuple(recordings)


class _Corpus:
    """All files of an audit, and the index of their conversations."""

    def __init__(self, recordings: tuple[Recording, ...], folder: str, limit: int | None) -> None:
        self.recordings = recordings
        self.size = sum(each.size for each in recordings)
        self.index = ConversationIndex(folder, self.size)
        self.found = Scanned()
        self._limit = limit
        self._sample: set[str] = set()
        self._lines: dict[tuple[int, int], int] = {}

    def scan(self, executor: Executor, progress: Progress) -> None:
        """Read all files.

        Raises:
            SourceError: a file has no record that can be read.
        """
        done, by_file = 0, [Scanned() for _ in self.recordings]
        for part in executor.map(scanned, self._scans(), self.size):
            assert part.scan is not None
            self._lines[part.scan.file, part.scan.range] = part.lines
            self.index.add(part.spans)
            self._add_to_sample({span.key for span in part.spans})
            by_file[part.scan.file].merge(part)
            done += part.scan.stop - part.scan.start
            progress("reading", done, self.size)
        self.index.flush()
        empty = [file for file, each in enumerate(by_file) if not each.formats]
        for file in empty:
            if self.recordings[file].named or len(empty) == len(by_file):
                raise self._nothing(self.recordings[file], by_file[file])
        for each in by_file:
            if each.formats:
                self.found.merge(each)
        self.found.silent_files = len(empty)

    def _nothing(self, recording: Recording, found: Scanned) -> SourceError:
        """Return the error for a file without a record that can be read."""
        if recording.problem:
            return SourceError(recording.name, recording.problem)
        if not found.named:
            return SourceError(recording.name, "it is empty: there is nothing to replay")
        place, problem = found.named[0]
        message = f"no record in it can be read; of the first: {problem}"
        return SourceError(recording.name, message, line=self.locate(place)[1])

    def _scans(self) -> Iterator[Scan]:
        for file, recording in enumerate(self.recordings):
            for at, (start, stop) in enumerate(ranges(recording)):
                yield Scan(recording=recording, file=file, range=at, start=start, stop=stop)

    def _add_to_sample(self, keys: set[str]) -> None:
        """Keep the lowest keys: a fair sample, because a key is a hash."""
        if self._limit is not None:
            self._sample = set(heapq.nsmallest(self._limit, self._sample | keys))

    def jobs(self, plan: ReplayPlan) -> Iterator[ReplayJob]:
        """Yield the parts to replay."""
        last_key = max(self._sample, default="")
        for weight, lines in self.index.parts():
            yield ReplayJob(recordings=self.recordings, lines=lines, plan=plan, last_key=last_key, weight=weight)

    def locate(self, place: Place) -> tuple[str, int]:
        """Return the file and the line of a place."""
        before = sum(self._lines.get((place.file, each), 0) for each in range(place.range))
        return self.recordings[place.file].name, before + place.line + 1
