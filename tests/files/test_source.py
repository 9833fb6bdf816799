import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import SourceError
from brim.files.source import load, place, text_of

REFUSED = {
    "a key that stands twice": ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is repeated, first on line 1"),
    "a key that stands twice deep down": ("a:\n  - b: 1\n    c: 2\n    b: 3\n", 4, "'b' is repeated"),
    "a list that is not closed": ("a: [1\nb: 2\n", 2, "expected ',' or ']'"),
    "a second colon": ("a: 1\nb: c: d\n", 2, "not YAML"),
    "a tab for an indent": ("a:\n\t- b\n", 2, "not YAML"),
    "two documents": ("a: 1\n---\nb: 2\n", 2, "more than one document"),
    "a tag that makes an object": (
        "a: 1\nb: !!python/object/apply:os.system [id]\n",
        2,
        "the tag '!!python/object/apply:os.system' is not allowed",
    ),
    "a tag that names a module": ("a: !!python/name:os.system x\n", 1, "!!python/name:os.system"),
    "a tag of one's own": ("a: !secret x\n", 1, "the tag '!secret' is not allowed"),
    "brackets in brackets": ("[" * 5_000, 1, "nested more than 50 levels deep"),
    "too many values": ("a: [" + "x," * 1_000_000 + "]\n", 1, "more than 1,000,000 values"),
    "an alias": ("a: &a [x]\nb: *a\n", 2, "the alias *a is not supported; write the value itself"),
    "a control character": ("a: 1\nb: \x07\n", 2, "the control character '\\x07'"),
    "a list for a key": ("? [a]\n: b\n", 1, "a key must be a string"),
}


@pytest.fixture(params=["libyaml", "pure"])
def parser(request, monkeypatch):
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(("text", "line", "told"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_with_its_line(tmp_path, text, line, told):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        load(str(path))
    assert caught.value.line == line
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert "\n" not in str(caught.value)


UNREADABLE = {
    "a missing file": (None, "no such file or directory"),
    "a NUL": (b"a: b\0c", "a binary file, not text: byte 4 is NUL"),
    "latin-1": (b"a: 1\nb: \xff\n", "not UTF-8 text: invalid start byte at byte 8"),
    "UTF-16": ("a: 1".encode("utf-16"), "UTF-16 is not supported"),
    "too many bytes": (b"a: " + b"x" * 10_000_000, "larger than the limit of 10,000,000 bytes"),
}


@pytest.mark.parametrize(("data", "told"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_text_is_refused(tmp_path, data, told):
    path = tmp_path / "a.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SourceError, match=told):
        load(str(path))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (".", "a directory, not a file"),
        ("circle", "symbolic links"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "null"),
    ],
)
def test_a_path_that_leads_to_no_file_is_refused(tmp_path, monkeypatch, path, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "circle").symlink_to("circle")
    for read in (text_of, load):
        with pytest.raises(SourceError, match=told):
            read(path)


def test_a_text_comes_back_character_for_character(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("\ufeffa\r\nb\u2028c\n\n".encode())
    assert text_of(str(path)) == "\ufeffa\r\nb\u2028c\n\n"


VALUES = {
    "null, true, 12, -3, 1_000, 0.5, 1e3, .5": [None, True, 12, -3, 1000, 0.5, 1000.0, 0.5],
    "~, False, no, 2024-01-01, 12:30, 0x1f, 8k": [None, False, "no", "2024-01-01", "12:30", "0x1f", "8k"],
    "'12', \"a\\tb\", !!str 12": ["12", "a\tb", "12"],
    '"\\ud83d\\ude00"': ["\U0001f600"],
    '"\\ud800"': ["\ud800"],
    "9" * 60: ["9" * 60],
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(("text", "values"), VALUES.items())
def test_plain_values_are_those_of_yaml_1_2(tmp_path, text, values):
    path = tmp_path / "a.yaml"
    path.write_text(f"[{text}]")
    assert load(str(path)).values == values


def test_a_byte_order_mark_and_an_empty_file_say_nothing(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbf# nothing\n")
    assert load(str(path)).values is None


def test_every_value_has_its_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb:\n  - x\n  - c: 1\n    d: |\n      text\n")
    source = load(str(path))
    assert [source.line("a"), source.line("b", 1), source.line("b", 1, "d")] == [1, 4, 5]
    assert source.line("b", 1, "nothing", 7) == 4
    assert source.line("nothing") == 1
    assert place(("b", 1, "d")) == "b[1].d"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON)
def test_json_is_read_as_what_it_says(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "a.yaml"
    path.write_text(json.dumps(value))
    assert load(str(path)).values == value


@given(data=st.binary(max_size=60) | st.text("ab:-[]{}&*!|>#'\"\n \t?,%@0.", max_size=60).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "a.yaml"
    path.write_bytes(data)
    problem = ""
    try:
        load(str(path))
    except SourceError as error:
        problem = str(error)
    assert "\n" not in problem
