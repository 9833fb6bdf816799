"""The facts in messages: paths, ids, addresses, numbers, errors, decisions, rules, open questions, tasks.

Prose can be put in fewer words; a path or a number cannot. So facts are found first, by patterns alone, and ranked:
what people decided before what they mentioned, and that before what a tool printed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from brim.history.compact.secrets import redact
from brim.meter.base import BaseMeter

KINDS = ("constraint", "decision", "error", "todo", "url", "path", "id", "number", "question")
"""The kinds of facts, the weightiest first."""
SPOKEN = ("constraint", "decision", "error", "todo", "question")
"""Kinds that are whole sentences."""
_ATOMS = ("url", "path", "id", "number")

HEADINGS = {
    "constraint": "Rules",
    "decision": "Decisions",
    "todo": "To do",
    "error": "Errors",
    "question": "Open questions",
    "path": "Paths",
    "url": "Addresses",
    "id": "Ids",
    "number": "Numbers",
}
"""The headings under which facts are listed, in order."""
ITEM = 2
"""About the tokens that it takes to list something: a dash or a semicolon, and a line break."""

_WEIGHTS = dict(zip(KINDS, (90, 80, 60, 60, 50, 50, 50, 40, 35), strict=True))
ROLES = {"system": 10, "user": 20, "assistant": 10, "tool": -20}
"""What the role adds to a fact's weight: a tool prints many numbers that nobody needs."""
MOST_TIMES = 5
"""In how many messages a fact is stated before more of them add nothing to its weight."""
_PRINTED = 2
"""How much less each further fact of a kind weighs if a tool printed it."""
_MOST_TEXT = 40_000
"""Characters of a message that are searched: of a longer one, its start and its end."""
_MOST_OF_ONE = 60
"""Facts that one message can give."""
_LONGEST = 240
"""Characters of a sentence that is kept verbatim."""

_END = re.compile(r"(?<=[.!?][\"')\]])\s+|(?<=[.!?])\s+(?=[^a-z\s])|(?<=[。！？；])")
"""The end of a sentence; a small letter after the stop means that it was an abbreviation."""
_LONGEST_SENTENCE = 400
"""Characters; a longer one is a file, a table or a line of JSON."""
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+")

_URL = re.compile(r"\b(?:https?|wss?|ftp|s3|gs|git|ssh|postgres(?:ql)?|mysql|redis|sqlite)://[^\s<>\"'`)\]}|]+")
_FILE = (
    r"py|pyi|js|jsx|ts|tsx|mjs|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|sql|html|css|scss|md|rst|txt"
    r"|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|xml|csv|tsv|log|db|sqlite|parquet|png|jpg|svg|pdf|ipynb|proto|tf"
)
_PATH = re.compile(
    r"(?<![\w/.:-])(?:"
    r"(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*\w"  # from the root or from here
    rf"|(?:[\w.@+-]+/)+[\w@+-][\w.@+-]*\.(?:{_FILE})\b"
    r"|(?:[\w@+-][\w.@+-]*/){2,}[\w.@+-]*\w"
    rf"|[\w@+-][\w.@+-]*\.(?:{_FILE})\b(?!\()"
    r"|[A-Za-z]:\\(?:[\w .@+-]+\\)*[\w.@+-]+"
    r")(?::\d+(?::\d+)?)?"
)
_ID = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
    r"|(?<!\w)#\d{2,9}\b"
    r"|\b(?=[a-z]{2,12}[_-]\w*\d)[a-z]{2,12}[_-][A-Za-z0-9]{4,40}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b"
    r"|\bv?\d+\.\d+\.\d+(?:[-+.][\w.]+)?\b"
    r"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"
    r"|(?<=`)[^`\s][^`\n]{0,58}[^`\s](?=`)"
)
_NUMBER = re.compile(
    r"(?<!\w)([$€£¥]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)(?![\d.]*\d)"
    r"((?:[ ]?%|[ ]?[^\W\d_]{1,12}(?:/[^\W\d_]{1,4})?\b)?)"
)
_BEFORE = re.compile(r"(?:[^\W\d_][\w'-]*(?:[ \t]*[=:][ \t]*|[ \t]+)){1,3}\Z")
"""Up to three words before a number. The search begins at a number, since most words stand before none."""
_NEAR = 120
"""Characters before a number in which its words are looked for."""
_ENDLESS = re.compile(r"[\w.@+/\\=&%?~:'-]{240,}")
"""Longer than any name, such as an encoded file, in which a search for names would take too long."""
_UNIT = re.compile(
    r"\s?(?:%|[kmgt]?i?b|bytes?|tokens?|chars?|characters?|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|weeks?"
    r"|months?|years?|k|m|bn?|rows?|lines?|files?|times?|tests?|retries|requests?|users?|px|hz|khz|mhz|ghz|km|cm|mm|kg|g"
    r"|usd|eur|cents?|percent|rps|qps|items?|steps?|turns?|workers?|threads?|replicas?|nodes?|cores?|errors?|/s)$",
    re.I,
)
_IDLE = frozenset(("the", "a", "an", "of", "in", "on", "at", "to", "and", "or", "by", "is", "are", "was"))

_CONSTRAINT = re.compile(
    r"\b(?:must(?:n't)?|never|always|do not|don't|shall(?: not)?|required to|only use|no more than|not allowed"
    r"|forbidden|under no circumstances|make sure|be sure to|keep in mind|remember that|important:)(?!\w)"
    r"|必须|禁止|不得|不要|务必|绝不",
    re.I,
)
_NO_RULE = re.compile(
    r"\bmust (?:have (?:been|felt|had|taken|got)|feel|be (?:so|quite|such|really|very|nice|hard|tough|great))\b"
    r"|\b(?:i|i'm|i've|i am|we|we're|we've|it|it's|is|are|was|were|has|have|had|and) (?:always|never)\b"
    r"|\b(?:always|never) (?:been|had|\w{2,20}ed)\b|\byou (?:don't|never) (?:have to|know)\b",
    re.I,
)
"""What a rule's words mean in a conversation: a guess, or what somebody has always done."""
_DECISION = re.compile(
    r"\b(?:we(?:'ve| have)? (?:decided|agreed|chose|settled|picked)|(?:was|were|been|is) (?:decided|agreed)"
    r"|decided (?:to|on|that|against)|decisions?:|agreed (?:to|on|that|upon)|settled on|instead of|rather than"
    r"|switch(?:ed|ing)? (?:from|to)|go(?:ing)? with|let's use|will use|i(?:'ll| will) use|chose|opted for|the plan is"
    r"|approved)(?!\w)|决定|改用|选择了|采用",
    re.I,
)
_ERROR = re.compile(
    r"\b(?:\w*error|\w*exception|fail(?:ed|ure|s|ing)?|fatal|panic(?:ked)?|traceback|denied|refused|timed out|timeout"
    r"|not found|no such|cannot|could not|undefined|segfault|segmentation fault|crash(?:ed|es)?|abort(?:ed)?"
    r"|exit code [1-9]\d*|broken|deadlock|out of memory|oom)\b(?![./]\w)|错误|失败|异常",
    re.I,
)
_NO_ERROR = re.compile(r"\b(?:no|0|zero|without(?: any)?) (?:errors?|failures?|exceptions?|failed)\b", re.I)
_TODO = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b|\[ \]|\b(?:still (?:need|have|must|to)|remaining|remains? to|next(?: steps?)?:|next,"
    r"|next up|not yet|left to do|to[- ]do:|(?:we|i|you) (?:still )?need to|needs to be|follow[- ]up|outstanding"
    r"|pending)(?!\w)|待办|还需要|下一步|尚未",
    re.I,
)
_PASSING = re.compile(
    r"(?:now,? |first,? |next,? |then |okay,? |ok,? )?(?:"
    r"(?:i am |i'm )?(?:now )?"
    r"(?:read|open|runn|look|check|search|list|view|fetch|inspect|load|try|call|scann|print)ing\b"
    r"|(?:let me|let's|i will|i'll|i am going to|i'm going to) (?:now |first |just |also )?"
    r"(?:read|open|run|look|check|search|list|view|fetch|inspect|load|try|call|scan|print|see)\b)"
    r"|(?:that|this|it) took\b|(?:it |that )?(?:took|ran|finished) (?:in )?\d",
    re.I,
)
"""How a model announces what it does next, or how long it took: names in it are mentioned in passing."""
_QUESTION = re.compile(r"[?？][\"')\]]*$")
_STATEMENTS = (("question", _QUESTION), ("decision", _DECISION), ("constraint", _CONSTRAINT), ("todo", _TODO))
"""What a person or the model may state; the first that matches decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FactLine:
    """A line of a list of facts."""

    kind: str
    """One of `KINDS`; a continuation has `done` as well."""
    text: str
    """The fact verbatim, without its surroundings."""


Listed = TypeVar("Listed", bound=FactLine)


class MessageText(NamedTuple):
    """The text of a message, and its handle."""

    role: str
    text: str
    handle: str


class StatedFact(NamedTuple):
    """A fact in one message."""

    role: str
    """Whose words it counts as: what the model announces weighs no more than a tool's output."""
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact(FactLine):
    """One fact."""

    handle: str
    """The first message that states it."""
    role: str
    """The role of the message; of several, the weightiest."""
    at: int
    """The number of that message."""
    times: int = 1
    """In how many messages it is stated."""

    @property
    def weight(self) -> int:
        """How important it is to keep it."""
        return weight(self.kind, self.role, self.times)

    @property
    def must(self) -> bool:
        """Whether a summary may not leave it out: a person, or the model in its own words, stated it."""
        return self.role != "tool" and self.kind != "question"


class Weighed(Protocol):
    """A fact that can be ranked."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def role(self) -> str:
        """Whose words it counts as."""

    @property
    def at(self) -> int:
        """The number of the message that states it first."""

    @property
    def weight(self) -> int:
        """How important it is to keep it."""


Ranked = TypeVar("Ranked", bound=Weighed)


def weight(kind: str, role: str, times: int) -> int:
    """Return how important it is to keep a fact that was stated so many times, by one of a role."""
    return _WEIGHTS[kind] + ROLES.get(role, 0) + 5 * (min(times, MOST_TIMES) - 1)


def facts_in(one: MessageText, safe: str | None = None, said: Sequence[str] = ()) -> tuple[StatedFact, ...]:
    """Return the facts in one message, in order.

    If they are known, `safe` is its whole text without secrets, and `said` the sentences of that.
    """
    text = one.text
    if len(text) > _MOST_TEXT:
        text, safe = f"{text[: _MOST_TEXT // 2]}\n{text[-_MOST_TEXT // 2 :]}", None
    if safe is None:
        safe = redact(text)
        said = sentences(safe)
    parts = _parts(one.role, safe, said)
    return tuple(StatedFact(role, *fact) for role, part, spoken in parts for fact in _facts(role, part, spoken))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without bullets; a line that is too long to be one is left out."""
    found = []
    for line in text.splitlines():
        bare = _BULLET.sub("", line).strip()
        parts = _END.split(bare) if len(bare) <= 20 * _LONGEST_SENTENCE else ()
        found += [part.strip() for part in parts if part.strip() and len(part) <= _LONGEST_SENTENCE]
    return found


def ranked(facts: Iterable[Ranked]) -> list[Ranked]:
    """Return facts the weightiest first, the newest first among equals; of a tool's, each weighs less than the last."""
    given = list(facts)
    order = sorted([(-fact.weight, -fact.at, i) for i, fact in enumerate(given)])
    printed: Counter[str] = Counter()
    keys = []
    for place, (weight, _, i) in enumerate(order):
        fact, less = given[i], 0
        if fact.role == "tool":
            less = _PRINTED * printed[fact.kind]
            printed[fact.kind] += 1
        keys.append((less + weight, place, i))
    return [given[i] for _, _, i in sorted(keys)]


def affordable(facts: Iterable[Listed], room: int, meter: BaseMeter, text: str = "") -> list[Listed]:
    """Return the first facts that fit into the room, without those in a text or in a sentence before them."""
    kept = []
    for fact in facts:
        cost = meter.load(fact.text) + ITEM
        if fact.text not in text and cost <= room:
            kept.append(fact)
            room -= cost
            text += f"{fact.text}\n" if fact.kind in SPOKEN else ""
    return kept


def listing(facts: Sequence[FactLine], headings: Mapping[str, str] = HEADINGS) -> list[str]:
    """Return facts as lines under their headings: sentences below each other, names and numbers in one line."""
    lines = []
    for kind, heading in headings.items():
        texts = [fact.text for fact in facts if fact.kind == kind]
        if texts and kind in _ATOMS:
            lines.append(f"{heading}: {'; '.join(texts)}")
        elif texts:
            lines += [f"{heading}:", *(f"- {text}" for text in texts)]
    return lines


def uncovered(facts: Sequence[Fact], text: str) -> list[Fact]:
    """Return the facts that a text does not mention."""
    folded = " ".join(text.casefold().split())
    return [fact for fact in facts if " ".join(fact.text.casefold().split()) not in folded]


def _parts(role: str, text: str, said: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield a text and its sentences, and separately what the model announces, which weighs no more than a tool's."""
    passing = [each for each in said if _PASSING.match(each)] if role == "assistant" else []
    for each in passing:
        text = text.replace(each, " ", 1)
    yield role, text, sentences(text) if passing else said
    if passing:
        told = "\n".join(passing)
        yield "tool", told, sentences(told)


def _facts(role: str, text: str, said: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each fact in a text, as many as one message may give."""
    left = dict.fromkeys(KINDS, _MOST_OF_ONE // 4 if role == "tool" else _MOST_OF_ONE)
    seen: set[tuple[str, str]] = set()
    for kind, found in (*_spoken(role, said), *_atoms(text)):
        if left[kind] and (kind, found) not in seen:
            left[kind] -= 1
            seen.add((kind, found))
            yield kind, found


def _spoken(role: str, said: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the sentences that are facts as a whole; of a tool's, only errors."""
    for sentence in said:
        if len(sentence) <= _LONGEST:
            kinds = (kind for kind, pattern in _STATEMENTS if pattern.search(sentence)) if role != "tool" else iter(())
            kind = next(kinds, None)
            if kind == "constraint" and _NO_RULE.search(sentence):
                continue
            if kind is not None:
                yield kind, sentence
            elif _ERROR.search(sentence) and not _NO_ERROR.search(sentence):
                yield "error", sentence


def _atoms(text: str) -> Iterator[tuple[str, str]]:
    """Yield addresses, paths, ids and numbers; a match is not searched again."""
    text = _ENDLESS.sub("\x00", text)
    for kind, pattern in (("url", _URL), ("path", _PATH), ("id", _ID)):
        rest, last = [], 0
        for match in pattern.finditer(text):
            atom = match[0].rstrip(".,;:!?'\"")
            if 2 < len(atom) <= _LONGEST:
                yield kind, atom
                rest.append(text[last : match.start()])
                last = match.end()
        text = "\x00".join([*rest, text[last:]])
    last = 0
    for match in _NUMBER.finditer(text):
        words = _BEFORE.search(text, max(last, match.start() - _NEAR), match.start())
        last = match.end()
        if snippet := _numbered(words[0] if words else "", *match.groups()):
            yield "number", snippet


def _numbered(words: str, number: str, unit: str) -> str | None:
    """Return a number with its unit and the words before it, or `None` if it has neither."""
    while words and words.split(maxsplit=1)[0].casefold() in _IDLE:
        words = words.lstrip().partition(" ")[2] if " " in words.strip() else ""
    unit = unit if unit and (_UNIT.match(unit) or not words) else ""
    if not words.strip() and not _UNIT.match(unit):
        return None
    return " ".join(f"{words}{number}{unit}".split())
