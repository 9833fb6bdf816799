"""The statements of a conversation: sentences of plain prose that tell the most in the fewest words.

No pattern says what a fact looks like. A sentence is worth the words in it that have a topic, names and numbers above
all, for its length. Greetings, praise and announcements have few of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from brim.history.compact.facts import MessageText, sentences
from brim.history.compact.secrets import redact
from brim.meter.words import terms

_LONGEST = 320
"""Characters of a statement."""
_LEAST_WORDS = 2
"""Words with a topic that a statement has."""
_MOST_TEXT = 20_000
"""Characters of a message that are read: of a longer one, its start and its end."""
_DOCUMENT = 24
"""Sentences of a message from which on it is a document: each of its sentences is worth less."""
_LEAST_PROSE = 4
_PROSE = (3, 5)
"""The words of a statement that are plain ones, and the part of all that they are; with less it is code or a table."""
_LISTED = 15
"""Lines from which on an answer to a command is the output of a program."""
_WORD, _IDLE_WORD, _NAME, _NUMBER = 20, 3, 20, 20
"""What a word adds: one with a topic, one of politeness or praise, more for a name, more for a number."""
_RARE = 4
"""A word that is in every sentence counts one part in so many of one that is in few."""
_SHORT = 10
"""Tokens that are added to the length, so that a sentence of three words is not the best of all."""
_CHARS = 4
"""About the characters of a token."""
_ASKED = 3
"""A question, or a thought aloud, is worth one part in so many."""
_WORTH = 5
"""The scale of the worth: a sentence of a few names has about the weight of a fact."""

_CAPITAL = re.compile(r"(?<=[a-z0-9,;:] )[A-Z][\w'-]{1,40}|\b[A-Z]{2,12}\b")
"""A name: a word with a capital that does not begin its sentence."""
_MUSING = re.compile(
    r"(?:thought: ?)?(?:(?:but|and|so|now|then|ok|okay|actually|wait|hmm|well|first|next|also)[,. ]{1,2}){0,3}"
    r"(?:wait|if i|if we|maybe|perhaps|let me|let's|let us|i'll|i will|i should|i need|i can|i could|i want"
    r"|i'm going to|i am going to|we need|we should|we can|you can|please|what if|do i|should i)\b",
    re.I,
)
"""How a model thinks aloud or announces what it does next."""
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?…]*\Z")
_OUTPUT = re.compile(r"\s*(?:<\w|\[|\$ |(?:observation|output|(?:execution )?results?|exit code|traceback)\b)", re.I)
"""How the output of a program begins, where it comes as a message of the user."""
FENCE = "```"
"""The mark around a block of code."""
_IDLE_TEXT = """
great awesome cool thank thanks glad amazing love loved happy excited exciting hope wish feel feeling felt sound nice
wow yeah yes hey hi hello bye good really definitely keep proud support fun inspiring inspire special best wonderful
important thing way lot know think see take make made get got go going gonna stay always never ever need want like
look forward luck congrats congratulations sure okay ok absolutely totally incredible fantastic agree right true well
still even back lately life people something anything everything someone time day kind sort bit little big new let
talk tell say said hear heard care enjoy appreciate wait super pretty quite come came give given help journey dream
passion hard work believe moment joy beautiful interesting world place friend experience please welcome sorry step
next now first then task follow following
"""
_IDLE = frozenset(terms(_IDLE_TEXT))
"""English words of politeness, praise and announcement. Other languages rely on names and numbers alone."""


class Statement(NamedTuple):
    """A sentence that is worth keeping."""

    role: str
    text: str
    worth: int
    """What it tells for its length; about 20 to 100."""


def statements(messages: Sequence[MessageText]) -> list[Statement]:
    """Return the statements of people and of the model, each once, in order; tools make none."""
    found: dict[str, tuple[str, str, frozenset[str], int]] = {}
    for one in messages:
        if one.role not in ("user", "assistant"):
            continue
        text = one.text
        if len(text) > _MOST_TEXT:
            text = f"{text[: _MOST_TEXT // 2]}\n{text[-_MOST_TEXT // 2 :]}"
        spoken = sentences(redact(_prose(text)))
        for sentence in spoken:
            words = frozenset(terms(sentence))
            if len(sentence) <= _LONGEST and len(words - _IDLE) >= _LEAST_WORDS and _is_prose(sentence):
                found.setdefault(sentence.casefold(), (one.role, sentence, words, len(spoken)))
    common = Counter(word for _, _, words, _ in found.values() for word in words)
    made = []
    for role, sentence, words, count in found.values():
        worth = _worth(sentence, words, common, len(found))
        made.append(Statement(role, sentence, worth if count <= _DOCUMENT else worth * _DOCUMENT // count))
    return made


def is_musing(sentence: str) -> bool:
    """Return whether a model thinks aloud in a sentence, or announces what it does next."""
    return _MUSING.match(sentence) is not None


def is_output(text: str) -> bool:
    """Return whether a text is the output of a program, by its first word or its many lines."""
    return _OUTPUT.match(text) is not None or text.count("\n") >= _LISTED


def commands(text: str) -> Iterator[str]:
    """Yield the first line of each fenced block of a text: what an agent without tool calls does."""
    for block in text.split(FENCE)[1::2]:
        _, _, body = block.partition("\n")
        if body.strip():
            yield body.strip().split("\n", 1)[0]


def _prose(text: str) -> str:
    """Return a text without its fenced blocks."""
    return "\n".join(text.split(FENCE)[::2])


def _is_prose(sentence: str) -> bool:
    """Return whether most words of a sentence are plain ones, and not code."""
    words = sentence.split()
    plain = sum(_PLAIN.match(word) is not None for word in words)
    return plain >= _LEAST_PROSE and plain * _PROSE[1] >= len(words) * _PROSE[0]


def _worth(sentence: str, words: Collection[str], common: Mapping[str, int], total: int) -> int:
    """Return the worth of a sentence: what its words tell, those that are rare above all, for its length."""
    names = {word for name in _CAPITAL.findall(sentence) for word in terms(name)}
    worth = 0
    for word in words:
        value = _IDLE_WORD if word in _IDLE else _WORD
        value += _NAME * (word in names) + _NUMBER * any(map(str.isdigit, word))
        worth += value * (_RARE + (total // common[word]).bit_length()) // _RARE
    if sentence.endswith(("?", "？")) or is_musing(sentence):
        worth //= _ASKED
    return _WORTH * worth // (len(sentence) // _CHARS + _SHORT)
