import pytest

from brim.truncate.shape import Shape
from truncate.cutting import CHAR


def hunk(start, body):
    old = sum(line[:1] != "+" for line in body)
    new = sum(line[:1] != "-" for line in body)
    return [f"@@ -{start},{old} +{start},{new} @@", *body]


def file_diff(name, *hunks):
    return [
        f"diff --git a/{name} b/{name}",
        f"--- a/{name}",
        f"+++ b/{name}",
        *(line for part in hunks for line in part),
    ]


SMALL = hunk(1, [" kept", "-old", "+new", " kept too"])
LARGE = hunk(50, [" start", *(f"-gone {number}" for number in range(40)), " end"])
TEXT = "\n".join([*file_diff("one.py", SMALL), *file_diff("two.py", LARGE)]) + "\n"


def test_the_largest_hunk_is_cut_in_its_middle_and_the_small_one_stays():
    cut = Shape(kind="diff").truncate(TEXT, 320, CHAR)
    assert "\n".join(file_diff("one.py", SMALL)) in cut.text
    kept = cut.text.split("\n")
    assert {" start", "-gone 0", "-gone 39", " end"} <= set(kept)
    assert sum("lines omitted" in line for line in kept) == 1


def test_a_removed_line_that_looks_like_a_header_is_none():
    body = ["--- not a file", "+++ not one either", *["-x" * 20] * 30]
    text = "\n".join(file_diff("a.sql", hunk(1, body)))
    cut = Shape(kind="diff").truncate(text, 120, CHAR)
    assert "lines omitted]" in cut.text
    assert cut.text.startswith("diff --git")


def test_what_changed_stays_before_what_did_not():
    text = "\n".join(file_diff("one", hunk(1, [*[" the same line"] * 9, "-old", "+new", *[" the same line"] * 9])))
    kept = Shape(kind="diff").truncate(text, 130, CHAR).text.split("\n")
    assert {"-old", "+new"} <= set(kept)


@pytest.mark.parametrize(
    "text",
    [
        "no diff at all\n" * 30,
        "@@ -1,9 +1,9 @@\nbroken\n" * 30,
        "\n".join(f"diff --git a/{n} b/{n}" for n in range(99)),
    ],
    ids=["prose", "hunks that end early", "headers alone do not fit"],
)
def test_what_has_no_room_for_its_headers_is_cut_as_plain_text(text):
    assert "omitted]" in Shape(kind="diff").truncate(text, 120, CHAR).text


def test_a_header_with_too_many_digits_is_a_line_like_any_other():
    """ValueError: Exceeds the limit (4300 digits) for integer string conversion"""
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1," + "9" * 5_000 + " +1,3 @@\n" + " line\n" * 200
    assert Shape().truncate(diff, 500, CHAR).text.startswith("diff --git")
