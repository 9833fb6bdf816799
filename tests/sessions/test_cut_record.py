"""A log has each cut once: a prompt that holds the cut of the one before adds no more than where it ends."""

from dataclasses import replace

import brim
from brim.sessions.log.cut_record import changed, changes, cut_from, grown
from sessions.talking import turn


def test_a_cut_is_what_its_changes_make_of_the_one_before():
    history = brim.History(meter="o200k_base", stable=True)
    for number in range(60):
        history.extend(turn(number))
    history.fit(1_500)
    held = history.stable.held
    assert held.edits
    first = changed(None, changes(held, None))
    assert cut_from(first, history.turns) == cut_from(first) == held
    history.extend(turn(60)[:1])
    history.fit(1_500)
    last = history.stable.held
    assert changes(last, held) is None, "only a message came"
    then = grown(first, last.length)
    assert cut_from(then, history.turns) == last
    assert then["edits"] is first["edits"]
    at = next(iter(held.edits))
    fewer = replace(last, edits={key: form for key, form in held.edits.items() if key != at})
    assert changes(fewer, last).keys() == {"gone", "length", "check"}
    assert cut_from(changed(then, changes(fewer, last)), history.turns) == fewer
