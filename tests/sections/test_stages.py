"""What a prompt gives up in stages, and in which order."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import Section
from brim.receipts.schema import schema
from brim.sections.stages import HARD, Stage, staged
from brim.testing import CharMeter, PieceMeter
from properties import examples

GOSSIP = "\n".join(f"gossip {i}" for i in range(9))
NEWS = "\n".join(f"news {i}" for i in range(9))
STAGES = [Stage(section="gossip", last=3), Stage(section="news", last=2)]


def fit(budget, *sections, stages=STAGES, **options):
    return brim.fit(list(sections), budget, **{"meter": "chars", "stages": stages, **options})


def two(budget, **options):
    return fit(budget, Section("gossip", GOSSIP), Section("news", NEWS), **options)


def test_a_prompt_that_fits_is_not_touched_by_any_stage():
    prompt = two(len(GOSSIP) + 2 + len(NEWS))
    assert prompt.text == f"{GOSSIP}\n\n{NEWS}"
    assert (prompt.receipt.stages, prompt.receipt.truncated) == ((), False)


def test_the_next_stage_is_not_reached_where_the_last_was_enough():
    prompt = two(len(GOSSIP) + 1 + len(NEWS))
    assert prompt.text == f"gossip 6\ngossip 7\ngossip 8\n\n{NEWS}"
    assert prompt.receipt.stages == ("gossip: its last 3 of 9 lines",)
    assert prompt.receipt.part("news").state == "whole"


def test_what_a_stage_took_is_a_loss_with_the_whole_size_and_the_handle_of_the_whole():
    receipt = two(100).receipt
    part, whole = receipt.part("gossip"), two(1000).receipt.part("gossip")
    assert (part.state, part.size, part.used, part.reason) == ("cut", len(GOSSIP), 26, "its last 3 of 9 lines")
    assert part.handle == whole.handle
    assert {loss.name: loss.units for loss in receipt.losses} == {"gossip": len(GOSSIP) - 26}


def test_a_section_that_two_stages_took_from_still_has_its_whole_size_and_both_reasons():
    stages = [Stage(section="gossip", last=6), Stage(section="gossip", first=2)]
    part = two(100, stages=stages).receipt.part("gossip")
    assert (part.size, part.used, part.handle) == (len(GOSSIP), 17, two(1000).receipt.part("gossip").handle)
    assert part.reason == "its last 6 of 9 lines, then its first 2 of 6 lines"


@pytest.mark.parametrize(
    ("stage", "content", "left"),
    [
        pytest.param(Stage(section="a", last=2), ["1", "2", "3"], "2\n3", id="last entries"),
        pytest.param(Stage(section="a", first=2), "1\n2\n3", "1\n2", id="first lines"),
        pytest.param(Stage(section="a", to=5), ["1111", "2", "3"], ">\n2\n3", id="entries that fit"),
        pytest.param(Stage(section="a", to=1, leave=2), ["11", "22", "33"], "22\n33", id="entries that stay"),
        pytest.param(Stage(section="a", to="5%"), "x" * 30, "xx>", id="a share of the budget"),
        pytest.param(Stage(section="*", last=1), "1\n2\n3", "3", id="any"),
        pytest.param(Stage(section="a", down_to=3), "x" * 70, "x" * 52 + ">", id="only as far down as it must"),
    ],
)
def test_a_stage_leaves_what_it_says(stage, content, left):
    section = Section("a", content, keep="newest" if isinstance(content, list) else "head", marker=">")
    kept, told, _ = stage.left(section, 60, 13, brim.meter("chars"))
    assert (kept if isinstance(kept, str) else "\n".join(kept)) == left
    assert told.startswith("its " if stage.to is stage.down_to else "cut to ")


@pytest.mark.parametrize(
    ("stage", "content"),
    [
        (Stage(section="a", last=1, over_chars=5), "1\n2\n3"),
        (Stage(section="a", last=1, over_entries=3), ["1", "2", "3"]),
        (Stage(section="a", last=3), "1\n2\n3"),
        (Stage(section="a", to=0), "x" * 50),
    ],
)
def test_a_stage_that_does_not_apply_changes_nothing(stage, content):
    assert stage.left(Section("a", content), 100, 10, brim.meter("chars")) is None


def test_a_stage_for_any_section_spares_those_that_are_named_required_or_stable():
    texts = "\n".join("abcdefgh")
    sections = [Section("named", texts), Section("must", texts, required=True), Section("other", texts)]
    sections.append(Section("same", "i\nj", stable=True))
    prompt = fit(30, *sections, stages=[Stage(section="*", last=1), Stage(section="named", last=2)])
    assert prompt.receipt.stages == ("other: its last 1 of 8 lines", "named: its last 2 of 8 lines")
    assert prompt.text == f"g\nh\n\n{texts}\n\nh\n\ni\nj"


def test_after_all_stages_the_cut_is_by_priority_with_a_marker_of_its_own():
    prompt = fit(
        60,
        Section("gossip", GOSSIP, marker="\n(own)"),
        Section("rules", "r" * 80, priority="high"),
        Section("menu", "1. buy", required=True),
        hard_marker="\n(hard)",
    )
    assert prompt.receipt.stages == ("gossip: its last 3 of 9 lines", HARD)
    assert prompt.text == "r" * 45 + "\n(hard)\n\n1. buy"


@pytest.mark.parametrize("keep", ["newest", "best", "tail", "head"])
def test_the_hard_marker_stands_at_the_side_that_is_cut(keep):
    text = fit(60, Section("a", GOSSIP, keep=keep), stages=[], hard_marker="\n(hard)").text
    assert text.startswith("(hard)\ngossip") if keep in ("newest", "tail") else text.endswith("\n(hard)")
    assert "\n\n" not in text


def test_a_fit_in_stages_is_replayed_from_its_json():
    prompt = two(60, capture=True, hard_marker="\n(hard)")
    text = prompt.receipt.to_json()
    jsonschema.validate(brim.Receipt.from_json(text).to_dict(), dict(schema()))
    assert brim.replay(text) == prompt
    assert brim.replay(text, budget=1000).text == f"{GOSSIP}\n\n{NEWS}"
    assert brim.Receipt.from_json(text).stages == prompt.receipt.stages


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"section": "a"}, "set to exactly one of last, first, to, down_to, not 'nothing'"),
        ({"section": "a", "last": 1, "to": 1}, "set to exactly one of last, first, to, down_to, not 'last and to'"),
        ({"section": "a", "last": 0}, "stage of 'a': last must be a whole number of at least 1, not 0"),
        ({"section": "a", "to": "101%"}, "stage of 'a': to must be"),
        ({"section": "", "last": 1}, "stage section must be the name of a section"),
        ({"last": 1}, "a stage: its section"),
        ({"section": "a", "lats": 1}, "did you mean 'last'"),
    ],
)
def test_what_is_no_stage_is_refused_by_its_place(row, told):
    with pytest.raises(brim.InvalidValue) as refused:
        staged([row])
    assert told in str(refused.value)


_TEXT = st.lists(st.sampled_from(["one two", "x" * 30, "漢字漢字", "", "a-b//c", "12 34"]), max_size=8).map("\n".join)
_STAGE = st.one_of(
    st.builds(Stage, section=st.sampled_from("abc*"), last=st.integers(1, 4)),
    st.builds(Stage, section=st.sampled_from("abc*"), to=st.integers(0, 30), leave=st.integers(1, 3)),
    st.builds(Stage, section=st.sampled_from("abc*"), down_to=st.sampled_from(["0%", "10%", "40%"])),
)


@examples(150)
@given(
    texts=st.lists(st.one_of(_TEXT, st.lists(_TEXT, max_size=5)), min_size=3, max_size=3),
    stages=st.lists(_STAGE, max_size=5),
    keep=st.sampled_from(["head", "tail", "newest", "lines"]),
    budget=st.integers(0, 120),
    meter=st.sampled_from([CharMeter(), PieceMeter()]),
)
def test_whatever_the_stages_it_fits_adds_up_and_is_the_same_again(texts, stages, keep, budget, meter):
    sections = [Section(name, text, keep=keep) for name, text in zip("abc", texts, strict=True)]
    told = {"meter": meter, "stages": stages, "hard_marker": "\n(hard)"}
    prompt = brim.fit(sections, budget, **told)
    receipt = prompt.receipt
    assert meter.count(prompt.text) == receipt.used <= budget
    assert receipt.used == receipt.joins + sum(part.used for part in receipt.parts)
    assert brim.fit(sections, budget, **told) == prompt
    whole = "\n\n".join(section.text for section in sections if section.text)
    if meter.count(whole) <= budget:
        assert (prompt.text, receipt.stages) == (whole, ())
    else:
        assert receipt.truncated
    again = [Section(name, text, keep=keep) for name, text in prompt.texts.items()]
    assert brim.fit(again, budget, **told).text == prompt.text
