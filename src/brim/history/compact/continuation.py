"""The continuation that one context hands to the next, so that work continues where it stopped.

It is extracted, not written: every line is verbatim. A fact that is not mentioned again loses weight, slowly if a
person stated it. The value holds more than its text shows, so that a fact without room in one context can come back
in another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.history.compact.facts import HEADINGS, KINDS, Fact, FactLine, Said, affordable, harvest, listing, sentences
from brim.history.compact.secrets import redact
from brim.history.note import MARK as NOTE
from brim.meter import Meter
from brim.meter import meter as metered
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.truncate import truncator
from brim.wire import Format, format_of, wire

MARK = "[CONTINUATION]"
"""How the text of a continuation begins."""
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


class _Line(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedFact:
    """A fact that goes from one context to the next."""

    kind: str
    """One of the kinds of facts."""
    text: str
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

    @classmethod
    def of(cls, fact: Fact) -> CarriedFact:
        """Return a fact as it is carried on."""
        return cls(kind=fact.kind, text=fact.text, weight=fact.weight, must=fact.must, handle=fact.handle)

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "finding") -> CarriedFact:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        kinds = {"kind": str, "text": str, "weight": int, "must": bool, "handle": str, "age": int}
        names = [each.name for each in fields(cls)]
        if not isinstance(values, Mapping) or sorted(values) != sorted(names):
            raise InvalidType(place, values, f"a mapping with {', '.join(names)}")
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
        goal = self._goal(meter, limit)
        room = limit - meter.load(self._written(goal, []))
        chosen = affordable(self._items(), room, meter, f"{goal}\n")
        text = self._written(goal, chosen)
        while meter.load(text) > limit and chosen:
            del chosen[-max(1, (meter.load(text) - limit) // 40) :]
            text = self._written(goal, chosen)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        told: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("findings", "resources"):
            told[name] = [finding.to_dict() for finding in told[name]]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Continuation:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        names = [each.name for each in fields(cls)]
        if not isinstance(values, Mapping) or sorted(values) != sorted(names):
            raise InvalidType("continuation", values, f"a mapping with {', '.join(names)}")
        told: dict[str, Any] = dict(values)
        for name in ("accomplished", "remaining", "constraints", "lineage"):
            told[name] = _texts(f"continuation.{name}", told[name])
        for name in ("findings", "resources"):
            told[name] = tuple(_findings(f"continuation.{name}", told[name]))
        if not isinstance(told["goal"], str):
            raise InvalidType("continuation.goal", told["goal"], "a text")
        for name in ("iteration", "sub_tick"):
            units(f"continuation.{name}", told[name])
        return cls(**told)

    def _goal(self, meter: BaseMeter, limit: int) -> str:
        """Return the goal, cut if it would take the room of everything else."""
        most = max(1, limit // _GOAL_SHARE)
        if meter.load(self.goal) <= most:
            return self.goal
        return truncator("ends").truncate(self.goal, most, meter).text

    def _items(self) -> Iterator[FactLine]:
        """Yield the lines, the most important first."""
        yield from (_Line("constraint", text) for text in self.constraints)
        yield from (_Line("todo", text) for text in reversed(self.remaining[-_FIRST:]))
        yield from (_Line("done", text) for text in reversed(self.accomplished[-_FIRST:]))
        facts = sorted([*self.findings, *self.resources], key=lambda fact: (not fact.must, -fact.worth))
        yield from (fact for fact in facts if fact.must)
        yield from (_Line("todo", text) for text in reversed(self.remaining[:-_FIRST]))
        yield from (_Line("done", text) for text in reversed(self.accomplished[:-_FIRST]))
        yield from [fact for fact in facts if not fact.must][:_PRINTED]

    def _written(self, goal: str, lines: Sequence[FactLine]) -> str:
        head = [f"{MARK} iteration {self.iteration}, sub-tick {self.sub_tick}", f"Goal: {goal}"]
        return "\n".join([*head, *listing(lines, _HEADINGS)])


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
    said = _said(messages, format)
    facts = harvest(said, MOST_FINDINGS)
    new = [CarriedFact.of(fact) for fact in facts]
    done = _done(said)
    rules = [fact.text for fact in sorted(facts, key=lambda fact: fact.at) if _is_rule(fact.kind, fact.role)]
    todo = [fact.text for fact in sorted(facts, key=lambda fact: fact.at) if fact.kind == "todo"]
    found = [finding for finding in new if finding.kind not in (*_RESOURCES, "todo") and finding.text not in rules]
    held = [finding for finding in new if finding.kind in _RESOURCES]
    lineage = (*before.lineage, handle(before.text(metered(meter), limit))) if previous is not None else ()
    return Continuation(
        goal=redact(goal),
        accomplished=_joined(before.accomplished, done)[-MOST_LINES:],
        remaining=_open([*before.remaining], todo, done)[-MOST_LINES:],
        findings=carried(before.findings, found, MOST_FINDINGS),
        constraints=_joined(before.constraints, rules)[:MOST_LINES],
        resources=carried(before.resources, held, MOST_FINDINGS),
        lineage=lineage[-MOST_LINEAGE:],
        iteration=before.iteration if iteration is None else units("iteration", iteration),
        sub_tick=before.sub_tick + 1 if sub_tick is None else units("sub_tick", sub_tick),
    )


def carried(old: Iterable[CarriedFact], new: Sequence[CarriedFact], most: int) -> tuple[CarriedFact, ...]:
    """Return new and old facts, the most important first; an old one ages unless it is mentioned again."""
    said = {(finding.kind, finding.text): finding for finding in new}
    known = {}
    for finding in old:
        key = finding.kind, finding.text
        again = said.pop(key, None)
        if again is None:
            known[key] = replace(finding, age=finding.age + 1)
        else:
            weight, must = max(finding.weight, again.weight), finding.must or again.must
            known[key] = replace(again, weight=weight, must=must)
    merged = [*said.values(), *known.values()]
    return tuple(sorted(merged, key=lambda finding: (not finding.must, -finding.worth))[:most])


def _is_rule(kind: str, role: str) -> bool:
    """Return whether a fact is a rule of the user, not one of the model's own."""
    return kind == "constraint" and role == "user"


def _said(messages: Sequence[Any], format: Format | None) -> list[Said]:
    """Return the texts of a context, without system messages, continuation and note."""
    chosen = wire(format_of(messages) or "openai" if format is None else format)
    said = []
    for i, raw in enumerate(messages):
        message = chosen.read(raw, i)
        if message.role == "system":
            continue
        role = "tool" if message.results else message.role
        text = message.text().partition(MARK)[0].partition(NOTE)[0]
        if text.strip():
            said.append(Said(role, text, handle(text)))
    return said


def _done(said: Sequence[Said]) -> list[str]:
    """Return the model's reports of work done, in order."""
    spoken = [text for one in said if one.role == "assistant" for text in sentences(redact(one.text))]
    return [text for text in spoken if _DONE.search(text) and not text.endswith("?") and len(text) <= _LONGEST]


def _joined(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Return two lists as one, each text once."""
    return tuple(dict.fromkeys([*old, *new]))


def _open(old: Sequence[str], new: Sequence[str], done: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks that no report completes."""
    reports = [set(terms(text)) for text in done]
    return tuple(text for text in dict.fromkeys([*old, *new]) if not _is_done(set(terms(text)), reports))


def _is_done(task: set[str], reports: Sequence[set[str]]) -> bool:
    need = len(task) * _DONE_SHARE[0]
    return any(len(task & report) * _DONE_SHARE[1] >= need for report in reports) if task else False


def _texts(place: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InvalidType(place, values, "a list of texts")
    return tuple(values)


def _findings(place: str, values: Any) -> Iterator[CarriedFact]:
    if not isinstance(values, list | tuple):
        raise InvalidType(place, values, "a list of findings")
    for i, value in enumerate(values):
        yield CarriedFact.from_dict(value, f"{place}[{i}]")
