"""Split a text into search terms.

The same rules apply to prose, identifiers and paths, in any script: accents are removed, names such as `load_file` or
`loadFile` are indexed whole and by their parts, and scripts without spaces are split into pairs of characters. English
words are stemmed, so that a search for "painting" finds "painted". Common words are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_LONGEST = 64
"""Characters of the longest term. A longer run is not a word but, for example, an encoded file."""

_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
    r"\u0966-\u0df3\u0e31-\u0e4e\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u109d\u17b4-\u17d3\u200c\u200d\u3099\u309a"
)
"""Accents and vowel signs inside words, which `\\w` does not match."""

_RUN = re.compile(rf"\w[\w{_MARKS}]*(?:['’./\\@-]\w[\w{_MARKS}]*)*")
"""Words and the characters that join them: a path, a number, an address or a date is one run."""
_JOINT = re.compile(r"[_./\\@-]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(
    r"([\u0e01-\u0edf\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
"""Scripts without spaces, and Korean, whose words end in particles."""

_VOICING = "\u3099\u309a"
"""Japanese marks that are part of a letter, not accents."""

_COMMON_WORDS = """
a an the this that these those and or but nor if then than so as of at by for with about into through to from in on off
out over under up down again i me my mine we us our ours you your yours he him his she her hers it its they them their
theirs who whom whose what which when where why how is am are was were be been being do does did doing done have has had
having will would can could shall should may might must not no too very just also there here some any all both each few
more most other such own same dont didnt doesnt isnt wasnt werent arent hasnt havent hadnt cant couldnt wont wouldnt
shouldnt
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""English stop words. Other languages rely on term frequency alone."""

_CLITICS = frozenset(["s", "d", "m", "re", "ve", "ll"])
"""English endings after an apostrophe."""

_VOWELS = frozenset("aeiouy")


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions."""
    found: list[str] = []
    for run in _RUN.findall(text):
        found += _known(run) if len(run) <= _LONGEST else _terms(run)
    return found


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return an English word in lower case without the endings -s, -ed and -ing.

    On the recall benchmark this does as well as Snowball's English stemmer; see docs/design/dependencies.md.
    """
    if len(word) < 4:
        return word
    if word.endswith(("ies", "sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and not _VOWELS.isdisjoint(rest):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            break
    if len(word) > 3 and word[-1] in "ey":
        # So that "bake" matches "baking", and "study" matches "studies".
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


def _terms(run: str) -> tuple[str, ...]:
    """Return the terms of a run: its parts, and the run itself if it has several parts."""
    if not run.isascii():
        run = _folded(run)
    found: list[str] = []
    pieces = 0
    for part in _JOINT.split(run):
        for i, piece in enumerate(_UNSPACED.split(part)):
            if i % 2:
                found += [piece[j : j + 2] for j in range(max(1, len(piece) - 1))]
            elif len(piece) <= _LONGEST:
                humps = _HUMP.split(piece) if piece else []
                pieces += len(humps)
                found += [term for hump in humps for term in _word(hump.casefold())]
    if pieces > 1 and len(run) <= _LONGEST:
        # load_file, loadFile and load-file are the same name.
        found.append(run.casefold().replace("_", "").replace("-", ""))
    return tuple(found)


_known = lru_cache(maxsize=1 << 16)(_terms)


def _word(word: str) -> Iterator[str]:
    """Yield the stem of a word, or of its parts between apostrophes, without common words."""
    for part in _split_at_apostrophes(word) if "'" in word or "’" in word else [word]:
        if part not in _COMMON:
            yield stem(part) if part.isascii() and part.isalpha() else part


def _split_at_apostrophes(word: str) -> list[str]:
    """Return the parts of a word: "she'll" is she, "don't" is dont, "l'amour" is l and amour."""
    head, *tails = word.replace("’", "'").split("'")
    if tails == ["t"]:
        return [head + "t"]
    return [head, *(tail for tail in tails if tail not in _CLITICS)]


def _folded(run: str) -> str:
    """Return a run without accents and with compatibility forms replaced."""
    split = unicodedata.normalize("NFKD", run)
    kept = "".join(sign for sign in split if not unicodedata.combining(sign) or sign in _VOICING)
    return unicodedata.normalize("NFC", kept)
