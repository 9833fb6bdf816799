"""A text as lines: together they are the text, and whatever is shown is whole lines between marks that are true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.parts import TextParts
from properties import examples
from strategies import long_texts
from truncate.cutting import boundaries

texts = st.lists(st.text("ab\r\u2028\x0c", max_size=6), max_size=12).map("\n".join)


@examples(120)
@given(text=texts)
def test_the_lines_of_a_text_are_the_whole_text(text):
    parts = TextParts(text)
    lines = [parts.part(at) for at in range(len(parts))]
    assert "".join(lines) == text == parts.show(range(len(parts)))
    assert all(line.endswith("\n") for line in lines[:-1])
    assert not any("\n" in line[:-1] for line in lines)


@examples(120)
@given(text=long_texts, longest=st.integers(24, 90))
def test_a_long_line_is_divided_between_graphemes(text, longest):
    parts = TextParts(text, longest=longest)
    assert {*parts.starts} <= boundaries(text)
    assert "".join(map(parts.part, range(len(parts)))) == text
    for at in range(len(parts)):
        line = parts.line_of(at)
        assert at in line
        assert "\n" not in "".join(map(parts.part, line))[:-1]


@pytest.mark.parametrize(
    ("text", "marker", "chosen", "expected"),
    [
        pytest.param("aaaa\nbbbb\ncccc\n", "<{dropped}>", [2], "<2>\ncccc\n", id="the number of lines"),
        pytest.param("aaaa\nbbbb\ncccc", "<{dropped}>", [0], "aaaa\n<2>", id="no line break where the text has none"),
        pytest.param("a\nb\ncccc\n", "<{dropped}>", [2], "a\nb\ncccc\n", id="lines shorter than the marker stay"),
        pytest.param("aaaa\nbbbb\n", "", [1], "bbbb\n", id="an empty marker leaves nothing"),
        pytest.param("aaaa\nbbbb\nc\n", "\n<\n{dropped}>", [2], "< 2>\nc\n", id="a marker of one line"),
        pytest.param("aaaaaa\n\nb\n", "<{dropped}>", [2], "<1>\n\nb\n", id="a blank line stays below its paragraph"),
    ],
)
def test_a_mark_stands_for_the_lines_of_a_gap(text, marker, chosen, expected):
    assert TextParts(text, marker=marker).show(chosen) == expected


def test_a_field_without_a_value_does_not_say_how_a_command_ended():
    """qwen-code and gemini-cli print `Signal: (none)` and the like below every result."""
    text = "Output: one\ntwo\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)"
    parts = TextParts(text)
    assert [parts.part(at) for at in parts.ending()] == ["Exit Code: 0\n"]
