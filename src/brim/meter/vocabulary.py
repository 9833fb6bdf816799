"""A meter for one vocabulary, with the first of several engines that works.

A tokenizer that crashes must not fail the request, so any exception of an engine, panics included, moves the vocabulary
to its next engine, and the name and `exact` show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import RLock

from brim.errors import BrimError
from brim.meter.base import BaseMeter
from brim.meter.engine import Cutting, Engine
from brim.meter.grapheme import boundary_before

_STEPS = 8
"""Graphemes that are taken from the end of an engine's own cut before the cut is searched for."""

_WORST = 11
"""The worst observed error of an estimate from character classes, in quarters of the count."""

_LONE_SURROGATES = re.compile("[\ud800-\udfff]+")

_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)

Vectors = Sequence[tuple[str, int]]


class Vocabulary(BaseMeter):
    """A meter for one vocabulary, with engines in order of preference."""

    def __init__(
        self, name: str, engines: Sequence[tuple[str, Callable[[], Engine]]], *, vectors: Vectors = ()
    ) -> None:
        super().__init__(name)
        self._waiting = list(engines)
        self._vectors = vectors
        self._engine: Engine | None = None
        self._failures: list[str] = []
        self._lock = RLock()

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
        """Return the number of tokens of `text`, by the first engine that does not fail."""
        while True:
            engine = self._working()
            try:
                return _count(engine, text)
            except _STOPS:
                raise
            except BaseException as error:
                self._retire(engine, error)

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
            miscounts = engine.exact and any(engine.count(text) != count for text, count in self._vectors)
        except _STOPS:
            raise
        except ImportError:
            self._failures.append(f"{library} is not installed")
            return None
        except BaseException as error:
            self._failures.append(f"{library} failed with {type(error).__name__}")
            return None
        if miscounts:
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


def _count(engine: Engine, text: str) -> int:
    try:
        return engine.count(text)
    except UnicodeEncodeError:
        return engine.count(_sound(text))


def _prefix(engine: Cutting, text: str, limit: int) -> int:
    try:
        return engine.prefix(text, limit)
    except UnicodeEncodeError:
        return engine.prefix(_sound(text), limit)
