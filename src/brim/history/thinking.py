"""Which thinking blocks are left out: a provider may refuse those after a place where the history was changed."""

from __future__ import annotations

from brim.history.history_fit import HistoryFit


def unbind(fit: HistoryFit) -> None:
    """Leave out the thinking after the first change, of messages older than the change.

    Newer thinking was produced with the changed messages before it.
    """
    fit.settle()
    turns, edits = fit.turns, fit.edits
    kept = set(fit.kept_turns())
    for position in range(first_change(fit), fit.seen):
        if turns.messages[position].any("thinking") and turns.turn_of(position) in kept:
            form = edits.get(position) or fit.forms.whole(position)
            bare = fit.forms.without_thinking(position, form)
            if bare is not form:
                edits[position] = bare


def first_change(fit: HistoryFit) -> int:
    """Return the position of the first message that is not sent as it came."""
    turns = fit.turns
    changes = [position for position, form in fit.sent.items() if form.raw is not turns.raws[position]]
    if fit.left_out():
        spans = fit.spans
        gap = spans[0][1] if spans and spans[0][0] == 0 else 0
        changes.append(turns.starts[gap])
    if turns.repairs:
        altered = {repair.index for repair in turns.repairs if repair.action == "changed"}
        changes += [at for at, index in enumerate(turns.indexes) if index != at or index in altered][:1]
    return min(changes, default=len(turns))
