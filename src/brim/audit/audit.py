"""The audit: finds the conversations of recordings, replays each under every policy, and adds up the results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial

from brim.audit.comparison import Comparison, ReplayPlan
from brim.audit.index import Scanned, scanned
from brim.audit.policy import Policy, default_policy
from brim.audit.records import Recording, opened
from brim.audit.report import AuditReport
from brim.audit.threads import ConversationThreads, RecordReader
from brim.audit.totals import AuditTotals
from brim.errors import InvalidValue, SourceError
from brim.files.text_files import expand

Progress = Callable[[str, int, int], None]
"""Called with the name of the step, the bytes processed so far, and the total bytes."""


def audit(
    paths: Sequence[str],
    policies: Sequence[Policy] = (),
    *,
    model: str | None = None,
    window: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Return the report on recorded traffic, replayed under policies.

    Args:
        paths: files, patterns or directories; compressed with gzip or not; `-` is standard input.
        policies: the policies to replay under; without any, each model's own window.
        model: the model of all requests; without it, the one that each request names.
        window: the tokens of every model's window; without it, those of the catalogue.
        limit: the maximum number of conversations to replay; the same recordings always give the same sample.
        progress: a function that is called with the progress.

    Raises:
        SourceError: a file cannot be read, or none of its records can.
        InvalidValue: an argument is invalid.
    """
    if not paths:
        raise InvalidValue("traces", [], "at least one file")
    plan = ReplayPlan(policies=tuple(policies) or (default_policy(),), model=model, window=window)
    report_progress = progress or (lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="brim-audit.") as folder:
        recordings = _opened(paths, folder)
        found = _scanned(recordings, report_progress)
        conversations = found.conversations()
        # A key is a hash, so the lowest keys are a fair sample.
        kept = [conversations[key] for key in sorted(conversations)[:limit]]
        reader, totals = RecordReader(recordings), AuditTotals()
        done, total = 0, sum(span.length for spans in kept for span in spans)
        for spans in sorted(kept, key=lambda spans: (spans[0].file, spans[0].offset)):
            threads = ConversationThreads(partial(Comparison, plan, totals), problem=totals.name)
            threads.run(reader.items(spans))
            done += sum(span.length for span in spans)
            report_progress("replaying", done, total)
    return AuditReport.of(plan, recordings, found, totals)


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


def _scanned(recordings: tuple[Recording, ...], progress: Progress) -> Scanned:
    """Return what was found in all files.

    Raises:
        SourceError: a file has no record that can be read.
    """
    found, done, size = Scanned(), 0, sum(each.size for each in recordings)
    empty: list[tuple[Recording, Scanned]] = []
    for file, recording in enumerate(recordings):

        def reading(read: int, before: int = done) -> None:
            progress("reading", before + read, size)

        part = scanned(recording, file, reading)
        done += recording.size
        if part.formats:
            found.merge(part)
        else:
            empty.append((recording, part))
    for recording, part in empty:
        if recording.named or not found.formats:
            raise _nothing(recording, part)
    found.silent_files = len(empty)
    return found


def _nothing(recording: Recording, found: Scanned) -> SourceError:
    """Return the error for a file without a record that can be read."""
    if recording.problem:
        return SourceError(recording.name, recording.problem)
    if not found.named:
        return SourceError(recording.name, "the file is empty")
    place, problem = found.named[0]
    return SourceError(recording.name, f"no record can be read; the first error: {problem}", line=place.line)
