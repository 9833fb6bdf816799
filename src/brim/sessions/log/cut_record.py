"""What the prompts of a session hold, as entries of its log: what each cut changes of the one before.

A cut of a long history holds thousands of shortened messages, most of them those of the cut before. Written whole each
time, they would be most of the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.history.stable import HeldCut
from brim.history.turns import Turns
from brim.sessions.log.log_messages import storable

KIND = "held"
"""The kind of the entries."""
_VALUES = ("note", "seen", "bound", "start", "budget", "meter", "extra", "unanswered")
"""Fields that are written if they have changed."""

Record = Mapping[str, Any]


def changes(held: HeldCut, before: HeldCut | None) -> Record | None:
    """Return what a cut changes of the one before, as JSON values; `None` if only messages came at its end."""
    had = {} if before is None else before.edits
    record: dict[str, Any] = {
        name: getattr(held, name) for name in _VALUES if before is None or getattr(held, name) != getattr(before, name)
    }
    if before is None or _grown(before.kept, held.length) != held.kept:
        record["kept"] = held.kept
    edits = {str(at): [storable(form.raw), form.units] for at, form in held.edits.items() if had.get(at) is not form}
    if edits or before is None:
        record["edits"] = edits
    if gone := [str(at) for at in had if at not in held.edits]:
        record["gone"] = gone
    return {**record, "length": held.length, "check": held.check} if record else None


def changed(before: Record | None, record: Record) -> Record:
    """Return the record of a whole cut after changes of the one before."""
    made = {**(before or {}), **record}
    gone = set(made.pop("gone", ()))
    if gone or "edits" in record:
        edits = {at: form for at, form in (before or {}).get("edits", {}).items() if at not in gone}
        made["edits"] = {**edits, **record.get("edits", {})}
    return grown(made, record["length"])


def grown(record: Record, length: int) -> Record:
    """Return the record of a cut after which messages came, up to so many."""
    return {**record, "kept": _grown(record["kept"], length), "length": length}


def cut_from(record: Record | None, turns: Turns | None = None) -> HeldCut | None:
    """Return the cut of a whole record; `None` if there is none, or if it was not made of these turns."""
    if record is None or (turns is not None and record["length"] > len(turns)):
        return None
    values = dict(record) if turns is None else {**record, "check": turns.fingerprint(record["length"])}
    edits = sorted(values["edits"].items(), key=lambda pair: int(pair[0]))
    return HeldCut.from_dict({**values, "edits": dict(edits)})


def _grown(kept: Sequence[Sequence[int]], length: int) -> tuple[tuple[int, ...], ...]:
    """Return the ranges of a cut after which all messages were kept, up to so many."""
    return (*map(tuple, kept[:-1]), (kept[-1][0], length)) if kept else ()
