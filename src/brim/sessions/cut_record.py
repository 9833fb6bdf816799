"""The cut that a session holds, as the log of its prompts has it: whole once, then what has changed since.

A cut of a long history holds hundreds of shortened messages, and the next prompt holds the same ones. Written whole
with each prompt, they would be most of the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from brim.history.stable import HeldCut

_SAME, _GONE = "kept_before", "edits_gone"
"""How many ranges stay as they were, and which edits are gone: the fields that only a change has."""


def cut_record(held: HeldCut | None, before: HeldCut | None) -> dict[str, Any] | None:
    """Return a cut as JSON values, as changes of the one before if there is one; `None` if there is no cut."""
    if held is None or before is None:
        return None if held is None else held.to_dict()
    new = {at: form for at, form in held.edits.items() if before.edits.get(at) is not form}
    gone = [at for at in before.edits if at not in held.edits]
    order = [at for at in before.edits if at in held.edits]
    if len(new) == len(held.edits) > 0 or [*order, *(at for at in new if at not in before.edits)] != [*held.edits]:
        return held.to_dict()
    record = _with(held, new).to_dict()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held.kept, before.kept, strict=False)))
    unchanged = ("note", "start", "meter", "budget", "extra", "bound", "seen")
    record = {name: value for name, value in record.items() if name not in unchanged or _moved(name, held, before)}
    return record | {"kept": record["kept"][same:], _SAME: same, _GONE: gone}


def cut_from(record: Mapping[str, Any] | None, before: HeldCut | None) -> HeldCut | None:
    """Return the cut that `cut_record` wrote; `None` if there is none, or if an older version wrote it."""
    if record is None:
        return None
    if _SAME not in record:
        return HeldCut.from_dict(record)
    if before is None:
        return None
    same, gone = record[_SAME], set(record[_GONE])
    own = {name: value for name, value in record.items() if name not in (_SAME, _GONE)}
    values = {name: getattr(before, name) for name in HeldCut.__slots__} | own | {"kept": record["kept"]}
    changed = HeldCut.from_dict(values)
    if changed is None:
        return None
    edits = {at: form for at, form in before.edits.items() if at not in gone}
    return _with(changed, {**edits, **changed.edits}, (*before.kept[:same], *changed.kept))


def _moved(name: str, held: HeldCut, before: HeldCut) -> bool:
    return bool(getattr(held, name) != getattr(before, name))


def _with(held: HeldCut, edits: Mapping[int, Any], kept: tuple[tuple[int, int], ...] | None = None) -> HeldCut:
    values = {name: getattr(held, name) for name in HeldCut.__slots__}
    return HeldCut(**{**values, "edits": edits, "kept": held.kept if kept is None else kept})
