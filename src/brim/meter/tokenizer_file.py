"""The engine of a `tokenizer.json` file, by the tokenizers package.

Boundary tokens, padding and truncation, which the file adds for a model's input, are left out. Strings that the file
marks as special are plain text here, as they are in a prompt; other added strings are tokens of the vocabulary.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from brim.errors import SourceError
from brim.files.source import text_of

_MOST_BYTES = 256 * 1024 * 1024
"""The largest file that is read; published ones have up to 35 MB."""

_MOST_TIMES = 64
"""Characters that a normaliser may write for one; published ones write up to three."""

_PIECES = 16
"""Entries of the vocabulary by which a file that counts nothing is told from one of rare words."""

_PLACE = re.compile(r" at line (\d+) column \d+$")


class FileEngine:
    """Counts by one `tokenizer.json`.

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
        """Return the number of tokens of a text, which holds no lone surrogates."""
        # This call keeps no offsets and releases the interpreter lock; with a single text it starts no threads, so that
        # a later fork is safe.
        return len(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0])

    def pieces(self) -> Iterator[str]:
        """Yield a few entries of the vocabulary."""
        yield from islice(self._tokenizer.get_vocab(), _PIECES)


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
    """Pass if the normaliser of a file writes few characters for one: each step may multiply what the last one wrote.

    Raises:
        SourceError: it writes too many.
    """
    try:
        steps = [json.loads(text).get("normalizer")]
    except (ValueError, AttributeError, RecursionError):
        return  # The package itself tells what is wrong with it.
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
        return 1  # The package itself tells what is wrong with it.
    return max(1, *(len(each) for each in raw[start:].split(b"\0")))
