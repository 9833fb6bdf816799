"""Log entries for the cuts of a session: each has only the changes since the previous cut.

A cut of a long history has thousands of shortened messages, most of them the same as in the previous cut. Written in
full each time, they would fill most of the log. In a captured prompt, an unchanged message is stored as its index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.errors import InvalidValue
from brim.history.stable import HeldCut
from brim.history.turns import Turns
from brim.wire import plain
from brim.wire.base import jsonable


def storable(value: Any) -> Any:
    """Return a message as JSON values: a client library's objects become their fields."""
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: each if type(each) is str else storable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [storable(each) for each in known]
    return known


def folded(sent: Sequence[Any], history: Sequence[Any]) -> list[Any]:
    """Return messages with each unchanged one replaced by its index."""
    places = {id(raw): at for at, raw in enumerate(history)}
    return [places[id(raw)] if id(raw) in places else jsonable(raw) for raw in sent]


def unfolded(lines: Sequence[Any], history: Sequence[Any]) -> list[tuple[int | None, Any]]:
    """Return the messages that `folded` wrote, each with its index in the history if it was unchanged.

    Raises:
        InvalidValue: the history has no message at an index.
    """
    found: list[tuple[int | None, Any]] = []
    for line in lines:
        if not isinstance(line, int):
            found.append((None, line))
        elif 0 <= line < len(history):
            found.append((line, history[line]))
        else:
            raise InvalidValue("sent", line, f"an index below {len(history):,}, the number of messages")
    return found


KIND = "held"
"""The kind of the entries."""
_VALUES = ("note", "seen", "bound", "start", "budget", "meter", "extra", "unanswered", "settled")
"""Fields that are written if they have changed."""

Record = Mapping[str, Any]


def changes(held: HeldCut, before: HeldCut | None) -> Record | None:
    """Return the changes from one cut to the next as JSON values; `None` if messages were only appended."""
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
    """Return the record of a cut after changes."""
    made = {**(before or {}), **record}
    gone = set(made.pop("gone", ()))
    if gone or "edits" in record:
        edits = {at: form for at, form in (before or {}).get("edits", {}).items() if at not in gone}
        made["edits"] = {**edits, **record.get("edits", {})}
    return grown(made, record["length"])


def grown(record: Record, length: int) -> Record:
    """Return the record of a cut after messages were appended, up to `length`."""
    return {**record, "kept": _grown(record["kept"], length), "length": length}


def cut_from(record: Record | None, turns: Turns | None = None) -> HeldCut | None:
    """Return the cut in a record; `None` if there is none, or if it was made from other turns."""
    if record is None or (turns is not None and record["length"] > len(turns)):
        return None
    values = dict(record) if turns is None else {**record, "check": turns.fingerprint(record["length"])}
    edits = sorted(values["edits"].items(), key=lambda pair: int(pair[0]))
    return HeldCut.from_dict({**values, "edits": dict(edits)})


def _grown(kept: Sequence[Sequence[int]], length: int) -> tuple[tuple[int, ...], ...]:
    """Return the kept ranges of a cut with the last one extended to `length`."""
    return (*map(tuple, kept[:-1]), (kept[-1][0], length)) if kept else ()
