"""A fitted history: the messages to send in the caller's own shape, and the record of how they came about."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from brim.history.forms import Form
from brim.history.history_fit import HistoryFit
from brim.history.stable import Stable
from brim.receipts.receipt import Receipt


@dataclass(slots=True, eq=False)
class Fitted:
    """A fitted history."""

    messages: list[Any]
    """What to send. A message that was not changed is the caller's own object."""
    used: int
    """Units of the whole request: messages, tools, framing."""
    budget: int
    _stable: Stable | None
    _write: Callable[[], Receipt]
    _receipt: Receipt | None = None
    _prefix: int | Callable[[], int] = 0

    @property
    def stable_prefix(self) -> int:
        """Units at the start of the prompt that are those of the last one."""
        if callable(self._prefix):
            self._prefix = self._prefix()
        return self._prefix

    @property
    def receipt(self) -> Receipt:
        """The record of the fit. It is written when it is first asked for, from what the fit decided."""
        if self._receipt is None:
            self._receipt = self._write()
        return self._receipt

    @property
    def stable(self) -> Stable | None:
        """What to give the next fit in stable mode; `None` in any other."""
        if self._stable is not None:
            self._stable = self._stable.sealed()
        return self._stable

    @property
    def text(self) -> str:
        """What the messages say, for a reader."""
        from brim.wire import format_of, wire

        chosen = wire(format_of(self.messages) or "openai")
        read = [chosen.read(raw, i) for i, raw in enumerate(self.messages)]
        return "\n\n".join(f"{message.role}: {message.text()}" for message in read)


def sent(fitting: HistoryFit) -> list[Any]:
    """Return the messages to send: what always stays, the turns that were kept, and the note at the first gap."""
    turns = fitting.turns
    raws, starts, system = turns.raws, turns.starts, turns.system
    out: list[Any] = []
    at, said = 0, not fitting.note
    for first, last in fitting.spans:
        start = starts[first]
        stop = starts[last] if last < len(starts) else len(raws)
        out += [raws[p] for p in _between(system, at, start)]
        if not said and first > 0:
            said = _say(fitting, out)
        out += _edited(raws[start:stop], start, fitting.sent)
        at = stop
        if not said and last < len(starts):
            said = _say(fitting, out)
    out += [raws[p] for p in _between(system, at, len(raws))]
    return out


def _edited(raws: list[Any], start: int, edits: Mapping[int, Form]) -> list[Any]:
    """Return a run of messages, from a position on, in the forms in which they are sent."""
    gone, stop = [], start + len(raws)
    for position, form in edits.items():
        if start <= position < stop:
            raws[position - start] = form.raw
            if form.raw is None:
                gone.append(position - start)
    for place in sorted(gone, reverse=True):
        del raws[place]
    return raws


def _between(positions: list[int], start: int, stop: int) -> list[int]:
    return positions[bisect_left(positions, start) : bisect_left(positions, stop)]


def _say(fitting: HistoryFit, out: list[Any]) -> bool:
    """Put the note at the end: as a message, or into the user's last where two of the user's may not follow."""
    wire = fitting.turns.wire
    if fitting.appended:
        out[-1] = wire.append(out[-1], fitting.note)
    else:
        out.append(wire.say(fitting.note))
    return True
