"""The names of `brim.truncate`, and the promise that all of them keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import InvalidValue
from brim.truncate import Truncator, truncator
from brim.truncate.ends import Head
from properties import examples
from strategies import long_texts
from truncate.cutting import EXACT, boundaries, checked, every_meter, limits, shares

KEEPS = ["head", "tail", "ends", "lines", "newest", "best", "shape", "json", "markdown", "code", "log", "diff"]


@pytest.mark.parametrize("keep", KEEPS)
def test_a_name_gives_a_truncator(keep):
    assert isinstance(truncator(keep), Truncator)
    assert truncator(keep) == truncator(keep)
    assert truncator(keep, "<cut>").marker == "<cut>"


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InvalidValue) as caught:
        truncator("middle")
    assert all(repr(keep) in str(caught.value) for keep in KEEPS)


def test_a_truncator_of_ones_own_is_returned_as_it_is():
    own = Head(marker="!")
    assert truncator(own, "ignored") is own


@every_meter
@examples(120)
@given(
    keep=st.sampled_from(KEEPS),
    text=long_texts,
    share=shares,
    marker=st.sampled_from([None, "", "…", "\n[{dropped}]{x}\n"]),
)
def test_no_result_is_ever_over_the_limit(meter, keep, text, share, marker):
    checked(truncator(keep, marker), text, limits(text, meter, share), meter)


@pytest.mark.slow
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000,
        "\n" * 10_000,
        "a\r\n" * 5_000,
        "[" * 10_000,
        "e" + "\u0301" * 10_000,
        "👩\u200d" * 5_000,
        "  " * 20_000 + "x",
        "error " * 5_000,
        "{\n" * 5_000,
        "- ```\n" * 5_000,
    ],
    ids=["one line", "blank lines", "returns", "brackets", "marks", "joiners", "spaces", "errors", "braces", "fences"],
)
def test_hostile_texts_neither_crash_nor_hang(keep, text):
    result = checked(truncator(keep), text, 400, EXACT)
    if keep in ("head", "tail") and result:
        kept = result.text.replace(truncator(keep).marker, "")
        assert (len(kept) if keep == "head" else len(text) - len(kept)) in boundaries(text)


def test_the_names_that_a_section_takes_are_those_that_there_are():
    from brim.receipts.section import KEEPS
    from brim.truncate import _MODULES

    assert tuple(_MODULES) == KEEPS


def test_a_refusal_states_no_size_that_is_not_the_smallest():
    with pytest.raises(brim.DoesNotFit, match="cannot be cut to 1: one piece of it and the marker take more$"):
        brim.cut("word " * 100, 1, model="gpt-4o")
