from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from brim.truncate.markdown import blocks
from brim.truncate.shape import Shape
from properties import examples
from truncate.cutting import CHAR, attempt, checked, every_meter, limits, shares

DOCUMENT = """\
Opening words.

# Title

First paragraph of some length.

## Setup

- one
- two

```sh
make all

make install
```

## Use

Second paragraph of some length.

# Notes

Last words.
"""


def open_fences(text):
    """Return how many fences a CommonMark parser finds without an end of their own."""
    lines = text.split("\n")
    left_open = 0
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            last = lines[token.map[1] - 1].strip(" >\t")
            left_open += not (
                last
                and set(last) == {token.markup[0]}
                and len(last) >= len(token.markup)
                and token.map[1] - token.map[0] > 1
            )
    return left_open


def test_the_outline_stays_and_then_blocks_from_the_start():
    cut = Shape(kind="markdown").truncate(DOCUMENT, 150, CHAR)
    assert (
        cut.text
        == """\
Opening words.

# Title

First paragraph of some length.

## Setup

[8 lines omitted]

## Use

Second paragraph of some length.

# Notes

Last words.
"""
    )


def test_a_fence_too_big_for_the_room_is_shortened_and_closed():
    text = "# A\n\n```py\n" + "".join(f"line {number}\n" for number in range(50)) + "```\n\nafter\n"
    cut = Shape(kind="markdown").truncate(text, 80, CHAR)
    assert cut.text.startswith("# A\n\n```py\nline 0\n")
    assert "\n[4" in cut.text
    assert open_fences(cut.text) == 0


def test_a_shorter_fence_does_not_close_a_longer_one():
    assert blocks(["````", "```", "code", "```", "more", "````", "", "after"])[0].close == 5


blocks_of_text = st.sampled_from(
    [
        "# One",
        "## Two",
        "### Three",
        "A paragraph\nof two lines.",
        "Words " * 12,
        "- a\n- b\n- c",
        "1. a\n\n   more\n\n2. b",
        "- code:\n\n  ```py\n  x = 1\n\n  # y\n  ```\n- after",
        "```\ncode\n\n# not a heading\n```",
        "~~~~ sh\n```\nnested\n~~~~",
        "```\n" + "long code line\n" * 12 + "```",
        "> quote\n> ```\n> x\n> ```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "    indented ```",
        "é🏳️‍🌈 " * 9,
    ]
)
documents = st.lists(st.tuples(blocks_of_text, st.sampled_from(["\n\n", "\n\n\n"])), min_size=3, max_size=14).map(
    lambda parts: "".join(block + space for block, space in parts)
)


@every_meter
@examples(50)
@given(text=documents, share=shares)
def test_no_fence_is_left_open_and_every_line_is_of_the_source(meter, text, share):
    assert open_fences(text) == 0
    limit = limits(text, meter, share)
    cut = checked(Shape(kind="markdown", marker="#{dropped}#"), text, limit, meter)
    if cut is None or cut.text == text:
        return
    if cut.text == attempt(lambda: Shape(kind="log", marker="#{dropped}#").truncate(text, limit, meter).text):
        return  # No block fits.
    assert open_fences(cut.text) == 0
    lines, at = text.split("\n"), 0
    for line in cut.text.split("\n"):
        if line.startswith("#") and line.endswith("#") and len(line) > 2:
            at += int(line.strip("#"))
        elif line:
            at = lines.index(line, at) + 1
    assert at <= len(lines)


@every_meter
@examples(50)
@given(text=documents, share=shares)
def test_every_kept_block_stands_under_its_headings(meter, text, share):
    cut = checked(Shape(kind="markdown"), text, limits(text, meter, share), meter)
    if cut is None or cut.text == text or "characters omitted" in cut.text:
        return
    kept = paths(cut.text)
    whole = paths(text)
    assert set(kept) <= set(whole)


def paths(text):
    """Return each fenced block and heading with the headings above it."""
    found, above, tokens = [], [], MarkdownIt().parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [(rank, title) for rank, title in above if rank < level] + [(level, tokens[index + 1].content)]
            found.append(tuple(above))
        elif token.type == "fence" and token.level == 0 and token.content.startswith("code\n"):
            found.append((*above, "code"))
    return found
