"""Choose lines of a history: rules first, then tasks, then the most informative sentences, with a share for calls.

Each group of lines has a share of the tokens and passes on what it does not use. So a history with many findings keeps
its calls too, and one with few uses the tokens for the outcomes of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from brim.history.compact.lines import Line
from brim.history.forms import level_of
from brim.meter.base import BaseMeter
from brim.truncate import shortened

_RULES = 0.2
"""The share for rules and running processes."""
_TASKS = 0.2
"""The share for the newest tasks and reports."""
_NEWEST = 4
"""The number of these tasks, and of these reports."""
_SENTENCES = 0.8
"""The share for the most informative sentences; calls have at least the rest."""
_PATHS = 0.05
"""The share for paths that no chosen line names."""
_STOPS = ".。!！ "
"""The end of a sentence, which may differ where it is repeated."""
_PRINTED = 12
"""The number of paths that only a tool printed; more would be noise."""
_ITEM = 2
"""Tokens of a list item's dash and line break."""
_ENOUGH = 12
"""Tokens below which no further line is added."""
_FADE = {"path": 8}
"""How much the worth of a line falls with each context that does not repeat it."""
_FADE_SAID = 2
"""The same for sentences."""


def worth_now(line: Line) -> int:
    """Return the worth of a line, less for each context that did not repeat it."""
    return line.worth - line.age * _FADE.get(line.kind, _FADE_SAID)


def pick(
    lines: Sequence[Line], limit: int, meter: BaseMeter, write: Callable[[Sequence[Line]], str], above: str = ""
) -> str:
    """Return the text of the lines that fit, calls perhaps without outcome; empty if none fits.

    Args:
        lines: the lines, the oldest first.
        limit: the most tokens of the text.
        meter: the meter that counts.
        write: returns the text of some lines.
        above: text that the prompt already shows and that no line repeats.
    """
    choice = _Choice(lines=lines, meter=meter, write=write, limit=limit, text=above)
    groups = _groups(lines)
    room = limit - meter.load(write([]))
    for share, group in groups:
        choice.take(group, int(room * share))
    choice.fill([line for _, group in groups for line in group])
    choice.tell_outcomes()
    return choice.written()


def _groups(lines: Sequence[Line]) -> list[tuple[float, list[Line]]]:
    """Return the lines in groups with their shares, the most important first, and in each its best first."""
    newest = lines[::-1]
    tasks = [line for line in newest if line.kind == "todo"][:_NEWEST]
    tasks += [line for line in newest if line.kind == "done"][:_NEWEST]
    rest = [line for line in newest if line.kind not in ("rule", "running", "call", "path")]
    paths = sorted((line for line in newest if line.kind == "path"), key=lambda line: -worth_now(line))
    printed = {id(line) for line in [line for line in paths if line.role == "tool"][_PRINTED:]}
    return [
        (_RULES, [line for line in lines if line.kind == "rule"] + [line for line in newest if line.kind == "running"]),
        (_TASKS, tasks),
        (_SENTENCES, sorted(rest, key=lambda line: -worth_now(line))),
        (1.0, [line for line in newest if line.kind == "call"]),
        (_PATHS, [line for line in paths if id(line) not in printed]),
    ]


@dataclass(slots=True, kw_only=True)
class _Choice:
    """The lines chosen so far."""

    lines: Sequence[Line]
    meter: BaseMeter
    write: Callable[[Sequence[Line]], str]
    limit: int
    text: str
    """What the prompt already shows, and the chosen lines."""
    spent: int = 0
    """Tokens of the chosen lines, roughly."""
    chosen: dict[int, Line] = field(default_factory=dict)
    """The lines as shown, by the identity of the original ones, the most important first."""

    def take(self, lines: Iterable[Line], room: int) -> None:
        """Take the first lines that fit and say something new; calls without their outcome."""
        room = min(room, self.limit - self.spent)
        for line in lines:
            if id(line) in self.chosen or self._is_known(line):
                continue
            cost = self.meter.load(line.text) + _ITEM
            if cost > room:
                continue
            self.chosen[id(line)] = replace(line, outcome="") if line.outcome else line
            room -= cost
            self.spent += cost
            self.text += f"\n{line.text}"

    def _is_known(self, line: Line) -> bool:
        """Return whether a line is already shown verbatim; rules and calls always count as new."""
        if line.kind in ("rule", "call"):
            return False
        return line.text.rstrip(_STOPS) in self.text

    def fill(self, lines: Sequence[Line]) -> None:
        """Take more lines while they fit: their sizes were estimates."""
        before = -1
        while len(self.chosen) > before:
            before = len(self.chosen)
            self.spent = self.meter.load(self.write(self._shown()))
            if self.limit - self.spent >= _ENOUGH:
                self.take(lines, self.limit)

    def tell_outcomes(self) -> None:
        """Add the outcomes of calls, cut to a common length; if that is too short, only those of the newest calls."""
        calls = [line for line in reversed(self.lines) if line.outcome and id(line) in self.chosen]
        room, sizes = self.limit - self.spent, [self.meter.load(line.outcome) for line in calls]
        level = level_of(sizes, room - _ITEM * len(calls))
        if level < _ENOUGH:
            level = _ENOUGH
            calls = calls[: room // (level + _ITEM)]
        for line, size in zip(calls, sizes, strict=False):
            outcome = line.outcome if size <= level else shortened(line.outcome, level, self.meter, "ends")
            self.chosen[id(line)] = replace(line, outcome=outcome)

    def _shown(self) -> list[Line]:
        return [self.chosen[id(line)] for line in self.lines if id(line) in self.chosen]

    def written(self) -> str:
        """Return the text within the limit, without the least important lines if it is too long."""
        while (size := self.meter.load(text := self.write(self._shown()))) > self.limit and self.chosen:
            for name in [*self.chosen][-max(1, (size - self.limit) // 40) :]:
                del self.chosen[name]
        return text if size <= self.limit else ""
