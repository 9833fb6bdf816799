"""Counting tokens: brim's meter beside tiktoken, with the same texts and the same vocabulary.

tiktoken is given its vocabularies from toktok, because it would download them: the bytes are checked against the hash
that tiktoken itself expects.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from bench import clock, corpus, record
from bench.outcome import Cell, Gate, Outcome, Setting, Table

Count = Callable[[str], int]

_VOCABULARY = "o200k_base"
_LONG, _HARD = 900_000, 1_000


def run(setting: Setting) -> Outcome:
    rows: list[list[Cell]] = []
    wrong = 0
    for library, make in LIBRARIES.items():
        try:
            found = measured(make(), setting.size(_LONG), setting.size(_HARD))
        except ImportError:
            rows.append([library, "not installed", *[None] * 6])
            continue
        rows.append([library, record.installed(library), *found])
        wrong += (found[0] == "no") + int(str(found[4])) if library == "brim" else 0
    columns = ["counts equal", "M chars/s", "x tiktoken, long text", "x tiktoken, short texts"]
    columns += [f"wrong of {setting.size(_HARD):,} hard texts", "a million spaces"]
    note = (
        f"CPU time. The long text has {setting.size(_LONG):,} characters of prose, code, JSON, logs, many scripts and"
        " base64; the short ones are 1,000 of 300 characters, one by one. Special tokens are text."
    )
    table = Table(
        title=f"Counting with {_VOCABULARY}, each text once and new",
        columns=["library", "version", *columns], rows=rows, notes=[note],
    )  # fmt: skip
    gate = Gate(name="counting: counts of brim that are wrong", value=wrong, limit=0, unit="texts")
    return Outcome(name="counting", tables=[table], gates=[gate])


def measured(count: Count, size: int, hard: int) -> list[Cell]:
    """Return what one library measured: right counts and speed on a long text, on short ones, and hard texts."""
    reference = tiktoken_count(_VOCABULARY)
    count("loaded")
    text, short = corpus.mixed(size, 5), corpus.parts(1_000, 300, 7)
    base, expected = clock.once(reference, text)
    seconds, found = clock.once(count, text)
    several, _ = clock.once(lambda texts: [count(each) for each in texts], short)
    several_base, _ = clock.once(lambda texts: [reference(each) for each in texts], short)
    wrong = sum(count(each) != reference(each) for each in _hard(hard))
    equal = "yes" if found == expected else "no"
    return [equal, size / seconds / 1e6, base / seconds, several_base / several, wrong, _spaces(count)]


def _hard(number: int) -> Iterator[str]:
    """Yield short texts of bits that tokenizers disagree on; lone surrogates, which most refuse, are left out."""
    chance = random.Random(11)
    for _ in range(number):
        text = "".join(chance.choices(corpus.HARD_BITS, k=chance.randrange(1, 30)))
        yield text.encode("utf-8", "ignore").decode("utf-8")


def _spaces(count: Count) -> str:
    """Return what becomes of a million spaces."""
    try:
        seconds, _ = clock.once(count, " " * 1_000_000)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # A panic of a Rust library is no Exception, and is a result here.
        return f"raises {type(error).__name__}"
    return f"{seconds * 1e3:,.0f} ms"


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


def _brim() -> Count:
    from brim.meter.vocabularies import vocabulary

    return vocabulary(_VOCABULARY).count


LIBRARIES: dict[str, Callable[[], Count]] = {
    "tiktoken": tiktoken_count,
    "brim": _brim,
}
"""How each is made, by name."""
