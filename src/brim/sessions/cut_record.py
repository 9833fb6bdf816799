"""The cut that a session holds, as the log of its prompts has it: whole once, then what has changed since.

A cut of a long history holds thousands of shortened messages, and the next prompt holds the same ones. Written whole
with each prompt, they would be most of the log. Those that were read ahead are in the log already.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, takewhile
from operator import is_, not_
from typing import Any

from brim.history.forms import Form
from brim.history.stable import HeldCut
from brim.sessions.ahead_log import chosen_in, chosen_of

_SAME, _GONE = "kept_before", "edits_gone"
"""How many ranges stay as they were, and which edits are gone: the fields that only a change has."""
_AHEAD = "edits_ahead"
"""The edits that are forms of the log: which of these."""
_EMPTY: Mapping[str, Any] = {"kept": [], "edits": {}, "unanswered": []}
"""Fields that are not written if they are empty."""

Forms = Mapping[int, Form]
Record = Mapping[str, Any]


def cut_record(held: HeldCut | None, before: HeldCut | None, logged: Forms) -> dict[str, Any] | None:
    """Return a cut as JSON values, as changes of the one before if there is one; `None` if there is no cut.

    `logged` are the forms of messages that the log has.
    """
    if held is None:
        return None
    had = {} if before is None else before.edits
    new = {at: form for at, form in held.edits.items() if had.get(at) is not form} if had else held.edits
    whole = before is None or len(new) == len(held.edits) > 0
    same = list(map(is_, map(logged.get, new), new.values()))  # Most are the same objects, of thousands.
    rest = {at: form for at, form in compress(new.items(), map(not_, same)) if logged.get(at) != form}
    ahead = new.keys() - rest.keys()
    record = _with(held, rest).to_dict()
    if ahead:
        record[_AHEAD] = chosen_of(logged, ahead)
    if whole or before is None:
        return _without_empty(record)
    gone = [at for at in had if at not in held.edits]
    unmoved = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held.kept, before.kept, strict=False)))
    unchanged = ("note", "start", "meter", "budget", "extra", "bound", "seen")
    record = {name: value for name, value in record.items() if name not in unchanged or _moved(name, held, before)}
    return _without_empty(record | {"kept": record["kept"][unmoved:], _GONE: gone}) | {_SAME: unmoved}


def whole_record(record: Record | None, before: Record | None, logged: Forms) -> Record | None:
    """Return what `cut_record` wrote as the record of a whole cut; `before` is that of the prompt before.

    Most of what a log has of earlier cuts is replaced by later ones, so only the last is made a cut, by `cut_from`.
    """
    if record is None or (_SAME in record and before is None):
        return None
    whole = {**_EMPTY, **{name: value for name, value in record.items() if name not in (_SAME, _GONE, _AHEAD)}}
    if _AHEAD in record:
        whole["edits"] = {str(at): logged[at] for at in chosen_in(logged, record[_AHEAD])} | whole["edits"]
    if before is None or _SAME not in record:
        return whole
    edits, gone = whole["edits"], dict.fromkeys(map(str, record.get(_GONE, ())))
    if edits or gone:  # Most prompts hold the cut of the one before.
        whole["edits"] = {at: form for at, form in before["edits"].items() if at not in gone} | edits
    else:
        whole["edits"] = before["edits"]
    return {**before, **whole, "kept": [*before["kept"][: record[_SAME]], *whole["kept"]]}


def cut_from(record: Record | None) -> HeldCut | None:
    """Return the cut of a whole record; `None` if there is none, or if an older version wrote it."""
    made = None if record is None else HeldCut.from_dict(record)
    return None if made is None else _with(made, dict(sorted(made.edits.items())))


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value or name not in (*_EMPTY, _GONE)}


def _moved(name: str, held: HeldCut, before: HeldCut) -> bool:
    return bool(getattr(held, name) != getattr(before, name))


def _with(held: HeldCut, edits: Mapping[int, Any]) -> HeldCut:
    values = {name: getattr(held, name) for name in HeldCut.__slots__}
    return HeldCut(**{**values, "edits": edits})
