"""The cut that a session holds, as the log of its prompts has it: whole once, then what has changed since.

A cut of a long history holds thousands of shortened messages, and the next prompt holds the same ones. Written whole
with each prompt, they would be most of the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from brim.history.stable import HeldCut
from brim.history.turns import Turns
from brim.sessions.log_value import storable

_SAME, _GONE = "kept_before", "edits_gone"
"""How many ranges stay as they were, and which edits are gone: the fields that only a change has."""
_PRINTS = {"check": "length", "start": "bound"}
"""Fingerprints of so many messages, which the log has: they are not written."""
_EMPTY: Mapping[str, Any] = {"kept": [], "edits": {}, "unanswered": []}
"""Fields that are not written if they are empty."""

Record = Mapping[str, Any]


def cut_record(held: HeldCut | None, before: HeldCut | None) -> Record | int | None:
    """Return a cut as JSON values, as changes of the one before if there is one; `None` if there is no cut.

    Most prompts hold the cut of the one before, and what has come since: of these it is the number of messages.
    """
    if held is None:
        return None
    had = {} if before is None else before.edits
    new = {at: form for at, form in held.edits.items() if had.get(at) is not form} if had else held.edits
    record = {name: value for name, value in _with(held, {}).to_dict().items() if name not in _PRINTS}
    record["edits"] = {str(at): [storable(form.raw), form.units] for at, form in new.items()}
    if before is None or len(new) == len(held.edits) > 0:
        return _without_empty(record)
    gone = [at for at in had if at not in held.edits]
    unmoved = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held.kept, before.kept, strict=False)))
    unchanged = ("note", "meter", "budget", "extra", "bound", "seen")
    record = {name: value for name, value in record.items() if name not in unchanged or _moved(name, held, before)}
    grown = {"kept": record["kept"], "edits": {}, "unanswered": [], "length": held.length}
    if record == grown and not gone and _grown(before.kept, held.length) == held.kept:
        return held.length
    return _without_empty(record | {"kept": record["kept"][unmoved:], _GONE: gone}) | {_SAME: unmoved}


def whole_record(record: Record | int | None, before: Record | None) -> Record | None:
    """Return what `cut_record` wrote as the record of a whole cut; `before` is that of the prompt before.

    Most of what a log has of earlier cuts is replaced by later ones, so only the last is made a cut, by `cut_from`.
    """
    if isinstance(record, int):
        return None if before is None else {**before, "kept": _grown(before["kept"], record), "length": record}
    if record is None or (_SAME in record and before is None):
        return None
    whole = {**_EMPTY, **{name: value for name, value in record.items() if name not in (_SAME, _GONE)}}
    if before is None or _SAME not in record:
        return whole
    edits, gone = whole["edits"], dict.fromkeys(map(str, record.get(_GONE, ())))
    if edits or gone:  # Most prompts hold the cut of the one before.
        whole["edits"] = {at: form for at, form in before["edits"].items() if at not in gone} | edits
    else:
        whole["edits"] = before["edits"]
    return {**before, **whole, "kept": [*before["kept"][: record[_SAME]], *whole["kept"]]}


def cut_from(record: Record | None, turns: Turns) -> HeldCut | None:
    """Return the cut of a whole record that was made of these turns; `None` if there is none."""
    if record is None or record["length"] > len(turns):
        return None
    prints = {name: turns.fingerprint(record[length]) for name, length in _PRINTS.items()}
    made = HeldCut.from_dict({**record, **prints})
    return None if made is None else _with(made, dict(sorted(made.edits.items())))


def _grown(kept: Sequence[Sequence[int]], length: int) -> tuple[Sequence[int], ...]:
    """Return the ranges of a cut after which all messages were kept, up to so many."""
    return (*kept[:-1], (kept[-1][0], length)) if kept else ()


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value or name not in (*_EMPTY, _GONE)}


def _moved(name: str, held: HeldCut, before: HeldCut) -> bool:
    return bool(getattr(held, name) != getattr(before, name))


def _with(held: HeldCut, edits: Mapping[int, Any]) -> HeldCut:
    values = {name: getattr(held, name) for name in HeldCut.__slots__}
    return HeldCut(**{**values, "edits": edits})
