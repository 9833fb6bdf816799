import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.ends import Lines
from properties import examples
from truncate.cutting import BAR, CHAR, checked, every_meter, limits, shares

TEXT = "first\nsecond\nthird\nfourth\n"


@pytest.mark.parametrize(
    ("marker", "text", "limit", "expected"),
    [
        pytest.param("\n...", TEXT, 17, "first\nsecond\n...", id="the first lines that fit"),
        pytest.param("\n...", TEXT, 15, "first\n...", id="one character less is one line less"),
        pytest.param("...", TEXT, 16, "first\nsecond\n...", id="a marker without its own line break"),
        pytest.param("<{dropped}>", TEXT, 17, "first\nsecond\n<13>", id="a marker with the number of characters"),
        pytest.param("\n...", "a\r\nbb\r\nccccc", 11, "a\r\nbb\r\n...", id="carriage returns stay with their lines"),
        pytest.param("\n...", "abcdefgh", 6, "ab\n...", id="one long line is cut inside"),
        pytest.param("\n...", "\n\nabcdefgh", 8, "\n\nab\n...", id="blank lines alone are no result"),
        pytest.param("\n...", TEXT, 26, TEXT, id="a text that fits comes back as it is"),
    ],
)
def test_whole_lines_are_kept(marker, text, limit, expected):
    assert Lines(marker=marker).truncate(text, limit, CHAR).text == expected


@every_meter
@examples(60)
@given(lines=st.lists(st.text("abc de", max_size=12).map("x".__add__), min_size=4, max_size=30), share=shares)
def test_every_kept_line_is_a_line_of_the_source(meter, lines, share):
    text = "\n".join(lines)
    cut = checked(Lines(marker=BAR), text, limits(text, meter, share), meter)
    if cut and cut.text != text and "\n" in cut.text.strip("\n"):
        kept = [line for line in cut.text.split("\n") if line != BAR]
        assert kept == lines[: len(kept)]
