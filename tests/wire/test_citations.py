"""Documents whose places the model may cite are read as one part: a later citation counts their characters or blocks."""

import pytest

import brim
from brim.testing import CharMeter
from brim.wire import wire
from brim.wire.values import json_of
from talk import answer, gives, picture, png, says, text, use, user

CITED = {"citations": {"enabled": True}}
NOT_CITED = {"citations": {"enabled": False}}
PAGE = "The sky is blue. " * 40


def plain_document(**more):
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": PAGE}, **more}


def listed_document(*blocks, **more):
    return {"type": "document", "source": {"type": "content", "content": list(blocks)}, **more}


def search_result(**more):
    return {"type": "search_result", "source": "https://a.example", "title": "A", "content": [text(PAGE)], **more}


def bedrock_document(**more):
    return {"document": {"name": "page", "format": "txt", "source": {"text": PAGE}, **more}}


def bedrock_search_result(**more):
    return {"searchResult": {"source": "https://a.example", "title": "A", "content": [{"text": PAGE}], **more}}


BLOCKS = pytest.mark.parametrize(
    ("format", "block"),
    [
        ("anthropic", plain_document),
        ("anthropic", lambda **more: listed_document(text("One."), text(PAGE), **more)),
        ("anthropic", search_result),
        ("bedrock", bedrock_document),
        ("bedrock", lambda **more: bedrock_document(source={"content": [{"text": PAGE}]}, **more)),
        ("bedrock", bedrock_search_result),
    ],
    ids=["text", "blocks", "search result", "Bedrock's text", "Bedrock's blocks", "Bedrock's search result"],
)


def pieces_of(format, *blocks):
    return wire(format).read({"role": "user", "content": list(blocks)}, 0).pieces


@BLOCKS
def test_a_part_with_citations_is_one_piece_that_counts_as_json(format, block):
    (piece,) = pieces_of(format, block(**CITED))
    assert (piece.kind, piece.at) == ("opaque", ("content", 0))
    assert piece.text == json_of(block(**CITED), "a block")


@BLOCKS
@pytest.mark.parametrize("more", [{}, NOT_CITED], ids=["unset", "disabled"])
def test_a_part_without_citations_has_texts_that_may_be_cut(format, block, more):
    *texts, rest = pieces_of(format, block(**more))
    assert [piece.kind for piece in (*texts, rest)] == ["output"] * len(texts) + ["remainder"]
    assert texts[-1].text == PAGE


def test_cache_marks_do_not_change_the_count_of_a_part_with_citations():
    marked = plain_document(**CITED, cache_control={"type": "ephemeral"})
    assert pieces_of("anthropic", marked) == pieces_of("anthropic", plain_document(**CITED))


def test_the_images_of_a_document_with_citations_count_by_size():
    image, rest = pieces_of("anthropic", listed_document(text(PAGE), picture(), **CITED))
    assert (image.kind, image.at) == ("image", ("content", 0, "source", "content", 1))
    assert rest.kind == "remainder"
    assert PAGE in rest.text
    assert png() not in rest.text


def test_a_pdf_with_citations_counts_by_size():
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}
    assert [piece.kind for piece in pieces_of("anthropic", {"type": "document", "source": source, **CITED})] == ["file"]


def test_the_citations_of_an_answer_are_no_documents():
    place = {"type": "char_location", "cited_text": "The sky", "document_index": 0, "start_char_index": 0}
    (piece,) = wire("anthropic").read(says({**text("It is blue."), "citations": [place]}), 0).pieces[:1]
    assert (piece.kind, piece.text) == ("text", "It is blue.")


@pytest.mark.parametrize("block", [plain_document, search_result], ids=["document", "search result"])
def test_a_cut_prompt_has_it_whole_or_not_at_all(block):
    cited = block(**CITED)
    rounds = [m for i in range(8) for m in (says(use(f"c{i}")), gives(answer(f"c{i}", "out " * 60)))]
    messages = [
        user("task"),
        says(text("so")),
        {"role": "user", "content": [cited, text("Why?")]},
        *rounds,
        user("On."),
    ]
    for budget in range(600, 3_400, 200):
        made = brim.fit_messages(messages, budget, meter=CharMeter(), format="anthropic").messages
        blocks = [part for raw in made if isinstance(raw["content"], list) for part in raw["content"]]
        assert all(part == cited for part in blocks if part["type"] == cited["type"])
        assert made[0]["role"] == "user"
