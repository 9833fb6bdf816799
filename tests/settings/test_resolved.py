"""From the file to a session, a loop and a store."""

import pytest

import brim
from brim.errors import InvalidValue, SourceError
from brim.sessions.loop import Step
from brim.testing import MemoryStore
from sessions.talking import turn


@pytest.mark.requirement("S3.1", "S3.6", "S3.13", "X9")
def test_the_profile_of_the_document_makes_its_session_and_its_loop(project):
    settings = project("profile: session\nmeter: chars/4\n").resolve()
    talk = settings.session()
    assert (talk.budget, talk.status().warning, talk.settings.most_memory) == (200_000, 150_000, 50_000)
    assert (talk.settings.options["compact_at"], talk.settings.options["keep_turns"], talk.meter.name) == (
        "cap",
        3,
        "chars/4",
    )
    loop = settings.loop("Port it.", lambda tick: Step(end="goal"))
    assert loop.session.budget == 150_000
    assert loop.limits.boundary == "silent"


@pytest.mark.requirement("X9")
def test_a_session_of_a_file_talks_within_its_window(project):
    settings = project("meter: o200k_base\nwindow: {size: 4000, cap: 0.5}\ncompaction: {at: 0.8}\n").resolve()
    talk = settings.session()
    for i in range(30):
        talk.add(turn(i))
        assert talk.prompt().used <= 2_000
    assert talk.status().compactions > 0


def test_what_is_asked_stands_in_for_the_settings(project):
    settings = project("meter: chars\nwindow: {size: 4000}\n").resolve()
    store = MemoryStore()
    talk = settings.session(window=brim.Window(900), store=store, id="s", keep_turns=7)
    assert (talk.budget, talk.settings.options["keep_turns"], store.sessions()[0].id) == (900, 7, "s")
    loop = settings.loop("Port it.", lambda tick: Step(), tick_cap=0.5, max_steps=2)
    assert (loop.session.budget, loop.run().steps) == (2_000, 2)


def test_the_store_that_is_set_is_opened(project, tmp_path):
    settings = project(f"window: {{size: 4000}}\nstore: {{url: 'sqlite:///{tmp_path}/kept.db'}}\n").resolve()
    talk = settings.session(id="s")
    talk.add(turn(1))
    with settings.store() as store:
        assert store.sessions()[0].id == "s"
    assert project("").resolve().store() is None


def test_a_setting_that_makes_none_is_named_with_its_line(project):
    with pytest.raises(InvalidValue, match=r"window\.size"):
        project("").resolve().session()
    with pytest.raises(SourceError, match=r"brim\.yaml:1: store\.url"):
        project("store: {url: 'mongo://x'}\n").resolve().store()


def test_the_margin_for_estimates_is_left_free_and_an_exact_meter_needs_none(project):
    rough = project("meter: chars/4\nwindow: {size: 4000}\nsafety_margin: 10%\n").resolve().session()
    exact = project("meter: chars\nwindow: {size: 4000}\nsafety_margin: 10%\n").resolve().session()
    assert (rough.budget, exact.budget) == (3_600, 4_000)


@pytest.mark.parametrize(
    ("margin", "meter", "budget"),
    [
        ("0", "o200k_base", 3_600),
        ("5%", "o200k_base", 3_600),
        ("20%", "o200k_base", 3_200),
        ("0", "chars/4", 4_000),
        ("5%", "chars/4", 3_800),
        ("0", "chars", 4_000),
    ],
)
def test_a_tenth_at_least_is_left_free_if_another_models_vocabulary_counts(project, margin, meter, budget):
    """A session had the whole window, whatever the margin."""
    text = f"model: nobody/knows\nunknown_model: {meter}\nwindow: {{size: 4000}}\nsafety_margin: {margin}\n"
    settings = project(text).resolve()
    assert settings.session().budget == budget
    assert settings.fit({"a": "x " * 9_000}).receipt.budget == budget


def test_the_model_that_is_asked_for_brings_its_window(project):
    settings = project("window: {size: 4000}\n").resolve()
    assert settings.session(model="gpt-5").status().window == brim.Window.of("gpt-5").size


def test_the_conversations_of_a_program_keep_to_the_settings_that_are_set(project, tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    settings = project(
        f"model: gpt-5\nwindow: {{size: 900}}\nsession: {{stable: false}}\nstore: {{url: '{url}'}}\n"
    ).resolve()
    request = settings.conversations().request([{"role": "user", "content": "hello"}], session="s")
    assert request.session.settings.window.size == 900
    assert request.session.settings.options["stable"] is False
    assert request.session.settings.options["tool_limit"] is None, "a request that fits is sent as it came"
    assert brim.open_store(url).entries("s", limit=1)
    bare = project("").resolve().conversations(model="gpt-5")
    assert (
        bare.request([{"role": "user", "content": "hello"}]).session.settings.window.size
        == brim.Window.of("gpt-5").size
    )


ROUGH = "meter: chars/4\nsafety_margin: 10%\n"


def test_the_margin_holds_for_whatever_a_program_makes_of_the_settings(project, tmp_path, monkeypatch):
    from brim.integrations.calls import FittedCalls, configured

    settings = project(ROUGH + "window: {size: 4000}\n").resolve()
    hello, loop = [{"role": "user", "content": "hello"}], settings.loop("Go.", print, window=3_000, tick_cap=1.0)
    assert settings.session(window=2_000).budget == 1_800
    assert settings.session(window=2_000, meter="chars").budget == 2_000
    assert loop.session.budget == 2_700
    assert settings.conversations().request(hello).room.fits == 3_600
    assert settings.conversations(window=2_000).request(hello).room.fits == 1_800
    assert settings.conversations(meter="chars").request(hello).room.fits == 4_000
    model = project("safety_margin: 10%\n").resolve()
    assert model.session(model="claude-sonnet-4-5").budget == int(brim.Window.of("claude-sonnet-4-5").budget * 0.9)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brim.yaml").write_text(ROUGH)
    assert configured(2_000).request(hello).room.fits == 1_800
    assert FittedCalls(2_000).conversations.request(hello).room.fits == 1_800


def test_the_model_of_the_settings_sets_no_window_of_another_model(project):
    said = [{"role": "user", "content": "hello"}]
    settings = project("model: gpt-4o\nwindow: {reserve: 5000, cap: 50%, warn: 25%, limit: 250000}\n").resolve()
    made = settings.conversations()
    other = made.request(said, model="gpt-5", session="other")
    assert other.room.window == brim.Window.of("gpt-5").size != brim.Window.of("gpt-4o").size
    expected = brim.Window.of("gpt-5", reserve=5_000, cap="50%", warn="25%", limit=250_000)
    assert (other.room.fits, other.session.settings.window) == (expected.budget, expected)
    unnamed = made.request(said, session="unnamed")
    assert unnamed.room.window == brim.Window.of("gpt-4o").size
    assert settings.conversations().request(said, model="none-such").room is None
    sized = project("model: gpt-4o\nwindow: {size: 9000}\n").resolve().conversations()
    assert sized.request(said, model="gpt-5", session="sized").room.window == 9_000


def test_the_model_of_the_settings_sets_no_window_of_the_gateway(project):
    from brim.gateway.settings import settings_of

    made = settings_of(project("model: gpt-4o\n").resolve(), {"upstream": "http://127.0.0.1:9/v1"})
    assert made.default.window is None
    sized = settings_of(project("model: gpt-4o\nwindow: {size: 9000}\n").resolve(), {"upstream": "http://127.0.0.1:9"})
    assert sized.default.window == 9_000
