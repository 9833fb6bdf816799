import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate import json_tree
from brim.truncate.json_shape import Json, is_json_lines
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
            [1000, 1001, 1002, 1003, 1004, 1005, "… 94 more items"],
            id="an array keeps its first items",
        ),
        pytest.param(
            "word " * 40, 60, "word word word word word word word wor… [162 more chars]", id="a string keeps its start"
        ),
        pytest.param(
            {"a": {"b": {"c": "x" * 50}}}, 20, {"a": "… 1 key"}, id="deep values become a word on what they held"
        ),
        pytest.param(
            {f"key{n}": n for n in range(99)},
            60,
            {"key0": 0, "key1": 1, "key2": 2, "…": "96 more keys"},
            id="keys go last of all",
        ),
    ],
)
def test_what_is_shortened_first(value, limit, expected):
    text = json.dumps(value)
    cut = Json().truncate(text, limit, CHAR)
    assert json.loads(cut.text) == expected


def test_every_key_stays_while_strings_and_arrays_can_shrink():
    cut = Json().truncate(json.dumps(RECORD), 260, CHAR)
    value = json.loads(cut.text)
    assert list(value) == list(RECORD)
    assert value["tags"] == ["a", "b"]
    assert value["rows"][0] == {"n": 0, "ok": True}


def test_numbers_and_keys_that_come_twice_stay_as_they_were_written():
    text = '{"a":1.0,"a":1e400,"b":-0,"pad":"' + "x" * 200 + '"}'
    assert Json().truncate(text, 90, CHAR).text.startswith('{"a":1.0,"a":1e400,"b":-0,"pad":"x')


@pytest.mark.parametrize(
    ("ascii_only", "start"), [(True, '{"a": "\\u00e9\\u00e9'), (False, '{"a": "éé')], ids=["escaped", "as it is"]
)
def test_characters_are_written_as_they_were(ascii_only, start):
    text = json.dumps({"a": "é" * 500}, ensure_ascii=ascii_only)
    assert Json().truncate(text, 400, CHAR).text.startswith(start)


def test_a_lone_surrogate_stays_escaped():
    cut = Json().truncate('"é\\ud800' + "x" * 300 + '"', 90, CHAR)
    assert cut.text.encode()
    assert "\\ud800" in cut.text


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_the_layout_stays(indent):
    cut = Json().truncate(json.dumps(RECORD, indent=indent), 300, CHAR)
    assert cut.text == json.dumps(json.loads(cut.text), indent=indent, ensure_ascii=False)


@pytest.mark.parametrize("limit", [40, 300, 5000])
def test_depth_neither_recurses_nor_breaks_what_reads_it(limit):
    for text in ("[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000):
        assert valid(Json().truncate(text, limit, CHAR).text)


@pytest.mark.parametrize("text", ["no json " * 50, "{" + "x" * 300, "7" * 300, json.dumps({"k" * 300: 1})])
def test_what_cannot_stay_json_is_cut_as_plain_text(text):
    assert "characters removed" in Json().truncate(text, 90, CHAR).text
    assert "<cut>" in Json(marker="<cut>").truncate(text, 90, CHAR).text


def test_json_lines_keep_whole_lines_from_both_ends():
    lines = [json.dumps({"line": number}) for number in range(100)]
    cut = Json().truncate("\n".join(lines), 90, CHAR)
    assert cut.text.split("\n") == [*lines[:2], '{"…":"95 more lines"}', *lines[-3:]]


def test_a_line_too_long_for_the_limit_is_shortened_inside():
    lines = [json.dumps({"line": number, "text": "x" * 500}) for number in range(5)]
    first, marker = Json().truncate("\n".join(lines), 90, CHAR).text.split("\n")
    assert json.loads(first)["line"] == 0
    assert json.loads(marker) == {"…": "4 more lines"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a":1}\n{"b":2}', True), ("[1]\n\n[2]\n", True), ('{"a":1}', False), ("1\n2", False), ('{"a":1}\n{', False)],
)
def test_json_lines_are_told_from_other_texts(text, expected):
    assert is_json_lines(text) is expected


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
    cut = checked(Json(), text, limits(text, meter, share), meter)
    assert cut is None or valid(cut.text) or "characters removed" in cut.text


@pytest.mark.parametrize("meter", [CHAR, PIECE], ids=["char", "piece"])
@examples(60)
@given(value=st.dictionaries(st.sampled_from("abcdef"), strings, min_size=2), share=shares)
def test_a_string_is_cut_between_graphemes(meter, value, share):
    text = json.dumps(value, ensure_ascii=False)
    cut = checked(Json(), text, limits(text, meter, share), meter)
    if cut and valid(cut.text):
        for key, short in json.loads(cut.text).items():
            kept, mark, told = short.rpartition("… [")
            if key in value and short != value[key] and mark and told.endswith(("chars]", "char]")):
                assert value[key].startswith(kept)
                assert len(kept) in boundaries(value[key])


@every_meter
@examples(40)
@given(value=st.lists(arrays, min_size=3, max_size=12), share=shares)
def test_every_line_of_json_lines_stays_valid(meter, value, share):
    text = "\n".join(json.dumps({"v": item}) for item in value)
    cut = checked(Json(), text, limits(text, meter, share), meter)
    if cut and "characters removed" not in cut.text:
        assert all(map(valid, cut.text.split("\n")))


def counted(value):
    """Return how many items and keys a document has or says that it had, at its outermost level."""
    told = (
        [each for each in value if isinstance(each, str) and each.startswith("… ")] if isinstance(value, list) else []
    )
    told += [value["…"]] if isinstance(value, dict) and "…" in value else []
    numbers = [int(re.search(r"[0-9,]+", each)[0].replace(",", "")) for each in told]
    return len(value) - len(told) + sum(numbers)


@pytest.mark.parametrize("most", [1, 20, 300])
@pytest.mark.parametrize(
    "value",
    [
        list(range(1_000)),
        [[n] for n in range(1_000)],
        [{"a": n} for n in range(1_000)],
        {f"k{n}": n for n in range(1_000)},
        {f"k{n}": {"a": n} for n in range(1_000)},
    ],
    ids=["numbers", "arrays", "objects", "keys", "objects by key"],
)
def test_of_very_many_values_the_first_are_kept_and_all_are_counted(value, most, monkeypatch):
    monkeypatch.setattr(json_tree._Room.__init__, "__defaults__", (most, 3))
    cut = json.loads(checked(Json(), json.dumps(value), 400, CHAR).text)
    assert counted(cut) == 1_000


def test_what_follows_very_many_values_in_the_outermost_object_is_kept(monkeypatch):
    monkeypatch.setattr(json_tree._Room.__init__, "__defaults__", (50, 3))
    text = json.dumps({"rows": [[n] for n in range(1_000)], "more": {"a": 1}, "status": "failed: no such table"})
    cut = json.loads(checked(Json(), text, 200, CHAR).text)
    assert cut["rows"][0] == [0]
    assert cut["status"] == "failed: no such table"
    assert cut["…"] == "1 more key"


@pytest.mark.parametrize("text", ["[1,2] [3]", "[1,2", '{"a":1,}', "[1]]", '["a" "b"]', "[01]", '{"a":"b}'])
def test_a_long_text_that_is_not_json_is_not_taken_for_it(text, monkeypatch):
    monkeypatch.setattr(json_tree, "_LONG", 1)
    monkeypatch.setattr(json_tree._Room.__init__, "__defaults__", (1, 0))
    assert not json_tree.is_json(text)
    assert json_tree.is_json("[[1],[2]]")
