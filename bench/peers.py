"""The libraries that brim is compared with, each behind the same few calls.

Each adapter imports its own peer and nothing else, when it is made; one that is not installed raises
`ImportError`, and the benchmark says so in a line. tiktoken is given its vocabularies from toktok, because it
would download them: the bytes are checked against the hash that tiktoken itself expects.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

Count = Callable[[str], int]

SEPARATOR = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One section of a prompt, in no library's own words."""

    name: str
    text: str
    rank: int
    """Zero is essential; the higher, the sooner it goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Sections and the budget that they are to fit into."""

    pieces: Sequence[Piece]
    budget: int


Fit = Callable[[Case], str]


@cache
def ranks(vocabulary: str) -> dict[bytes, int]:
    """Return the tokens of a vocabulary that toktok carries, each with its rank."""
    import toktok

    return {token: rank for rank, token in enumerate(toktok._encoding(vocabulary).token_byte_values())}


@cache
def tiktoken_encoding(vocabulary: str = "o200k_base") -> Any:
    """Return tiktoken's own encoding, and register it so that other peers find it without the network.

    Raises:
        ImportError: tiktoken is not installed.
        ValueError: toktok's tokens are not those that tiktoken expects.
    """
    import tiktoken
    from tiktoken_ext import openai_public  # type: ignore[import-untyped, unused-ignore]

    def load(_address: str, expected_hash: str) -> dict[bytes, int]:
        lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks(vocabulary).items())
        found = hashlib.sha256(b"".join(lines)).hexdigest()
        if found != expected_hash:
            raise ValueError(f"{vocabulary}: the tokens hash to {found}, and tiktoken expects {expected_hash}")
        return ranks(vocabulary)

    kept = openai_public.load_tiktoken_bpe
    openai_public.load_tiktoken_bpe = load
    try:
        return tiktoken.get_encoding(vocabulary)
    finally:
        openai_public.load_tiktoken_bpe = kept


def tiktoken_count(vocabulary: str = "o200k_base") -> Count:
    """Return tiktoken's way to count."""
    encode = tiktoken_encoding(vocabulary).encode_ordinary
    return lambda text: len(encode(text))


def tokenizers_count(vocabulary: str = "o200k_base") -> Count:
    """Return the way to count of a `tokenizers` tokenizer, built from the same tokens.

    Raises:
        ImportError: tokenizers is not installed.
    """
    tokenizer = tokenizers_tokenizer(vocabulary)
    return lambda text: len(tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)


@cache
def tokenizers_tokenizer(vocabulary: str = "o200k_base") -> Any:
    """Return a `tokenizers` tokenizer that is built from the tokens of a vocabulary.

    Raises:
        ImportError: tokenizers is not installed.
    """
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    known = ranks(vocabulary)
    letters = _byte_letters()
    written = {token: "".join(letters[byte] for byte in token) for token in known}
    merges = [
        (written[left], written[right])
        for left, right in (_halves(token, rank, known) for token, rank in known.items() if len(token) > 1)
    ]
    tokenizer = Tokenizer(models.BPE(vocab={written[token]: rank for token, rank in known.items()}, merges=merges))
    # Oniguruma reads {1,3}+ as a repeated group, and has no need of the possessive form.
    pattern = tiktoken_encoding(vocabulary)._pat_str.replace("{1,3}+", "{1,3}")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def plain_loop(count: Count) -> Fit:
    """Return what people write by hand: the most essential first, each counted, until one does not fit."""

    def fit(case: Case) -> str:
        kept, used = set(), 0
        for piece in sorted(case.pieces, key=lambda piece: piece.rank):
            used += count(piece.text + SEPARATOR)
            if used > case.budget:
                break
            kept.add(piece.name)
        return SEPARATOR.join(piece.text for piece in case.pieces if piece.name in kept)

    return fit


def prompt_poet() -> Fit:
    """Return prompt-poet's fit: one part a piece, those of the highest truncation priority out first.

    Raises:
        ImportError: it, or something that it needs, is not installed.
    """
    import prompt_poet

    encode = tiktoken_encoding().encode_ordinary

    def fit(case: Case) -> str:
        prompt = prompt_poet.Prompt(
            raw_template=_POET_TEMPLATE,
            template_data={"pieces": [(piece.name, piece.text, piece.rank) for piece in case.pieces]},
            encode_func=encode,
            token_limit=case.budget,
            truncation_step=1,
        )
        prompt.tokenize()
        prompt.truncate()
        return str(prompt.string)

    return fit


_POET_TEMPLATE = """\
{% for name, text, rank in pieces %}
- name: {{ name }}
  role: user
  truncation_priority: {{ rank }}
  content: |
    {{ escape_special_characters(text) }}
{% endfor %}
"""


def priompt() -> Fit:
    """Return priompt's fit: a scope a piece, each with a priority of its own so that they go one by one.

    Raises:
        ImportError: it is not installed.
    """
    import priompt as library

    tiktoken_encoding()

    def fit(case: Case) -> str:
        steps = len(case.pieces)
        scopes = [
            piece.text + SEPARATOR
            if not piece.rank
            else library.Scope(piece.text + SEPARATOR, p=(10 - piece.rank) * steps - i)
            for i, piece in enumerate(case.pieces)
        ]
        output = library.render(scopes, {"token_limit": case.budget, "tokenizer": library.O200KTokenizer})
        text = output["prompt"]
        return text if isinstance(text, str) else "".join(text)

    return fit


def promptbudget() -> Fit:
    """Return promptbudget's fit: essentials all or nothing, the rest truncated.

    Raises:
        ImportError: it is not installed.
    """
    import promptbudget as library

    tiktoken_encoding()
    tokenizer = library.TiktokenTokenizer(encoding_name="o200k_base")

    def fit(case: Case) -> str:
        sections = [
            library.Section(
                piece.name,
                piece.text,
                priority=100 - piece.rank,
                strategy="truncate" if piece.rank else "all_or_nothing",
            )
            for piece in case.pieces
        ]
        return str(library.pack(sections, case.budget, tokenizer=tokenizer, joiner=SEPARATOR).text)

    return fit


def fitters() -> dict[str, Callable[[], Fit]]:
    """Return how each peer that fits sections is made, by name."""
    return {
        "plain loop": lambda: plain_loop(tiktoken_count()),
        "prompt-poet": prompt_poet,
        "priompt": priompt,
        "promptbudget": promptbudget,
    }


@contextmanager
def quiet() -> Iterator[None]:
    """Send the error stream nowhere: a panic of a Rust library writes its trace there before Python can catch it."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _halves(token: bytes, rank: int, known: Mapping[bytes, int]) -> list[bytes]:
    """Return the two tokens whose merge made `token`: its bytes, merged by every rule of a lower rank."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        at = min(range(len(parts) - 1), key=lambda i: known.get(parts[i] + parts[i + 1], rank))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _byte_letters() -> dict[int, str]:
    """Return the letter that byte-level BPE writes for each byte: itself if it can be seen, else one from 256 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {byte: chr(byte) for byte in seen}
    hidden = (byte for byte in range(256) if byte not in letters)
    return letters | {byte: chr(256 + i) for i, byte in enumerate(hidden)}
