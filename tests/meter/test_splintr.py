"""Open vocabularies: known counts, plain control strings, and where a text may be parted."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from brim.meter import engines as opened
from brim.meter.engines import SplintrEngine
from properties import examples

PROBES = (
    "The quick brown fox jumps over the lazy dog.",
    "def area(r):\n    return 3.14159 * r ** 2  # 1234567\n\n\n",
    "naïve café, 東京タワー, привет мир, שלום, नमस्ते, สวัสดี",
    "cafe\u0301 \U0001f469\u200d\U0001f469\u200d\U0001f467 \x00!!!!!!\t\t",
    "<|endoftext|></s>[INST]<|im_start|> <think>",
    "<table><td>1</td></table>",
)
"""Prose, code, scripts, a composed accent and an emoji, control strings as plain text, and markup."""

COUNTS = {
    "o200k_base": (10, 23, 23, 15, 19, 10),
    "cl100k_base": (10, 23, 39, 20, 19, 10),
    "o200k_harmony": (10, 23, 23, 15, 19, 10),
    "llama2": (12, 34, 39, 25, 22, 11),
    "llama3": (10, 23, 27, 18, 19, 10),
    "codellama": (12, 34, 39, 25, 22, 11),
    "qwen3": (10, 30, 32, 15, 19, 10),
    "deepseek_v3": (10, 23, 26, 16, 19, 10),
    "mistral_v1": (12, 34, 38, 24, 21, 11),
    "mistral_v2": (12, 34, 38, 24, 21, 11),
    "mistral_v3": (10, 30, 26, 23, 20, 10),
    "tekken": (10, 30, 26, 23, 20, 10),
    "gemma2": (10, 32, 22, 12, 18, 5),
    "gemma3": (10, 32, 18, 12, 18, 5),
    "gemma4": (10, 32, 18, 12, 19, 11),
    "glm4": (10, 24, 34, 18, 19, 10),
    "kimi_k2": (10, 23, 31, 16, 19, 10),
    "kimi_k3": (10, 23, 31, 16, 19, 10),
    "phi4": (10, 23, 39, 20, 19, 10),
    "olmo2": (10, 23, 39, 20, 19, 10),
}
"""The tokens of each probe.

A second library confirmed the counts for o200k, harmony and cl100k (toktok and splintr), llama3, phi4, olmo2 and
mistral_v3 (tiktoken with their ranks), qwen3 (quicktok), mistral_v1 and mistral_v2 (sentencepiece) and deepseek_v3
(tokenizers). llama2, gemma3 and gemma4 agree with the 45 test texts of llama.cpp. For gemma2, codellama, glm4 and both
kimi vocabularies there is no second library, so the numbers only detect changes."""

EVERY = sorted(COUNTS)
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
    assert tuple(map(loaded.count, PROBES)) == COUNTS[name]
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
