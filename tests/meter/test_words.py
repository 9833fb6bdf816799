import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.meter.words import stem, terms


@pytest.mark.parametrize(
    "forms",
    [
        "paint paints painted painting",
        "bake bakes baked baking",
        "study studies studied studying",
        "box boxes boxed boxing",
        "plan plans planned planning",
        "load loads loaded loading",
        "movie movies",
        "class classes",
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("word", ["bus", "this", "glass", "string", "red", "thing", "king", "is"])
def test_what_only_looks_like_an_ending_stays(word):
    assert stem(word) == word


def test_words_that_every_sentence_has_are_left_out():
    assert terms("What is it that you would have done with them?") == []
    assert terms("I'm sure she'll say they don't, it's what we've painted") == ["sur", "say", "paint"]


@pytest.mark.parametrize("name", ["load_file", "loadFile", "LoadFile", "load-file", "LOAD_FILE"])
def test_an_identifier_is_found_whole_and_by_its_parts(name):
    assert {*terms("load the file"), "loadfile"} == set(terms(name))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/brim/sections/fit.py:33.", ["src/brim/sections/fit.py", "fit", "33"]),
        ("order #W1234567 of 2024-05-01", ["w1234567", "20240501", "2024"]),
        ("it costs 3.14", ["3.14", "3", "14"]),
        ("HTTPServer2", ["http", "server2", "httpserver2"]),
        ("mail a.b@example.org", ["a.b@example.org"]),
        ("l'amour, rock'n'roll", ["amour", "rock", "roll"]),
    ],
)
def test_paths_numbers_and_names_are_terms(text, found):
    assert set(found) <= set(terms(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe\u0301"),
        ("naïve", "naive"),
        ("STRASSE", "Straße"),
        ("Ёлка", "елка"),
        ("ﬁle", "file"),
        ("ﾊﾞｽ", "バス"),
        ("Melanie’s", "melanie's"),
    ],
)
def test_accents_case_and_forms_of_letters_are_folded(one, other):
    assert terms(one) == terms(other) != []


def test_scripts_without_spaces_give_pairs_of_characters():
    assert terms("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert terms("我们用Python3写") == ["我们", "们用", "python3", "写"]
    assert terms("데이터를") == ["데이", "이터", "터를"]
    assert terms("バス") != terms("ハス")


def test_vowel_signs_do_not_part_a_word():
    assert terms("दुनिया हिन्दी") == ["दुनिया", "हिनदी"]


def test_an_encoded_file_is_no_word():
    assert terms("data " + "QUJD" * 100_000 + " end") == ["data", "end"]


@given(st.text())
def test_any_text_has_terms_and_they_are_words(text):
    for term in terms(text):
        assert term
        assert len(term) <= 4 * 64
        assert not term.isspace()


@given(st.text(), st.text())
def test_a_line_between_two_texts_leaves_their_terms_as_they_are(one, other):
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)
