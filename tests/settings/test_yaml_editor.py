"""One value changes; every other byte stays."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import SourceError
from brim.settings.yaml_editor import with_value, without_value, written
from properties import examples

TEXT = """\
# The settings of this project.
model: "gpt-5"   # which

budgets:  # money
  # inner
  context_budget_chars:   200000  # all

history: {selection: 'recency'}  # how
prompt:
window: ~   # none
sections:
  plan:
    marker: |
      cut
      here
    floor: 5
flows:
  build:
    steps:
    - id: "0"   # first
      agent: x

    - {id: "1", agent: y}
# the end
"""

CASES = {
    "a text keeps its quotes": (("model",), "gpt-4", 'model: "gpt-5"', 'model: "gpt-4"'),
    "a number keeps its place": (("budgets", "context_budget_chars"), 5, "   200000  # all", "   5  # all"),
    "inside braces": (("history", "selection"), "priority", "'recency'", "'priority'"),
    "a new key inside braces": (("history", "note"), False, "'recency'}", "'recency', note: false}"),
    "a new key of a group": (("budgets", "preset"), "lean", "  # all\n", "  # all\n  preset: lean\n"),
    "a new key of an empty group": (
        ("prompt", "separator"),
        "\n--\n",
        "prompt:\n",
        'prompt: {separator: "\\n--\\n"}\n',
    ),
    "a group that is null": (("window", "size"), 5, "window: ~", "window: {size: 5}"),
    "a text of several lines": (
        ("sections", "plan", "marker"),
        "x",
        "marker: |\n      cut\n      here\n",
        "marker: x\n",
    ),
    "a new key after a text of lines": (
        ("sections", "plan", "keep"),
        "tail",
        "    floor: 5\n",
        "    floor: 5\n    keep: tail\n",
    ),
    "a new key of a step": (
        ("flows", "build", "steps", 0, "budget_overrides", "context_budget_chars"),
        7,
        "      agent: x\n",
        "      agent: x\n      budget_overrides:\n        context_budget_chars: 7\n",
    ),
    "a new key of a step in braces": (
        ("flows", "build", "steps", 1, "budget_overrides", "preset"),
        "lean",
        "agent: y}",
        "agent: y, budget_overrides: {preset: lean}}",
    ),
    "a new group": (("curator", "url"), "http://h:1/v1", "agent: y}\n", "agent: y}\ncurator:\n  url: http://h:1/v1\n"),
    "a list": (("history", "classes", "low"), ["a", "b: c"], "'recency'}", "'recency', classes: {low: [a, \"b: c\"]}}"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "bom"])
def test_only_the_place_of_the_value_is_written_anew(case, newline, bom):
    keys, value, old, new = CASES[case]
    before = bom + TEXT.replace("\n", newline)
    old, new = old.replace("\n", newline), new.replace("\n", newline)
    assert before.count(old) == 1
    assert with_value(before, "f", keys, value) == before.replace(old, new)


@pytest.mark.parametrize(
    ("before", "keys", "value", "after"),
    [
        ("", ("a", "b"), 1, "a:\n  b: 1\n"),
        ("# only a comment", ("a",), 1, "# only a comment\na: 1\n"),
        ("a: 1", ("b",), 2, "a: 1\nb: 2\n"),
        ("{}", ("b",), 2, "{b: 2}"),
        ("{a: 1,}", ("b",), 2, "{a: 1, b: 2,}"),
        ("{a: }", ("b",), 2, "{a: , b: 2}"),
        ("a:\nb: 1\n", ("a",), 2, "a: 2\nb: 1\n"),
        ("a:\nb:\n", ("c",), 2, "a:\nb:\nc: 2\n"),
        ("a: # c\nb: 1\n", ("a",), 2, "a: 2 # c\nb: 1\n"),
        ("a: # c\n  - x # d\n\nb: 1\n", ("a",), ["z"], "a: # c\n  [z] # d\n\nb: 1\n"),
        ("a: >-\n  x\n\n\nb: 1\n", ("a",), "z", "a: z\n\n\nb: 1\n"),
        ('"a b": 1\n', ("a b",), 2, '"a b": 2\n'),
        ("a: 1 # ü\nb: 'ü'\n", ("b",), "it's", "a: 1 # ü\nb: 'it''s'\n"),
        ("a: {\n  b: 1,  # c\n}\n", ("a", "c"), 2, "a: {\n  b: 1, c: 2,  # c\n}\n"),
        ("a:\n    b: 1\n", ("a", "c"), 2, "a:\n    b: 1\n    c: 2\n"),
        ("---\na: 1\n...\n", ("b",), 2, "---\na: 1\nb: 2\n...\n"),
        ("a: {b: , c: 1}\n", ("a", "b", "d"), 2, "a: {b: {d: 2} , c: 1}\n"),
    ],
)
def test_odd_files_are_edited_too(before, keys, value, after):
    assert with_value(before, "f", keys, value) == after


@pytest.mark.parametrize(
    ("before", "keys", "told"),
    [
        ("a: 5\n", ("a", "b"), "a must be a mapping"),
        ("- a\n", ("a",), "must be a mapping"),
        ("a: 1\na: 2\n", ("a",), "is repeated"),
        ("a: [\n", ("a",), "not YAML"),
        ("a: {b}\n", ("a", "b"), "without changing other values"),
    ],
)
def test_what_cannot_be_changed_alone_is_refused(before, keys, told):
    with pytest.raises(SourceError, match=re.escape(told)):
        with_value(before, "f", keys, 7)


@pytest.mark.parametrize(
    "value",
    ["yes", "1", "null", "~", "a: b", "a #b", "- x", "*x", "&x", "x,y", "[", "", " x", "é", "0x1f", "1e5", "\t", "%"],
)
def test_a_text_is_quoted_where_it_would_mean_something_else(value):
    from brim.files.source import parse

    assert parse(f"{{x: {written(value)}}}", "f").values == {"x": value}
    assert parse(f"x: {written(value)} # c", "f").values == {"x": value}
    assert parse(f"x: {written(value, chr(39))} # c", "f").values == {"x": value}


KEYS = st.text("abcxyz", min_size=1, max_size=3)
LEAVES = st.one_of(st.integers(-99, 99), st.booleans(), st.none(), st.text("ab :#-'\"\n,[]{}é", max_size=6))
TREES = st.dictionaries(
    KEYS, st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3))
)


@examples(60)
@given(TREES, st.booleans(), KEYS, KEYS, st.one_of(st.integers(), st.text("ab :#-'\"\n,[]", max_size=6)))
def test_an_edit_changes_the_value_and_no_other_or_is_refused(tree, flow, first, second, value):
    before = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    try:
        after = with_value(before, "f", (first, second), value)
    except SourceError:
        assert not isinstance(tree.get(first), dict | None)
        return
    wanted = {**tree, first: {**(tree.get(first) or {}), second: value}}
    from brim.files.source import parse

    assert parse(after, "f").values == wanted
    if tree.get(first, {}) != {}:
        kept = [line for line in before.splitlines() if line.strip()]
        assert sum(line not in after for line in kept) <= 1 + before.count("\n") * flow


@pytest.mark.parametrize(
    ("before", "keys", "kept", "after"),
    [
        ("a: 1\nb: 2  # two\nc: 3\n", ("b",), 0, "a: 1\nc: 3\n"),
        ("# top\na:\n  b: 1\n  # of c\n  c: 2\n", ("a", "b"), 0, "# top\na:\n  # of c\n  c: 2\n"),
        ("x: 1\na:\n  b:\n    c: 2\ny: 3\n", ("a", "b", "c"), 0, "x: 1\ny: 3\n"),
        ("x: 1\na:\n  n: 0\n  b:\n    c: 2\n", ("a", "b", "c"), 1, "x: 1\na:\n  n: 0\n"),
        ("a: {b: 1, c: 2}\n", ("a", "b"), 0, "a: {c: 2}\n"),
        ("a: {b: 1, c: 2} # x\n", ("a", "c"), 0, "a: {b: 1} # x\n"),
        ("z: 0\na: {b: 1}\n", ("a", "b"), 0, "z: 0\n"),
        ("s:\n  - b: 1\n    c: 2\n  - d: 3\n", ("s", 0, "b"), 2, "s:\n  - c: 2\n  - d: 3\n"),
        ("s:\n  - id: x\n    o:\n      b: 1   # why\n", ("s", 0, "o", "b"), 2, "s:\n  - id: x\n"),
        ("s:\n  - {id: x, o: {b: 1}}\n", ("s", 0, "o", "b"), 3, "s:\n  - {id: x, o: {}}\n"),
        ("a: 1\r\nb: 2\r\n", ("a",), 0, "b: 2\r\n"),
        ("a: 1\nb: |\n  two\n  lines\nc: 3\n", ("b",), 0, "a: 1\nc: 3\n"),
        ("a: 1\nb: 2", ("b",), 0, "a: 1\n"),
        ("a: 1\n", ("a",), 0, ""),
    ],
)
def test_a_value_is_removed_with_its_line_and_what_it_leaves_empty(before, keys, kept, after):
    assert without_value(before, "f", keys, kept) == after


@pytest.mark.parametrize(
    ("before", "keys", "told"),
    [
        ("a: 1\n", ("b",), "is not set here"),
        ("a: {c: 1}\n", ("a", "b"), "is not set here"),
        ("s:\n  - b: 1\n", ("s", 0, "b"), "by hand"),
    ],
)
def test_what_cannot_be_removed_alone_is_refused(before, keys, told):
    with pytest.raises(SourceError, match=re.escape(told)):
        without_value(before, "f", keys)


@examples(60)
@given(TREES, st.booleans(), KEYS, KEYS, LEAVES)
def test_what_was_added_and_removed_leaves_the_values_as_they_were(tree, flow, first, second, value):
    from brim.files.source import parse

    known = tree.get(first)
    if (
        not isinstance(known, dict | None)
        or second in (known or {})
        or known == {}
        or (first in tree and known is None)
    ):
        return
    before = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    added = with_value(before, "f", (first, second), 1)
    assert (parse(without_value(added, "f", (first, second)), "f").values or {}) == tree
