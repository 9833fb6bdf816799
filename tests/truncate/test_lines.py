import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import InvalidValue
from brim.truncate.ends import Head, Tail
from brim.truncate.lines import Lines
from strategies import long_texts
from truncate.cutting import BAR, CHAR, boundaries, checked, every_meter, examples, limits, shares

sides = st.sampled_from(["head", "tail"])
TEXT = "first\nsecond\nthird\nfourth\n"


@pytest.mark.parametrize(
    ("options", "text", "limit", "expected"),
    [
        pytest.param({"marker": "\n..."}, TEXT, 17, "first\nsecond\n...", id="the first lines that fit"),
        pytest.param({"marker": "\n..."}, TEXT, 15, "first\n...", id="one character less is one line less"),
        pytest.param({"marker": "..."}, TEXT, 16, "first\nsecond\n...", id="a marker without its own line break"),
        pytest.param({"marker": "...\n", "side": "tail"}, TEXT, 17, "...\nthird\nfourth\n", id="the last lines"),
        pytest.param({"marker": "...", "side": "tail"}, TEXT, 17, "...\nthird\nfourth\n", id="a marker gets its line"),
        pytest.param(
            {"marker": "\n..."}, "a\r\nbb\r\nccccc", 11, "a\r\nbb\r\n...", id="carriage returns stay with theirs"
        ),
        pytest.param({"marker": "\n..."}, "abcdefgh", 6, "ab\n...", id="one long line is cut inside"),
        pytest.param({"marker": "...", "side": "tail"}, "abcdefgh", 6, "...fgh", id="one long line from its end"),
        pytest.param({"marker": "\n..."}, "\n\nabcdefgh", 8, "\n\nab\n...", id="blank lines alone are no result"),
        pytest.param({}, TEXT, 26, TEXT, id="a text that fits comes back as it is"),
    ],
)
def test_whole_lines_are_kept(options, text, limit, expected):
    assert Lines(**options).truncate(text, limit, CHAR).text == expected


@pytest.mark.parametrize(("side", "kind"), [("head", Head), ("tail", Tail)])
def test_the_marker_is_that_of_the_side(side, kind):
    assert kind().marker in Lines(side=side).truncate("word\n" * 20, 40, CHAR).text


def test_an_unknown_side_is_refused():
    with pytest.raises(InvalidValue, match="side must be one of head, tail, not 'middle'"):
        Lines(side="middle")


@every_meter
@examples(60)
@given(
    side=sides, lines=st.lists(st.text("abc de", max_size=12).map("x".__add__), min_size=4, max_size=30), share=shares
)
def test_every_kept_line_is_a_line_of_the_source(meter, side, lines, share):
    text = "\n".join(lines)
    cut = checked(Lines(marker=BAR, side=side), text, limits(text, meter, share), meter)
    if cut and cut.text != text and "\n" in cut.text.strip("\n"):
        kept = [line for line in cut.text.split("\n") if line != BAR]
        assert kept == (lines[: len(kept)] if side == "head" else lines[-len(kept) :])


@every_meter
@examples(60)
@given(side=sides, text=long_texts, share=shares)
def test_no_grapheme_is_split(meter, side, text, share):
    cut = checked(Lines(marker=BAR, side=side), text, limits(text, meter, share), meter)
    if cut and cut.text != text:
        before, after = cut.text.split(BAR)
        assert text.startswith(before)
        assert not before or len(before) in boundaries(text)
        assert not after.strip() or len(text) - len(after.removeprefix("\n")) in boundaries(text)
