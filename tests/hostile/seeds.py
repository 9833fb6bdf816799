"""Adversarial strings: each is a start, a part that is repeated, and an end.

They are made from what a reader looks for: a walk over the parse tree of a regular expression gives, for each repeat, a
text that leads to it, texts that it takes, and ends that it does not take. For readers that are functions, the short
strings in their source are combined in the same way.
"""

from __future__ import annotations

import ast
import inspect
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from re import _constants as kinds
from re import _parser as parser
from typing import Any

_MOST = 160
"""Seeds of one expression or module; a random choice of those that are found, the same in each run."""
_LONG = 32
"""Repeats of fewer are bounded, and not worth a seed of their own."""
_TAILS = ("", "\0", "!", "\n", " x", "\n\n.")
_CATEGORIES = {
    kinds.CATEGORY_DIGIT: "07",
    kinds.CATEGORY_SPACE: " \n\t",
    kinds.CATEGORY_WORD: "aZ_9é",
    kinds.CATEGORY_NOT_DIGIT: "a -",
    kinds.CATEGORY_NOT_SPACE: "a.-0",
    kinds.CATEGORY_NOT_WORD: " -.\n",
}

_PUMPS = r"""
a 0 - _ . , : ; = / \ | * # @ ~ [ ] { } ( ) < > ' " ` [] {} () <> "" [[ {"a": [{"a":[ ``` <!-- -->
authorization: password password= password:' eyJ- eyJa. sk- ://a: a@ http://a:b@ lambda: a/b/ ../
1e9 $1.0 % ? ! [CONTEXT_TRUNCATED] DISTILLED: <think> </think> 'a': \u0000 \ \" e aB AB
"""
"""Repeated parts without spaces: signs, brackets, and the starts of secrets and marks."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A string of any length."""

    start: str
    pump: str
    end: str = ""

    def of(self, size: int) -> str:
        """Return the string of about `size` characters."""
        count = max(1, (size - len(self.start) - len(self.end)) // len(self.pump) // 2) * 2  # Even: quotes stay paired.
        return self.start + self.pump * count + self.end

    def __str__(self) -> str:
        return f"{self.start[-24:]!r} + {self.pump[:24]!r} * n + {self.end[:12]!r}"


def by_hand() -> list[Seed]:
    """Return strings that have hurt readers before, and repeats of everything that is structure somewhere."""
    pumps = [
        *_PUMPS.split(),
        *(" ", "\n", "\t", "\r", "\r\n", "\x00", "```json\n", "~~~\n", "<!--\n", "# a\n", "- a\n", "> "),
        *("1. ", "a\n===\n", "a\n---\n", "authorization: ", "bearer ", "curl ", "curl -u ", "--token "),
        *("-----BEGIN PRIVATE KEY-----", "token is ", "key ", "é", "\u0301", "e\u0301"),
        *("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u200d", "한", "あ", "ก", "\ud800", "🇦", "\xa0"),
        *("\u2028", "def f():\n", "class A:\n", "    ", "if a:\n ", "@@ -1 +1 @@\n", "--- a\n+++ b\n"),
        *("+a\n", "-a\n", "Error: a\n", "Traceback\n", "2026-01-01T00:00:00 a\n", "data: {}\n\n"),
        *("event: a\n", ": \n", "\n\n", "the user said no. ", "TODO ", "must not ", "./a.py ", "1,000 "),
        *("。", "[CONTEXT_SUMMARY] of 1 earlier messages (b2:a)\n", "&a ", "*a ", "!!a ", "- - ", "? "),
        *("a: ", "a:\n ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx "),
    ]
    made = [Seed("", pump, end) for pump in pumps for end in ("", "!")]
    pairs = [
        ("authorization:", " "),
        ("bearer", " "),
        ("password", " "),
        ("{", " "),
        ('"', "\\"),
        ("a", " "),
        ("<", "a"),
    ]
    return made + [Seed(start, pump, "!") for start, pump in pairs]


def of_pattern(pattern: re.Pattern[Any]) -> list[Seed]:
    """Return seeds from the parse tree of an expression."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    flags = pattern.flags if isinstance(pattern.pattern, str) else (pattern.flags | re.ASCII) & ~re.UNICODE
    tree = parser.parse(source, flags & ~re.DEBUG)
    return _chosen(_Walk(random.Random(len(source))).seeds(tree))


def of_words(words: Iterable[str]) -> list[Seed]:
    """Return seeds that combine words: one repeated, two in turn, many of one and then of another."""
    known = sorted(set(words), key=lambda word: (len(word), word))
    chooser = random.Random(len(known))
    found = [Seed("", word, end) for word in known for end in ("", "\n!")]
    for _ in range(_MOST if len(known) > 1 else 0):
        one, two = chooser.sample(known, 2)
        glue = chooser.choice(("", " ", "\n"))
        found.append(
            chooser.choice(
                (Seed("", one + glue + two + glue, ""), Seed(one, two + glue, "!"), Seed("", one + glue, two))
            )
        )
    return _chosen(found)


def literals(function: Callable[..., Any]) -> list[str]:
    """Return the short strings in the module of a function."""
    module = inspect.getmodule(inspect.unwrap(function))
    tree = ast.parse(inspect.getsource(module)) if module is not None else ast.Module([], [])
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = (value.decode("latin-1") if isinstance(value, bytes) else value for value in values)
    return [text for text in texts if isinstance(text, str) and 0 < len(text) <= 16]


def _chosen(found: Iterable[Seed]) -> list[Seed]:
    listed = list(dict.fromkeys(seed for seed in found if seed.pump))
    return listed if len(listed) <= _MOST else random.Random(len(listed)).sample(listed, _MOST)


class _Walk:
    """Writes texts that an expression takes, and notes where it repeats."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._groups: dict[int, str] = {}
        self._found: list[Seed] = []

    def seeds(self, tree: Any) -> list[Seed]:
        for _ in range(3):
            whole = self._sequence(tree, "", note=True)
            for end in _TAILS:
                self._found += [
                    Seed("", whole or "a", end),
                    Seed("", whole[:-1] or "a", end),
                    Seed(whole[:-1], " ", end),
                ]
        return self._found

    def _sequence(self, tree: Any, lead: str, *, note: bool) -> str:
        made = ""
        for kind, value in tree:
            made += self._node(kind, value, lead + made, note=note)
        return made

    def _node(self, kind: Any, value: Any, lead: str, *, note: bool) -> str:
        choose = self._chooser
        if kind is kinds.LITERAL:
            return chr(value)
        if kind is kinds.NOT_LITERAL:
            return "a" if value != ord("a") else "b"
        if kind is kinds.ANY:
            return choose.choice("a .")
        if kind is kinds.IN:
            return self._member(value)
        if kind is kinds.BRANCH:
            branches = [self._sequence(branch, lead, note=note) for branch in value[1]]
            return choose.choice(branches)
        if kind is kinds.SUBPATTERN:
            made = self._sequence(value[3], lead, note=note)
            if value[0] is not None:
                self._groups[value[0]] = made
            return made
        if kind is kinds.ATOMIC_GROUP:
            return self._sequence(value, lead, note=note)
        if kind in (kinds.ASSERT, kinds.ASSERT_NOT):
            self._sequence(value[1], lead, note=note)
            return ""
        if kind is kinds.GROUPREF:
            return self._groups.get(value, "")
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            return self._repeat(*value, lead, note=note)
        return ""

    def _repeat(self, least: int, most: int, body: Any, lead: str, *, note: bool) -> str:
        parts = [self._sequence(body, lead, note=note and turn == 0) for turn in range(3)]
        if note and most >= _LONG:
            for part in dict.fromkeys(parts):
                self._found += [Seed(lead, part, end) for end in _TAILS]
                self._found += [Seed("", lead + part * count, end) for count in (1, 9) for end in ("", "!")]
                self._found += [Seed(lead + part * 9, " ", end) for end in ("", "!")]
            self._found += [Seed(lead, "".join(parts), end) for end in _TAILS]
        count = least if least else self._chooser.randint(0, min(most, 1))
        return "".join(self._chooser.choice(parts) for _ in range(min(count, 64)))

    def _member(self, options: Any) -> str:
        options = list(options)
        if options[0][0] is kinds.NEGATE:
            refused = options[1:]
            return next((each for each in self._shuffled(" a0.-\n\"'/:é") if not self._takes(refused, each)), "€")
        kind, value = self._chooser.choice(options)
        if kind is kinds.LITERAL:
            return chr(value)
        if kind is kinds.RANGE:
            return chr(self._chooser.randint(*value))
        return self._chooser.choice(_CATEGORIES.get(value, "a"))

    def _shuffled(self, text: str) -> Iterator[str]:
        return iter(self._chooser.sample(text, len(text)))

    @staticmethod
    def _takes(options: Any, letter: str) -> bool:
        for kind, value in options:
            if kind is kinds.LITERAL and chr(value) == letter:
                return True
            if kind is kinds.RANGE and value[0] <= ord(letter) <= value[1]:
                return True
            if kind is kinds.CATEGORY and letter in _CATEGORIES.get(value, ""):
                return True
        return False
