"""`history.pin`: messages with a text stay whole through cuts and summaries, and are no reason to refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import BrimError, InvalidValue
from brim.settings import load_config
from brim.testing import CharMeter
from talk import calling, refusal, result, system, user

FACT = "the lease of the blue house ends in May"
CHARS = CharMeter()


def worked(steps, size=400, places=(4,)):
    """Return the messages of an agent's loop in which some results end with the fact."""
    messages = [system("rules"), user("task")]
    for i in range(steps):
        said = f"{i} " * (size // 4)
        messages += [calling(f"c{i}"), result(f"c{i}", said + (FACT if i in places else ""))]
    return messages


def has_fact(messages, history, at=4):
    return history[2 * at + 3] in messages


def test_a_message_with_a_pinned_text_stays_whole_whatever_its_case():
    history = worked(40)
    assert not has_fact(brim.fit_messages(history, 3_000, meter=CHARS).messages, history)
    fitted = brim.fit_messages(history, 3_000, meter=CHARS, pin=["LEASE of the Blue"])
    assert has_fact(fitted.messages, history)
    assert brim.fit_messages(history, 3_000, meter=CHARS, pin=[20, "lease of"]).messages.count(history[20]) == 1


@given(
    steps=st.integers(1, 30),
    size=st.integers(10, 900),
    places=st.sets(st.integers(0, 29), max_size=6),
    budget=st.integers(60, 9_000),
    stable=st.booleans(),
)
def test_it_fits_is_legal_and_refused_no_sooner(steps, size, places, budget, stable):
    history = worked(steps, size, places)
    options = {"meter": CHARS, "stable": stable or None}
    try:
        plain = brim.fit_messages(history, budget, **options)
    except brim.DoesNotFit:
        with pytest.raises(brim.DoesNotFit):
            brim.fit_messages(history, budget, pin=[FACT], **options)
        return
    fitted = brim.fit_messages(history, budget, pin=[FACT], **options)
    assert fitted.used == CHARS.count_messages(fitted.messages) <= budget
    if not any(at < steps for at in places):
        assert fitted.messages == plain.messages
    assert not refusal(fitted.messages, "openai")
    newest = max((at for at in places if at < steps), default=None)
    if newest is not None and budget > 4 * size + 1_000:
        assert has_fact(fitted.messages, history, newest)


def test_the_newest_stay_if_not_all_that_are_pinned_fit():
    history = worked(30, places=range(30))
    fitted = brim.fit_messages(history, 3_000, meter=CHARS, pin=[FACT])
    stay = [at for at in range(30) if has_fact(fitted.messages, history, at)]
    assert {*range(26, 30)} <= {*stay}, "the newest of those that are pinned"


@pytest.mark.parametrize("summarise", [None, "extract"])
def test_it_stays_in_a_session_through_cuts_and_summaries(summarise):
    history = worked(60)
    session = brim.Session(3_000, meter=CHARS, summarise=summarise, pin=[FACT])
    for at, message in enumerate(history):
        session.add(message)
        if at >= 11:
            assert has_fact(session.prompt().messages, history)
    assert session.status().compactions >= 2
    lost = brim.Session(3_000, meter=CHARS, summarise=summarise)
    for message in history:
        lost.add(message)
        prompt = lost.prompt()
    assert not has_fact(prompt.messages, history)


def test_settings_pin_it(tmp_path):
    (tmp_path / "brim.yaml").write_text(f"history:\n  pin: ['{FACT}']\nwindow:\n  size: 3000\nmeter: chars\n")
    settings, history = load_config(tmp_path / "brim.yaml").resolve(), worked(40)
    assert has_fact(settings.fit_messages(history).messages, history)
    session = settings.session()
    session.add(history)
    assert has_fact(session.prompt().messages, history)


def test_an_empty_text_is_refused():
    with pytest.raises(InvalidValue):
        brim.fit_messages(worked(1), 3_000, pin=[""])
    with pytest.raises(BrimError):
        brim.Session(3_000, pin="text")


def test_a_message_that_a_kept_cut_shortened_is_whole_once_it_is_pinned():
    """`_with_essential` brought back turns that the cut had dropped, and left shortened ones as they were."""
    messages = worked(40, places=(8,))
    history = brim.History(meter=CHARS, stable=True)
    history.extend(messages[:-4])
    cut = history.fit(9_000).messages
    shortened = [m for m in cut if m.get("tool_call_id") == "c8"]
    assert shortened
    assert messages[2 * 8 + 3] not in cut
    history.extend(messages[-4:])
    assert has_fact(history.fit(9_000, pin=[FACT]).messages, messages, 8)
