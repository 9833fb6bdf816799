"""A log has each cut once: a prompt that holds the cut of the one before adds no more than where it ends."""

from dataclasses import replace

import brim
from brim.sessions.cut_record import cut_from, cut_record, whole_record
from sessions.talking import turn


def test_the_edits_of_a_cut_that_is_held_are_built_once():
    history = brim.History(meter="o200k_base", stable=True)
    for number in range(60):
        history.extend(turn(number))
    history.fit(1_500)
    held = history.stable.held
    assert held.edits
    first = whole_record(cut_record(held, None), None)
    assert cut_from(first, history.turns) == held
    history.extend(turn(60)[:1])
    history.fit(1_500)
    last = history.stable.held
    assert cut_record(last, held) == last.length == held.length + 1
    then = whole_record(cut_record(last, held), first)
    assert cut_from(then, history.turns) == last
    assert then["edits"] is first["edits"]
    at = next(iter(held.edits))
    fewer = replace(last, edits={key: form for key, form in held.edits.items() if key != at})
    assert cut_from(whole_record(cut_record(fewer, held), then), history.turns) == fewer
