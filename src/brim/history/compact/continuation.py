"""The continuation that one context hands to the next, so that work continues where it stopped.

It is extracted, not written: every line is verbatim. A fact that is not mentioned again loses weight, slowly if a
person stated it. The value holds more than its text shows, so that a fact without room in one context can come back
in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.history.compact.facts import HEADINGS, KINDS, FactLine, MessageText, affordable, harvest, listing, sentences
from brim.history.compact.secrets import redact
from brim.history.note import is_written
from brim.meter import Meter
from brim.meter import meter as metered
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.truncate import truncator
from brim.wire import Format, format_of, wire

MARK = "[CONTINUATION]"
"""How the text of a continuation begins."""
AS_ABOVE = "as above"
"""Takes the place of the goal where it stands before the continuation."""
MOST_FINDINGS = 300
MOST_LINES = 60
"""Reports, tasks and rules that are carried on, of each."""
MOST_LINEAGE = 16
_GOAL_SHARE = 3
"""A goal that takes more than this part of the limit, one in so many, is cut to it."""
_DONE_SHARE = (3, 5)
"""The part of a task's words that a report must have for the task to count as done."""
_FIRST = 4
"""Tasks and reports that come before the facts, of each."""
_PRINTED = 12
"""Facts that only a tool printed, or that were mentioned in passing; more would be noise."""
_LONGEST = 240
"""Characters of a report."""
_RESOURCES = ("path", "url")
_MUST_DECAY, _DECAY = 2, 8
"""How much a fact loses for each context in which it is not mentioned again; less if people stated it."""

_DONE = re.compile(
    r"\b(?:done|fixed|created|added|implemented|completed|finished|wrote|updated|removed|deleted|merged|passed|passes"
    r"|passing|deployed|resolved|verified|renamed|refactored|installed|migrated|tested|works now|closed|found)\b"
    r"|\[x\]|✓|✅|已完成|完成了|修复了",
    re.I,
)
# The tasks stand second, and the work done last.
_HEADINGS = {"constraint": "", "todo": ""} | HEADINGS | {"todo": "Left to do", "done": "Done"}


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedFact(FactLine):
    """A fact that goes from one context to the next."""

    weight: int
    """Its weight when it was last mentioned."""
    must: bool
    """Whether it comes before all others: a person, or the model in its own words, stated it."""
    handle: str = ""
    """The message that states it."""
    age: int = 0
    """Contexts since it was last mentioned."""

    @property
    def worth(self) -> int:
        """Its weight now."""
        return self.weight - self.age * (_MUST_DECAY if self.must else _DECAY)

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "finding") -> CarriedFact:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        _check_names(cls, place, values)
        kinds = {"kind": str, "text": str, "weight": int, "must": bool, "handle": str, "age": int}
        for name, kind in kinds.items():
            if type(values[name]) is not kind:
                raise InvalidType(f"{place}.{name}", values[name], f"a {kind.__name__}")
        if values["kind"] not in KINDS:
            raise InvalidValue(f"{place}.kind", values["kind"], f"one of {', '.join(KINDS)}")
        return cls(**values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Continuation:
    """What the next context needs to know."""

    goal: str
    """The goal of the work, verbatim."""
    accomplished: tuple[str, ...] = ()
    """Reports of work done, the newest last."""
    remaining: tuple[str, ...] = ()
    """Tasks left to do, the newest last."""
    findings: tuple[CarriedFact, ...] = ()
    """Decisions, errors, ids, numbers and open questions, the most important first."""
    constraints: tuple[str, ...] = ()
    """Rules of the user, verbatim, the oldest first."""
    resources: tuple[CarriedFact, ...] = ()
    """Paths and addresses, the most important first."""
    lineage: tuple[str, ...] = ()
    """The contexts before this one, each by the handle of its continuation's text, the newest last."""
    iteration: int = 0
    sub_tick: int = 0

    def text(self, meter: BaseMeter | None = None, limit: int | None = None) -> str:
        """Return the text for a prompt, in at most `limit` tokens; without a limit, all of it.

        Raises:
            DoesNotFit: not even the goal's first words fit.
            InvalidType: there is a limit and no meter.
        """
        if limit is None:
            return self._written(self.goal, list(self._items()))
        if meter is None:
            raise InvalidType("meter", meter, "the meter of the limit")
        units("limit", limit)
        goal, most = self.goal, max(1, limit // _GOAL_SHARE)
        if meter.load(goal) > most:
            goal = truncator("ends").truncate(goal, most, meter).text
        room = limit - meter.load(self._written(goal, []))
        chosen = affordable(self._items(), room, meter, f"{goal}\n")
        text = self._written(goal, chosen)
        while meter.load(text) > limit and chosen:
            del chosen[-max(1, (meter.load(text) - limit) // 40) :]
            text = self._written(goal, chosen)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Continuation:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        _check_names(cls, "continuation", values)
        known: dict[str, Any] = dict(values)
        for name in ("accomplished", "remaining", "constraints", "lineage"):
            if not isinstance(known[name], list | tuple) or not all(isinstance(text, str) for text in known[name]):
                raise InvalidType(f"continuation.{name}", known[name], "a list of texts")
            known[name] = tuple(known[name])
        for name in ("findings", "resources"):
            place, facts = f"continuation.{name}", known[name]
            if not isinstance(facts, list | tuple):
                raise InvalidType(place, facts, "a list of findings")
            known[name] = tuple(CarriedFact.from_dict(fact, f"{place}[{i}]") for i, fact in enumerate(facts))
        if not isinstance(known["goal"], str):
            raise InvalidType("continuation.goal", known["goal"], "a text")
        for name in ("iteration", "sub_tick"):
            units(f"continuation.{name}", known[name])
        return cls(**known)

    def _items(self) -> Iterator[FactLine]:
        """Yield the lines, the most important first."""
        yield from (FactLine(kind="constraint", text=text) for text in self.constraints)
        todo = [FactLine(kind="todo", text=text) for text in reversed(self.remaining)]
        done = [FactLine(kind="done", text=text) for text in reversed(self.accomplished)]
        facts = sorted([*self.findings, *self.resources], key=lambda fact: (not fact.must, -fact.worth))
        yield from [*todo[:_FIRST], *done[:_FIRST]]
        yield from (fact for fact in facts if fact.must)
        yield from [*todo[_FIRST:], *done[_FIRST:]]
        yield from [fact for fact in facts if not fact.must][:_PRINTED]

    def _written(self, goal: str, lines: Sequence[FactLine]) -> str:
        return "\n".join([self._head, f"Goal: {goal}", *listing(lines, _HEADINGS)])

    @property
    def _head(self) -> str:
        return f"{MARK} iteration {self.iteration}, sub-tick {self.sub_tick}"

    def outside(self, text: str) -> str:
        """Return a text without the text of this continuation, as far as it stands there word for word."""
        before, mark, after = f"\n{text}".partition(f"\n{self._head}\nGoal: ")
        if not mark:
            return text
        goal, *lines = after.split("\n")
        known = {f"- {item.text}" for item in self._items()} | {f"{heading}:" for heading in _HEADINGS.values()}
        atoms = {fact.text for fact in (*self.findings, *self.resources)}
        first = next((i for i, line in enumerate(lines) if line not in known and not _lists(line, atoms)), len(lines))
        return "\n".join([before[1:], *([] if goal in (self.goal, AS_ABOVE) else [goal]), *lines[first:]])


def continuation(
    messages: Sequence[Any],
    *,
    goal: str,
    meter: Meter | str | Callable[[str], int],
    limit: int,
    previous: Continuation | None = None,
    iteration: int | None = None,
    sub_tick: int | None = None,
    format: Format | None = None,
) -> Continuation:
    """Return what the next context needs to know of this one and, through `previous`, of those before.

    Args:
        messages: the messages of the context that ends. System messages are sent again each time, and a continuation
            among them is known from `previous`, so neither is read.
        goal: the goal of the work.
        meter: the meter of the limit.
        limit: the most tokens of the text; the value itself holds more.
        previous: the continuation that this context began with.
        iteration: the iteration that continues; without it, that of `previous`.
        sub_tick: the sub-tick that begins; without it, the one after that of `previous`.
        format: the format of the messages; without it, it is recognised.

    Raises:
        InvalidValue: an argument or a message is invalid.
    """
    if not isinstance(goal, str):
        raise InvalidType("goal", goal, "a text")
    units("limit", limit)
    before = previous if previous is not None else Continuation(goal=goal, sub_tick=-1)
    texts = _texts(messages, previous, format)
    facts = harvest(texts, MOST_FINDINGS)
    new = [CarriedFact(kind=f.kind, text=f.text, weight=f.weight, must=f.must, handle=f.handle) for f in facts]
    by_time = sorted(facts, key=lambda fact: fact.at)
    # A rule is the user's, not one of the model's own.
    rules = [fact.text for fact in by_time if fact.kind == "constraint" and fact.role == "user"]
    todo = [fact.text for fact in by_time if fact.kind == "todo"]
    findings = [fact for fact in new if fact.kind not in (*_RESOURCES, "todo") and fact.text not in rules]
    resources = [fact for fact in new if fact.kind in _RESOURCES]
    done = _done(texts)
    reports = [set(terms(text)) for text in done]
    left = [task for task in dict.fromkeys([*before.remaining, *todo]) if not _is_done(set(terms(task)), reports)]
    lineage = (*before.lineage, handle(before.text(metered(meter), limit))) if previous is not None else ()
    return Continuation(
        goal=redact(goal),
        accomplished=tuple(dict.fromkeys([*before.accomplished, *done]))[-MOST_LINES:],
        remaining=tuple(left[-MOST_LINES:]),
        findings=carried(before.findings, findings, MOST_FINDINGS),
        constraints=tuple(dict.fromkeys([*before.constraints, *rules]))[:MOST_LINES],
        resources=carried(before.resources, resources, MOST_FINDINGS),
        lineage=lineage[-MOST_LINEAGE:],
        iteration=before.iteration if iteration is None else units("iteration", iteration),
        sub_tick=before.sub_tick + 1 if sub_tick is None else units("sub_tick", sub_tick),
    )


def carried(old: Iterable[CarriedFact], new: Sequence[CarriedFact], most: int) -> tuple[CarriedFact, ...]:
    """Return new and old facts, the most important first; an old one ages unless it is mentioned again."""
    fresh = {(finding.kind, finding.text): finding for finding in new}
    known = {}
    for finding in old:
        key = finding.kind, finding.text
        again = fresh.pop(key, None)
        if again is None:
            known[key] = replace(finding, age=finding.age + 1)
        else:
            weight, must = max(finding.weight, again.weight), finding.must or again.must
            known[key] = replace(again, weight=weight, must=must)
    merged = [*fresh.values(), *known.values()]
    return tuple(sorted(merged, key=lambda finding: (not finding.must, -finding.worth))[:most])


def _texts(messages: Sequence[Any], previous: Continuation | None, format: Format | None) -> list[MessageText]:
    """Return the texts of a context, without system messages, notes and the continuation that it began with."""
    chosen = wire(format_of(messages) or "openai" if format is None else format)
    texts = []
    for i, raw in enumerate(messages):
        message = chosen.read(raw, i)
        if message.role == "system":
            continue
        role = "tool" if message.results else message.role
        if message.role == "user":
            said = [piece for piece in message.pieces if piece.kind != "text" or not is_written(piece.text)]
            message = message._replace(pieces=tuple(said))
        text = message.text() if previous is None else previous.outside(message.text())
        if text.strip():
            texts.append(MessageText(role, text, handle(text)))
    return texts


def _lists(line: str, atoms: Collection[str]) -> bool:
    """Return whether a line lists facts under their heading, and nothing else."""
    heading, colon, rest = line.partition(": ")
    return bool(colon) and heading in _HEADINGS.values() and all(atom in atoms for atom in rest.split("; "))


def _done(texts: Sequence[MessageText]) -> list[str]:
    """Return the model's reports of work done, in order."""
    spoken = [text for one in texts if one.role == "assistant" for text in sentences(redact(one.text))]
    return [text for text in spoken if _DONE.search(text) and not text.endswith("?") and len(text) <= _LONGEST]


def _is_done(task: set[str], reports: Sequence[set[str]]) -> bool:
    """Return whether a report has enough words of a task to complete it."""
    need = len(task) * _DONE_SHARE[0]
    return bool(task) and any(len(task & report) * _DONE_SHARE[1] >= need for report in reports)


def _check_names(kind: type[CarriedFact | Continuation], place: str, values: Any) -> None:
    """Pass if the values are a mapping with exactly the fields of a dataclass."""
    names = [each.name for each in fields(kind)]
    if not isinstance(values, Mapping) or sorted(values) != sorted(names):
        raise InvalidType(place, values, f"a mapping with {', '.join(names)}")
