"""The engine of splintr, whose wheel contains the vocabularies of the open models.

The library is checked against known counts when a vocabulary loads, to detect a release that counts differently. It is
called one text at a time, because its batch calls start threads. A call holds the interpreter lock, so a text is split
wherever that does not change the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from unicodedata import normalize

from brim.errors import SourceError, UnknownName

_PROBES = (
    "The quick brown fox jumps over the lazy dog.",
    "def area(r):\n    return 3.14159 * r ** 2  # 1234567\n\n\n",
    "naïve café, 東京タワー, привет мир, שלום, नमस्ते, สวัสดี",
    "cafe\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 \x00!!!!!!\t\t",
    "<|endoftext|></s>[INST]<|im_start|> <think>",
    "<table><td>1</td></table>",
)
"""Prose, code, scripts, a composed accent and an emoji, control strings as plain text, and markup."""

VOCABULARIES: dict[str, tuple[int, ...]] = {
    "o200k_base": (10, 23, 23, 15, 19, 10),
    "o200k_harmony": (10, 23, 23, 15, 19, 10),
    "cl100k_base": (10, 23, 39, 20, 19, 10),
    "llama2": (12, 34, 39, 25, 22, 11),
    "llama3": (10, 23, 27, 18, 19, 10),
    "codellama": (12, 34, 39, 25, 22, 11),
    "qwen3": (10, 30, 32, 15, 19, 10),
    "deepseek_v3": (10, 23, 26, 16, 19, 10),
    "mistral_v1": (12, 34, 38, 24, 21, 11),
    "mistral_v2": (12, 34, 38, 24, 21, 11),
    "mistral_v3": (10, 30, 26, 23, 20, 10),
    "tekken": (10, 30, 26, 23, 20, 10),
    "gemma2": (10, 32, 22, 12, 18, 5),
    "gemma3": (10, 32, 18, 12, 18, 5),
    "gemma4": (10, 32, 18, 12, 19, 11),
    "glm4": (10, 24, 34, 18, 19, 10),
    "kimi_k2": (10, 23, 31, 16, 19, 10),
    "kimi_k3": (10, 23, 31, 16, 19, 10),
    "phi4": (10, 23, 39, 20, 19, 10),
    "olmo2": (10, 23, 39, 20, 19, 10),
}
"""The vocabularies by name, with the tokens that each probe takes.

A second library counts the same for o200k, harmony and cl100k (toktok), llama3, phi4, olmo2 and mistral_v3
(tiktoken with their ranks), qwen3 (quicktok), mistral_v1 and mistral_v2 (sentencepiece) and deepseek_v3
(tokenizers). llama2, gemma3 and gemma4 agree with the 45 texts that llama.cpp tests itself by. For gemma2,
codellama, glm4 and both kimi there was no second library: the numbers only detect a change."""

_SAME = {"tekken": "mistral_v3", "gemma3": "gemma4"}
"""Vocabularies that splintr has under another name.

gemma3 has the pieces and merges of gemma4, and tags in addition (see `_MARKUP`): 27,000 texts have the same ids. As
gemma4, splintr counts it eight times as fast, in time that grows linearly with the text."""

_COMPOSED = frozenset({"qwen3"})
"""Vocabularies whose tokenizer normalizes the text first (NFC); splintr leaves that to the caller."""

_TAGS = "table|caption|thead|tbody|tfoot|tr|th|td|h[1-6]|blockquote|strong|em|b|i|u|s|sub|sup|code"
_MORE_TAGS = "a|html|body|img|span|bbox|ul|li|div|iframe|footer"
_MARKUP = {
    "gemma2": re.compile(f"</?(?:{_TAGS})>"),
    "gemma3": re.compile(f"</?(?:{_TAGS}|{_MORE_TAGS})>"),
}
"""Tags that are one token each and split the text around them; they are not control strings."""

_ORDINARY_ONLY = frozenset({"gemma2"})
"""Vocabularies where splintr's fast call also matches tags and unlisted control strings, and takes quadratic time on
whitespace: 25 seconds for 200,000 characters."""

_BEFORE_WORD = re.compile(r"(?<=\S)(?= )")
"""Where every vocabulary with word patterns begins a new word: a text may be split there."""
_AFTER_WORD = re.compile(r"(?<=[^\s▁]) (?=\S)")
_BEFORE_SPACE = re.compile(r"(?<=\n)(?=[^\n])|(?<=[^\s▁>])(?= )")
_SEAMS = {
    "llama2": _AFTER_WORD,
    "codellama": _AFTER_WORD,
    "mistral_v1": _AFTER_WORD,
    "mistral_v2": _AFTER_WORD,
    "gemma2": _BEFORE_SPACE,
    "gemma3": _BEFORE_SPACE,
    "gemma4": _BEFORE_SPACE,
}
"""Positions at which a text of a vocabulary without word patterns may be split; the match belongs to neither side.

The first four put a space before every text, which stands for the one that the seam took. In gemma no piece
holds a newline beside anything else, and only one holds a space after something else: `> </`."""

_BLOCK = 8_192
"""Characters that are counted in one call if there are seams: other threads run between two calls, and merging is
faster on short texts."""

_LONGEST = 100_000
"""Characters that are counted in one call by a vocabulary without word patterns if there is no seam: a call for
megabytes of quotes takes seconds, in which no other thread runs, and keeps hundreds of MB. Such a text may count some
tokens more than it has, never less."""


class SplintrEngine:
    """Counts by one vocabulary of an open model. Control strings such as `<|endoftext|>` are plain text.

    Raises:
        UnknownName: there is no such vocabulary.
        ImportError: splintr is not installed.
        SourceError: it miscounts a probe.
    """

    name = "splintr"
    exact = True

    def __init__(self, vocabulary: str) -> None:
        if vocabulary not in VOCABULARIES:
            raise UnknownName("open vocabulary", vocabulary, VOCABULARIES)
        try:
            from splintr import Tokenizer
        except ImportError as error:
            raise ImportError(f"{vocabulary} is counted by splintr: pip install 'brim[open]'") from error
        self._composed = vocabulary in _COMPOSED
        self._ordinary_only = vocabulary in _ORDINARY_ONLY
        self._markup = _MARKUP.get(vocabulary)
        self._seam = _SEAMS.get(vocabulary, _BEFORE_WORD)
        self._longest = _LONGEST if vocabulary in _SEAMS else None
        self._tokenizer = Tokenizer.from_pretrained(_SAME.get(vocabulary, vocabulary))
        self._reserved = _patterns(self._tokenizer.special_tokens())
        for probe, count in zip(_PROBES, VOCABULARIES[vocabulary], strict=True):
            if (found := self.count(probe)) != count:
                raise SourceError(vocabulary, f"splintr counts {found} tokens in {probe!r}, where there are {count}")

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, which holds no lone surrogates."""
        if self._composed and not text.isascii():
            text = normalize("NFC", text)
        spans = self._markup.split(text) if self._markup else [text]
        blocks = [block for span in spans for block in _blocks(span, self._seam, self._longest)]
        return len(spans) - 1 + sum(self._size(block) + extra for block, extra in blocks)

    def _size(self, text: str) -> int:
        """Return the count of a text by one call of splintr."""
        if self._ordinary_only or any(pattern.search(text) for pattern in self._reserved):
            return len(self._tokenizer.encode_ordinary(text))
        # A buffer of ids, four bytes each, is 1.5 times as fast as a list, but control strings match.
        return len(self._tokenizer.encode_flat(text)) // 4


def _patterns(reserved: Iterable[str]) -> list[re.Pattern[str]]:
    """Return patterns that together find any reserved string.

    There is one for each first character: a pattern that begins with a literal is searched ten times as fast.
    """
    by_first = groupby(sorted(reserved), key=lambda string: string[0])
    return [re.compile("|".join(map(re.escape, strings))) for _, strings in by_first]


def _blocks(text: str, seam: re.Pattern[str], longest: int | None) -> Iterator[tuple[str, int]]:
    """Yield the text in blocks that end at the first seam after `_BLOCK` characters, or after `longest`.

    With a block that ends at no seam comes the token by which the whole may count more than its parts.
    """
    start, most = 0, len(text) if longest is None else longest
    while len(text) - start > _BLOCK:
        match = seam.search(text, start + _BLOCK, start + most + 1)
        if match is None and len(text) - start <= most:
            break
        if match is None:
            yield text[start : start + most], 1
            start += most
        else:
            yield text[start : match.start()], 0
            start = match.end()
    yield text[start:], 0
