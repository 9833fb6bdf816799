import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.json_parts import JsonParts, json_parts
from brim.truncate.parts import TextParts
from brim.truncate.shape import Shape
from properties import examples
from truncate.cutting import CHAR, PIECE, boundaries, checked, every_meter, limits, shares

RECORD = {"id": 7, "tags": ["a", "b"], "note": "long words " * 20, "rows": [{"n": n, "ok": True} for n in range(50)]}


def valid(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [
        pytest.param(
            list(range(1000, 1100)),
            60,
            [1000, 1001, 1002, 1003, "[96 items omitted]"],
            id="an array keeps its first items",
        ),
        pytest.param(
            {"log": "first\n" + "word\n" * 60 + "last"},
            70,
            {"log": "first\nword\nword\n[56 lines omitted]\nword\nword\nlast"},
            id="a string keeps whole lines from both ends",
        ),
        pytest.param({"data": "x" * 500}, 60, {"data": "[500 characters omitted]"}, id="what has no lines goes whole"),
        pytest.param(
            {"id": 7, "rows": [[n] * 30 for n in range(99)]},
            50,
            {"id": 7, "rows": ["[99 items omitted]"]},
            id="keys stay",
        ),
        pytest.param(
            {f"key{n}": n for n in range(99)},
            60,
            {"key0": 0, "key1": 1, "[97 fields omitted]": None},
            id="many keys give way too",
        ),
    ],
)
def test_what_is_kept_first(value, limit, expected):
    text = json.dumps(value)
    cut = checked(Shape(kind="json"), text, limit, CHAR)
    assert json.loads(cut.text) == expected


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_the_layout_stays(indent):
    cut = Shape(kind="json").truncate(json.dumps(RECORD, indent=indent), 300, CHAR)
    assert cut.text == json.dumps(json.loads(cut.text), indent=indent, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [40, 300, 5000])
def test_depth_neither_recurses_nor_breaks_what_reads_it(limit):
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = opening * 90 + "1" * 6_000 + closing * 90
        cut = checked(Shape(kind="json"), deep, limit, CHAR)
        assert cut is None or limit < 300 or valid(cut.text)
        assert json_parts(opening * 10_000 + "1" + closing * 10_000) is None
        checked(Shape(kind="json"), opening * 10_000 + "1" + closing * 10_000, limit, CHAR)


@pytest.mark.parametrize("text", ["no json " * 50, "{" + "x" * 300, "7" * 300])
def test_what_cannot_stay_json_is_cut_as_plain_text(text):
    assert "omitted]" in Shape(kind="json").truncate(text, 90, CHAR).text
    assert "<cut>" in Shape(kind="json", marker="<cut>").truncate(text, 90, CHAR).text


def test_json_lines_keep_whole_lines_from_both_ends():
    lines = [json.dumps({"line": number}) for number in range(100)]
    cut = Shape(kind="json").truncate("\n".join(lines), 90, CHAR)
    assert cut.text.split("\n") == [*lines[:3], '{"[95 lines omitted]": null}', *lines[-2:]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a":1}\n{"b":2}', True), ("[1]\n\n[2]\n", True), ("1\n2", False), ('{"a":1}\n{', False), ("[1]\n2", False)],
)
def test_json_lines_are_told_from_other_texts(text, expected):
    assert isinstance(json_parts(text, 0) if expected else json_parts(text), TextParts | JsonParts) is expected


strings = st.one_of(
    st.text(max_size=8),
    st.text(min_size=30, max_size=60),
    st.tuples(st.sampled_from(["word ", "é", "🏳️‍🌈", "\n", '\\"', "🇩🇪"]), st.integers(20, 90)).map(
        lambda pair: pair[0] * pair[1]
    ),
)
scalars = st.none() | st.booleans() | st.integers(-99, 10**12) | st.floats(allow_nan=False) | strings
arrays = st.tuples(scalars, st.integers(0, 30)).map(lambda pair: [pair[0]] * pair[1])
values = st.dictionaries(
    st.text(max_size=6),
    scalars | arrays | st.dictionaries(st.text(max_size=3), arrays, max_size=3),
    min_size=2,
    max_size=6,
) | st.lists(st.fixed_dictionaries({"id": st.integers(), "note": strings, "in": arrays}), min_size=2, max_size=8)


@every_meter
@examples(60)
@given(value=values, share=shares, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_valid_json_stays_valid_json(meter, value, share, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    cut = checked(Shape(kind="json"), text, limits(text, meter, share), meter)
    assert cut is None or valid(cut.text) or "omitted]" in cut.text


@pytest.mark.parametrize("meter", [CHAR, PIECE], ids=["char", "piece"])
@examples(60)
@given(value=st.dictionaries(st.sampled_from("abcdef"), strings, min_size=2), share=shares)
def test_a_string_is_cut_between_graphemes(meter, value, share):
    text = json.dumps(value, ensure_ascii=False)
    cut = checked(Shape(kind="json"), text, limits(text, meter, share), meter)
    if cut and valid(cut.text):
        for key, short in json.loads(cut.text).items():
            if key in value and short != value[key]:
                kept = short.partition("[")[0].rstrip()
                assert value[key].startswith(kept)
                assert len(kept) in boundaries(value[key])


def test_an_empty_string_with_a_long_key_is_no_string_of_lines():
    """IndexError: list index out of range"""
    assert checked(Shape(kind="json"), json.dumps({"": None, "a long key of an empty string": ""}), 8, CHAR) is None


BROKEN = ["[1,2] [3]", "[1,2", '{"a":1,}', "[1]]", '["a" "b"]', "[01]", '{"a":"b}', '{"a":{}:1}', "[1,]", '{"a"}', "[1 2]",
          '{1:2}', "[}", '[{"a": 1]]', "[tru]", "[1]x"]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_not_json_is_not_taken_for_it(text):
    assert not valid(text)
    assert json_parts(text) is None


@examples(150)
@given(
    text=st.lists(st.sampled_from(['"a"', "1", ",", ":", "[", "]", "{", "}", " ", "null", "\\"]), max_size=9).map(
        "".join
    )
)
def test_a_document_is_json_if_python_says_so(text):
    if text.strip()[:1] in ("{", "["):
        assert (json_parts(text) is not None) == valid(text)
