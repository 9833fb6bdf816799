"""Relevance by meaning as well as by words.

An embedding finds other wordings; words find names, numbers and identifiers, which embeddings blur. Each is scaled to
its best match, and the two are added. The component that all texts share is subtracted from the query, since it does
not distinguish them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import mul
from typing import Any

from brim.errors import InvalidValue, UnknownName
from brim.relevance.lexical import Relevance, ordered, spread

Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""Turns texts into vectors, one for each, all of one dimension."""

_DEFAULT = "wordllama"
_SHARE = 0.25
"""The weight of meaning against words."""


class Meaning:
    """A growing index of texts, ranked by the words and the meaning of a query."""

    def __init__(self, embed: Embed | None = None) -> None:
        """Start an empty index of a function's vectors; the default one is offline and comes with `embeddings`.

        Raises:
            UnknownName: its library is not installed.
        """
        self._embed = embed or wordllama()
        self._words = Relevance()
        self._waiting: list[str] = []
        """Texts to embed with the next query, in one call."""
        self._vectors: list[array[float]] = []
        self._sum: list[float] = []

    def __len__(self) -> int:
        return len(self._words)

    def add(self, text: str) -> None:
        """Index one more text."""
        self._words.add(text)
        self._waiting.append(text)

    def rank(self, query: str, sizes: Sequence[int] | None = None, own: Collection[int] = ()) -> list[int]:
        """Return the number of every text, the most relevant first, and the newest first among equals.

        `sizes` are the tokens of the texts: a long one ranks lower, since others could have its room. `own` are
        the texts that the query was taken from, which it does not match.

        Raises:
            InvalidValue: `sizes` are not one for each text, or the embedding does not return a vector for each.
        """
        if self._waiting:
            fresh = self._embedded(self._waiting)
            self._vectors += fresh
            self._waiting = []
            self._sum = [sum(column) for column in zip(self._sum or [0.0] * len(fresh[0]), *fresh, strict=True)]
        words = self._words.scores(query, own)
        alike = spread([0.0 if number in own else near for number, near in enumerate(self._alike(query))])
        most, nearest = max(words, default=0) or 1, max(alike, default=0) or 1
        pairs = zip(words, alike, strict=True)
        scores = [(1 - _SHARE) * word / most + _SHARE * near / nearest for word, near in pairs]
        return ordered(scores, sizes)

    def _alike(self, query: str) -> list[float]:
        """Return how similar each text is to the query in meaning; 0 if no more than the average."""
        if not self._vectors or not query.strip():
            return [0.0] * len(self._vectors)
        (wanted,), common = self._embedded([query]), self._sum
        length = _dot(common, common)
        shift = _dot(wanted, common) / length if length else 0.0
        own = [value - shift * shared for value, shared in zip(wanted, common, strict=True)]
        return [max(0.0, _dot(vector, own)) for vector in self._vectors]

    def _embedded(self, texts: list[str]) -> list[array[float]]:
        """Return the vectors of texts, each of length one.

        Raises:
            InvalidValue: they are not one for each text, or not all of one dimension.
        """
        vectors = self._embed(texts)
        if len(vectors) != len(texts):
            raise InvalidValue(
                "embed", len(vectors), f"a function that returns a vector for each of {len(texts)} texts"
            )
        dimensions = len(self._sum) or len(vectors[0])
        made = []
        for vector in vectors:
            if len(vector) != dimensions:
                raise InvalidValue("embed", len(vector), f"a function whose vectors all have {dimensions} dimensions")
            values = [float(value) for value in vector]
            length = _dot(values, values) ** 0.5 or 1.0
            made.append(array("f", [value / length for value in values]))
        return made


@lru_cache(maxsize=1)
def wordllama() -> Embed:
    """Return the embedding of wordllama, from the weights in its package: nothing is downloaded.

    Raises:
        UnknownName: wordllama is not installed.
    """
    from importlib import import_module
    from pathlib import Path

    try:
        library: Any = import_module(_DEFAULT)
    except ImportError as error:
        raise UnknownName("installed embedding", _DEFAULT, [], "Install it: pip install 'brim[embeddings]'") from error
    model = library.WordLlama.load(cache_dir=Path(library.__file__).parent, disable_download=True)

    def embed(texts: list[str]) -> list[list[float]]:
        # The library refuses lone surrogates.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        vectors: list[list[float]] = model.embed(clean, return_np=False)
        return vectors

    return embed


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))
