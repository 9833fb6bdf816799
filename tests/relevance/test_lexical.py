import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.meter.words import terms
from brim.relevance.lexical import Relevance

CHAT = [
    "Ann: Good morning! How was the weekend?",
    "Ben: Quiet. I repaired the old boat at last.",
    "Ann: Lovely. What did you call it in the end?",
    "Ben: Heron, after the bird that sat on it.",
    "Ann: Shall we have lunch on Friday?",
    "Ben: Yes, at the station.",
    "Ann: My sister donated her piano to the school.",
    "Ben: How kind of her.",
    "Ann: They were delighted, and sang for an hour.",
    "Ben: See you on Friday.",
]

WORDS = ["boat", "boats", "piano", "pianist", "school", "donate", "donation", "lunch", "Friday", "the", "x1", "東京"]


def index(texts):
    made = Relevance()
    for text in texts:
        made.add(text)
    return made


def texts():
    said = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
    return st.lists(st.tuples(st.sampled_from(["", "", "Boat: ", "Piano School: "]), said).map("".join), max_size=40)


def reference(texts, query):
    """Score the slow and obvious way: every text by every term of every other text."""
    found = [Counter(terms(text)) for text in texts]
    lengths = [sum(each.values()) for each in found]
    numbers = range(len(texts))
    asked = list(dict.fromkeys(terms(query)))
    known = {term for each in found for term in each}
    weights = {term: 1.0 for term in asked if term in known}
    for term in sorted(known - set(asked)):
        if len(term) >= 5 and term.isalpha() and any(term[:5] == other[:5] and other.isalpha() for other in asked):
            weights[term] = 0.5
    scores = [0.0] * len(texts)
    if not weights:
        return scores
    long = 2 * max(1, sorted(lengths)[len(lengths) // 2])
    padded = [long // 2] * 6 + [min(length, long) for length in lengths] + [long // 2] * 6
    around = [sum(each * 0.6 ** abs(i + 6 - j) for j, each in enumerate(padded)) for i in numbers]
    for term, weight in weights.items():
        having = [i for i in numbers if found[i][term]]
        rarity = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for i in numbers:
            amount = sum(found[j][term] * min(1, long / lengths[j]) * 0.6 ** abs(i - j) for j in having)
            if amount <= 0.03:
                continue
            half = 1.2 * (0.25 + 0.75 * around[i] / (sum(around) / len(around)))
            scores[i] += weight * rarity * amount / (amount + half)
    speakers = [set(terms(text.split(": ")[0])) if ": " in text else set() for text in texts]
    return [score * 1.3 if speaker & set(asked) else score for score, speaker in zip(scores, speakers, strict=True)]


def test_an_answer_comes_along_with_its_question():
    assert set(index(CHAT).rank("What did Ben call his boat?")[:3]) == {1, 2, 3}


def test_without_a_match_the_newest_come_first():
    newest = list(range(9, -1, -1))
    for query in ("", "zebra", "who are you?", "?!", "\ud800"):
        assert index(CHAT).rank(query) == newest


def test_a_text_that_takes_the_room_of_many_comes_later():
    filler = ["some filler words"] * 20
    made = index(["boat and filler", *filler, "boat filler boat", *filler])
    sizes = [10] * 42
    assert made.rank("boat", sizes)[0] == 21
    sizes[21] = 500
    ranked = made.rank("boat", sizes)
    assert ranked.index(21) > ranked.index(0)
    assert ranked.index(21) < ranked.index(41)


@given(texts(), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join))
def test_the_scores_are_those_of_the_obvious_way(texts, query):
    assert index(texts).scores(query) == pytest.approx(reference(texts, query), rel=1e-4, abs=1e-6)


@given(texts(), texts())
def test_an_index_that_grew_between_queries_ranks_as_one_made_at_once(texts, more):
    grown = index(texts)
    grown.rank("boat school")
    for text in more:
        grown.add(text)
    assert grown.rank("boat school donation") == index(texts + more).rank("boat school donation")
