"""The audit: finds the conversations of recordings, replays each under every policy, and adds up what that shows."""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

from brim.audit.engine import Executor, engine_of
from brim.audit.index import NAMED, ConversationIndex, Scan, Scanned, scanned
from brim.audit.judge import ReplayPlan
from brim.audit.policy import WINDOW, Policy
from brim.audit.reading import Recording, opened, ranges
from brim.audit.replaying import Replay, replayed
from brim.audit.report import AuditReport
from brim.audit.tally import AuditTotals
from brim.audit.trace import Place
from brim.errors import InvalidValue, SourceError
from brim.files.source import STDIN
from brim.files.text_files import expand

_SMALL = 8 * 1024 * 1024
"""Bytes up to which starting processes costs more than they bring."""

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many bytes of it are done, and of how many."""


def audit(
    paths: Sequence[str],
    policies: Sequence[Policy] = (),
    *,
    model: str | None = None,
    window: int | None = None,
    limit: int | None = None,
    engine: str = "processes",
    workers: int | None = None,
    ray_address: str | None = None,
    spool: str | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Return what replaying recorded traffic under policies shows.

    Args:
        paths: files, patterns or directories; compressed with gzip or not; `-` is standard input.
        policies: what to replay under; without any, each model's own window.
        model: the model to take all requests for; without it, the one that each names.
        window: the tokens that every model holds; without it, what the catalogue says.
        limit: the most conversations; which ones depends on nothing but themselves.
        engine: `processes` of this machine, or `ray`.
        workers: how many processes; without it, one for each core.
        ray_address: where the Ray cluster is; without it, the one that runs here.
        spool: a directory for what is kept on disk in between; a cluster must share it where files are compressed.
        progress: is told how far it is.

    Raises:
        SourceError: a file cannot be read, none of its records can, or no Ray cluster answers.
        InvalidValue: an argument that cannot be.
    """
    if not paths:
        raise InvalidValue("traces", [], "one file at least")
    plan = ReplayPlan(policies=tuple(policies) or (Policy(name=WINDOW),), model=model, window=window)
    tell = progress or (lambda *_: None)
    with (
        tempfile.TemporaryDirectory(prefix="brim-audit.", dir=spool) as folder,
        closing(_Lazy(partial(engine_of, engine, workers, ray_address))) as engines,
    ):
        recordings = _opened(paths, folder, engines)
        found = _Found(recordings, ConversationIndex(folder, sum(each.size for each in recordings)), limit)
        found.read(engines.get(found.size), tell)
        tally, done = AuditTotals(), 0
        for weight, part in engines.get(found.size).map(replayed, found.jobs(plan)):
            tally.merge(part)
            done += weight
            tell("replaying", done, found.weight)
    return AuditReport.of(plan, recordings, found.scanned, tally, found)


class _Lazy:
    """An engine that is made once it is known how much there is to do."""

    def __init__(self, make: Callable[..., Executor]) -> None:
        self._make = make
        self._engine: Executor | None = None

    def get(self, size: int) -> Executor:
        if self._engine is None:
            self._engine = self._make(small=size <= _SMALL)
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()


def _opened(paths: Sequence[str], folder: str, engines: _Lazy) -> tuple[Recording, ...]:
    """Return the files, unpacked where they have to be; several at a time where they are many bytes.

    Raises:
        SourceError: one that was named cannot be read, or there is none.
    """
    files = expand(paths)
    size = sum(os.path.getsize(file.path) for file in files if os.path.isfile(file.path))
    if len(files) == 1 or size <= _SMALL or any(file.path == STDIN for file in files):
        made = [opened(file, folder) for file in files]
    else:
        order = {file.path: at for at, file in enumerate(files)}
        made = list(engines.get(size).map(partial(opened, spool=folder), files))
        made.sort(key=lambda recording: order[recording.name])
    for recording in made:
        if recording.problem and recording.named:
            raise SourceError(recording.name, recording.problem)
    if not made:
        raise SourceError(", ".join(paths), "no file is in it")
    return tuple(made)


class _Found:
    """What the files hold."""

    def __init__(self, recordings: tuple[Recording, ...], index: ConversationIndex, limit: int | None) -> None:
        self._recordings = recordings
        self._index = index
        self._limit = limit
        self._lowest: list[str] = []
        self._taken: set[str] = set()
        self._lines: dict[tuple[int, int], int] = {}
        self.size = sum(each.size for each in recordings)
        self.weight = 0
        self.silent_files = 0
        """Files of a directory that hold no recording."""
        self.scanned = Scanned(scan=Scan(recording=recordings[0], file=0, range=0, start=0, stop=0))

    def read(self, engine: Executor, tell: Progress) -> None:
        """Look through all files.

        Raises:
            SourceError: a file has no record that can be read.
        """
        done, good = 0, [0] * len(self._recordings)
        wrong: dict[int, Scanned] = {}
        for part in engine.map(scanned, self._scans()):
            scan = part.scan
            self._lines[scan.file, scan.range] = part.lines
            good[scan.file] += sum(part.formats.values())
            self._index.add(part.spans)
            self.weight += sum(span.length for span in part.spans)
            self._sample(part)
            _merge(self.scanned, part)
            if part.bad:
                _blame(wrong.setdefault(scan.file, Scanned(scan=scan)), part)
            done += scan.stop - scan.start
            tell("reading", done, self.size)
        self._index.flush()
        empty = [file for file, count in enumerate(good) if not count]
        for file in empty:
            if self._recordings[file].named or len(empty) == len(good):
                raise self._nothing(self._recordings[file], wrong.pop(file, None))
        self.silent_files = len(empty)
        for file, each in sorted(wrong.items()):
            if good[file]:
                _blame(self.scanned, each)

    def _nothing(self, recording: Recording, wrong: Scanned | None) -> SourceError:
        """Return the error about a file of which nothing can be read."""
        if recording.problem:
            return SourceError(recording.name, recording.problem)
        if wrong is None:
            return SourceError(recording.name, "it is empty: there is nothing to replay")
        place, problem = wrong.named[0]
        told = f"no record in it can be read; of the first: {problem}"
        return SourceError(recording.name, told, line=self.place(place)[1])

    def _scans(self) -> Iterator[Scan]:
        for file, recording in enumerate(self._recordings):
            for at, (start, stop) in enumerate(ranges(recording)):
                yield Scan(recording=recording, file=file, range=at, start=start, stop=stop)

    def _sample(self, part: Scanned) -> None:
        """Keep the lowest keys: a fair sample, since a key is a hash."""
        if self._limit is None:
            return
        for span in part.spans:
            if span.key in self._taken:
                continue
            turned = _turned(span.key)
            if len(self._lowest) < self._limit:
                heapq.heappush(self._lowest, turned)
                self._taken.add(span.key)
            elif turned > self._lowest[0]:
                self._taken.discard(_turned(heapq.heappushpop(self._lowest, turned)))
                self._taken.add(span.key)

    def jobs(self, plan: ReplayPlan) -> Iterator[Replay]:
        """Yield the parts to replay."""
        most = max(self._taken, default="") if self._limit is not None else ""
        for weight, lines in self._index.parts():
            yield Replay(recordings=self._recordings, lines=lines, plan=plan, most=most, weight=weight)

    def place(self, place: Place) -> tuple[str, int]:
        """Return the file and the line of a place."""
        before = sum(self._lines.get((place.file, each), 0) for each in range(place.range))
        return self._recordings[place.file].name, before + place.line + 1


def _turned(key: str) -> str:
    """Return a key whose order is the other way round."""
    return key.translate(_TURN)


_TURN = str.maketrans("0123456789abcdef", "fedcba9876543210")


def _merge(into: Scanned, part: Scanned) -> None:
    for name, count in part.formats.items():
        into.formats[name] = into.formats.get(name, 0) + count
    into.silent += part.silent


def _blame(into: Scanned, part: Scanned) -> None:
    """Take in what cannot be read."""
    into.bad += part.bad
    into.named = sorted([*into.named, *part.named])[:NAMED]
