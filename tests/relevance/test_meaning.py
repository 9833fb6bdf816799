import importlib

import pytest

from brim.errors import InvalidValue, UnknownName
from brim.relevance import meaning as embed
from brim.relevance.meaning import Meaning

SUBJECTS = [
    {"boat", "ship", "vessel", "sail"},
    {"piano", "music", "song", "instrument"},
    {"lunch", "dinner", "meal", "eat"},
]


def by_subject(texts):
    """Embed by subject: how many words of each there are, and how long the text is, which all have in common."""
    vectors = []
    for text in texts:
        words = text.lower().split()
        vectors.append([*(float(sum(word in subject for word in words)) for subject in SUBJECTS), len(words) / 4])
    return vectors


TALK = ["nothing much"] * 10 + ["the vessel left"] + ["nothing much"] * 10 + ["a song again"] + ["nothing much"] * 10


def index(texts, embed=by_subject):
    made = Meaning(embed)
    for text in texts:
        made.add(text)
    return made


def test_what_is_said_in_other_words_is_found():
    assert index(TALK).rank("ship")[0] == 10
    assert index(TALK).rank("instrument")[0] == 21


def test_each_text_is_embedded_once_and_many_at_a_time():
    asked = []

    def watched(texts):
        asked.append(len(texts))
        return by_subject(texts)

    made = index(TALK, watched)
    assert asked == []
    made.rank("ship")
    made.rank("song")
    made.add("lunch")
    assert made.rank("meal")[0] == len(TALK)
    assert len(made) == len(TALK) + 1
    assert asked == [32, 1, 1, 1, 1]


def test_vectors_must_be_one_for_each_text_and_of_one_length():
    with pytest.raises(InvalidValue, match="a vector for each of 32 texts, not 1"):
        index(TALK, lambda texts: [[1.0]]).rank("boat")
    with pytest.raises(InvalidValue, match="vectors all have 1 dimensions, not 2"):
        index(TALK, lambda texts: [[1.0] * (1 + i % 2) for i in range(len(texts))]).rank("boat")
    with pytest.raises(InvalidValue, match="sizes must be one for each of the 32 texts, not 1"):
        index(TALK).rank("boat", [1])


def test_a_missing_library_is_told_with_the_extra_that_brings_it(monkeypatch):
    def missing(name, *rest):
        raise ImportError(f"no module {name}")

    embed.wordllama.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UnknownName, match=r"pip install 'brim\[embeddings\]'"):
        Meaning()


def test_wordllama_is_loaded_from_its_own_package_without_a_download(monkeypatch, tmp_path):
    """The real library is tried by the benchmark; here a double shows how it is called."""
    asked = {}

    class Model:
        def embed(self, texts, return_np):
            assert return_np is False
            assert all(text.encode() is not None for text in texts)
            return by_subject(texts)

    class WordLlama:
        @staticmethod
        def load(**options):
            asked.update(options)
            return Model()

    class Library:
        __file__ = str(tmp_path / "wordllama" / "__init__.py")

    Library.WordLlama = WordLlama
    embed.wordllama.cache_clear()
    monkeypatch.setattr(importlib, "import_module", lambda name: Library)
    made = index([*TALK, "lone \ud800 surrogate"], None)
    assert made.rank("ship")[0] == 10
    assert asked == {"cache_dir": tmp_path / "wordllama", "disable_download": True}
    embed.wordllama.cache_clear()
