"""Meters for the known vocabularies; each uses the first engine that works.

A tokenizer that crashes must not fail the request. After any exception of an engine, including a panic, the vocabulary
uses its next engine, and its name and `exact` show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import RLock

from brim.errors import BrimError
from brim.meter.base import BaseMeter, check_counts
from brim.meter.chat import TEMPLATE
from brim.meter.engines import (
    ClassesEngine,
    Engine,
    FileEngine,
    SplintrEngine,
    ToktokEngine,
)

_WORST = 11
"""The worst observed undercount of character classes: the true count was 11 quarters of the estimate."""
_LONE_SURROGATES = re.compile("[\ud800-\udfff]+")
_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit)

VOCABULARIES = (
    *("o200k_base", "cl100k_base", "qwen3.5", "o200k_harmony", "llama2", "llama3", "codellama", "qwen3", "deepseek_v3"),
    *("mistral_v1", "mistral_v2", "mistral_v3", "tekken", "gemma2", "gemma3", "gemma4", "glm4", "kimi_k2", "kimi_k3"),
    *("phi4", "olmo2"),
)
"""The names of the vocabularies."""

_SAME = {"o200k_harmony": "o200k_base"}
"""Vocabularies that differ only in their special tokens, which ordinary text never contains."""
_TOKTOK = ("o200k_base", "cl100k_base", "qwen3.5")
_NO_SPLINTR = ("qwen3.5",)

CLASSES = "character classes"
"""Not the vocabulary of any model: an estimate from character classes, which needs no library."""


class Vocabulary(BaseMeter):
    """A meter for one vocabulary, with engines in order of preference."""

    def __init__(self, name: str, engines: Sequence[tuple[str, Callable[[], Engine]]]) -> None:
        super().__init__(name)
        self._waiting = list(engines)
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
                with self._lock:
                    if self._engine is engine:
                        self._engine = None
                        self._failures.append(f"{engine.name} failed with {type(error).__name__}")

    def _working(self) -> Engine:
        """Return the current engine; if there is none, load the next one."""
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
        """Return the engine from `load`, or `None` if it does not load."""
        try:
            return load()
        except _STOPS:
            raise
        except ImportError:
            self._failures.append(f"{library} is not installed")
        except BaseException as error:
            self._failures.append(f"{library} failed with {type(error).__name__}")
        return None


def _count(engine: Engine, text: str) -> int:
    """Return the tokens of a text; an engine refuses lone surrogates, so each is replaced by U+FFFD."""
    try:
        return engine.count(text)
    except UnicodeEncodeError:
        return engine.count(_LONE_SURROGATES.sub(lambda run: "\ufffd" * len(run[0]), text))


@cache
def vocabulary(name: str) -> Vocabulary:
    """Return the meter of a vocabulary of `VOCABULARIES`."""
    if name in _SAME:
        return vocabulary(_SAME[name])
    engines: list[tuple[str, Callable[[], Engine]]] = []
    if name in _TOKTOK:
        engines.append(("toktok", partial(ToktokEngine, name)))
    if name in VOCABULARIES and name not in _NO_SPLINTR:
        engines.append(("splintr", partial(SplintrEngine, name)))
    engines.append((CLASSES, ClassesEngine))
    made = Vocabulary(name, engines)
    made.source = (vocabulary, (name,))
    return made


@cache
def file_vocabulary(path: str) -> Vocabulary:
    """Return the meter of a `tokenizer.json`.

    Raises:
        SourceError: the file cannot be read, or is not a tokenizer.
        InvalidValue: it counts nothing.
    """
    engine = FileEngine(path)
    made = Vocabulary(path, [("tokenizers", lambda: engine), (CLASSES, ClassesEngine)])
    made.source, made.template = (file_vocabulary, (path,)), TEMPLATE
    check_counts(made)
    return made
