"""The tokenizer libraries, each behind the same interface.

An engine counts a text and says whether the count is exact. If it raises any exception, including a panic, its
vocabulary uses the next engine.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Protocol
from unicodedata import normalize

from brim.errors import SourceError
from brim.files.source import text_of


class Engine(Protocol):
    """Counts texts with one library and one vocabulary."""

    @property
    def name(self) -> str:
        """The name of the library, such as `toktok`."""

    @property
    def exact(self) -> bool:
        """Whether the counts are those of the vocabulary itself."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text without lone surrogates."""


_THREADED = 1_000_000
"""Longer texts, in characters, are counted in a thread of their own: each thread keeps the memory that toktok needed
for its longest text, some bytes per character, until it ends.
"""
_APART = ("qwen3.5",)
"""Vocabularies whose texts are always counted in such a thread: toktok keeps working memory for two vocabularies per
thread; with a third it allocates at every call, slowly and without bound.
"""


class ToktokEngine:
    """Counts by toktok: exact, offline, and without the interpreter's lock."""

    name = "toktok"
    exact = True

    def __init__(self, vocabulary: str) -> None:
        import toktok

        self._truncate: Callable[[str, int, str], tuple[str, int]] = toktok.truncate
        self._vocabulary = vocabulary

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        if len(text) <= _THREADED and self._vocabulary not in _APART:
            return self._counted(text)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="brim-count") as own:
            return own.submit(self._counted, text).result()

    def _counted(self, text: str) -> int:
        # Unlike `batch_count`, this call does not copy the text, so a long text does not block other threads.
        return self._truncate(text, sys.maxsize, self._vocabulary)[1]


_SPLINTR_NAMES = {"tekken": "mistral_v3", "gemma3": "gemma4"}
"""Vocabularies that have another name in splintr.

gemma3 has the pieces and merges of gemma4, and additional tags (see `_MARKUP`): 27,000 texts have the same ids. As
gemma4, splintr counts it eight times as fast, in linear time."""

_COMPOSED = frozenset({"qwen3"})
"""Vocabularies whose tokenizer normalizes the text first (NFC); with splintr, the caller has to do this."""

_TAGS = "table|caption|thead|tbody|tfoot|tr|th|td|h[1-6]|blockquote|strong|em|b|i|u|s|sub|sup|code"
_MORE_TAGS = "a|html|body|img|span|bbox|ul|li|div|iframe|footer"
_MARKUP = {
    "gemma2": re.compile(f"</?(?:{_TAGS})>"),
    "gemma3": re.compile(f"</?(?:{_TAGS}|{_MORE_TAGS})>"),
}
"""Tags that are one token each and split the text around them; they are not control strings."""

_BEFORE_WORD = re.compile(r"(?<=\S)(?= )")
"""Positions where every vocabulary with word patterns begins a new word, so that a text can be split there."""
_AFTER_WORD = re.compile(r"(?<=[^\s▁]) (?=\S)")
_BEFORE_SPACE = re.compile(r"(?<=\n)(?=[^\n])|(?<=[^\s▁>])(?= )")
_BOUNDARIES = {
    "llama2": _AFTER_WORD,
    "codellama": _AFTER_WORD,
    "mistral_v1": _AFTER_WORD,
    "mistral_v2": _AFTER_WORD,
    "gemma2": _BEFORE_SPACE,
    "gemma3": _BEFORE_SPACE,
    "gemma4": _BEFORE_SPACE,
}
"""Positions at which a text can be split for a vocabulary without word patterns; the match belongs to neither side.

The first four put a space before every text, which replaces the one at the boundary. In gemma no piece has a newline
next to anything else, and only one has a space after something else: `> </`."""

_BLOCK = 8_192
"""Characters per call if the text has boundaries: other threads run between two calls, and merging is faster on short
texts."""

_LONGEST = 100_000
"""Characters per call for a vocabulary without word patterns if the text has no boundary: a call for megabytes of
quotes blocks other threads for seconds, and keeps hundreds of MB. The count of such a text may be some tokens too high,
never too low."""


class SplintrEngine:
    """Counts by the vocabulary of an open model. Control strings such as `<|endoftext|>` are plain text.

    The library is called with one text at a time, because its batch calls start threads. A call holds the interpreter
    lock, so a text is split wherever that does not change the count.

    Raises:
        ImportError: splintr is not installed.
    """

    name = "splintr"
    exact = True

    def __init__(self, vocabulary: str) -> None:
        from splintr import Tokenizer

        self._composed = vocabulary in _COMPOSED
        self._markup = _MARKUP.get(vocabulary)
        self._boundary = _BOUNDARIES.get(vocabulary, _BEFORE_WORD)
        self._longest = _LONGEST if vocabulary in _BOUNDARIES else None
        self._tokenizer = _pretrained(Tokenizer, _SPLINTR_NAMES.get(vocabulary, vocabulary))

    def count(self, text: str) -> int:
        """Return the number of tokens of a text without lone surrogates."""
        if self._composed and not text.isascii():
            text = normalize("NFC", text)
        spans = self._markup.split(text) if self._markup else [text]
        blocks = [block for span in spans for block in _blocks(span, self._boundary, self._longest)]
        return len(spans) - 1 + sum(len(self._tokenizer.encode_ordinary(block)) + extra for block, extra in blocks)


@cache
def _pretrained(library: Any, name: str) -> Any:
    """Return a tokenizer of splintr; vocabularies that share one load it once."""
    return library.from_pretrained(name)


def _blocks(text: str, boundary: re.Pattern[str], longest: int | None) -> Iterator[tuple[str, int]]:
    """Yield the text in blocks that end at the first boundary after `_BLOCK` characters, or after `longest`.

    Each comes with the extra tokens to count: 1 after a block that does not end at a boundary, because the whole may
    count more than its parts.
    """
    start, most = 0, len(text) if longest is None else longest
    while len(text) - start > _BLOCK:
        match = boundary.search(text, start + _BLOCK, start + most + 1)
        if match is None and len(text) - start <= most:
            break
        if match is None:
            yield text[start : start + most], 1
            start += most
        else:
            yield text[start : match.start()], 0
            start = match.end()
    yield text[start:], 0


_MOST_BYTES = 256 * 1024 * 1024
"""The largest file that is read; published ones have up to 35 MB."""

_MOST_TIMES = 64
"""Characters that a normaliser may write for one; published ones write up to three."""

_PLACE = re.compile(r" at line (\d+) column \d+$")


class FileEngine:
    """Counts by one `tokenizer.json`, with the tokenizers package.

    Boundary tokens, padding and truncation, which the file adds to a model's input, are disabled. Strings that the file
    marks as special are plain text here, as in a prompt; other added strings are tokens of the vocabulary.

    Raises:
        SourceError: the file cannot be read, is not a tokenizer, or the tokenizers package is not installed.
    """

    name = "tokenizers"
    exact = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise SourceError(self.path, "not a regular file")
        self._tokenizer = _parsed(self.path, text_of(self.path, _MOST_BYTES).removeprefix("\ufeff"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def count(self, text: str) -> int:
        """Return the number of tokens of a text without lone surrogates."""
        # This call keeps no offsets and releases the interpreter lock; with a single text it starts no threads, so a
        # later fork is safe.
        return len(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0])


def _parsed(path: str, text: str) -> Any:
    """Return the tokenizer of a file's text.

    Raises:
        SourceError: it is not a tokenizer, or the tokenizers package is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SourceError(path, "reading it needs tokenizers: pip install 'brim[open]'") from error
    _check_growth(path, text)
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # The package raises nothing more specific.
        place = _PLACE.search(str(error))
        problem = f"not a tokenizer: {str(error)[: place.start()] if place else error}"
        raise SourceError(path, problem, line=int(place[1]) if place else None) from error


def _check_growth(path: str, text: str) -> None:
    """Check that the normaliser of a file writes few characters for one; each step may multiply the output of the last.

    Raises:
        SourceError: it may write too many.
    """
    try:
        steps = [json.loads(text).get("normalizer")]
    except (ValueError, AttributeError, RecursionError):
        return  # The package raises the error with its reason.
    times = 1
    while steps:
        step = steps.pop()
        if not isinstance(step, dict):
            continue
        steps += step["normalizers"] if isinstance(step.get("normalizers"), list) else []
        times *= max([1, *(len(each) for name in ("content", "prepend") if isinstance(each := step.get(name), str))])
        if isinstance(packed := step.get("precompiled_charsmap"), str):
            times *= _longest(packed)
        if times > _MOST_TIMES:
            raise SourceError(path, f"its normaliser writes more than {_MOST_TIMES} characters for one")


def _longest(packed: str) -> int:
    """Return the bytes of the longest text in a map of SentencePiece: after a tree, texts that end with a null."""
    try:
        raw = base64.b64decode(packed)
        start = 4 + int.from_bytes(raw[:4], "little")
    except ValueError:
        return 1  # The package raises the error with its reason.
    return max(1, *(len(each) for each in raw[start:].split(b"\0")))


(
    _PLAIN,
    _SPACE,
    _BREAK,
    _UPPER,
    _DIGIT,
    _MARK,
    _LATIN,
    _GREEK,
    _ARABIC,
    _INDIC,
    _SYMBOL,
    _HAN,
    _KANA,
    _HANGUL,
    _ASTRAL,
) = range(15)
"""Lower-case letters; spaces; line feeds; upper-case letters; digits; other ASCII; letters with accents; Greek and
Cyrillic; Armenian, Hebrew and Arabic; scripts from India to Georgia; symbols; Han; kana; Hangul; the rest."""

_LAST_BYTES = (
    (0xC1, _PLAIN),  # continuation bytes, which are not counted, and two that never occur
    (0xC2, _SYMBOL),
    (0xCC, _LATIN),
    (0xD4, _GREEK),
    (0xDF, _ARABIC),
    (0xE1, _INDIC),
    (0xE2, _SYMBOL),
    (0xE3, _KANA),
    (0xE9, _HAN),
    (0xEE, _HANGUL),
    (0xEF, _HAN),
    (0xFF, _ASTRAL),
)
"""The class of characters beyond ASCII, by the highest first byte in UTF-8."""

_CLASSIFIED = 128 * 1024
"""Characters that are classified at a time; other threads may run in between."""


def _class_of(byte: int) -> int:
    if byte >= 0x80:
        return next(kind for last, kind in _LAST_BYTES if byte <= last)
    char = chr(byte)
    if char.islower():
        return _PLAIN
    if char in " \n":
        return _SPACE if char == " " else _BREAK
    return _UPPER if char.isupper() else _DIGIT if char.isdigit() else _MARK


_TABLE = bytes(map(_class_of, range(256)))
_CONTINUATION = bytes(range(0x80, 0xC0))


def classes(text: str) -> list[int]:
    """Return the number of characters of each class, with lone surrogates as Hangul, and the number of double spaces.

    Some vocabularies have one token for a run of spaces, others several.
    """
    counts = [0] * (_ASTRAL + 1)
    for start in range(0, len(text), _CLASSIFIED):
        block = text[start : start + _CLASSIFIED]
        raw = block.encode("utf-8", "surrogatepass")
        # The first byte determines the class, and bytes are translated and counted faster than characters.
        beyond = len(raw) != len(block)
        codes = raw.translate(_TABLE, _CONTINUATION) if beyond else raw.translate(_TABLE)
        for kind in range(_SPACE, _ASTRAL + 1 if beyond else _LATIN):
            counts[kind] += codes.count(kind)
    counts[_PLAIN] = len(text) - sum(counts)
    return [*counts, text.count("  ")]


class ClassesEngine:
    """Estimates tokens from character classes alone, if no tokenizer for the vocabulary works.

    Against o200k_base, mean error and worst undercount in percent: English +1 -24, Python 0 -15, JSON 0 -10, logs +1
    -19, other Latin -8 -44, Han and Hangul +3 -29, Cyrillic -1 -37, Indic +6 -21, minified code -63, emoji -62.
    """

    name = "character classes"
    exact = False

    _WEIGHTS = (206, 206, 397, 418, 756, 397, 1582, 354, 444, 471, 562, 797, 797, 702, 1292, 0)

    def count(self, text: str) -> int:
        """Return the estimate for a text."""
        return -(-sum(map(int.__mul__, self._WEIGHTS, classes(text))) // 1000)
