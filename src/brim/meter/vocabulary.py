"""Counts tokens of one vocabulary by the first of several engines that works.

A tokenizer that crashes must not take the prompt down with it, so whatever an engine raises, panics included,
moves the vocabulary to its next engine, and the name and `exact` tell. Long texts are counted in pieces at
seams where counts add up, so that other threads keep running.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import RLock

from brim.errors import BrimError
from brim.memo import Memo
from brim.meter.base import Scale
from brim.meter.engine import Cutting, Engine
from brim.meter.grapheme import boundary_before
from brim.meter.seams import PIECE, edges, pieces

_BATCH = 8 * PIECE
"""Characters that one call to an engine takes: their conversion holds the interpreter."""

_SHORT = 48
"""Pieces up to this many characters are counted together with their neighbours rather than apart."""

_STEPS = 8

_WORST = 11
"""Quarters of its own count by which an estimate from character classes was seen to miss at the worst."""

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")

_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)

Vectors = Sequence[tuple[str, int]]


class Vocabulary(Scale):
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
        self._edges: Memo[tuple[str, str, int] | bool] = Memo()

    @property
    def name(self) -> str:
        """The vocabulary, and by what it is counted where that is not its first engine."""
        engine = self._working()
        if not self._failures:
            return self._name
        how = "by" if engine.exact else "estimate:"
        return f"{self._name} ({how} {engine.name}; {', '.join(self._failures)})"

    @property
    def exact(self) -> bool:
        """Whether the engine at work counts exactly."""
        return self._working().exact

    def upper(self, text: str) -> int:
        """Return what the true count does not exceed: no byte-level token is shorter than a byte."""
        count = self.count(text)
        if self.exact:
            return count
        return min(len(text.encode("utf-8", "surrogatepass")), count * _WORST // 4 + 4)

    def measure(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return sum(self._run(lambda engine: self._counts(engine, [text])))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text, those not seen before in as few calls as their size allows."""
        known = {text: self.memo.get(text) for text in texts}
        new = [text for text, count in known.items() if count is None]
        counted = self._run(lambda engine: self._counts(engine, new)) if new else []
        for text, size in zip(new, counted, strict=True):
            known[text] = size
            self.memo.put(text, size)
        return [known[text] or 0 for text in texts]

    def count_joined(self, pieces: Sequence[str], enough: int | None = None) -> int:
        """Return the exact count of the pieces as one text, tokenizing only what touches a join.

        A piece with seams counts what it always did between its first and last seam; only its two ends are
        counted again together with their neighbours. Once the count is above `enough`, the rest is not counted.
        """
        if not self._working().additive:
            return super().count_joined(pieces)
        total, loose = 0, []
        for piece in pieces:
            ends = self._ends(piece) if len(piece) > _SHORT else None
            if ends is None:
                loose.append(piece)
                continue
            start, end, inner = ends
            loose.append(start)
            total += self.count("".join(loose)) + inner
            if enough is not None and total > enough:
                return total
            loose = [end]
        return total + self.count("".join(loose))

    def _ends(self, piece: str) -> tuple[str, str, int] | None:
        """Return the piece's start, its end, and the count of what lies between them."""
        known = self._edges.get(piece)
        if known is None:
            known = False
            seams = edges(piece, at_lines=self._at_lines)
            if seams:
                start, end = piece[: seams[0]], piece[seams[1] :]
                known = (start, end, self.count(piece) - self.measure(start) - self.measure(end))
            self._edges.put(piece, known)
        return known if isinstance(known, tuple) else None

    def _head_within(self, text: str, limit: int) -> str:
        """Return the longest prefix found, from where the engine says that the tokens end."""
        engine = self._working()
        if not isinstance(engine, Cutting):
            return super()._head_within(text, limit)
        try:
            end = engine.prefix(_sound(text), limit)
        except _STOPS:
            raise
        except BaseException as error:
            self._retire(engine, error)
            return self._head_within(text, limit)
        for _ in range(_STEPS):
            end = boundary_before(text, end)
            if self.measure(text[:end]) <= limit:
                return text[:end]
            end -= 1
        return super()._head_within(text, limit)

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
        """Return what `call` returns for the first engine that does not fail in it."""
        while True:
            engine = self._working()
            try:
                return call(engine)
            except _STOPS:
                raise
            except BaseException as error:
                self._retire(engine, error)

    def _working(self) -> Engine:
        """Return the engine at work, after loading and checking the next one if there is none."""
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
        """Return the engine that `load` makes, if it loads and counts the known vectors right."""
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
    return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)
