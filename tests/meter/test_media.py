import base64
import struct
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.meter import media
from brim.meter.media import count_media, pages
from properties import examples


def count_audio(model, source):
    return count_media("audio", source, model=model)


def count_file(model, source):
    return count_media("file", source, model=model)


def wav(seconds, rate=48_000, before=b""):
    body = b"\0" * seconds * rate
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate // 2, rate, 2, 16)
    return b"RIFF" + b"\0" * 4 + b"WAVE" + before + form + b"data" + struct.pack("<I", len(body)) + body


def pdf(*objects):
    return b"%PDF-1.7\n" + b"\n".join(objects) + b"\n%%EOF"


def packed(raw):
    return b"<</Type /ObjStm /N 9>> stream\r\n" + zlib.compress(raw) + b"\nendstream"


PAGE = b"<< /Type /Page /Parent 2 0 R >>"
TREE = b"<< /Type /Pages /Count 3 >>"


@pytest.mark.parametrize(
    ("model", "units"), [("gpt-4o", 100), ("gemini-2.5-pro", 320), ("gemini-3.8-flash", 250), (None, 100)]
)
def test_a_recording_costs_by_the_second(model, units):
    assert count_audio(model, None) == (60 * units, False)  # Nothing is known, so ten minutes are assumed.
    # The header counts as sound, so that a recording is never taken for shorter than it is.
    assert count_audio(model, wav(10)).units == units * 11 // 10
    other = b"LIST" + struct.pack("<I", 4) + b"INFO"
    assert count_audio(model, base64.b64encode(wav(10, before=other)).decode()).units == units * 11 // 10


def test_a_recording_that_is_compressed_is_taken_for_as_long_as_it_can_be():
    assert count_audio("gpt-4o", b"ID3" + b"\0" * 59_997).units == 600
    assert count_audio("gpt-4o", b"RIFF\0\0\0\0WAVE" + b"\0" * 988).units == 10


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (pdf(TREE, PAGE, PAGE, PAGE), 3),
        (pdf(b"<</Type/Pages>>", b"<</Type/Page>>"), 1),
        (pdf(TREE, packed(PAGE * 40), packed(PAGE * 2)), 42),
        (pdf(PAGE, packed(b"<</Type /Font>>"), b"/ObjStm stream\nnot packed\nendstream"), 1),
        (pdf(b"/ObjStm without a str eam"), 1),
        (b"/ObjStm stream\n" + zlib.compress(PAGE * 5) + b"\nendstream", 5),
        (pdf(b"x" * 12_000), 4),
        (b"", 1),
    ],
)
def test_the_pages_of_a_pdf_are_counted_also_where_they_are_packed(raw, expected):
    assert pages(raw) == expected


@pytest.mark.parametrize(
    ("model", "page"),
    [("gpt-4o", 3765), ("claude-opus-4-6", 4496), ("claude-opus-5", 7758), ("gemini-3.8-flash", 4120)],
)
def test_a_page_costs_its_text_and_its_image(model, page):
    text = base64.b64encode(pdf(TREE, PAGE, PAGE)).decode()
    assert count_file(model, f"data:application/pdf;base64,{text}") == (2 * page, False)
    assert count_file(model, text).units == 2 * page
    assert count_file(model, pdf(PAGE)).units == page
    assert count_file(model, None).units == 20 * page


def test_other_files_cost_a_share_of_their_bytes_and_never_their_base64_as_text():
    assert count_file("gpt-4o", b"a,b\n" * 300) == (600, False)
    assert count_file("gpt-4o", base64.b64encode(b"a,b\n" * 300).decode()) == (600, False)
    unmarked = "data:application/pdf;base64," + base64.b64encode(b"\0" * 4_001).decode()
    assert count_file("gpt-4o", unmarked).units == 2 * 3765


@examples(60)
@given(raw=st.binary(max_size=60), head=st.sampled_from([b"", b"%PDF-", b"RIFF\0\0\0\0WAVEfmt ", b"/ObjStm stream\n"]))
def test_garbage_never_raises(raw, head):
    for source in (head + raw, base64.b64encode(head + raw).decode()):
        assert count_file("claude-opus-5", source).units >= 0
        assert count_audio("claude-opus-5", source).units >= 0


@pytest.mark.parametrize(
    "hostile",
    [
        b"/ObjStm stream\n" * 200_000,
        b"/ObjStm stream\n" * 200_000 + b"endstream",
        b"/ObjStm" * 400_000,
        b"/Type " * 400_000,
    ],
)
def test_a_hostile_pdf_takes_no_longer_than_another(hostile):
    began = time.process_time()
    assert pages(b"%PDF-" + hostile) > 0
    assert time.process_time() - began < 1


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(media, "_MOST_UNPACKED", 1_000_000)
    bomb = packed(b"\0" * 8_000_000)
    assert pages(pdf(PAGE, bomb, bomb)) == 1
