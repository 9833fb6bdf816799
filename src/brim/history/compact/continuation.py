"""The continuation that one context hands to the next, so that work continues where it stopped.

It is extracted, not written: every line is verbatim, facts and plain statements alike, and each call has a line. A
fact that is not mentioned again loses weight, slowly if a person stated it. The value holds more than its text shows,
so that a fact without room in one context can come back in another. A summary by a model may stand before the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType
from brim.history.compact.carried import FOUND, TOLD, CarriedFact, carried, check_names
from brim.history.compact.deeds import Deed, deeds
from brim.history.compact.facts import HEADINGS, Fact, FactLine, MessageText, listing, sentences
from brim.history.compact.handover import CALL, HandOver, LineChoice, LineGroup
from brim.history.compact.running import running
from brim.history.compact.secrets import redact
from brim.history.compact.statements import FENCE, commands, is_musing, is_output, statements
from brim.history.compact.tally import harvest
from brim.history.note import is_written
from brim.meter import Meter
from brim.meter import meter as metered
from brim.meter.base import BaseMeter
from brim.meter.words import terms
from brim.receipts.receipt import handle
from brim.truncate import shortened, truncator
from brim.wire import Format, format_of, wire

MARK = "[CONTINUATION]"
"""How the text of a continuation begins."""
AS_ABOVE = "as above"
"""Takes the place of the goal where it stands before the continuation."""
MOST_FINDINGS = 300
MOST_LINES = 60
"""Reports, tasks and rules that are carried on, of each."""
MOST_SAID = 400
"""Statements that are carried on."""
MOST_DEEDS = 200
"""Calls that are carried on, the newest."""
MOST_LINEAGE = 16
_GOAL_SHARE = 3
"""A goal that takes more than this part of the limit, one in so many, is cut to it."""
_DONE_SHARE = (3, 5)
"""The part of a task's words that a report must have for the task to count as done."""
_SUMMARY_SHARE = 2
"""A summary takes at most one part in so many of the limit."""
_RULES_SHARE, _TASKS_SHARE, _FACTS_SHARE, _SAID_SHARE, _CALLS_SHARE = (1, 6), (1, 6), (1, 2), (1, 2), (1, 20)
"""The parts of the room for rules, for tasks and reports, facts, statements and calls, before the rest is shared."""
_ENOUGH = 12
"""Tokens below which no further line is looked for."""
_FIRST = 4
"""Tasks and reports that come before the facts, of each."""
_PRINTED = 12
"""Facts that only a tool printed, or that were mentioned in passing; more would be noise."""
_LONGEST = 240
"""Characters of a report."""
_RESOURCES = ("path", "url")

_DONE = re.compile(
    r"\b(?:done|fixed|created|added|implemented|completed|finished|wrote|updated|removed|deleted|merged|passed|passes"
    r"|passing|deployed|resolved|verified|renamed|refactored|installed|migrated|tested|works now|closed|found)\b"
    r"|\[x\]|✓|✅|已完成|完成了|修复了",
    re.I,
)
_RUNNING = "running"
# The tasks stand second, and the work done last.
_HEADINGS = {"constraint": "", "todo": ""} | HEADINGS | {"todo": "Left to do", "done": "Done"}
_HEADINGS |= {_RUNNING: "Running", TOLD: "Said by the user", FOUND: "Findings", CALL: "Calls"}
_SUMMARY = "Summary"
_LATER = ("said", "deeds", "summary", "running")
"""Fields that a value of an earlier version does not have."""


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
    running: tuple[str, ...] = ()
    """Lines that tell of processes and ports, the oldest first."""
    said: tuple[CarriedFact, ...] = ()
    """Statements of the user and of the model, the oldest first."""
    deeds: tuple[Deed, ...] = ()
    """The calls that were made, the oldest first."""
    summary: str = ""
    """What a model made of all of it; empty without one."""
    lineage: tuple[str, ...] = ()
    """The contexts before this one, each by the handle of its continuation's text, the newest last."""
    iteration: int = 0
    sub_tick: int = 0

    def text(self, meter: BaseMeter | None = None, limit: int | None = None, above: str = "") -> str:
        """Return the text for a prompt, in at most `limit` tokens; without a limit, all of it.

        What stands in the text `above` it is not repeated.

        Raises:
            DoesNotFit: not even the goal's first words fit.
            InvalidType: there is a limit and no meter.
        """
        if limit is None:
            lines = [line for group in self._groups() for line in group.lines]
            return self._written(self.goal, self.summary, lines)
        if meter is None:
            raise InvalidType("meter", meter, "the meter of the limit")
        return self.shown(meter, limit, above).text

    def shown(self, meter: BaseMeter, limit: int, above: str = "") -> HandOver:
        """Return the text for a prompt in at most `limit` tokens, and how much of the continuation is in it.

        Raises:
            DoesNotFit: not even the goal's first words fit.
        """
        units("limit", limit)
        goal, most = self.goal, max(1, limit // _GOAL_SHARE)
        if meter.load(goal) > most:
            goal = truncator("ends").truncate(goal, most, meter).text
        summary = shortened(self.summary, limit // _SUMMARY_SHARE, meter) if self.summary else ""
        groups, room = self._groups(), limit - meter.load(self._written(goal, summary, []))
        choice = LineChoice(meter, room, f"{above}\n{goal}\n{summary}\n")
        choice.fill(groups)
        text = self._written(goal, summary, choice.kept)
        while (left := limit - meter.load(text)) > _ENOUGH and choice.refill(groups, left):  # Costs are estimates.
            text = self._written(goal, summary, choice.kept)
        if choice.lengthen(self.deeds, left):
            text = self._written(goal, summary, choice.kept)
        while meter.load(text) > limit and choice.kept:
            del choice.kept[-max(1, (meter.load(text) - limit) // 40) :]
            text = self._written(goal, summary, choice.kept)
        known = Counter(line.kind for group in groups for line in group.lines)
        return HandOver(text=text, shown=choice.counted(), known=known)

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Continuation:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        check_names(cls, "continuation", values, _LATER)
        known: dict[str, Any] = {"said": (), "deeds": (), "summary": "", "running": (), **values}
        for name in ("accomplished", "remaining", "constraints", "lineage", "running"):
            if not isinstance(known[name], list | tuple) or not all(isinstance(text, str) for text in known[name]):
                raise InvalidType(f"continuation.{name}", known[name], "a list of texts")
            known[name] = tuple(known[name])
        for name in ("findings", "resources", "said"):
            place, facts = f"continuation.{name}", known[name]
            if not isinstance(facts, list | tuple):
                raise InvalidType(place, facts, "a list of findings")
            known[name] = tuple(CarriedFact.from_dict(fact, f"{place}[{i}]") for i, fact in enumerate(facts))
        if not isinstance(known["deeds"], list | tuple):
            raise InvalidType("continuation.deeds", known["deeds"], "a list of calls")
        known["deeds"] = tuple(
            Deed.from_dict(each, f"continuation.deeds[{i}]") for i, each in enumerate(known["deeds"])
        )
        for name in ("goal", "summary"):
            if not isinstance(known[name], str):
                raise InvalidType(f"continuation.{name}", known[name], "a text")
        for name in ("iteration", "sub_tick"):
            units(f"continuation.{name}", known[name])
        return cls(**known)

    def _groups(self) -> list[LineGroup]:
        """Return the lines in groups, the most important first."""
        rules = [FactLine(kind="constraint", text=text) for text in self.constraints]
        rules += [FactLine(kind=_RUNNING, text=text) for text in reversed(self.running)]
        todo = [FactLine(kind="todo", text=text) for text in reversed(self.remaining)]
        done = [FactLine(kind="done", text=text) for text in reversed(self.accomplished)]
        facts = sorted([*self.findings, *self.resources], key=lambda fact: (not fact.must, -fact.worth))
        must = [fact for fact in facts if fact.must]
        said = sorted(self.said, key=lambda each: (-each.worth, each.age))
        calls = [FactLine(kind=CALL, text=deed.call) for deed in reversed(self.deeds)]
        return [
            LineGroup(lines=rules, share=_RULES_SHARE),
            LineGroup(lines=[*todo[:_FIRST], *done[:_FIRST]], share=_TASKS_SHARE),
            LineGroup(lines=must, share=_FACTS_SHARE),
            LineGroup(lines=said, share=_SAID_SHARE),
            LineGroup(lines=calls, share=_CALLS_SHARE),
            LineGroup(lines=[*todo[_FIRST:], *done[_FIRST:]], share=(1, 1)),
            LineGroup(lines=[fact for fact in facts if not fact.must][:_PRINTED], share=(1, 1)),
        ]

    def _written(self, goal: str, summary: str, lines: Sequence[FactLine]) -> str:
        order = {each.text: at for at, each in enumerate(self.said)}
        # Statements stand in the order in which they were made, and calls in that of the work.
        calls = [line for line in lines if line.kind == CALL][::-1]
        said = sorted((line for line in lines if line.kind in (TOLD, FOUND)), key=lambda line: order[line.text])
        other = [line for line in lines if line.kind not in (TOLD, FOUND, CALL)]
        above = [f"{_SUMMARY}: {summary}"] if summary else []
        return "\n".join([self._head, f"Goal: {goal}", *above, *listing([*other, *said, *calls], _HEADINGS)])

    @property
    def _head(self) -> str:
        return f"{MARK} iteration {self.iteration}, sub-tick {self.sub_tick}"

    def outside(self, text: str) -> str:
        """Return a text without the text of this continuation, as far as it stands there word for word."""
        before, mark, after = f"\n{text}".partition(f"\n{self._head}\nGoal: ")
        if not mark:
            return text
        goal, *lines = after.split("\n")
        items = [line.text for group in self._groups() for line in group.lines]
        known = {f"- {text}" for text in (*items, *(text for deed in self.deeds for text in deed.texts))}
        known |= {f"{heading}:" for heading in _HEADINGS.values()} | {f"{_SUMMARY}: {self.summary}"}
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
    summary: str = "",
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
        summary: what a model made of these messages and the previous continuation, if one was asked.
        format: the format of the messages; without it, it is recognised.

    Raises:
        InvalidValue: an argument or a message is invalid.
    """
    if not isinstance(goal, str):
        raise InvalidType("goal", goal, "a text")
    units("limit", limit)
    before = previous if previous is not None else Continuation(goal=goal, sub_tick=-1)
    texts = context_texts(messages, previous, format)
    facts = [fact for fact in harvest(texts, MOST_FINDINGS) if _is_open(fact, texts)]
    new = [CarriedFact(kind=f.kind, text=f.text, weight=f.weight, must=f.must, handle=f.handle) for f in facts]
    by_time = sorted(facts, key=lambda fact: fact.at)
    # A rule is the user's; what the model says of itself is a statement like others.
    rules = [fact.text for fact in by_time if fact.kind == "constraint" and fact.role == "user"]
    todo = [fact.text for fact in by_time if fact.kind == "todo"]
    findings = [fact for fact in new if fact.kind not in (*_RESOURCES, "todo", "constraint")]
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
        resources=carried(before.resources, [fact for fact in new if fact.kind in _RESOURCES], MOST_FINDINGS),
        running=running(texts, before.running),
        said=_said(before.said, texts),
        deeds=(*before.deeds, *deeds(messages, format))[-MOST_DEEDS:],
        summary=redact(summary),
        lineage=lineage[-MOST_LINEAGE:],
        iteration=before.iteration if iteration is None else units("iteration", iteration),
        sub_tick=before.sub_tick + 1 if sub_tick is None else units("sub_tick", sub_tick),
    )


def context_texts(
    messages: Sequence[Any], previous: Continuation | None = None, format: Format | None = None
) -> list[MessageText]:
    """Return the texts of a context, without system messages, notes and the continuation that it began with."""
    chosen = wire(format_of(messages) or "openai" if format is None else format)
    texts = []
    acted = False
    for i, raw in enumerate(messages):
        message = chosen.read(raw, i)
        if message.role == "system":
            continue
        role = "tool" if message.results else message.role
        if message.role == "user":
            said = [piece for piece in message.pieces if piece.kind != "text" or not is_written(piece.text)]
            message = message._replace(pieces=tuple(said))
        text = "\n".join(piece.text for piece in message.pieces if piece.kind in ("text", "output"))
        text = text if previous is None else previous.outside(text)
        printed = "\n".join(f"{piece.name} {piece.text}" for piece in message.pieces if piece.kind == "call")
        if role == "user" and acted and is_output(text):
            role = "tool"
        acted = message.role == "assistant" and any(commands(text))
        if acted:  # What an agent writes into a fence is a command or a file, as the arguments of a call are.
            printed = "\n".join([printed, *text.split(FENCE)[1::2]])
            text = "\n".join(text.split(FENCE)[::2])
        for said_by, each in ((role, text), ("tool", printed)):
            if each.strip():
                texts.append(MessageText(said_by, each, handle(each)))
    return texts


def _lists(line: str, atoms: Collection[str]) -> bool:
    """Return whether a line lists facts under their heading, and nothing else."""
    heading, colon, rest = line.partition(": ")
    return bool(colon) and heading in _HEADINGS.values() and all(atom in atoms for atom in rest.split("; "))


def _said(old: Sequence[CarriedFact], texts: Sequence[MessageText]) -> tuple[CarriedFact, ...]:
    """Return old and new statements in their order; of very many those that are worth the most."""
    kinds = {"user": TOLD, "assistant": FOUND}
    made = [
        CarriedFact(kind=kinds[each.role], text=each.text, weight=each.worth, must=True) for each in statements(texts)
    ]
    again = {each.text for each in made}
    aged = [replace(each, age=each.age + 1) for each in old if each.text not in again]
    merged = [*aged, *made]
    best = sorted(range(len(merged)), key=lambda at: (-merged[at].worth, -at))[:MOST_SAID]
    return tuple(merged[at] for at in sorted(best))


def _done(texts: Sequence[MessageText]) -> list[str]:
    """Return the model's reports of work done, in order."""
    spoken = [text for one in texts if one.role == "assistant" for text in sentences(redact(one.text))]
    reports = [text for text in spoken if _DONE.search(text) and not text.endswith("?") and len(text) <= _LONGEST]
    return [text for text in reports if not is_musing(text)]


def _is_open(fact: Fact, texts: Sequence[MessageText]) -> bool:
    """Return whether a fact may be needed: a question that nobody answered, no error that the model only imagines."""
    if fact.kind == "question":
        return not any(one.role in ("user", "assistant") and one.role != fact.role for one in texts[fact.at + 1 :])
    return not (fact.kind in ("error", "decision") and fact.role == "assistant" and is_musing(fact.text))


def _is_done(task: set[str], reports: Sequence[set[str]]) -> bool:
    """Return whether a report has enough words of a task to complete it."""
    need = len(task) * _DONE_SHARE[0]
    return bool(task) and any(len(task & report) * _DONE_SHARE[1] >= need for report in reports)
