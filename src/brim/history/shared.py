"""Counts what a prompt shares with the last one: whole messages wherever they are, and rows that a cut left of others.

A provider that reported the size of the last prompt has counted these tokens, so they need no bound of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brim.history.prompt import SentMessages, shared_messages
from brim.history.rendering import Form
from brim.history.turns import Turns


def shared_units(last: Sequence[Any], sent: SentMessages, forms: Mapping[int, Form], turns: Turns) -> int:
    """Return the tokens that a prompt shares with the last one.

    Args:
        last: the messages of the last prompt.
        sent: those of this prompt.
        forms: the messages that are sent in a shorter form, by position.
        turns: the history.
    """
    same = shared_messages(last, sent.messages)
    there, total = set(map(id, last[same:])), sum(sent.units[:same])
    changed = {id(form.raw): at for at, form in forms.items() if id(turns.raws[at]) in there}
    for raw, units in zip(sent.messages[same:], sent.units[same:], strict=True):
        if id(raw) in there:
            total += units
        elif (at := changed.get(id(raw))) is not None:
            total += max(0, units - _new_units(raw, at, turns))
    return total


def _new_units(raw: Any, at: int, turns: Turns) -> int:
    """Return the tokens of the rows of a shorter form that the message itself does not have: marks, and parts of rows.

    Ids, names and framing are those of the message.
    """
    whole = "\n".join(piece.text for piece in turns.messages[at].pieces)
    known = set(whole.splitlines())
    rows = (row for piece in turns.wire.read(raw, at).pieces for row in piece.text.splitlines())
    return sum(turns.chat.text(row) for row in rows if row not in known and row not in whole)
