"""Whatever is said, in whatever shape and settings: prompts fit, are legal, and the numbers add up."""

from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import DoesNotFit
from brim.sessions import Session
from properties import examples
from sessions.talking import TURNS

SETTINGS = st.fixed_dictionaries(
    {
        "window": st.builds(
            brim.Window,
            st.sampled_from([400, 1_500, 6_000]),
            cap=st.sampled_from([None, 0.5, 0.9]),
            warn=st.sampled_from([None, 0.3]),
        ),
        "meter": st.sampled_from(["chars", "o200k_base"]),
        "compact_at": st.sampled_from(["cap", "warning", "never", 0.6]),
        "keep_turns": st.integers(1, 4),
        "stable": st.booleans(),
        "tool_limit": st.sampled_from(["25%", 70, "80%"]),
    }
)
ACTIONS = st.lists(st.sampled_from(["say", "say", "say", "prompt", "prompt", "usage", "open", "compact"]), max_size=40)


@examples(40)
@given(told=SETTINGS, format=st.sampled_from(sorted(TURNS)), actions=ACTIONS, lines=st.sampled_from([3, 60]))
def test_prompts_fit_are_legal_and_add_up_whatever_comes(told, format, actions, lines):
    messages = iter([message for i in range(40) for message in TURNS[format](i, lines=lines)])
    with brim.open_store("sqlite:///:memory:") as store:
        talk = Session(**told, format=format, store=store)
        for action in actions:
            if action == "say":
                talk.add(next(messages))
            elif action == "usage":
                talk.record_usage(input_tokens=talk.status().used + 7)
            elif action == "open":
                talk = Session.open(talk.id, store=store)
            elif action == "compact":
                talk.compact()
            else:
                check(talk, format)


def check(talk, format):
    try:
        fitted = talk.prompt(system="Be brief.", memory=["tea", "coffee"])
    except DoesNotFit:
        return
    assert fitted.used <= fitted.budget == talk.budget
    apart = [] if format == "openai" else [{"role": "system", "content": "Be brief."}]
    assert talk.meter.count_messages([*apart, *fitted.messages], format=format) == fitted.used
    status = talk.status()
    assert sum(status.categories.values()) == status.used == fitted.used <= status.peak
    assert fitted.receipt.used == fitted.used
    assert sum(part.used for part in fitted.receipt.parts) + fitted.receipt.joins == fitted.used
    again = brim.fit_messages(fitted.messages, 10**9, format=format, meter="chars")
    assert again.messages == fitted.messages
    assert again.receipt.history["repairs"] == []
