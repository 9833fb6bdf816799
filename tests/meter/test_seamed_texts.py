"""Choices among texts that are joined: their counts, which are made of counts of the parts."""

import toktok
from hypothesis import given
from hypothesis import strategies as st

from brim.meter.vocabularies import vocabulary
from properties import examples

WORDS = st.sampled_from(
    ["a", "tree", "don't", "été", "世界", "\n", "1234567", "_", "  ", "👩‍👩‍👧", "<|endoftext|>", "x" * 30]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)


@examples(100)
@given(st.lists(TEXTS, min_size=1, max_size=12), st.sampled_from(["\n", "", "\n\n", " - "]), st.data())
def test_a_choice_counts_what_its_text_counts_each_time(texts, separator, data):
    """The oracle is the tokenizer itself; the second and third choice find counts of the ones before."""
    meter = vocabulary("o200k_base")
    joined = meter.joined(tuple(texts), separator, separator.join(texts))
    for _ in range(3):
        chosen = sorted(data.draw(st.sets(st.integers(0, len(texts) - 1), min_size=1)))
        before, after = data.draw(st.sampled_from([("", ""), ("[3 more]\n", ""), ("", "\n[... 12 omitted ...]")]))
        text = before + separator.join(texts[index] for index in chosen) + after
        assert joined.count(chosen, before, after) == toktok.batch_count([text], "o200k_base", 1)[0]
        assert joined.text(chosen, before, after) == text
        assert joined.sizes(chosen) == toktok.batch_count([texts[index] for index in chosen], "o200k_base", 1)
        if ends := joined.ends(chosen, before, after):
            assert text.startswith(ends[0])
            assert text.endswith(ends[1])


def test_the_same_texts_with_another_separator_or_in_other_parts_are_others():
    """The text by which counts are cached is the same, the parts are not."""
    meter, first, second = vocabulary("o200k_base"), "a few words that have seams " * 3, "and some more of those " * 3
    whole = f"{first}\n{second}"
    known = meter.joined((first, second), "\n", whole)
    assert meter.joined((first, second), "\n", whole) is known
    assert meter.joined((whole,), "\n", whole).sizes([0]) == [meter.count(whole)]
    assert meter.joined((f"{first}\n", second), "", whole).sizes([0]) == [meter.count(f"{first}\n")]


def test_what_is_known_of_joins_is_bounded():
    """Ever new choices among the same texts do not grow the cache without end."""
    meter, texts = vocabulary("o200k_base"), [f"text number {i} has a few words and more " * 3 for i in range(40)]
    joined = meter.joined(texts, "\n", "\n".join(texts))
    for step in range(1, 39):
        for start in range(40 - step):
            joined.count([start, start + step])
    assert len(joined._joins) <= 5 * len(texts)
