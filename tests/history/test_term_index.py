import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.history.relevance import Relevance, TermIndex
from brim.meter.words import terms

WORDS = ["boat", "piano", "school", "lunch", "tree", "x1", "東京"]


def index(texts, made=None):
    made = TermIndex() if made is None else made
    for text in texts:
        made.add(text)
    return made


def reference(texts, query):
    """Score by BM25 the slow and obvious way; a long text counts as a part of twice the usual length."""
    found = [Counter(terms(text)) for text in texts]
    lengths = [sum(each.values()) for each in found]
    long = 2 * max(1, sorted(lengths)[len(lengths) // 2]) if lengths else 2
    clipped = [min(length, long) for length in lengths]
    scores = [0.0] * len(texts)
    for term in dict.fromkeys(terms(query)):
        having = sum(term in each for each in found)
        if not having:
            continue
        rarity = round(math.log1p((len(texts) - having + 0.5) / (having + 0.5)), 6)
        for i, each in enumerate(found):
            amount = each[term] * min(1, long / lengths[i]) if lengths[i] else 0
            scores[i] += rarity * amount / (amount + 1.2 * (0.25 + 0.75 * clipped[i] * len(texts) / sum(clipped)))
    return scores


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=15),
    st.lists(st.sampled_from(WORDS), max_size=4),
)
def test_scores_are_those_of_bm25(texts, asked):
    query = " ".join(asked)
    assert index(texts).scores(query) == pytest.approx(reference(texts, query))


def test_more_of_a_term_is_worth_more_and_a_neighbour_nothing():
    texts = ["boat boat boat tree tree tree", "boat tree tree tree tree tree", "tree tree tree tree tree tree"]
    scores = index(texts).scores("boat")
    assert scores[0] > scores[1] > scores[2] == 0
    near = index(texts, Relevance()).scores("boat")
    assert near[2] > 0


def test_texts_that_are_added_later_count():
    made = index(["boat", "piano"])
    before = made.scores("boat")
    made.add("boat boat")
    assert made.scores("boat") == pytest.approx(reference(["boat", "piano", "boat boat"], "boat"))
    assert made.scores("boat")[:2] != before
