import pytest

from brim.truncate.base import filled, one_line


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("[{dropped}]", "[1234]"),
        ("[{dropped:,}]", "[1,234]"),
        ("{dropped} of {dropped:,}", "1234 of 1,234"),
        ("{} {0} {dropped!r} {{dropped}} }{", "{} {0} {dropped!r} {1234} }{"),
        ("plain", "plain"),
    ],
)
def test_only_the_two_fields_are_replaced(marker, expected):
    assert filled(marker, 1234) == expected


@pytest.mark.parametrize("marker", ["\n[cut]\n", "[cut]", "\r\n\x0b[cut]\u2028"])
def test_a_marker_can_stand_in_one_line(marker):
    assert one_line(marker) == "[cut]"
