import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.markdown_blocks import blocks, fence_of, holds_fence
from properties import examples


def kinds(text):
    return [(block.kind, block.start, block.stop) for block in blocks(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", [("text", 0, 3), ("text", 3, 4)]),
        ("# a\nb", [("heading", 0, 1), ("text", 1, 2)]),
        ("a\n===\nb\n---", [("heading", 0, 2), ("heading", 2, 4)]),
        ("a\n```\n# b\n\n```\nc", [("text", 0, 1), ("fence", 1, 5), ("text", 5, 6)]),
        ("````\n```\n````\na", [("fence", 0, 3), ("text", 3, 4)]),
        ("~~~ `x`\n```\n~~~", [("fence", 0, 3)]),
        ("```\na", [("fence", 0, 2)]),
        ("- a\n\n  b\n\n- c\n\nd", [("list", 0, 6), ("text", 6, 7)]),
        ("1. a\n   ```\n\n   # b\n   ```\n# c", [("list", 0, 5), ("heading", 5, 6)]),
        ("- a\nlazy\n# b", [("list", 0, 2), ("heading", 2, 3)]),
        ("text\n- a", [("text", 0, 1), ("list", 1, 2)]),
        ("<!--\n\n# no\n-->\na", [("raw", 0, 4), ("text", 4, 5)]),
        ("    # code\n\na", [("text", 0, 2), ("text", 2, 3)]),
        ("\n\na", [("text", 0, 3)]),
        ("#hash\n**b**\n-x", [("text", 0, 3)]),
        ("", []),
    ],
)
def test_a_document_falls_into_blocks(text, expected):
    assert kinds(text) == expected


def test_a_list_knows_its_outer_items():
    (block,) = blocks(["- a", "  - b", "", "- c", "  ```", "- d", "  ```", "- e"])
    assert block.items == (0, 3, 7)


@pytest.mark.parametrize(
    ("line", "fence"), [("```js", "```"), ("   ~~~~", "~~~~"), ("    ```", ""), ("``` `", ""), ("``", "")]
)
def test_a_fence_is_known_by_its_line(line, fence):
    assert fence_of(line) == fence


@pytest.mark.parametrize("line", ["- ```", "> ~~~", "1. > ```py", "\t```"])
def test_a_fence_may_stand_in_a_list_or_a_quote(line):
    assert holds_fence(line)


@examples(120)
@given(
    lines=st.lists(
        st.sampled_from(["# a", "a", "", "- b", "  c", "```", "~~~", "---", "<!--", "-->", "> ```"]), max_size=30
    )
)
def test_blocks_hold_every_line_once(lines):
    found = blocks(lines)
    edges = [0, *(edge for block in found for edge in (block.start, block.stop)), len(lines)]
    assert edges == sorted(edges)
    assert edges[1::2][:-1] == edges[::2][:-1] if found else not "".join(lines).strip()


@pytest.mark.parametrize("line", ["- ```x", "- ~~~~", "```", "<!--", "1. a", "> > ```", "#", "`" * 2000])
def test_no_line_repeated_often_takes_long(line):
    start = time.process_time()
    blocks([line] * 20_000)
    # A quadratic search takes minutes.
    assert time.process_time() - start < 10
