"""Parts of texts: whole lines in their order between marks that are true, JSON that stays JSON, and how a result ended."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.history.rendering import brief_arguments, parts_of
from properties import examples

RUN = "\n".join(["$ pytest", *(f"tests/test_{i}.py::test_crane_{i} PASSED" for i in range(30)), "30 passed in 2.1s"])
RED = RUN.replace("test_crane_7 PASSED", "test_crane_7 FAILED").replace("30 passed", "1 failed, 29 passed")
CODED = f"<returncode>1</returncode>\n<output>\n{RED}\n</output>"
RAISED = (
    'Loading.\nTraceback (most recent call last):\n  File "a.py", line 9\n    load()\n  File "b.py", line 2\n    raise it\n'
    "orm.ImproperlyConfigured: no app is named so\nDone."
)
ORDER = json.dumps(
    {
        "order_id": "#W2611340",
        "user": {"name": "Mei Davis", "email": "mei.davis@example.com", "address": "698 Maple Drive, Denver, 80217"},
        "items": [
            {"name": f"Item {i}", "item_id": str(10**9 + i), "price": 10.5 * i, "options": ["a"] * 12} for i in range(9)
        ],
        "status": "delivered",
        "paid": True,
        "note": None,
    }
)


def shown(text, *chosen):
    return parts_of(text).show(chosen)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ((0, 31), "$ pytest\n[30 lines omitted]\n30 passed in 2.1s"),
        ((), "[32 lines omitted]"),
        ((1,), "$ pytest\ntests/test_0.py::test_crane_0 PASSED\n[30 lines omitted]"),
    ],
    ids=["both ends", "nothing", "a gap that is shorter than its mark is shown"],
)
def test_lines_stay_whole_and_in_order_between_marks_that_count(chosen, expected):
    assert shown(RUN, *chosen) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RUN, ["30 passed in 2.1s"]),
        (RED, ["1 failed, 29 passed in 2.1s", "tests/test_7.py::test_crane_7 FAILED\n"]),
        (
            CODED,
            [
                "1 failed, 29 passed in 2.1s\n",
                "tests/test_7.py::test_crane_7 FAILED\n",
                "<returncode>1</returncode>\n",
            ],
        ),
        ("Compiling...\nerror: no such file a.c\nmake: done", ["make: done", "error: no such file a.c\n"]),
        (
            RAISED,
            ["Done.", "orm.ImproperlyConfigured: no app is named so\n"],
        ),
        ("diff --git a/x.py b/x.py\n@@ -1 +1 @@\n-DEBUG = True\n+DEBUG = False", ["diff --git a/x.py b/x.py\n"]),
        ("The lines of x.py:\n  1\timport os\n  2\tDEBUG = True\n", ["The lines of x.py:\n"]),
        ("", []),
    ],
    ids=["green", "red", "exit code", "a failure before the end", "a traceback", "a diff", "a listing", "empty"],
)
def test_how_a_result_ended_is_known_red_and_green_alike(text, expected):
    parts = parts_of(text)
    assert [parts.part(at) for at in parts.ending()] == expected


def test_the_mark_for_a_single_long_line_says_how_long_it_is():
    parts = parts_of("minified:\n" + "x" * 5000 + "\ndone")
    assert parts.show([0, len(parts) - 1]) == "minified:\n[5,001 characters omitted]\ndone"


def test_a_field_that_is_omitted_alone_shows_its_key_and_what_it_held():
    parts = parts_of(json.dumps({"total": 600, "hotels": [{"name": f"Hotel {i}", "stars": 3} for i in range(600)]}))
    assert parts.show(parts.ending()) == '{"total": 600, "hotels": ["[600 items omitted]"]}'
    parts = parts_of(json.dumps({"total": 600, "note": "The crane moved a crate to the quay. " * 10}))
    assert parts.show(parts.ending()) == '{"total": 600, "note": "[370 characters omitted]"}'


def test_a_line_that_is_too_long_is_cut_between_sentences_or_words():
    text = "The crane moved a crate to the quay. " * 60
    made = shown(text, 0)
    kept, _, note = made.rpartition(" [")
    assert text.startswith(kept)
    assert kept.rstrip().endswith("quay.")
    assert re.fullmatch(r"\d,\d{3} characters omitted\]", note)


def test_json_stays_json_with_the_types_that_it_had():
    parts = parts_of(ORDER)
    assert json.loads(parts.show(range(len(parts)))) == json.loads(ORDER)
    last = json.loads(parts.show([len(parts) - 1]))
    assert (last["status"], last["paid"], last["note"]) == ("delivered", True, None)
    assert last["[3 fields omitted]"] is None
    item = next(at for at in range(len(parts)) if "Item 4" in parts.part(at))
    items = json.loads(parts.show([item]))["items"]
    assert items[1] == json.loads(ORDER)["items"][4]
    assert items[0] == "[4 items omitted]"
    assert items[2] == "[4 items omitted]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=30,
)


@examples(60)
@given(value=st.lists(JSON, min_size=4) | st.dictionaries(st.text(max_size=9), JSON, min_size=4), data=st.data())
def test_any_choice_of_members_is_json_and_every_scalar_in_it_is_one_of_the_document(value, data):
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 2])))
    parts = parts_of(text)
    chosen = data.draw(st.sets(st.integers(0, len(parts) - 1), min_size=1)) if len(text) > 160 else range(len(parts))
    made = parts.show(chosen)
    if type(parts).__name__ == "JsonParts":
        assert type(json.loads(made)) is type(value)
        known = set(map(repr, scalars(value)))
        assert all(
            repr(each) in known
            for each in scalars(json.loads(made))
            if each is not None and "omitted]" not in str(each)
        )


def scalars(value):
    if isinstance(value, dict):
        return [each for inner in value.values() for each in scalars(inner)]
    return [each for inner in value for each in scalars(inner)] if isinstance(value, list) else [value]


@examples(60)
@given(lines=st.lists(st.text(alphabet="ab \t", max_size=40), min_size=1, max_size=40), data=st.data())
def test_every_line_that_is_shown_is_a_line_of_the_text_and_the_marks_add_up(lines, data):
    lines = [*lines, "end"]
    text = "\n".join(lines)
    parts = parts_of(text)
    chosen = data.draw(st.sets(st.integers(0, max(0, len(parts) - 1)), max_size=len(parts)))
    missing = 0
    for line in parts.show(chosen).split("\n"):
        counted = re.fullmatch(r"\[(\d+) (line|character)s? omitted\]", line)
        missing += int(counted[1]) if counted and counted[2] == "line" else bool(counted)
        assert counted or line in lines
    kept = sum(1 for line in parts.show(chosen).split("\n") if "omitted]" not in line)
    assert kept + missing == len(lines)


def test_a_long_value_of_a_call_gives_way_as_a_whole_and_the_others_stay():
    arguments = {"path": "a.py", "content": "import os\n" * 200, "lines": list(range(200)), "deep": {"k": "v" * 900}}
    made = brief_arguments(json.dumps(arguments), 100)
    assert json.loads(made) == {
        "path": "a.py",
        "content": "[201 lines omitted, beginning: import os]",
        "lines": ["[200 items omitted]"],
        "deep": {"[1 field omitted]": None},
    }


def test_what_stands_beside_a_long_value_stays_to_the_letter():
    """0.12345678901234567890123 lost its digits, and a key that is there twice its first value."""
    rest = '{"x": 0.12345678901234567890123, "a": 1, "a":2,\n "n": NaN, "c": '
    made = brief_arguments(f'{rest}"{"word " * 90}"}}', 100)
    assert made.startswith(rest + '"[450 characters omitted, beginning: word word')
    assert made.endswith('word]"}')


def test_long_prose_is_divided_after_each_sentence():
    said = "Yes. The loaf needs 20 minutes, e.g. in the oven. " + "It rests for an hour on a board in the kitchen! " * 5
    parts = parts_of(f"A short line. It stays.\n{said}", written=True)
    assert [parts.part(at) for at in range(3)] == [
        "A short line. It stays.\n",
        "Yes. The loaf needs 20 minutes, e.g. in the oven. ",
        "It rests for an hour on a board in the kitchen! ",
    ]
    assert len(parts) == 7
    assert parts.show([1]) == (
        "[1 line omitted]\nYes. The loaf needs 20 minutes, e.g. in the oven. [240 characters omitted]"
    )


def test_the_first_line_of_a_listing_is_an_entry_and_not_its_sum():
    parts = parts_of("total 48\n" + "\n".join(f"-rw-r--r-- 1 root root {i} Nov 19 03:28 f{i}.py" for i in range(9)))
    assert [parts.part(at) for at in parts.ending()] == ["-rw-r--r-- 1 root root 0 Nov 19 03:28 f0.py\n"]
