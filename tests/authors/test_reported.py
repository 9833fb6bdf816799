"""What the five authors met when they tried brim with data of their own: one test for each report.

Each test opens with the author's words. A report that was refused instead is on the author's page, with its reason.
"""

import logging

import pytest

import brim


def resolved(profile=None, **flags):
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


def messages(count, text="word " * 300):
    spoken = [{"role": "user", "content": "Begin."}]
    for _ in range(count):
        spoken += [{"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]
    return spoken


# --- the window of a profile, and that of the model


def test_a_profiles_window_never_beats_that_of_a_smaller_model(caplog):
    """forge: "8,192-token model, budget 14,336: an overflow by our own hand"."""
    caplog.set_level(logging.WARNING, "brim.settings")
    made = resolved("forge", model="gpt-4")
    assert made.window().size == 8_192
    meter = brim.meter("gpt-4")
    fitted = made.fit_messages(messages(60))
    assert 6_000 < meter.count_messages(fitted.messages) <= 8_192
    assert 7_000 < meter.count(made.fit({"rule": "R", "x": "word " * 40_000}, budget=14_336).text) <= 8_192
    assert caplog.text.count("window.size of 16,384 is more than the 8,192 tokens of gpt-4, so 8,192 counts") == 1
    assert "so 8,192 counts" in made.warnings[-1]


def test_a_session_of_the_profile_keeps_to_the_window_of_its_model():
    """session: "The profile's window of 1,000,000 beats gpt-4o's 128,000 (prompts of 150,018 and 270,311)"."""
    made = resolved("session", model="gpt-4o")
    assert (made.session().budget, made.loop("x", print).session.budget) == (25_600, 19_200)
    asked = resolved("session").session(model="gpt-4o")
    assert (asked.budget, asked.settings.window.warning) == (25_600, 19_200), "the cap is that of the profile"
    meter = brim.meter("gpt-4o")
    for conversations in (made.conversations(), resolved("session").conversations()):
        request = conversations.request(messages(300), model="gpt-4o")
        assert 10_000 < meter.count_messages(request.messages) <= 25_600


@pytest.mark.parametrize("key", ["project", "flag"])
def test_a_window_that_the_user_sets_counts_as_it_is_and_is_told(tmp_path, key):
    """A server may hold more than the catalogue knows; a profile cannot know that, a project can."""
    if key == "flag":
        made = resolved("session", model="gpt-4o", **{"window.size": 300_000})
    else:
        (tmp_path / "brim.yaml").write_text("profile: session\nmodel: gpt-4o\nwindow: {size: 300000}\n")
        made = brim.load_config(tmp_path, environ={}).resolve()
    assert made.window().budget == 60_000
    assert "300,000 is more than the 128,000 tokens of gpt-4o, and it counts" in made.warnings[-1]


def test_a_session_takes_a_model_that_nobody_knows():
    """session: "`unknown_model: other` raises in `session()`"."""
    made = resolved("session", model="phantom-7b", unknown_model="other", **{"window.size": 4_000})
    for session in (made.session(), made.session(meter=None), made.loop("x", print).session):
        session.add({"role": "user", "content": "Hello there. " * 900})
        assert session.prompt().used <= session.budget <= 800
