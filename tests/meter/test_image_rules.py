import base64
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.meter import media
from brim.meter.image_rules import OTHER, MediaCount, detail_level, image_rule
from brim.meter.media import count_media
from properties import examples

DETAILS = [None, "low", "high", "original", "auto", "medium", "MEDIA_RESOLUTION_LOW"]
MODELS = [
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4.1-mini",
    "gpt-5",
    "gpt-5.2",
    "gpt-5.4",
    "gpt-5.5",
    "gpt-5.6",
    "gpt-6-astra",
    "claude-sonnet-4-5",
    "claude-opus-5",
    "gemini-2.5-pro",
    "gemini-3.8-flash",
    "a-model-nobody-knows",
]


def size_of_bytes(raw):
    return media._image_size(raw)


def count_image(model, source, detail=None, *, provider=None):
    return count_media("image", source, detail, model=model, provider=provider)


def image_units(rule, width, height, detail=None):
    return rule.units((width, height), detail_level(detail))


def png(width, height):
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\x00\x00\x00"


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\x00\x00"


def webp(kind, body):
    return b"RIFF" + b"\0" * 4 + b"WEBP" + kind + b"\0" * 4 + body + b"\0" * 8


def lossy(width, height):
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def lossless(width, height):
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14))


def extended(width, height):
    return webp(b"VP8X", b"\x10\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"))


def jpeg(width, height, *, before=b"\xff\xe0\x00\x10" + b"\0" * 14, frame=0xC0):
    return b"\xff\xd8" + before + b"\xff" + bytes([frame]) + struct.pack(">HBHHB", 17, 8, height, width, 3)


def camera_jpeg(width, height):
    """As cameras write it: a megabyte of preview, an escaped table, filling and a restart before the size."""
    preview = b"".join(b"\xff\xe2\xff\xff" + b"\xff\xc0" * 32766 + b"\0" for _ in range(16))
    return jpeg(width, height, before=preview + b"\xff\xd0\xff\xff\xc4\x00\x04\xff\xc0", frame=0xC2)


FORMATS = [png, gif, lossy, lossless, extended, jpeg]
sides = st.integers(1, 16_000)


@pytest.mark.parametrize("build", FORMATS)
@examples(20)
@given(width=sides, height=sides)
def test_a_header_tells_width_and_height(build, width, height):
    assert size_of_bytes(build(width, height)) == (width, height)


@pytest.mark.parametrize("build", FORMATS)
def test_a_header_that_ends_too_soon_tells_nothing_and_never_something_wrong(build):
    whole = build(1234, 567)
    told = [size_of_bytes(whole[:end]) for end in range(len(whole) + 1)]
    assert set(told) <= {None, (1234, 567)}
    assert told[:10] == [None] * 10


@pytest.mark.parametrize("build", FORMATS)
@examples(30)
@given(noise=st.binary(max_size=80), at=st.integers(0, 40))
def test_garbage_never_raises(build, noise, at):
    for raw in (noise, build(300, 200)[:at] + noise):
        size = size_of_bytes(raw)
        assert size is None or min(size) > 0
        assert count_image("gpt-4o", raw).units >= 85


@examples(200)
@given(raw=st.binary(max_size=200), width=st.sampled_from([0, 4, 64, 76]))
def test_bytes_are_read_from_base64_as_from_the_bytes(raw, width):
    text = base64.b64encode(raw).decode()
    if width:
        text = "\r\n".join(text[i : i + width] for i in range(0, len(text), width))
    for source in (text, f"data:image/png;charset=x;base64,{text}", raw):
        assert media._data_of(source)[0] == raw


UNSEEN = [
    None,
    "",
    "https://example.test/a.png",
    "gs://bucket/a.png",
    "file-abc123",
    "file_011CNha8iCJcU1wXNR6q4V8w",
    "data:image/svg+xml;utf8,<svg width='10'/>",
    "data:image/png",
    "data:" + "x" * 600 + ";base64,AAAA",
    "\ud800",
    "不是图片",
    "AAAA",
    "=",
]


@pytest.mark.parametrize("model", MODELS)
def test_an_image_that_cannot_be_seen_costs_the_most_and_is_an_estimate(model):
    most = MediaCount(image_rule(model).units(None, None), exact=False)
    assert [source for source in UNSEEN if count_image(model, source) != most] == []


def test_a_size_after_a_megabyte_of_preview_is_found():
    text = base64.b64encode(camera_jpeg(1126, 488) + b"\0" * 3_000_000).decode()
    assert count_image("gpt-4o", f"data:image/any;base64,{text}") == (595, True)


@pytest.mark.parametrize("hostile", [b"\xff\xe1\x00\x02", b"\xff\xff", b"\xff\xd0", b"\xff\xe1\x00\x00", b"\x00"])
def test_an_endless_jpeg_is_left_after_a_while(hostile):
    began = time.process_time()
    assert size_of_bytes(b"\xff\xd8\xff\xe0\x00\x02" + hostile * 500_000) is None
    assert time.process_time() - began < 0.5


PUBLISHED = [
    # OpenAI, Images and vision: the examples of the guide, by tiles and by patches
    ("gpt-4o", 1024, 1024, "high", 765),
    ("gpt-4o", 2048, 4096, "high", 1105),
    ("gpt-4o", 4096, 8192, "low", 85),
    ("gpt-4o", 1, 1, None, 255),
    ("gpt-4o", 1126, 488, "auto", 595),
    ("gpt-4o-mini", 1, 1, "high", 8500),
    ("gpt-4o-mini", 1126, 488, "high", 19834),
    ("gpt-4o-mini", 5000, 5000, "low", 2833),
    ("gpt-5.1", 1024, 1024, "high", 630),
    ("gpt-5", 1024, 1024, "original", 630),
    ("o3", 1024, 1024, "high", 675),
    ("computer-use-preview", 1024, 768, "high", 65 + 4 * 129),
    ("gpt-5.4", 1024, 1024, "high", 1229),
    ("gpt-5.4", 2048, 2048, "high", 3000),
    ("gpt-5.4", 2048, 2048, "auto", 3000),
    ("gpt-5.4", 2048, 2048, "low", 4916),
    ("gpt-5.4", 6000, 6000, "original", 12_000),
    ("gpt-5.5", 2048, 2048, None, 4916),
    ("gpt-5.5", 2048, 2048, "low", 308),
    ("gpt-5.6", 8000, 3000, None, 28_200),
    ("gpt-6-astra", 4096, 512, "high", 2458),
    ("gpt-5.6-sol", 4096, 512, "high", 615),
    ("gpt-4.1-mini", 1024, 1024, "high", 1659),
    ("gpt-4.1-mini", 1024, 1024, "low", 1659),
    # Anthropic, Images and vision: the table of both tiers, and the page of the guide on coordinates
    ("claude-sonnet-4-5", 200, 200, None, 64),
    ("claude-sonnet-4-5", 1000, 1000, None, 1296),
    ("claude-sonnet-4-5", 1092, 1092, None, 1521),
    ("claude-sonnet-4-5", 1920, 1080, None, 1560),
    ("claude-sonnet-4-5", 2000, 1500, None, 1564),
    ("claude-sonnet-4-5", 3840, 2160, None, 1560),
    ("claude-sonnet-4-5", 1075, 1520, None, 33 * 47),
    ("claude-opus-4-7", 1075, 1520, None, 2145),
    ("claude-opus-4-7", 1920, 1080, None, 2691),
    ("claude-opus-4-7", 2000, 1500, None, 3888),
    ("claude-opus-4-7", 3840, 2160, "high", 4784),
    # Google, Image understanding and Media resolution
    ("gemini-2.5-pro", 384, 384, None, 258),
    ("gemini-2.5-pro", 960, 540, None, 1548),
    ("gemini-3.8-flash", 960, 540, None, 1120),
    ("gemini-3.8-flash", 5, 5, "low", 280),
    ("gemini-3.8-flash", 5, 5, "MEDIA_RESOLUTION_ULTRA_HIGH", 2240),
    ("gemini-3.8-flash", 5, 5, "unheard of", 2240),
]


def test_an_image_costs_what_is_published():
    wrong = []
    for model, width, height, detail, units in PUBLISHED:
        rule = image_rule(model)
        found = [image_units(rule, width, height, detail), image_units(rule, height, width, detail)]
        counted = count_image(model, png(width, height), detail)
        if found != [units, units] or counted != (units, not model.startswith("gemini")):
            wrong.append((model, width, height, detail, units, found, counted))
    assert wrong == []


@pytest.mark.parametrize("model", MODELS)
@examples(30)
@given(width=st.integers(1, 70_000), height=st.integers(1, 70_000), detail=st.sampled_from(DETAILS))
def test_no_image_costs_nothing_or_more_than_the_most(model, width, height, detail):
    rule = image_rule(model)
    units = image_units(rule, width, height, detail)
    assert 0 < units <= count_image(model, None, detail).units
    assert units == image_units(rule, height, width, detail)


def blocks_by_trial(width, height, edge, most):
    """Try every size from the largest down: the oracle for Anthropic's rule."""
    long, short = max(width, height), min(width, height)
    for tried in range(long, 0, -1):
        across, down = -(-tried // 28), -(-max(1, round(tried / (long / short))) // 28)
        if across * 28 <= edge and across * down <= most:
            return across * down
    raise AssertionError


@examples(60)
@given(width=st.integers(1, 6_000), height=st.integers(1, 6_000), fine=st.booleans())
def test_claude_sees_the_largest_size_that_fits(width, height, fine):
    model, edge, most = ("claude-opus-5", 2576, 4784) if fine else ("claude-opus-4-6", 1568, 1568)
    assert image_units(image_rule(model), width, height) == blocks_by_trial(width, height, edge, most)


RELATIVES = [
    ("gpt-4o-2024-08-06", "gpt-4o", True),
    ("openai/gpt-4o-mini", "gpt-4o-mini", True),
    ("azure/gpt-4.1-2025-04-14", "gpt-4o", True),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o-mini", True),
    ("GPT-5.4", "gpt-5.4", True),
    ("gpt-5.4-mini", "gpt-5.4", True),
    ("gpt-5.4-pro", "gpt-5.4", False),
    ("gpt-5-pro", "gpt-5", False),
    ("gpt-5.3-codex", "gpt-5.2", False),
    ("gpt-6.1-terra", "gpt-6-astra", False),
    ("gpt-9", "gpt-6-astra", False),
    ("o3-pro", "o3", False),
    ("chatgpt-4o-latest", "gpt-4o", False),
    ("gpt-4-turbo", "gpt-4o", False),
    ("claude-3-haiku-20240307", "claude-sonnet-4-5", True),
    ("claude-opus-4-20250514", "claude-sonnet-4-5", True),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", True),
    ("claude-4-6-opus", "claude-sonnet-4-5", True),
    ("claude-opus-4-10", "claude-opus-5", True),
    ("anthropic/claude-sonnet-5.5", "claude-opus-5", True),
    ("claude-mythos-preview", "claude-opus-5", False),
    ("anthropic", "claude-opus-5", False),
    ("openai", "gpt-4o", False),
    (None, "gpt-4o", False),
    ("google", "gemini-3.8-flash", False),
    ("gemini-2.0-flash-lite", "gemini-2.5-pro", False),
    ("gemini-4-argon", "gemini-3.8-flash", False),
]


def test_a_name_leads_to_its_rule_or_to_that_of_its_nearest_relative():
    sizes = [(100, 90), (1000, 800), (1920, 1080), (2500, 2500), (6000, 9000)]
    wrong = []
    for name, like, published in RELATIVES:
        rule, same = image_rule(name), image_rule(like)
        alike = [rule.units(size, "high") for size in sizes] == [same.units(size, "high") for size in sizes]
        if not alike or rule.published is not published or count_image(name, png(100, 90)).exact is not published:
            wrong.append((name, like, published))
    assert wrong == []


def test_a_model_of_which_nothing_is_known_is_counted_on_the_finest_grid():
    assert image_rule("some-vision-8b") is OTHER
    assert count_image("some-vision-8b", png(2800, 2800)) == (10_000, False)


def test_the_provider_counts_where_no_model_is_known():
    assert count_image(None, png(1920, 1080), provider="anthropic") == (2691, False)
    assert count_image(None, png(1024, 1024), provider="openai") == (765, False)
    assert count_image("gpt-5", png(1024, 1024), provider="anthropic") == (630, True)
