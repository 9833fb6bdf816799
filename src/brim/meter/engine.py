"""The tokenizer libraries, each behind the same interface.

An engine counts a text and says whether the count is exact. It may raise any exception, panics included: the
vocabulary that owns it moves on to its next engine.
"""

from __future__ import annotations

import os
import sys
from threading import Lock
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


class Engine(Protocol):
    """Counts a text by one library and one vocabulary."""

    @property
    def name(self) -> str:
        """The library, as `toktok`."""

    @property
    def exact(self) -> bool:
        """Whether the counts are those of the vocabulary itself."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, which holds no lone surrogates."""


@runtime_checkable
class Cutting(Protocol):
    """An engine that can also return the prefix of a number of tokens."""

    def prefix(self, text: str, limit: int) -> int:
        """Return how many characters the first `limit` tokens of `text` cover."""


class ToktokEngine:
    """Counts by toktok: exact, offline, and without the interpreter's lock."""

    name = "toktok"
    exact = True

    def __init__(self, vocabulary: str) -> None:
        import toktok

        self._toktok = toktok
        self._vocabulary = vocabulary

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        # Unlike `batch_count`, this call copies no text, so that other threads run however long the text is.
        counted: int = self._toktok.truncate(text, sys.maxsize, self._vocabulary)[1]
        return counted

    def prefix(self, text: str, limit: int) -> int:
        """Return how many characters the first `limit` tokens of `text` cover."""
        return len(self._toktok.truncate(text, limit, self._vocabulary)[0])


class ApartEngine:
    """Another engine, in a thread of its own.

    toktok keeps working memory for two vocabularies in each thread; a third one makes it allocate at every call, slowly
    and without bound. Vocabularies other than the two most used are counted here.
    """

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.exact = engine.exact
        self._engine = engine
        self._worker: tuple[int, ThreadPoolExecutor] | None = None
        self._lock = Lock()

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._thread().submit(self._engine.count, text).result()

    def _thread(self) -> ThreadPoolExecutor:
        """Return the thread of this process: a thread does not survive a fork."""
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._worker is None or self._worker[0] != os.getpid():
                self._worker = (os.getpid(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="brim-count"))
            return self._worker[1]


class TiktokenEngine:
    """Counts by tiktoken, which downloads a vocabulary on first use."""

    name = "tiktoken"
    exact = True

    def __init__(self, vocabulary: str) -> None:
        import tiktoken

        self._encoding = tiktoken.get_encoding(vocabulary)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self._encoding.encode_ordinary(text))
