"""The cache doctor on sessions whose providers found what these tests say."""

from collections import Counter

import pytest

import brim

WORDS = "some words that make a message long enough to count, and a few more of them. "


@pytest.fixture
def told(alone):
    """Return what a session writes, and what the cache doctor says of its last call."""
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    times = [1_000.0]
    session = brim.Session(
        window=40_000, model="gpt-5", store=store, id="s", capture=True, clock=lambda: times[0], compact_at="never"
    )

    class Told:
        def call(self, cached, system="Be brief.", later=0.0, **more):
            times[0] += later
            session.add({"role": "user", "content": WORDS * 60 + str(len(session.messages))})
            fitted = session.prompt(system=system, **more)
            session.record_usage(input_tokens=fitted.used, output_tokens=5, cached_tokens=cached)
            session.add({"role": "assistant", "content": f"Fact {len(session.messages)} is noted."})
            return fitted

        def last(self):
            return alone.get("cache", session="s")[1]["calls"][0]

    found = Told()
    found.session, found.get = session, lambda: alone.get("cache", session="s")[1]
    return found


def test_the_first_call_expects_nothing(told):
    told.call(0)
    assert (told.last()["why"], told.last()["expected"], told.last()["lost"]) == ("first", 0, 0)


def test_cached_tokens_are_as_expected(told):
    first = told.call(0)
    told.call(first.used // 128 * 128)
    last = told.last()
    assert last["why"] == "cached"
    assert abs(last["expected"] - first.used) < 20
    assert (last["lost"], last["lost_usd"]) == (0, 0)


def test_a_prompt_that_only_grew_is_cached_although_its_estimate_was_corrected(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(60_000, model="claude-sonnet-4-5", store=store, id="e", capture=True, compact_at="never")
    for _ in range(3):
        session.add({"role": "user", "content": WORDS * 100})
        used = session.prompt(system="Be brief.").used
        session.record_usage(input_tokens=used + 1_500, output_tokens=5, cached_tokens=used - 500)
        session.add({"role": "assistant", "content": "ok"})
    calls = alone.get("cache", session="e")[1]["calls"]
    assert [call["why"] for call in calls] == ["cached", "cached", "first"]


def test_tokens_that_were_not_cached_cost_what_they_would_have_saved(told):
    told.call(0)
    told.call(900)
    told.call(0)
    last = told.last()
    assert last["why"] == "missed"
    assert last["lost"] == last["expected"] > 1_500
    assert last["lost_usd"] == pytest.approx(last["lost"] * (1.25 - 0.125) / 1e6, abs=1e-8)
    assert told.get()["sums"]["lost"] >= last["lost"]


@pytest.mark.parametrize(
    ("change", "part", "before", "after"),
    [
        ({"system": "Be as long as you like."}, "system", "Be brief.", "Be as long as you like."),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools", "None", "'name': 'f'"),
    ],
)
def test_a_changed_system_prompt_or_tool_is_named_and_shown(told, change, part, before, after):
    told.call(0)
    told.call(0, **change)
    last = told.last()
    assert last["why"] == part
    assert last["difference"]["role"] == part
    assert before in last["difference"]["before"]
    assert after in last["difference"]["after"]


def test_a_compaction_is_named_and_the_first_message_that_differs_is_shown(told):
    for _ in range(6):
        told.call(1_000)
    assert told.session.compact()
    told.call(0)
    last = told.last()
    assert last["why"] == "compacted"
    assert last["difference"]["index"] == 1
    assert last["difference"]["after"].startswith("[CONTEXT_SUMMARY]")


def test_a_prompt_too_short_to_cache_is_named(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=4_000, model="gpt-5", store=store, id="short")
    for _ in range(2):
        session.add({"role": "user", "content": WORDS * 20})
        session.record_usage(input_tokens=session.prompt().used, output_tokens=5, cached_tokens=0)
    last = alone.get("cache", session="short")[1]["calls"][0]
    assert last["why"] == "minimum"
    assert "1,024" in last["text"]


def test_unreported_usage_is_unknown(told):
    told.call(0)
    told.session.add({"role": "user", "content": "go on"})
    told.session.prompt(system="Be brief.")
    last = told.last()
    assert (last["why"], last["actual"], last["lost"]) == ("unknown", None, 0)


def test_the_demos_prompts_are_found_as_far_as_they_could_be(served):
    found = served.get("cache", session="orders-incident")[1]
    assert Counter(call["why"] for call in found["calls"]) == {"cached": 61, "minimum": 5, "compacted": 2, "first": 1}
    assert 0.9 < found["sums"]["actual"] / found["sums"]["expected"] < 1
