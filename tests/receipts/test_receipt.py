"""The record of a fit, and what can be told from it."""

import pytest

import brim
from brim import Section
from brim.receipts.receipt import handle
from brim.testing import CharMeter


def fit(*sections, budget=100, **options):
    return brim.fit(list(sections), budget, **{"meter": "chars", **options})


def test_every_section_that_lost_something_is_a_loss_with_what_went():
    receipt = fit(
        Section("whole", "w" * 20, priority="high"),
        Section("cut", "c" * 100, priority="medium", ceiling=60, overflow="drop"),
        Section("form", "f" * 50, priority="medium", forms=["short"], overflow="drop"),
        Section("dropped", "d" * 90, priority="low", overflow="drop"),
    ).receipt
    assert {loss.name: loss.units for loss in receipt.losses} == {"cut": 40, "form": 45, "dropped": 90}
    assert receipt.truncated
    assert (receipt.used, receipt.unused) == (20 + 2 + 60 + 2 + 5, 11)


def test_a_handle_names_the_whole_content_whatever_was_kept_of_it():
    text = "x" * 300
    cut, whole = fit(Section("a", text)).receipt.part("a"), fit(Section("a", text), budget=500).receipt.part("a")
    assert (cut.state, whole.state) == ("cut", "whole")
    assert cut.handle == whole.handle == handle(text)
    assert handle(text + "y") != handle(text + "z")


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        pytest.param(4, ["0", "1", "2", "3", "… 96 more"], id="only the first"),
        pytest.param(12, [*map(str, range(10)), "… 88 more", "98", "99"], id="the first ten and the last"),
        pytest.param(100, [*map(str, range(100))], id="as many as there are"),
        pytest.param(None, [*map(str, range(100))], id="all"),
    ],
)
def test_a_long_table_leaves_out_its_middle_and_says_how_much(most, shown):
    receipt = fit(*(Section(str(i), "x") for i in range(100)), budget=500).receipt
    assert [row.split("  ")[0] for row in receipt.table(most).splitlines()[3:]] == shown
    assert [row[2:].split(" |")[0] for row in receipt.to_markdown(most).splitlines()[4:]] == shown


def test_an_event_has_each_section_in_one_list():
    event = fit(
        Section("whole", "w"), Section("off", "o", enabled=False), Section("gone", "g" * 200, overflow="drop")
    ).receipt.event("agent")
    assert (event["sections_included"], event["sections_truncated"], event["sections_dropped"]) == (
        ["whole"],
        [],
        ["off", "gone"],
    )


def test_the_stable_prefix_ends_where_something_may_change():
    rules, style = Section("rules", "r" * 10, stable=True), Section("style", "s" * 7, stable=True)
    news = Section("news", "n" * 5)
    assert fit(rules, style, news).receipt.stable_prefix == 17
    assert fit(rules, news, style).receipt.stable_prefix == 10
    assert fit(news, rules).receipt.stable_prefix == 0


def test_an_estimate_tells_what_the_true_count_does_not_exceed():
    text = "A text of some length, to be counted. " * 20
    receipt = brim.fit([Section("a", text)], 5000, meter="claude-4.5").receipt
    assert not receipt.exact
    assert receipt.upper == brim.meter("claude-4.5").upper(text) > receipt.used
    assert fit(Section("a", text), budget=5000).receipt.upper == len(text)


def test_a_replay_counts_with_the_meter_of_the_fit():
    sections = [Section("a", "word " * 60)]
    for meter in ("chars", "o200k_base", CharMeter()):
        prompt = brim.fit(sections, 50, meter=meter)
        assert brim.replay(prompt.receipt) == prompt
        assert brim.replay(prompt.receipt, budget=40) == brim.fit(sections, 40, meter=meter)
