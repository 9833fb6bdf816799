"""A meter for one vocabulary, with the first of several engines that works.

A tokenizer that crashes must not fail the request, so any exception of an engine, panics included, moves the vocabulary
to its next engine, and the name and `exact` show it. Long texts are counted in pieces at seams where counts add up, so
that other threads keep running.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from threading import RLock

from brim.errors import BrimError
from brim.meter.base import BaseMeter, at_most, side
from brim.meter.engine import Cutting, Engine
from brim.meter.grapheme import boundary_before
from brim.meter.joined_texts import Ends, JoinedTexts
from brim.meter.memo import Memo
from brim.meter.seamed_texts import SeamedTexts
from brim.meter.seams import PIECE, edges, pieces, seam_before

_BATCH = 8 * PIECE
"""Maximum characters of one call to an engine: their conversion blocks the interpreter."""

_SHORT = 48
"""Pieces up to this many characters are counted together with their neighbours."""

_WINDOW = 8
"""Characters per token within which a cut is searched first."""

_STRETCH = 4096
"""Characters that a search for a cut counts at a time."""

_STEPS = 8

_WORST = 11
"""The worst observed error of an estimate from character classes, in quarters of the count."""

_LONE_SURROGATES = re.compile("[\ud800-\udfff]+")

_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)

Vectors = Sequence[tuple[str, int]]


class Vocabulary(BaseMeter):
    """A meter for one vocabulary, with engines in order of preference."""

    def __init__(
        self,
        name: str,
        engines: Sequence[tuple[str, Callable[[], Engine]]],
        *,
        vectors: Vectors = (),
        at_lines: bool = False,
    ) -> None:
        super().__init__(name)
        self._waiting = list(engines)
        self._vectors = vectors
        self._at_lines = at_lines
        self._engine: Engine | None = None
        self._failures: list[str] = []
        self._lock = RLock()
        self._edges: Memo[Ends] = Memo()
        self._joined: Memo[SeamedTexts] = Memo()

    @property
    def name(self) -> str:
        """The vocabulary, and the engine if it is not the first one."""
        engine = self._working()
        if not self._failures:
            return self._name
        how = "by" if engine.exact else "estimate:"
        return f"{self._name} ({how} {engine.name}; {', '.join(self._failures)})"

    @property
    def exact(self) -> bool:
        """Whether the current engine counts exactly."""
        return self._working().exact

    def upper_load(self, text: str) -> int:
        """Return an upper bound on the true count: no byte-level token is shorter than a byte."""
        count = self.count(text)
        if self.exact:
            return count
        return min(len(text.encode("utf-8", "surrogatepass")), count * _WORST // 4 + 4)

    def measure(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        if len(text) <= PIECE:
            try:
                return self._working().counts([text])[0]
            except _STOPS:
                raise
            except BaseException:
                return self._carefully(text)
        return self._carefully(text)

    def _carefully(self, text: str) -> int:
        """Return the number of tokens of a long text, or of one on which an engine failed."""
        return sum(self._run(lambda engine: self._counts(engine, [text])))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text; new texts take as few calls as their size allows."""
        counts = self.memo.each(texts)
        if None not in counts:
            return counts  # type: ignore[return-value]  # that is what was asked
        new = list(dict.fromkeys(text for text, count in zip(texts, counts, strict=True) if count is None))
        counted = dict(zip(new, self._run(lambda engine: self._counts(engine, new)), strict=True))
        for text, size in counted.items():
            self.memo.put(text, size)
        return [counted[text] if count is None else count for text, count in zip(texts, counts, strict=True)]

    def count_joined(
        self,
        pieces: Sequence[str],
        enough: int | None = None,
        known: Mapping[str, int] | None = None,
        seams: Mapping[int, Ends] | None = None,
    ) -> int:
        """Return the exact count of the joined pieces, tokenizing only the text around the joins.

        The count between the first and last seam of a piece is cached; only its two ends are counted again, together
        with their neighbours.
        """
        if not self._working().additive:
            return super().count_joined(pieces)
        if not seams:
            found = self.ends(pieces, known)
        else:
            found = self.ends(["" if i in seams else piece for i, piece in enumerate(pieces)], known)
            for i, ends in seams.items():
                found[i] = ends
        total, loose, joints = 0, "", []
        for piece, ends in zip(pieces, found, strict=True):
            if not ends:
                loose += piece
                continue
            start, end, inner = ends
            joints.append(loose + start)
            loose = end
            total += inner
            if enough is not None and total > enough:
                return total
        joints.append(loose)
        return total + sum(self.count_many(joints))

    def joined(self, texts: Sequence[str], separator: str, whole: str) -> JoinedTexts:
        """Return the counts of choices among texts; those of the same texts are cached."""
        if not self._working().additive:
            return super().joined(texts, separator, whole)
        known = self._joined.get(whole)
        if known is None or not known.holds(texts, separator):
            known = SeamedTexts(self, texts, separator)
            self._joined.put(whole, known)
        return known

    def ends(self, texts: Sequence[str], known: Mapping[str, int] | None = None) -> list[Ends]:
        """Return the start and the end of each text, and the count between them; `known` holds counts of texts."""
        found = self._edges.each(texts)
        if None in found:
            self._learn_ends(texts, known or {})
            found = [ends or () for ends in self._edges.each(texts)]  # One that is too long for the cache has none.
        return found  # type: ignore[return-value]  # that is what was asked

    def _learn_ends(self, pieces: Sequence[str], known: Mapping[str, int]) -> None:
        """Cache the start and the end of each new piece, and the count between them; a short one has neither."""
        new = dict.fromkeys(piece for piece in pieces if self._edges.get(piece) is None)
        parted = []
        for piece in new:
            seams = edges(piece, at_lines=self._at_lines) if len(piece) > _SHORT else None
            if seams is None:
                self._edges.put(piece, ())
            else:
                parted.append((piece, piece[: seams[0]], piece[seams[1] :]))
        wholes = [known[piece] if piece in known else self.count(piece) for piece, _, _ in parted]
        starts = self.count_many([start for _, start, _ in parted])
        ends = self.count_many([end for _, _, end in parted])
        for (piece, start, end), whole, first, last in zip(parted, wholes, starts, ends, strict=True):
            self._edges.put(piece, (start, end, whole - first - last))

    def _cut(self, text: str, limit: int, *, at_end: bool) -> str:
        """Return a long prefix, or suffix `at_end`, within the limit.

        The text is counted in stretches between seams; the first one over the limit is searched.
        """
        left, done = limit, 0
        while self._working().additive and left > _STRETCH // 4:
            index = len(text) - done - _STRETCH if at_end else done + _STRETCH
            seam = seam_before(text, index, at_lines=self._at_lines)
            length = done if seam is None else len(text) - seam if at_end else seam
            if length <= done:
                break
            size = self.measure(text[seam : len(text) - done] if at_end else text[done:seam])
            if size > left:
                break
            left -= size
            done = length
        rest = side(text, len(text) - done, at_end=not at_end)
        near = side(rest, _WINDOW * left + _STRETCH, at_end=at_end)
        cut = super()._cut(near, left, at_end=at_end)
        if len(cut) == len(near) < len(rest):
            cut = super()._cut(rest, left, at_end=at_end)
        kept = side(text, at_most(text, done + len(cut), at_end=at_end), at_end=at_end)
        if len(kept) > done or self.measure(kept) <= limit:
            return kept
        return super()._cut(text, limit, at_end=at_end)

    def _within(self, text: str, limit: int, *, at_end: bool) -> str:
        """Return the longest prefix or suffix found; a prefix starts from the engine's own cut."""
        engine = self._working()
        if at_end or not isinstance(engine, Cutting):
            return super()._within(text, limit, at_end=at_end)
        try:
            end = _prefix(engine, text, limit)
        except _STOPS:
            raise
        except BaseException as error:
            self._retire(engine, error)
            return self._within(text, limit, at_end=at_end)
        for _ in range(_STEPS):
            end = boundary_before(text, end)
            if self.measure(text[:end]) <= limit:
                return text[:end]
            end -= 1
        return super()._within(text, limit, at_end=at_end)

    def _counts(self, engine: Engine, texts: Sequence[str]) -> list[int]:
        """Return the count of each text by `engine`, in pieces and batches of bounded size."""
        totals = [0] * len(texts)
        batch: list[str] = []
        owners: list[int] = []
        size = 0

        def flush() -> None:
            try:
                counts = engine.counts(batch)
            except UnicodeEncodeError:
                counts = engine.counts([_sound(piece) for piece in batch])
            for owner, count in zip(owners, counts, strict=True):
                totals[owner] += count
            batch.clear()
            owners.clear()

        for owner, text in enumerate(texts):
            long = engine.additive and len(text) > PIECE
            for piece in pieces(text, at_lines=self._at_lines) if long else (text,):
                if batch and size + len(piece) > _BATCH:
                    flush()
                    size = 0
                batch.append(piece)
                owners.append(owner)
                size += len(piece)
        if batch:
            flush()
        return totals

    def _run(self, call: Callable[[Engine], list[int]]) -> list[int]:
        """Return the result of `call` for the first engine that does not fail."""
        while True:
            engine = self._working()
            try:
                return call(engine)
            except _STOPS:
                raise
            except BaseException as error:
                self._retire(engine, error)

    def _working(self) -> Engine:
        """Return the current engine, after loading and checking the next one if there is none."""
        engine = self._engine
        if engine is not None:
            return engine
        with self._lock:
            while self._engine is None:
                if not self._waiting:
                    raise BrimError(f"nothing can count {self._name}: {', '.join(self._failures)}")
                self._engine = self._loaded(*self._waiting.pop(0))
            return self._engine

    def _loaded(self, library: str, load: Callable[[], Engine]) -> Engine | None:
        """Return the engine of `load`, or `None` if it does not load or miscounts the known vectors."""
        try:
            engine = load()
            told = engine.counts([text for text, _ in self._vectors]) if engine.exact and self._vectors else []
        except _STOPS:
            raise
        except ImportError:
            self._failures.append(f"{library} is not installed")
            return None
        except BaseException as error:
            self._failures.append(f"{library} failed with {type(error).__name__}")
            return None
        if told and told != [count for _, count in self._vectors]:
            self._failures.append(f"{library} miscounts")
            return None
        return engine

    def _retire(self, engine: Engine, error: BaseException) -> None:
        with self._lock:
            if self._engine is engine:
                self._engine = None
                self._failures.append(f"{engine.name} failed with {type(error).__name__}")


def _sound(text: str) -> str:
    """Return `text` with each lone surrogate replaced, character for character, by U+FFFD."""
    return _LONE_SURROGATES.sub(lambda run: "\ufffd" * len(run[0]), text)


def _prefix(engine: Cutting, text: str, limit: int) -> int:
    try:
        return engine.prefix(text, limit)
    except UnicodeEncodeError:
        return engine.prefix(_sound(text), limit)
