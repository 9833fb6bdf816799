"""The continuation that one context passes to the next, so that work continues where it stopped.

It is extracted: every sentence and call in it is verbatim. The value keeps more lines than its text shows, so that a
line that did not fit can return later. A model's summary may come before the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType
from brim.history.compact.lines import GO_ON, HEADINGS, Line, Said, is_nudge, once, read_messages, record, said_in
from brim.history.compact.summary import extract, ranked
from brim.history.turns import Turns
from brim.meter import meter as metered
from brim.meter.base import BaseMeter
from brim.redaction import redact
from brim.truncate import shortened, truncator
from brim.wire import Format, format_of, wire

CONTINUATION_MARK = "[CONTINUATION]"
"""How the text of a continuation begins."""
AS_ABOVE = "as above"
"""Replaces the goal if the prompt already shows it."""
MOST = 300
"""Lines of each kind that are kept."""
_MARKED = {"todo": "tasks", "call": "calls"}
"""The kinds of lines whose number is given if not all are shown."""
_OMITTED = re.compile(rf"\[(?:more than )?[\d,]{{1,9}} (?:{'|'.join(_MARKED.values())}) omitted\]")
_PATH = re.compile(
    r"\b[a-z][a-z0-9+]{1,11}://[^\s<>\"'`)\]}|]+"
    r"|(?<![\w/.:-])(?:"
    r"(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]*\w"  # from the root or from here
    r"|(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{0,9}\b(?!\()"
    r"|[A-Za-z]:\\(?:[\w .@+-]+\\)*[\w.@+-]+"
    r")(?::\d+(?::\d+)?)?"
)
"""An address, or a file in a folder; `and/or` is neither."""
_FIELDS = {"goal": str, "lines": list, "summary": str, "iteration": int, "sub_tick": int}


@dataclass(frozen=True, kw_only=True, slots=True)
class Continuation:
    """The knowledge for the next context."""

    goal: str
    """The goal of the work, verbatim."""
    lines: tuple[Line, ...] = ()
    """Sentences, tasks and calls, the oldest first."""
    summary: str = ""
    """A model's summary; empty without one."""
    iteration: int = 0
    sub_tick: int = 0

    def texts(self, *kinds: str) -> tuple[str, ...]:
        """Return the lines of some kinds, the oldest first."""
        return tuple(line.text for line in self.lines if line.kind in kinds)

    @property
    def accomplished(self) -> tuple[str, ...]:
        """Finished tasks, the newest last: `[x]`, a check mark, or finished in a tool's list."""
        return self.texts("done")

    @property
    def remaining(self) -> tuple[str, ...]:
        """Tasks left to do, the newest last: `TODO`, `[ ]`, or open in a tool's list."""
        return self.texts("todo")

    @property
    def constraints(self) -> tuple[str, ...]:
        """Statements of the user, rules and decisions among them, the oldest first."""
        return self.texts("said")

    @property
    def findings(self) -> tuple[str, ...]:
        """Statements of the agent and open questions, the oldest first."""
        return self.texts("own", "question")

    @property
    def resources(self) -> tuple[str, ...]:
        """Paths and addresses in the lines."""
        places = (each[0].rstrip(".,;:!?'\"") for line in self.lines for each in _PATH.finditer(line.whole))
        return tuple(dict.fromkeys(place for place in places if len(place) > 2))

    def text(self, meter: BaseMeter | None = None, limit: int | None = None, above: str = "") -> str:
        """Return the text for a prompt, in at most `limit` tokens; without a limit, all of it.

        What the text `above` already says is not repeated.

        Raises:
            DoesNotFit: not even the goal's first words fit.
            InvalidType: there is a limit and no meter.
        """
        if limit is None:
            return self._written(self.goal, self.summary, self.lines)
        if meter is None:
            raise InvalidType("meter", meter, "the meter of the limit")
        units("limit", limit)
        goal, most = self.goal, max(1, limit // 3)  # At most a third for the goal, and half for a summary.
        if meter.load(goal) > most:
            goal = truncator("ends").truncate(goal, most, meter).text
        summary = shortened(self.summary, limit // 2, meter) if self.summary else ""
        known = f"{above}\n{goal}\n{summary}\n"
        return extract(self.lines, limit, meter, lambda lines: self._written(goal, summary, lines), known)

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Continuation:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        known = record(values, _FIELDS, "continuation")
        lines = (Line.from_dict(each, f"continuation.lines[{i}]") for i, each in enumerate(known["lines"]))
        for name in ("iteration", "sub_tick"):
            units(f"continuation.{name}", known[name])
        return cls(**{**known, "lines": tuple(lines)})

    def _written(self, goal: str, summary: str, lines: Sequence[Line]) -> str:
        rows = [self._head, f"Goal: {goal}", *([f"Summary: {summary}"] if summary else [])]
        for kind, heading in HEADINGS.items():
            texts = [f"- {line.sourced}" for line in lines if line.kind == kind]
            rows += [f"{heading}:", *texts] if texts else []
            kept = len(self.texts(kind)) if kind in _MARKED else 0
            if kept > len(texts):
                rows.append(f"[{'more than ' * (kept >= MOST)}{kept - len(texts):,} {_MARKED[kind]} omitted]")
        return "\n".join(rows)

    @property
    def _head(self) -> str:
        return f"{CONTINUATION_MARK} iteration {self.iteration}, sub-tick {self.sub_tick}"

    def outside(self, text: str) -> str:
        """Return a text without the rows of this continuation, if it is in it."""
        if self._head not in text:
            return text
        known = {f"Goal: {AS_ABOVE}", *(f"- {line.text}" for line in self.lines), *self.text().split("\n")}
        calls = tuple(f"- {text} → " for text in self.texts("call"))  # An outcome may be shortened.
        rows = (row for row in text.split("\n") if row not in known and not row.startswith(calls))
        return "\n".join(row for row in rows if not _OMITTED.fullmatch(row))


def continuation(
    messages: Sequence[Any],
    *,
    goal: str,
    previous: Continuation | None = None,
    iteration: int | None = None,
    sub_tick: int | None = None,
    summary: str = "",
    format: Format | None = None,
) -> Continuation:
    """Return the continuation of a context and, through `previous`, of those before.

    Args:
        messages: the messages of the context that ends. System messages and the text of `previous` in them are
            skipped.
        goal: the goal of the work.
        previous: the continuation that this context began with.
        iteration: the iteration that continues; without it, that of `previous`.
        sub_tick: the sub-tick that begins; without it, the one after that of `previous`.
        summary: a model's summary of these messages and the previous continuation.
        format: the format of the messages; recognised if omitted.

    Raises:
        InvalidValue: an argument or a message is invalid.
    """
    if not isinstance(goal, str):
        raise InvalidType("goal", goal, "a string")
    before = previous if previous is not None else Continuation(goal=goal, sub_tick=-1)
    turns = _turns(messages, format)
    return Continuation(
        goal=redact(goal),
        lines=_merged(before.lines, _unanswered(read_messages(turns, range(len(turns)), before.outside))),
        summary=redact(summary),
        iteration=before.iteration if iteration is None else units("iteration", iteration),
        sub_tick=before.sub_tick + 1 if sub_tick is None else units("sub_tick", sub_tick),
    )


def context_texts(messages: Sequence[Any], previous: Continuation | None = None) -> list[Said]:
    """Return the texts of a context, without system messages, notes and its continuation."""
    turns = _turns(messages, None)
    said = [said_in(message) for message in turns.messages if message.role != "system"]
    told = [one if previous is None else one._replace(text=previous.outside(one.text)) for one in said if one]
    return [one for one in told if one.text.strip() and not is_nudge(one.text)]


def _turns(messages: Sequence[Any], format: Format | None) -> Turns:
    # Some providers refuse a context that begins with the model, but after a hand-over it does.
    first = wire(format or format_of(messages) or "openai").say(GO_ON)
    turns = Turns(metered("chars"), format=format)
    turns.extend([first, *messages])
    return turns


def _merged(old: Iterable[Line], new: Iterable[Line]) -> tuple[Line, ...]:
    """Return old and new lines, each once, those of each kind that are worth most."""
    lines = once([*(line for line in old if line.kind != "question"), *new])
    kinds: dict[str, list[int]] = {}
    for at in ranked(lines, [len(line.whole) for line in lines]) if len(lines) > MOST else range(len(lines)):
        kinds.setdefault(lines[at].kind, []).append(at)
    return tuple(lines[at] for at in sorted(at for order in kinds.values() for at in order[:MOST]))


def _unanswered(lines: Sequence[Line]) -> list[Line]:
    """Return lines without answered questions."""
    last = {line.role: line.at for line in lines if line.kind != "call"}
    other = {"user": last.get("assistant", -1), "assistant": last.get("user", -1)}
    return [line for line in lines if line.kind != "question" or line.at > other.get(line.role, -1)]
