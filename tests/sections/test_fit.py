"""Fitting sections: forms, templates, summaries, visibility, stability, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import Section
from brim.testing import PieceMeter
from properties import examples


def fit(*sections, budget=100, **options):
    return brim.fit(list(sections), budget, **{"meter": "chars", **options})


def states(prompt):
    return {part.name: part.state for part in prompt.receipt.parts}


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param(100, "x" * 100, id="the whole"),
        pytest.param(20, "a shorter form of it", id="the largest form that fits"),
        pytest.param(19, "short", id="a smaller form"),
        pytest.param(5, "short", id="less than a marker"),
        pytest.param(4, "", id="nothing of it"),
    ],
)
@pytest.mark.parametrize("options", [{"overflow": "drop"}, {}, {"required": True}], ids=["drop", "cut", "required"])
def test_the_largest_form_that_fits_is_used_before_anything_is_cut(budget, expected, options):
    section = Section("doc", "x" * 100, forms=["short", "a shorter form of it"], **options)
    if options.get("required") and not expected:
        with pytest.raises(brim.DoesNotFit):
            fit(section, budget=budget)
    else:
        assert fit(section, budget=budget).text == expected


def test_a_floor_of_a_section_that_is_never_cut_reserves_nothing_where_the_whole_has_no_room():
    notes = Section("notes", "n" * 100, priority="high", overflow="drop", floor=20)
    prompt = fit(notes, Section("task", "t" * 100, required=True, floor=20), budget=80)
    assert states(prompt) == {"notes": "dropped", "task": "cut"}
    assert len(prompt.text) == 80


def test_entries_are_kept_or_dropped_whole():
    entries = [f"entry number {i}" for i in range(9)]
    prompt = fit(Section("log", entries, keep="newest"), budget=90)
    kept = prompt.text.split("\n")
    assert kept[0] == "[5 older entries omitted]"
    assert kept[1:] == entries[-4:]


def test_a_template_places_sections_and_its_text_is_counted():
    sections = [Section("a", "x" * 500), Section("b", "bb", priority="high")]
    prompt = fit(*sections, budget=60, template="{{json}} A: {a}\nB: {b}.")
    assert prompt.text.startswith("{json} A: xxxx")
    assert prompt.text.endswith("\nB: bb.")
    assert prompt.receipt.used == len(prompt.text) == 60
    with pytest.raises(brim.DoesNotFit, match="template"):
        fit(Section("a", "x", required=True), budget=5, template="much too long a frame for {a}")


@pytest.mark.parametrize(
    ("template", "told"),
    [
        pytest.param("{a} {c}", r"\{c\}", id="a place for no section"),
        pytest.param("{a}", r"\{b\} is missing", id="a section without a place"),
        pytest.param("{a} {b} {a}", "names each section once", id="a section placed twice"),
    ],
)
def test_a_template_that_does_not_match_the_sections_is_refused(template, told):
    with pytest.raises(brim.InvalidValue, match=told):
        fit(Section("a", "x"), Section("b", "y"), template=template)


def test_braces_that_are_no_place_stay_as_they_are():
    assert fit(Section("a", "x"), template="{ {a} }} {\n}").text == "{ x } {\n}"


def test_a_summary_is_used_when_it_fits_and_a_cut_when_it_does_not():
    section = Section("notes", "n" * 500, overflow="summarise")
    asked = []

    def short(text, limit):
        asked.append(limit)
        return "a summary"

    assert fit(section, summarise=short).text == "a summary"
    assert asked == [100]
    assert fit(section, summarise=lambda text, limit: "s" * limit).text == "s" * 100
    prompt = fit(section, summarise=lambda text, limit: text * 2)
    assert states(prompt) == {"notes": "cut"}
    assert states(fit(section)) == {"notes": "cut"}


def test_a_capture_replays_a_summary_without_the_summariser():
    section = Section("notes", "n" * 500, overflow="summarise")
    prompt = fit(section, summarise=lambda text, limit: "the gist", capture=True)
    assert brim.replay(prompt.receipt.to_json()).text == "the gist"


def test_a_stable_section_is_never_cut_and_the_prefix_is_told():
    rules, notes = Section("rules", "r" * 40, stable=True), Section("notes", "n" * 400, priority="low")
    prompt = fit(rules, notes)
    assert prompt.receipt.stable_prefix == 40
    assert states(fit(rules, notes, budget=39)) == {"rules": "dropped", "notes": "cut"}


def test_numbers_may_be_read_the_other_way():
    sections = [Section("kept", "k" * 80, priority=3), Section("lost", "l" * 80, priority=0)]
    assert states(fit(*sections, direction="higher", policy="skip")) == {"kept": "whole", "lost": "dropped"}
    assert states(fit(*sections, direction="lower", policy="skip")) == {"kept": "dropped", "lost": "whole"}


def test_a_caller_s_own_function_or_meter_may_measure():
    words = fit(Section("a", "one two three four", marker=""), budget=3, meter=lambda text: len(text.split()))
    assert (words.text, words.receipt.used) == ("one two three ", 3)

    class Own:
        name, exact = "own", True

        def count(self, text):
            return len(text)

    assert fit(Section("a", "x" * 50), budget=30, meter=Own()).receipt.meter == "own"
    with pytest.raises(brim.MeterError, match="returned 'many' instead of a whole number"):
        fit(Section("a", "x"), meter=lambda text: "many")


def test_a_join_that_counts_more_than_its_sides_is_taken_back():
    """BPE counts are not additive: `-` newline `//` can count more joined than apart."""
    meter = PieceMeter()
    for n in range(1, 60):
        sections = [Section(f"s{i}", "-" if i % 2 else "//x", priority=i) for i in range(n)]
        for budget in (n // 2, n, 2 * n):
            prompt = brim.fit(sections, budget, meter=meter, separator="\n")
            assert PieceMeter().measure(prompt.text) == prompt.receipt.used <= budget
            assert prompt.text or budget < 2


def dear_where_a_meets_b(text):
    """Count characters, and three more wherever an a is followed by a b: more joined than apart."""
    return len(text) + 3 * text.count("ab")


def test_what_joins_cost_is_never_taken_from_what_is_required():
    sections = [Section("must", "xxxa", required=True), Section("may", "b")]
    prompt = fit(*sections, budget=5, meter=dear_where_a_meets_b, separator="")
    assert (prompt.text, states(prompt)) == ("xxxa", {"must": "whole", "may": "dropped"})


@pytest.mark.parametrize("keep", ["newest", "tail", "best", "head"])
@pytest.mark.parametrize("content", ["a text", ["an", "entry"]], ids=["text", "entries"])
def test_at_most_nothing_is_nothing(keep, content):
    """A slice that starts at minus zero is the whole of it."""
    assert states(fit(Section("a", content, keep=keep, most=0))) == {"a": "empty"}


def test_what_is_left_must_hold_the_marker_and_one_more():
    sections = [Section("a", "a" * 80, priority="high"), Section("b", "b" * 80, marker="[cut]")]
    for budget, used in ((86, 0), (87, 0), (88, 6), (89, 7)):
        part = fit(*sections, budget=budget).receipt.part("b")
        assert (part.granted, part.used) == (used, used)
    assert "it needs at least 6 chars" in fit(*sections, budget=87).receipt.why("b")


def test_many_cuts_are_each_held_to_what_they_are_planned_with():
    """Each count of chars/4 is rounded down; eight of them together are not."""
    sections = [Section(f"s{i}", "x" * 400, marker="") for i in range(8)]
    prompt = fit(*sections, budget=80, meter="chars/4", fill="fair", separator="")
    assert [len(text) for text in prompt.texts.values()] == [39] * 8
    assert [part.granted for part in prompt.receipt.parts] == [10] * 8


def test_why_and_diff_tell_what_happened():
    sections = [Section("a", "a" * 80, priority="high"), Section("b", "b" * 80), Section("c", "c" * 80, floor=80)]
    unmarked = Section("d", "d" * 80, priority="low", marker="")
    assert "no room was left for it" in fit(sections[0], unmarked, budget=82).receipt.why("d")
    small, big = fit(*sections, budget=130), fit(*sections, budget=500)
    assert small.receipt.why("a") == "a is whole: it fits whole (size 80, wanted 80, granted 80, used 80 chars)."
    assert "were left for its 80" in small.receipt.why("b")
    assert "it needs at least 80 chars, and fewer were left" in small.receipt.why("c")
    assert [str(change) for change in small.receipt.diff(big.receipt)] == [
        "b: cut 48 -> whole 80",
        "c: dropped 0 -> whole 80",
    ]
    assert small.receipt.diff(small.receipt) == ()
    with pytest.raises(brim.UnknownName, match="no section is called 'd'"):
        small.receipt.why("d")


def test_by_default_the_receipt_holds_hashes_and_no_text():
    prompt = fit(Section("a", "a secret text " * 20), budget=60)
    told = prompt.receipt.to_json()
    assert "secret" not in told
    assert prompt.receipt.part("a").handle in told


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: brim.fit("text", 5), "sections must be a list of Section, not 'text'"),
        (lambda: brim.fit(["x"], 5), r"sections\[0\] must be a Section, not 'x'"),
        (lambda: fit(Section("a", "x"), budget=-1), "budget must be a whole number of at least 0, not -1"),
        (lambda: fit(Section("a", "x"), budget=float("nan")), "budget must be .* not nan"),
        (lambda: fit(Section("a", "x"), budget=True), "budget must be .* not True"),
        (lambda: fit(Section("a", "x"), budget=None), "budget must be"),
        (lambda: fit(Section("a", "x"), Section("a", "y")), r"sections\[1\] name must be different"),
        (lambda: fit(policy="skpi"), r"policy must be .*, not 'skpi'; did you mean 'skip'\?"),
        (lambda: fit(fill=3), "fill must be one of order, fair, not 3"),
        (lambda: fit(separator=None), "separator must be a string, not None"),
        (lambda: brim.fit([], 5, meter="chars", model="gpt-5"), "model must be omitted if a meter is set"),
        (lambda: brim.fit([], 5, meter=3.5), "meter must be the name"),
        (lambda: fit(Section("context_budget", "x"), show_budget=True), "show_budget adds this section"),
        (lambda: Section("", "x"), "section name must be a non-empty string"),
        (lambda: Section("a", None), "section 'a': content must be a string or a list of strings, not None"),
        (lambda: Section("a", ["x", 3]), r"section 'a': content\[1\] must be a string, not 3"),
        (lambda: Section("a", "x", floor="101%"), "section 'a': floor must be a number of tokens .* not '101%'"),
        (lambda: Section("a", "x", ceiling=-2), "section 'a': ceiling must be .* not -2"),
        (lambda: Section("a", "x", keep="middle"), "section 'a': keep must be one of"),
        (lambda: Section("a", "x", weight=0), "weight must be a number above 0, up to 1,000,000, not 0"),
        (lambda: Section("a", "x", weight=10**5000), "weight must be .* not a very long int"),
        (lambda: Section("a", "x", required="yes"), "section 'a': required must be true or false"),
        (lambda: Section("a", "x", forms="short"), "section 'a': forms must be a list of strings"),
        (lambda: Section("a", "x", most=-1), "section 'a': most must be"),
        (lambda: Section("a", "x", marker=1), "section 'a': marker must be a string"),
        (lambda: brim.Window(0), "Window size must be a whole number of at least 1, not 0"),
        (lambda: brim.Window(100, reserve=100), "Window reserve must be less than"),
        (lambda: brim.Window(100, cap=0.2, warn=0.3), "Window warn must be at most the cap"),
        (lambda: brim.Window(100, cap=1.2), "Window cap must be a share"),
        (lambda: brim.replay(3), "source must be a receipt"),
        (lambda: brim.replay("{}"), "receipt must be"),
        (lambda: brim.replay("not json"), "receipt must be JSON"),
        (lambda: brim.replay({"version": 99}), "receipt version must be 1"),
    ],
)
def test_bad_input_gets_one_clear_sentence_with_the_value_and_the_place(call, told):
    with pytest.raises(brim.InvalidValue, match=told) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_the_refusal_names_each_part_and_the_smallest_change_that_helps():
    sections = [Section("system", "s" * 80, required=True), Section("rules", "r" * 50, required=True)]
    with pytest.raises(brim.DoesNotFit) as refused:
        fit(*sections, budget=100)
    error = refused.value
    assert (error.needed, error.available, error.short) == (132, 100, 32)
    assert error.parts == {"system": 80, "rules": 50, "separators": 2}
    assert str(error) == (
        "the prompt does not fit: its required parts need 132 chars and the budget is 100, which is 32 too few"
        " (system 80, rules 50, separators 2). Raise the budget to 132, or let 'rules' be cut: give it a floor of 18 or less."
    )
    assert fit(*sections, budget=132).receipt.used == 132
    relaxed = [sections[0], Section("rules", "r" * 50, required=True, floor=18, marker="")]
    assert fit(*relaxed, budget=100).receipt.used == 100


@pytest.mark.parametrize(
    ("section", "told"),
    [
        pytest.param(
            Section("a", "x" * 80, required=True, stable=True, ceiling=50),
            "the required section 'a' has 80 chars and cannot be cut to the ceiling of 50. Raise its ceiling to 80, or",
            id="over its ceiling and not to be cut",
        ),
        pytest.param(
            Section("a", ["x" * 80, "y" * 90], required=True, floor=10, marker="m" * 59),
            "its required parts need 62 chars and the budget is 60, which is 2 too few (a 60). Raise the budget to 62, or",
            id="entries beside whose marker nothing fits",
        ),
    ],
)
def test_a_required_section_that_cannot_be_made_small_enough_is_named(section, told):
    with pytest.raises(brim.DoesNotFit) as refused:
        fit(section, budget=60)
    assert told in str(refused.value)


@pytest.mark.parametrize("keep", ["head", "tail", "ends", "lines", "newest", "best"])
def test_a_marker_alone_is_no_cut(keep):
    with pytest.raises(brim.DoesNotFit):
        brim.cut("x" * 50, 5, "chars", keep=keep, marker="[cut]")


_UNDER_SEED = """
import brim
sections = [brim.Section(f"s{i}", f"text {i} " * (i * 7 % 40), priority=i % 5, keep=k) for i, k in enumerate(["shape", "ends", "newest", "best"] * 8)]
p = brim.fit(sections, 900, meter="o200k_base", fill="fair")
import hashlib
print(hashlib.sha256((p.text + p.receipt.to_json()).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_bytes_are_the_same_under_any_hash_seed():
    told = {
        subprocess.run(
            [sys.executable, "-c", _UNDER_SEED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "42")
    }
    assert len(told) == 1


def test_entries_may_come_from_a_generator_and_are_read_once():
    lines = (f"line {i}" for i in range(9))
    section = brim.Section("a", lines, forms=(form for form in ("short",)))
    assert brim.fit([section], budget=99, meter="chars").text == brim.fit([section], budget=99, meter="chars").text
    assert (len(section.content), section.forms) == (9, ("short",))
    assert section.text is section.text  # so that Python caches its hash


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"text", r"\(decode it\), not b'text'"),
        ([{"row": 1}], r"content\[0\] must be a string \(json.dumps writes one\), not {'row': 1}"),
        (Path("notes.md"), r"\(read_text reads a file\)"),
        ({"one", "two"}, r"\(sort a set first: it has no order\)"),
        ({"one": 1}, r"must be a string or a list of strings \(json.dumps writes one\)"),
    ],
    ids=["bytes", "rows", "path", "set", "dict"],
)
def test_content_that_is_no_text_is_refused_with_what_would_help(content, problem):
    with pytest.raises(brim.InvalidValue, match=problem):
        brim.Section("a", content)


@examples(40)
@given(
    texts=st.lists(st.text("ab1. \n", min_size=1, max_size=9), min_size=1, max_size=200),
    separator=st.sampled_from(["", " ", "\n\n"]),
)
def test_sections_that_fit_only_because_they_count_less_joined_than_apart_stay_whole(texts, separator):
    whole = separator.join(texts)
    budget = brim.meter("o200k_base").count(whole)
    sections = [Section(str(i), text) for i, text in enumerate(texts)]
    assert brim.fit(sections, budget, meter="o200k_base", separator=separator).text == whole


def test_a_reason_is_in_the_singular_for_one_token():
    prompt = brim.fit([brim.Section("a", "word " * 50, marker="")], budget=1, meter="chars")
    assert prompt.receipt.part("a").reason == "1 char was left for its 250"


@pytest.mark.parametrize(
    ("sections", "policy", "kept"),
    [
        ([("a", 60, "high", 0), ("b", 60, "low", 30)], "truncate_then_continue", {"a": 50, "b": 30}),
        ([("a", 60, "high", 0), ("b", 30, "medium", 0), ("c", 20, "low", 0)], "skip", {"a": 60, "b": 0, "c": 20}),
    ],
    ids=["a floor", "skip"],
)
def test_the_text_of_a_template_is_planned_for(sections, policy, kept):
    """Otherwise the excess is taken from the least essential sections, whatever their floor."""
    wanted = [Section(name, name * size, priority=rank, floor=floor) for name, size, rank, floor in sections]
    template = "T" * 20 + "".join(f"{{{name}}}" for name in kept)
    made = brim.fit(wanted, 100, meter="chars", template=template, separator="", policy=policy)
    assert {part.name: part.granted for part in made.receipt.parts} == kept
    assert len(made.text) <= 100
