"""The known vocabularies, each with its engines in order of preference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from brim.meter.base import check_counts
from brim.meter.engine import ApartEngine, Engine, TiktokenEngine, ToktokEngine
from brim.meter.estimate import ClassesEngine
from brim.meter.splintr_engine import VOCABULARIES as OPEN
from brim.meter.splintr_engine import SplintrEngine
from brim.meter.vocabulary import Vectors, Vocabulary

_TEXTS = (
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "def f(x):\n    return x ** 2  # squared\n",
    "漢字かな交じり文と한국어",
    "😀👩‍👩‍👧‍👦 e\u0301",
    "<|endoftext|>",
    "a" * 100,
    " " * 50 + "\n\n\t",
    "1234567890.12345",
    '{"key": [1, 2.5, null, "v\\u00e9"]}',
    "-\n//",
    "Привет, мир! مرحبا",
)

_COUNTS = {
    "o200k_base": (4, 10, 14, 10, 14, 7, 13, 3, 7, 21, 2, 7),
    "cl100k_base": (4, 10, 14, 14, 22, 7, 13, 3, 7, 20, 2, 12),
    "qwen3.5": (4, 10, 15, 10, 20, 7, 13, 3, 16, 21, 3, 8),
}
"""The counts of the texts above, confirmed by more than one library: an engine that differs is not used."""

_SAME = {"o200k_harmony": "o200k_base"}
"""Vocabularies that differ only in their special tokens, which ordinary text never contains."""

_APART = ("qwen3.5",)

CLASSES = "character classes"
"""The vocabulary of no model: an estimate from character classes, which needs no library."""
BUILT_IN = (*_COUNTS, *_SAME)
"""The vocabularies that the core dependencies count exactly."""
VOCABULARIES = (*_COUNTS, *_SAME, *(name for name in OPEN if name not in (*_COUNTS, *_SAME)))
"""The names of the vocabularies."""


@cache
def vocabulary(name: str) -> Vocabulary:
    """Return the meter of a vocabulary of `VOCABULARIES`."""
    if name in _SAME:
        return vocabulary(_SAME[name])
    engines: list[tuple[str, Callable[[], Engine]]] = []
    if name in _COUNTS:
        engines += [("toktok", partial(_toktok, name)), ("tiktoken", partial(TiktokenEngine, name))]
    if name in OPEN:
        engines.append(("splintr", partial(SplintrEngine, name)))
    engines.append((CLASSES, ClassesEngine))
    vectors: Vectors = tuple(zip(_TEXTS, _COUNTS[name], strict=True)) if name in _COUNTS else ()
    made = Vocabulary(name, engines, vectors=vectors)
    made.source = (vocabulary, (name,))
    return made


def _toktok(name: str) -> Engine:
    return ApartEngine(ToktokEngine(name)) if name in _APART else ToktokEngine(name)


@cache
def file_vocabulary(path: str) -> Vocabulary:
    """Return the meter of a `tokenizer.json`.

    Raises:
        SourceError: the file cannot be read, or is not a tokenizer.
        InvalidValue: it counts nothing.
    """
    from brim.meter.tokenizer_file import FileEngine

    engine = FileEngine(path)
    made = Vocabulary(path, [("tokenizers", lambda: engine), (CLASSES, ClassesEngine)])
    made.source = (file_vocabulary, (path,))
    check_counts(made, engine.pieces())
    return made
