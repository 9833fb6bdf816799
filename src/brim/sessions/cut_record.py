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

Forms = Mapping[int, Form]

_NONE: Forms = {}


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
        return record
    gone = [at for at in had if at not in held.edits]
    unmoved = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held.kept, before.kept, strict=False)))
    unchanged = ("note", "start", "meter", "budget", "extra", "bound", "seen")
    record = {name: value for name, value in record.items() if name not in unchanged or _moved(name, held, before)}
    return record | {"kept": record["kept"][unmoved:], _SAME: unmoved, _GONE: gone}


def cut_from(record: Mapping[str, Any] | None, before: HeldCut | None, logged: Forms) -> HeldCut | None:
    """Return the cut that `cut_record` wrote; `None` if there is none, or if an older version wrote it."""
    if record is None or (_SAME in record and before is None):
        return None
    own = {name: value for name, value in record.items() if name not in (_SAME, _GONE, _AHEAD)}
    edits, gone, kept = _NONE, set[int](), tuple[tuple[int, int], ...]()
    if _SAME in record and before is not None:
        gone, edits = set(record[_GONE]), before.edits
        own = {name: getattr(before, name) for name in HeldCut.__slots__} | own
        kept = before.kept[: record[_SAME]]
    changed = HeldCut.from_dict(own)
    if changed is None:
        return None
    new = dict(changed.edits)
    if _AHEAD in record:
        new = {at: logged[at] for at in chosen_in(logged, record[_AHEAD])} | new
    if gone or new:  # Most prompts hold the cut of the one before.
        edits = dict(sorted([(at, form) for at, form in {**edits, **new}.items() if at in new or at not in gone]))
    return _with(changed, edits, (*kept, *changed.kept))


def _moved(name: str, held: HeldCut, before: HeldCut) -> bool:
    return bool(getattr(held, name) != getattr(before, name))


def _with(held: HeldCut, edits: Mapping[int, Any], kept: tuple[tuple[int, int], ...] | None = None) -> HeldCut:
    values = {name: getattr(held, name) for name in HeldCut.__slots__}
    return HeldCut(**{**values, "edits": edits, "kept": held.kept if kept is None else kept})
