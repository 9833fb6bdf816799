"""S0: prioritised sections under a hard budget."""

import pytest

import brim
from brim import Section

FORGE = {"meter": "chars/4+1", "order": "priority", "policy": "truncate_then_stop"}
MARKER = "\n[... truncated for budget ...]"


def forge(rows, budget, **options):
    """Assemble (priority, label, content) rows as the harness does."""
    sections = [Section(label, content, priority=number, floor=101, marker=MARKER) for number, label, content in rows]
    return brim.fit(sections, budget, **{**FORGE, **options})


@pytest.mark.requirement("S0.1")
@pytest.mark.parametrize("budget", [50, 200, 500, 1000, 5000])
def test_nothing_exceeds_the_budget_separators_and_markers_included(budget):
    rows = [(i % 7, f"s{i}", f"section {i} " * (i * 13 % 90)) for i in range(40)]
    prompt = forge(rows, budget)
    assert len(prompt.text) // 4 + 1 <= budget or not prompt.text
    assert brim.meter("chars/4+1").count(prompt.text) == prompt.receipt.used <= budget


@pytest.mark.requirement("S0.1")
def test_two_sections_of_99_characters_do_not_make_51_of_50():
    """The sketch forgot its separators: two 99-char sections at 50 gave 51."""
    prompt = brim.fit([Section("a", "a" * 99), Section("b", "b" * 99)], 50, meter="chars/4+1")
    assert brim.meter("chars/4+1").count(prompt.text) <= 50


@pytest.mark.requirement("S0.2")
@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 2), ("x" * 400, 101)])
def test_the_estimator_is_a_quarter_of_the_characters_and_one(text, count):
    assert brim.meter("chars/4+1").count(text) == count


@pytest.mark.requirement("S0.2")
def test_the_estimator_is_monotone_and_never_below_zero():
    meter = brim.meter("chars/4+1")
    counts = [meter.count("x" * n) for n in range(100)]
    assert counts == sorted(counts)
    assert all(isinstance(count, int) and count >= 0 for count in counts)
    assert not meter.exact


@pytest.mark.requirement("S0.3")
def test_the_body_is_in_priority_order_ties_in_input_order_labels_not_printed():
    rows = [(2, "third", "C"), (0, "first", "A"), (1, "second", "B"), (1, "tie", "B2")]
    assert forge(rows, 100).text == "A\n\nB\n\nB2\n\nC"


@pytest.mark.requirement("S0.4")
def test_a_section_is_whole_when_it_fits_exactly():
    meter = brim.meter("chars/4+1")
    text = "x" * 400 + "\n\n" + "y" * 200
    rows = [(0, "a", "x" * 400), (1, "b", "y" * 200)]
    assert forge(rows, meter.count(text)).text == text
    assert forge(rows, meter.count(text) - 1).receipt.truncated


@pytest.mark.requirement("S0.5")
@pytest.mark.parametrize(("left", "state"), [(100, "dropped"), (101, "cut"), (102, "cut")])
def test_what_overflows_is_cut_if_more_than_100_units_are_left_and_dropped_otherwise(left, state):
    meter = brim.meter("chars/4+1")
    first = "x" * 400
    toll = meter.count("\n\n")
    prompt = forge([(0, "a", first), (1, "b", "y" * 9000)], meter.count(first) + toll + left)
    assert prompt.receipt.part("b").state == state
    if state == "cut":
        assert prompt.text.endswith(MARKER)
        assert prompt.text.startswith(first + "\n\n" + "y" * 200)


@pytest.mark.requirement("S0.6")
def test_the_sketch_stops_after_the_first_overflow_and_the_default_goes_on():
    """The sketch lost a 5-token directive although 99 tokens were free."""
    rows = [(0, "a", "x" * 400), (1, "b", "y" * 9000), (2, "directive", "z" * 16)]
    assert forge(rows, 150).receipt.part("directive").state == "dropped"
    assert forge(rows, 150, policy="stop").receipt.part("directive").state == "dropped"
    assert forge(rows, 150, policy="truncate_then_continue").receipt.part("directive").state == "whole"


@pytest.mark.requirement("S0.7")
def test_identical_input_gives_identical_bytes_and_receipt():
    rows = [(i % 5, f"s{i}", f"text {i} " * i) for i in range(30)]
    first, second = forge(rows, 300), forge(rows, 300)
    assert first.text.encode() == second.text.encode()
    assert first.receipt.to_json() == second.receipt.to_json()


@pytest.mark.requirement("S0.8")
def test_preflight_allows_16384_and_refuses_16385():
    window = brim.Window(16_384)
    meter = brim.meter("chars")
    assert brim.fit([Section("a", "x" * 16_384, required=True)], window, meter=meter).receipt.used == 16_384
    with pytest.raises(brim.DoesNotFit) as refused:
        brim.fit([Section("a", "x" * 16_385, required=True)], window, meter=meter)
    assert (refused.value.needed, refused.value.available, refused.value.short) == (16_385, 16_384, 1)
    assert "16,385" in str(refused.value)


@pytest.mark.requirement("S0.12")
@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        pytest.param("newest", ["lesson 17", "lesson 18", "lesson 19"], id="last three"),
        pytest.param("best", ["lesson 0", "lesson 1", "lesson 2"], id="top three"),
    ],
)
def test_selectors_take_the_last_n_or_the_top_n_entries(keep, kept):
    lessons = [f"lesson {i}" for i in range(20)]
    section = Section("lessons", lessons, keep=keep, most=3)
    prompt = brim.fit([section], 10_000, meter="chars")
    assert prompt.text.split("\n") == kept
    assert not prompt.receipt.truncated


@pytest.mark.requirement("S0.12")
def test_a_selector_takes_the_first_n_characters():
    plan = Section("plan", "p" * 1000, most=400)
    assert brim.fit([plan], 10_000, meter="chars").text == "p" * 400


@pytest.mark.requirement("S0.17")
def test_every_assembly_can_be_told_as_an_event_whose_labels_partition_the_input():
    rows = [(0, "rule", "x" * 40), (1, "plan", "y" * 4000), (2, "tips", "z" * 4000)]
    prompt = forge(rows, 200)
    event = prompt.receipt.event(agent="worker", rule_id="R-7")
    lists = [event[key] for key in ("sections_included", "sections_truncated", "sections_dropped")]
    assert lists == [["rule"], ["plan"], ["tips"]]
    assert (event["event"], event["agent"], event["rule_id"]) == ("prompt_assembled", "worker", "R-7")
    assert event["used_tokens"] == brim.meter("chars/4+1").count(prompt.text) <= event["budget_tokens"] == 200
