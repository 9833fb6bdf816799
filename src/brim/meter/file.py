"""Counts by a `tokenizer.json` file, through the tokenizers package.

The file says how its model reads text; brim takes that over and leaves out what the file adds for a model's
input: boundary tokens, padding and truncation. Strings that the file calls special are plain text here, as
they are in a prompt. A string that it adds without calling it special is a piece of the vocabulary, and counts so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

from brim.errors import SourceError

_MOST_BYTES = 256 * 1024 * 1024
"""The largest file that is read: the largest published ones have about 35 MB."""

_PLACE = re.compile(r" at line (\d+) column \d+$")


class FileEngine:
    """Counts by one `tokenizer.json`.

    Raises:
        SourceError: the file cannot be read, is no tokenizer, or the tokenizers package is not installed.
    """

    name = "tokenizers"
    exact = True
    additive = False
    """Whether a count is the sum of its parts: unknown for a file, so no."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._tokenizer = _parsed(self.path, _text_of(self.path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the count of each text, in order. The texts hold no lone surrogates."""
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        # Of all the calls this one keeps no offsets and lets go of the interpreter lock; with a single text it
        # starts no threads, so a fork afterwards is safe.
        return len(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0])


def _text_of(path: str) -> str:
    """Return what the file holds.

    Raises:
        SourceError: it is missing, no regular file, too large or not UTF-8.
    """
    try:
        status = os.stat(path)
        if not S_ISREG(status.st_mode):
            raise SourceError(path, "not a regular file")
        if status.st_size > _MOST_BYTES:
            raise SourceError(path, f"{status.st_size:,} bytes, more than the {_MOST_BYTES:,} that are read")
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SourceError(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise SourceError(path, f"not UTF-8 text: {error.reason} at byte {error.start:,}") from error
    except ValueError as error:  # A path that holds a NUL.
        raise SourceError(path, str(error)) from error


def _parsed(path: str, text: str) -> Any:
    """Return the tokenizer that the text of the file describes.

    Raises:
        SourceError: it describes none, or the tokenizers package is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SourceError(path, "reading it needs tokenizers: pip install 'brim[open]'") from error
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # The package raises nothing more special, whatever the matter.
        place = _PLACE.search(str(error))
        problem = f"no tokenizer: {str(error)[: place.start()] if place else error}"
        raise SourceError(path, problem, line=int(place[1]) if place else None) from error
