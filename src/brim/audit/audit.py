"""The audit: finds the conversations of recordings, replays each under every policy, and adds up the results."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from brim.audit.comparison import Comparison, ReplayContext, ReplayPlan
from brim.audit.executor import Executor
from brim.audit.index import ConversationIndex, RecordSpan, Scan, Scanned, scanned
from brim.audit.policy import Policy, default_policy
from brim.audit.records import Recording, lines_in, opened, ranges
from brim.audit.report import AuditReport
from brim.audit.threads import ConversationThreads, RecordReader
from brim.audit.totals import RECORDED, AuditTotals
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
    workers: int | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Return the report on recorded traffic, replayed under policies.

    Args:
        paths: files, patterns or directories; compressed with gzip or not; `-` is standard input.
        policies: the policies to replay under; without any, each model's own window.
        model: the model of all requests; without it, the one that each request names.
        window: the tokens of every model's window; without it, those of the catalogue.
        limit: the most conversations to replay; the choice depends only on the conversations themselves.
        workers: the number of processes; without it, one per core.
        progress: a function that is called with the progress.

    Raises:
        SourceError: a file cannot be read, or none of its records can.
        InvalidValue: an argument is invalid.
    """
    if not paths:
        raise InvalidValue("traces", [], "at least one file")
    plan = ReplayPlan(policies=tuple(policies) or (default_policy(),), model=model, window=window)
    report_progress = progress or (lambda *_: None)
    with (
        tempfile.TemporaryDirectory(prefix="brim-audit.") as folder,
        closing(Executor(workers)) as executor,
    ):
        corpus = _Corpus(_opened(paths, folder, executor))
        with closing(ConversationIndex(folder, corpus.size, limit)) as index:
            corpus.scan(index, executor, report_progress)
            jobs = (_ReplayJob(recordings=corpus.recordings, conversations=each, plan=plan) for each in index.parts())
            totals, done, size = AuditTotals(), 0, index.size()
            for replayed_bytes, part_totals in executor.map(_replayed, jobs, corpus.size):
                totals.merge(part_totals)
                done += replayed_bytes
                report_progress("replaying", done, size)
        return AuditReport.of(plan, corpus.recordings, corpus.found, totals, corpus.locate)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReplayJob:
    """One part of the index to replay."""

    recordings: tuple[Recording, ...]
    conversations: list[list[RecordSpan]] = field(repr=False)
    """The spans of each conversation, in the order of time."""
    plan: ReplayPlan


def _replayed(job: _ReplayJob) -> tuple[int, AuditTotals]:
    """Return the bytes of a part, and the totals of its conversations."""
    context = ReplayContext(job.plan)
    reader, totals = RecordReader(job.recordings), context.totals
    for spans in sorted(job.conversations, key=lambda spans: (spans[0].file, spans[0].offset)):
        threads = ConversationThreads(
            partial(Comparison, context), problem=totals.name, parted=partial(totals.add, RECORDED, "parted")
        )
        threads.run(reader.items(spans))
    return sum(span.length for spans in job.conversations for span in spans), totals


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
    """All files of an audit."""

    def __init__(self, recordings: tuple[Recording, ...]) -> None:
        self.recordings = recordings
        self.size = sum(each.size for each in recordings)
        self.found = Scanned()
        self._lines: dict[int, dict[int, int]] = {}
        """The known lines of each file, by their offset."""

    def scan(self, index: ConversationIndex, executor: Executor, progress: Progress) -> None:
        """Add the conversations of all files to the index.

        Raises:
            SourceError: a file has no record that can be read.
        """
        done, by_file = 0, [Scanned() for _ in self.recordings]
        for part in executor.map(scanned, self._scans(), self.size):
            index.add(part.spans)
            by_file[part.file].merge(part)
            done += part.size
            progress("reading", done, self.size)
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
            for start, stop in ranges(recording):
                yield Scan(recording, file, start, stop)

    def locate(self, place: Place) -> tuple[str, int]:
        """Return the file and the line of a place, counted from the nearest place before it that is known."""
        recording, known = self.recordings[place.file], self._lines.setdefault(place.file, {0: 1})
        before = max(offset for offset in known if offset <= place.offset)
        known[place.offset] = known[before] + lines_in(recording, before, place.offset)
        return recording.name, known[place.offset]
