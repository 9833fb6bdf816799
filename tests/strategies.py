"""Texts that provoke tokenizers, truncators and joins."""

import base64
import json

from hypothesis import strategies as st

_CJK = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=40)
_RTL = st.text(st.characters(min_codepoint=0x0590, max_codepoint=0x06FF), min_size=1, max_size=30)
_EMOJI = st.lists(
    st.sampled_from(["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "1️⃣", "❤️", "🧠"]), min_size=1, max_size=12
).map("".join)
_MARKS = st.lists(
    st.sampled_from(["e\u0301", "a\u0308\u0323", "क्षि", "한", "각", "ำ", "\u200d", "\u0301"]), max_size=12
).map("".join)
_ODD = st.sampled_from(
    [
        "",
        "\x00",
        "<|endoftext|>",
        "<|im_start|>",
        "\ud800",
        "\udfff\ud83d",
        "\r\n",
        "\r",
        " ",
        "\u202e",
        "\ufeff",
        "\u1ae0",
        "­",
    ]
)
_JOINS = st.sampled_from(
    ["-\n//", "-\n", "//", "'s", "'", "\n\n", "\n", "  ", " \n ", "\t", "})", "}\n\n//", "...", "1234", "/*", "*/"]
)
_WORDS = st.lists(
    st.sampled_from(
        ["the", "quick", "brown", "fox", "it's", "don't", "42", "ERROR", "x=1;", "naïve", "Über", "file.py"]
    ),
    max_size=60,
).map(" ".join)
_CODE = st.integers(1, 12).map(
    lambda n: "".join(f"def f{i}(x):\n    if x > {i}:\n        return [x, {i}]\n\n" for i in range(n))
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
).map(lambda value: json.dumps(value, ensure_ascii=False))
_BASE64 = st.binary(max_size=120).map(lambda raw: base64.b64encode(raw).decode())
_RUNS = st.tuples(st.sampled_from("a !\n0漢\u0301\u200d"), st.integers(1, 300)).map(lambda pair: pair[0] * pair[1])
_LINES = st.lists(_WORDS, max_size=15).map("\n".join)
_ANY = st.text(max_size=60)

pieces = st.one_of(_WORDS, _LINES, _CODE, _JSON, _CJK, _RTL, _EMOJI, _MARKS, _ODD, _JOINS, _BASE64, _RUNS, _ANY)
texts = st.lists(pieces, max_size=6).map("".join)
"""Any text, from nothing to a few hundred tokens, with all the awkward kinds in it."""

long_texts = st.tuples(texts.filter(bool), st.integers(2, 12)).map(lambda pair: pair[0] * pair[1])
"""Texts that usually have to be cut."""
