"""How many tokens a model takes: what is set, what refusals, servers and the catalogue state, and what holds longest."""

import asyncio
import time

import pytest

from brim.meter.catalogue import find
from brim.meter.window import answer_room
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import Room, WindowLimits, Windows, source
from brim.wire.overflow import Overflow

MYSTERY = LearningScope("mystery")


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def windows(clock=None):
    return Windows(clock or Clock())


def room(of, model="mystery", answer=None, *, exact=True, server="", **limits):
    return of.room(LearningScope(model, server=server), WindowLimits(**limits), answer, exact=exact)


@pytest.mark.parametrize(
    ("limits", "answer", "fits", "target", "most"),
    [
        ({}, None, 8_000, 7_000, 8_000),
        ({"reserve": 500}, None, 7_500, 7_500, 7_500),
        ({}, 100, 7_900, 7_900, 8_000),
        ({"reserve": 500}, 100, 7_900, 7_900, 8_000),
        ({}, 8_000, 8_000, 7_000, 8_000),
        ({"cap": 0.5}, None, 4_000, 4_000, 4_000),
        ({"cap": "90%"}, None, 7_200, 7_000, 7_200),
        ({"limit": 3_000}, None, 3_000, 3_000, 3_000),
    ],
    ids=["size", "reserve", "answer", "answer before reserve", "answer fills it", "cap", "cap above target", "limit"],
)
def test_what_is_set_holds_and_an_answer_of_unknown_length_gets_room(limits, answer, fits, target, most):
    assert answer_room(8_000) == 1_000
    expected = Room(window=8_000, fits=fits, target=target, most=most)
    assert room(windows(), answer=answer, size=8_000, **limits) == expected


def test_an_answer_that_counts_is_reserved_whole_and_one_that_does_not_gets_a_small_part():
    of, whole = windows(), Room(window=8_000, fits=6_000, target=6_000, most=8_000)
    assert room(of, answer=3_000, size=8_000) == whole
    of.refused(MYSTERY, Overflow(reason="both", limit=8_000, sent=6_000, reply=3_000), 6_000, 8_000)
    assert room(of, answer=3_000, size=8_000) == Room(window=8_000, fits=5_000, target=5_000, most=5_000, answer=3_000)
    lowered = room(of, answer=3_000, size=8_000, lower_answer=True)
    assert lowered == Room(window=8_000, fits=7_000, target=7_000, most=8_000, answer=3_000, lowers=True)
    assert room(of, answer=131_072, size=8_000, lower_answer=True).fits == 7_000
    assert not room(of, answer=2_000, size=8_000, lower_answer=True).lowers
    of.learn_from_answer(MYSTERY, 6_000, 3_000, 8_000)
    assert room(of, answer=3_000, size=8_000) == Room(window=8_000, fits=7_000, target=7_000, most=8_000)
    assert room(of, answer=300, size=8_000).fits == 7_700


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("claude-sonnet-4-5-20250929", False),
        ("claude-opus-5", False),
        ("claude-opus-4-1", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-3-5-sonnet-20241022", True),
        ("gpt-5.1-codex", False),
        ("gpt-4o", None),
        ("mystery", None),
    ],
)
def test_the_models_whose_servers_check_the_prompt_alone_are_known(model, counts):
    assert windows().answer_counts(LearningScope(model)) is counts


def test_a_margin_is_kept_only_where_the_count_is_an_estimate():
    assert room(windows(), size=8_000, margin=0.1, exact=True).fits == 8_000
    assert room(windows(), size=8_000, margin=0.1, exact=False).fits == 7_200


def test_the_catalogue_states_windows_and_its_limit_on_the_input():
    known = find("gpt-4o")
    found = room(windows(), "gpt-4o")
    assert found.window == known.window
    assert found.fits == min(known.window, known.max_input or known.window)


def test_a_refusal_teaches_the_window_for_an_hour():
    clock = Clock()
    of = windows(clock=clock)
    of.refused(MYSTERY, Overflow(reason="too long", limit=4_096, sent=5_000), 4_900, None)
    assert room(of).window == 4_096
    assert room(of, size=2_000).window == 2_000
    assert room(of, size=8_000).window == 4_096
    assert room(of, size=9_000).window == 4_500
    assert room(of, "another") is None
    clock.now += 3_601
    assert room(of) is None


def test_a_provider_that_counts_more_than_we_do_leaves_less_room():
    of = windows()
    of.refused(MYSTERY, Overflow(reason="too long", limit=4_000, sent=4_400), 4_000, 4_000)
    assert 3_400 < room(of, size=4_000).fits < 4_000 / 1.1


@pytest.mark.parametrize("size", [4_000, None])
def test_after_a_refusal_without_numbers_no_prompt_is_as_long_as_the_refused_one(size):
    of, before = windows(), 4_000
    for _ in range(2 if size else 4):
        of.refused(MYSTERY, Overflow(reason="too long"), before, size)
        now = room(of, size=size, answer=10)
        assert now.fits == now.target == now.most == before * 3 // 4
        before = now.fits
    of.refused(MYSTERY, Overflow(reason="too long"), 3_999, size)
    assert room(of, size=size).fits == before


def test_servers_are_asked_for_their_windows_and_again_after_ten_minutes():
    clock = Clock()
    of = windows(clock=clock)
    answers = {"models": {"data": [{"id": "mystery", "max_model_len": 6_000}, {"id": "odd"}, "?"]}, "/props": None}
    assert not of.asked(source("http://a"))
    asyncio.run(of.ask(source("http://a"), fetched(answers)))
    assert of.asked(source("http://a"))
    assert room(of, server="http://a").window == 6_000
    assert room(of, server="http://b") is None
    clock.now += 601
    assert not of.asked(source("http://a"))


def test_the_window_of_a_server_of_one_model_holds_for_every_name():
    of = windows()
    props = {"default_generation_settings": {"n_ctx": 2_048}}
    asyncio.run(
        of.ask(source("http://a"), fetched({"models": {"data": [{"id": "m", "n_ctx": 9_000}]}, "/props": props}))
    )
    assert room(of, "m", server="http://a").window == room(of, "any", server="http://a").window == 2_048


def test_what_a_server_states_to_one_client_is_nothing_to_another_and_the_operators_answer_is_for_all():
    of = windows()
    small, large = (
        {"models": {"data": [{"id": "M", "context_length": size}]}, "/props": None} for size in (5_000, 9_000)
    )
    asyncio.run(of.ask(source("http://a", ("eve", "chat")), fetched(small)))
    assert of.served(LearningScope("m", ("ann", "chat"), "http://a")) is None
    assert not of.asked(source("http://a", ("ann", "chat")))
    asyncio.run(of.ask(source("http://a"), fetched(large)))
    assert [of.served(LearningScope("m", (who, "chat"), "http://a")) for who in ("ann", "eve")] == [9_000, 5_000]


@pytest.mark.slow
def test_many_clients_whom_a_server_tells_nothing_make_it_forget_no_window():
    of = windows()
    asyncio.run(
        of.ask(source("http://a", ("ann",)), fetched({"models": {"data": [{"id": "m", "n_ctx": 900}]}, "/props": None}))
    )
    for i in range(5_000):
        asyncio.run(of.ask(source("http://a", (f"eve {i}",)), fetched({"models": None, "/props": None})))
    assert of.served(LearningScope("m", ("ann",), "http://a")) == 900


def fetched(answers):
    async def fetch(path):
        return answers[path]

    return fetch


def test_a_clock_that_goes_back_does_not_hold_a_learned_window():
    """A clock that went back 24 hours held a window of an hour for 25."""
    windows, scope = Windows(), LearningScope("a-model")
    windows.refused(scope, Overflow(reason="too long", limit=4_000), 9_000, None)
    learned = windows.learned(scope)
    assert learned is not None
    assert learned.at <= time.monotonic()
