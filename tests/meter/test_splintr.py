"""Open vocabularies: known counts, plain control strings, and where a text may be parted."""

import sys
from functools import cache
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from brim.meter import engines as opened
from brim.meter import vocabularies
from brim.meter.engines import SplintrEngine
from properties import examples

EVERY = sorted(name for name in vocabularies.VOCABULARIES if name != "qwen3.5")
WITH_WORD_PATTERNS = [name for name in EVERY if name not in opened._BOUNDARIES]
WITHOUT = sorted(opened._BOUNDARIES)

engine = cache(SplintrEngine)
texts = strategies.texts.map(lambda text: text.encode("utf-8", "replace").decode())
spaced = st.lists(texts, min_size=2, max_size=5).map(" ".join)


def count(name, text):
    return engine(name).count(text)


def library(name):
    return engine(name)._tokenizer


@cache
def original(name):
    import splintr

    return splintr.Tokenizer.from_pretrained(name)


@pytest.mark.parametrize("name", EVERY)
def test_every_vocabulary_loads_and_counts_its_probes_right(name):
    loaded = engine(name)
    assert tuple(map(loaded.count, vocabularies._PROBES)) == vocabularies.VOCABULARIES[name]
    assert (loaded.name, loaded.exact) == ("splintr", True)
    assert (loaded.count(""), loaded.count("a")) == (0, 1)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@examples(40)
@given(text=texts)
def test_a_second_library_counts_the_same(name, text):
    import toktok

    assert count(name, text) == toktok.batch_count([text], name, 1)[0]


@pytest.mark.parametrize("name", EVERY)
def test_no_control_string_is_taken_for_its_token(name):
    for control in library(name).special_tokens():
        around = f"a {control} b {control}{control}"
        if name not in opened._MARKUP:
            assert count(name, around) == len(library(name).encode_ordinary(around))
        assert count(name, control) > 1 or library(name).encode_ordinary(control) == library(name).encode(control)


@pytest.mark.parametrize("text", ["cafe\u0301", "a\u0308\u0323 x", "한"])
def test_qwen_counts_what_the_composed_text_counts(text):
    from unicodedata import normalize

    assert count("qwen3", text) == count("qwen3", normalize("NFC", text))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gemma2", "<table><tr></tr></table>", 4),
        ("gemma3", "<div><b></b></div>", 4),
        ("gemma3", "<div><b></b></div><eos>", 7),
        ("gemma3", "<div><h7></div>", 6),
        ("gemma3", "<start_of_turn>", 7),
        ("gemma4", "<div></div>", 5),
        ("llama3", "<div></div>", 4),
    ],
)
def test_markup_is_one_token_a_tag_where_the_vocabulary_has_the_tag(name, text, expected):
    assert count(name, text) == expected


@pytest.mark.parametrize("name", ["gemma2", "gemma3"])
@examples(50)
@given(text=st.lists(st.sampled_from(["<td>", "</b>", "<h1>", "x", " ", "\n", "two words", "> </"])).map("".join))
def test_markup_counts_what_the_library_finds_with_all_its_tokens(name, text):
    assert count(name, text) == len(original(name).encode(text))


@examples(60)
@given(text=texts)
def test_gemma3_counts_what_the_library_counts_for_it(text):
    plain = text.replace("<", "")
    assert count("gemma3", plain) == len(original("gemma3").encode_ordinary(plain))


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
@examples(30)
@given(text=st.lists(st.one_of(texts, st.sampled_from(["▁", " ▁ ", "> </b>", "\n\n x"])), max_size=8).map(" ".join))
def test_blocks_add_up_to_the_whole(name, text):
    boundary = opened._BOUNDARIES.get(name, opened._BEFORE_WORD)
    whole = len(library(name).encode_ordinary(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened, "_BLOCK", 3)
        blocks = [block for block, _ in opened._blocks(text, boundary, None)]
    assert sum(len(library(name).encode_ordinary(block)) for block in blocks) == whole


@pytest.mark.parametrize("name", EVERY)
def test_a_long_text_is_split_wherever_that_does_not_change_its_count(name):
    """A call holds the interpreter lock: other threads run between two calls."""
    text = "The quick brown fox, it's 42; jumps over\n    the lazy dog. naïve 漢字。 " * 400
    boundary = opened._BOUNDARIES.get(name, opened._BEFORE_WORD)
    assert max(len(block) for block, _ in opened._blocks(text, boundary, None)) < 10_000 < len(text)
    assert count(name, text) == len(library(name).encode_ordinary(text))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemma2", "gemma3", "llama2", "mistral_v3"])
@pytest.mark.parametrize("unit", [" \n", "\n", "\t", " ", "a", "中", "\u200d", "<|"])
def test_a_long_run_of_anything_is_counted_in_time_that_grows_with_it(name, unit):
    """splintr's own call for gemma2 and gemma3 takes 25 seconds for 200,000 characters of blank lines."""
    text = unit * (50_000 // len(unit))
    assert 0 < count(name, text) <= 3 * len(text) + 1


def test_a_library_that_counts_otherwise_is_refused_when_it_loads(monkeypatch):
    class Tokenizer:
        from_pretrained = classmethod(lambda cls, _: cls())
        encode_ordinary = staticmethod(list)

    changed = ModuleType("splintr")
    changed.Tokenizer = Tokenizer
    monkeypatch.setitem(sys.modules, "splintr", changed)
    meter = vocabularies.vocabulary.__wrapped__("llama3")
    assert (meter.name, meter.exact) == ("llama3 (estimate: character classes; splintr miscounts)", False)


@pytest.mark.parametrize("name", WITHOUT)
@examples(25)
@given(
    text=st.text('"a[1,é', min_size=60, max_size=200)
    | st.sampled_from(['"', "a", "[1,", "."]).map(lambda unit: unit * 60),
    longest=st.integers(8, 50),
)
def test_a_text_without_boundaries_is_counted_in_parts_and_never_too_low(name, text, longest):
    """One call for megabytes of quotes took three seconds, in which no other thread ran."""
    whole = count(name, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened, "_BLOCK", 4)
        patch.setattr(engine(name), "_longest", longest)
        blocks = list(opened._blocks(text, opened._BOUNDARIES[name], longest))
        assert max(len(block) for block, _ in blocks) <= longest
        assert {len(block) for block, extra in blocks if extra} <= {longest}
        assert "".join(block for block, _ in blocks) == text
        assert whole <= count(name, text) <= whole + 8 * len(blocks)
