"""The engine of a `tokenizer.json` file, by the tokenizers package.

Boundary tokens, padding and truncation, which the file adds for a model's input, are left out. Strings that the file
marks as special are plain text here, as they are in a prompt; other added strings are tokens of the vocabulary.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from brim.errors import SourceError
from brim.files.source import text_of

_MOST_BYTES = 256 * 1024 * 1024
"""The largest file that is read; published ones have up to 35 MB."""

_PLACE = re.compile(r" at line (\d+) column \d+$")


class FileEngine:
    """Counts by one `tokenizer.json`.

    Raises:
        SourceError: the file cannot be read, is not a tokenizer, or the tokenizers package is not installed.
    """

    name = "tokenizers"
    exact = True
    additive = False
    """Unknown for a file, so false."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise SourceError(self.path, "not a regular file")
        self._tokenizer = _parsed(self.path, text_of(self.path, _MOST_BYTES).removeprefix("\ufeff"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text, in order. The texts hold no lone surrogates."""
        # This call keeps no offsets and releases the interpreter lock; with a single text it starts no threads, so that
        # a later fork is safe.
        encode = self._tokenizer.encode_batch_fast
        return [len(encode([text], add_special_tokens=False)[0]) for text in texts]


def _parsed(path: str, text: str) -> Any:
    """Return the tokenizer of a file's text.

    Raises:
        SourceError: it is not a tokenizer, or the tokenizers package is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SourceError(path, "reading it needs tokenizers: pip install 'brim[open]'") from error
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # The package raises nothing more specific.
        place = _PLACE.search(str(error))
        problem = f"not a tokenizer: {str(error)[: place.start()] if place else error}"
        raise SourceError(path, problem, line=int(place[1]) if place else None) from error
