"""The piece of a text that shows why it was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.store.postgres import _vector
from brim.store.values import shown_url
from brim.store.words import excerpt, query_words, text_words
from properties import examples

LONG = "filler " * 500


def test_an_excerpt_shows_where_most_of_the_words_stand():
    text = f"{LONG} apples alone {LONG} apples and pears together {LONG}"
    shown = excerpt(text, query_words("apple pear"))
    assert "apples and pears together" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 202


def test_an_excerpt_is_one_line_that_can_be_printed():
    assert excerpt("one\n\n two\0three\ud800", ["two"]) == "one two three\ufffd"


@examples(60)
@given(text=st.text(st.characters(exclude_categories=[]), max_size=300), start=st.text("ab \n", max_size=300))
def test_every_word_of_a_text_can_be_stored_and_an_excerpt_be_printed(text, start):
    found = text_words(start + text)
    assert all(word and " " not in word and "\0" not in word for word in found)
    " ".join(found).encode()
    excerpt(start + text, found).encode()


def test_words_for_postgres_are_quoted_and_bounded():
    assert _vector(["it's", "a\\b", "it's"]) == r"'it''s' 'a\\b'"
    assert len(_vector([f"word{i}" for i in range(200_000)])) < 1_000_000


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:geheim@host:5432/db?password=geheim", "postgresql://ann@host:5432/db"),
        ("postgres://host/db", "postgresql://host/db"),
        ("postgresql://[::1", "postgresql://"),
    ],
)
def test_an_address_is_shown_without_its_password(url, shown):
    assert shown_url(url) == shown
