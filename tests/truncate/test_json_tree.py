import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.json_tree import Array, Object, parse
from properties import examples

tokens = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        '"a"',
        '"b\\n"',
        '"\\x"',
        '"\x01"',
        "1",
        "-0.5e+3",
        "01",
        "1.",
        "null",
        "tru",
        "NaN",
        '"k":',
        '"k" : 1,',
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


def plain(node):
    """Return a tree as Python values, pairs in place of objects so that keys that come twice are seen."""
    if isinstance(node, Array):
        return [plain(item) for item in node]
    if isinstance(node, Object):
        return [(json.loads(key), plain(value)) for key, value in node]
    return json.loads(node)


@examples(250)
@given(text=st.lists(tokens, max_size=14).map("".join))
def test_what_is_accepted_is_what_json_accepts(text):
    try:
        expected = json.loads(text, object_pairs_hook=list)
    except ValueError:
        assert parse(text) is None
    else:
        assert repr(plain(parse(text).root)) == repr(expected)


@examples(120)
@given(value=values, indent=st.sampled_from([None, 0, 2, "\t"]))
def test_a_document_is_read_as_json_reads_it(value, indent):
    text = json.dumps(value, indent=indent)
    assert repr(plain(parse(text).root)) == repr(json.loads(text, object_pairs_hook=list))


@pytest.mark.parametrize("literal", ["1.0", "1e400", "-0", "1E-7", "9" * 5000, '"\\/\\u00e9"', "NaN", "-Infinity"])
def test_literals_stay_as_they_were_written(literal):
    assert parse(f"[{literal}]").root == [literal]


@pytest.mark.parametrize(
    ("text", "indent", "comma", "colon"),
    [
        ('{"a":1,"b":2}', None, ",", ":"),
        ('{"a": 1, "b": 2}', None, ", ", ": "),
        ('{\n  "a": 1,\n  "b": 2\n}', "  ", ",", ": "),
        ("[\r\n\t1,\r\n\t2\r\n]", "\t", ",", ": "),
    ],
)
def test_the_layout_is_seen(text, indent, comma, colon):
    tree = parse(text)
    assert (tree.indent, tree.comma, tree.colon) == (indent, comma, colon)


def test_the_biggest_parts_are_measured():
    tree = parse('{"a": [1, 2, [3]], "b": "four", "c": {}}')
    assert (tree.depth, tree.items, tree.keys, tree.string) == (3, 3, 3, 6)


@pytest.mark.parametrize(("opening", "closing", "depth"), [("[", "]", 100_000), ('{"a":', "}", 20_000)])
def test_depth_is_only_a_number(opening, closing, depth):
    assert parse(opening * depth + "1" + closing * depth).depth == depth


@pytest.mark.parametrize(
    "text",
    [
        *(
            "[1,]",
            "[,1]",
            "[1,,2]",
            '{"a":1,}',
            '{,"a":1}',
            '{"a"}',
            '{"a":}',
            '{"a":1 "b":2}',
            "[1 2]",
            "[1}",
            '["a":1]',
        ),
        *("[[1}]", '{"a":{"b":1]}', "[1],[2]", "[1][2]", "{},{}", "[1:2]", "[{},{},]", '{"a":[]:1}', '{"a":[],}'),
        *(
            "[[,]]",
            "[[],,[]]",
            '{"a":{,}}',
            '{"a":1,"b"}',
            '{"a":,"b":1}',
            '{1:"a"}',
            '{"a" "b":1}',
            '["a" "b"]',
            "[[] []]",
        ),
        *("", " ", ",", "[", "]", "[]]", "1 2", "{}{}", "[1],", "\ufeff{}", "'a'", '"a', "\u0661", "{1}", '{"a":1]'),
    ],
)
def test_what_is_almost_json_is_not_json(text):
    assert parse(text) is None


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "}", '"' + "\\n" * 100_000, "[1," * 50_000 + "]"])
def test_what_is_broken_is_not_json(text):
    assert parse(text) is None
