"""A value inside a JSON document is divided as what it is, JSON in a string too, and comes out in its wrapper."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.json_parts import json_parts
from brim.truncate.shape import Shape
from properties import examples
from truncate.cutting import CHAR, EXACT, checked, every_meter, limits, shares

PAGE = {
    "object": "page",
    "status": "archived",
    "properties": {f"property {number}": "words of a value " * 9 for number in range(20)},
    "author": {"name": "Zoë", "id": 7, "note": "he wrote a few words here " * 8},
}
"""What a tool of a wiki returns."""
MARK = re.compile(r"\[[\d,]+ (?:character|line)s? omitted\]")


def wrapped(text, **style):
    return json.dumps({"type": "text", "text": text}, **style)


def parts_with(parts, *texts):
    """Return the parts that begin with each of some texts."""
    return [next(at for at in range(len(parts)) if parts.part(at).startswith(text)) for text in texts]


COMPACT = {"separators": (",", ":")}
WRAPPERS = {
    "an MCP text": lambda text: wrapped(text, **COMPACT),
    "an array of MCP texts": lambda text: json.dumps([{"type": "text", "text": text}]),
    "a result with other fields": lambda text: json.dumps({"content": [{"text": text}], "is_error": False}),
    "two wrappers": lambda text: wrapped(wrapped(text)),
    "three wrappers, indented": lambda text: wrapped(wrapped(wrapped(text, indent=2), ensure_ascii=False), indent=1),
}


def innermost(text, key="object"):
    """Return the first object with a key, in a text that is JSON or in any string of it."""
    try:
        found = [json.loads(text)]
    except ValueError:
        return None
    while found:
        value = found.pop(0)
        if isinstance(value, dict) and key in value:
            return value
        if isinstance(value, str) and (inner := innermost(value, key)):
            return inner
        found += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return None


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_in_a_string_is_divided_into_its_members(wrapper, indent):
    text = wrapper(json.dumps(PAGE, indent=indent))
    parts = json_parts(text)
    chosen = parts_with(parts, '"object"', '"property 7"')
    shown = innermost(parts.show(chosen))
    assert shown["object"] == "page"
    assert shown["properties"] == {"property 7": PAGE["properties"]["property 7"], "[19 fields omitted]": None}
    assert shown["author"] == {"[3 fields omitted]": None}
    assert parts.show(range(len(parts))) == text


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_a_cut_keeps_the_inner_json(wrapper):
    text = wrapper(json.dumps(PAGE))
    cut = checked(Shape(), text, EXACT.count(text) // 4, EXACT)
    assert {"object": "page", "status": "archived"}.items() <= innermost(cut.text).items()


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_json_lines_in_a_string_keep_whole_lines(wrapper):
    lines = [json.dumps({"line": number, "note": "a few words " * 9}) for number in range(100)]
    text = wrapper("\n".join(lines))
    parts = json_parts(text)
    shown = parts.show(parts_with(parts, lines[3], lines[90]))
    assert json.loads(shown)
    while not shown.startswith('{"['):
        value = json.loads(shown)
        value = value[0] if isinstance(value, list) else value
        shown = (value["content"][0] if "content" in value else value)["text"]
    assert shown.split("\n") == [
        '{"[3 lines omitted]": null}', lines[3], '{"[86 lines omitted]": null}', lines[90], '{"[9 lines omitted]": null}'
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "chosen", "expected"),
    [
        pytest.param(
            {"type": "text", "text": json.dumps(PAGE)},
            ['"type"'],
            {"type": "text", "text": f"[{len(json.dumps(PAGE)):,} characters omitted]"},
            id="JSON",
        ),
        pytest.param(
            {"type": "text", "text": "word " * 200, "annotations": None},
            ['"type"'],
            {"type": "text", "text": "[1,000 characters omitted]", "annotations": None},
            id="a long line, and a short field that is shown too",
        ),
        pytest.param(
            {"type": "text", "uri": "https://example.org/a/long/path", "text": "words\n" * 200, "more": [1] * 99},
            ['"type"'],
            {"type": "text", "uri": "https://example.org/a/long/path", "text": "[200 lines omitted]\n", "[1 field omitted]": None},
            id="lines, and other fields",
        ),
        pytest.param(
            {"type": "text", "first": "word " * 200, "second": "word " * 200},
            ['"type"'],
            {"type": "text", "[2 fields omitted]": None},
            id="of two texts neither",
        ),
        pytest.param(
            {"type": "text", "text": json.dumps(PAGE)},
            ['"text"'],
            {"text": f"[{len(json.dumps(PAGE)):,} characters omitted]", "type": "text"},
            id="the key alone",
        ),
    ],
)  # fmt: skip
def test_the_only_long_text_leaves_its_key_with_its_size(value, chosen, expected):
    """`{"type":"text","[2 fields omitted]": null}` says nothing."""
    parts = json_parts(json.dumps(value))
    assert json.loads(parts.show(parts_with(parts, *chosen))) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(json.dumps(PAGE), ['"object": "page", "status": "archived"'], id="the first member"),
        pytest.param(
            json.dumps({"rows": [{"n": n, "text": "x" * 90} for n in range(30)], "success": True}),
            ['"success": true'],
            id="a status field",
        ),
        pytest.param(
            json.dumps({"rows": [{"n": n, "text": f"row {n} " * 20} for n in range(30)], "log": "ok\nfatal: no space\n" * 60}),
            ["fatal: no space\n"],
            id="the last failure of an inner text",
        ),
        pytest.param("step\n" * 300 + "Tests: 5 passed", ["Tests: 5 passed"], id="the last line"),
        pytest.param("exit code 0\n" + "step\n" * 300, ["exit code 0\n"], id="a line with the status"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_the_ending_of_a_wrapper_is_that_of_its_text(wrapper, content, expected):
    parts = json_parts(wrapper(content))
    found = [parts.part(at) for at in parts.ending()]
    assert [text for text in expected if text not in found] == []


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_failures_are_found_in_the_text_without_escapes(wrapper):
    """`\\nfailed` and `error\\": null` are no words: with escapes, one was missed and the other was a report."""
    rows = [{"n": number, "error": None, "text": "all is well " * 12} for number in range(20)]
    rows[7]["text"] = "started\nfailed to open the file\n" + "all is well " * 12
    parts = json_parts(wrapper(json.dumps(rows)), 300)
    assert ["failed to open" in parts.part(at) for at in parts.failures()] == [True]


@pytest.mark.parametrize(
    ("text", "chosen", "expected"),
    [
        pytest.param(
            wrapped("first\nZoë\n" + "words\n" * 200), ["first", "Zoë"], '"first\\nZo\\u00eb\\n[200 lines omitted]\\n"',
            id="escapes stay escapes",
        ),
        pytest.param(
            wrapped("first\nZoë\n" + "words\n" * 200, ensure_ascii=False), ["first", "Zoë"],
            '"first\\nZoë\\n[200 lines omitted]\\n"', id="letters stay letters",
        ),
        pytest.param(
            wrapped("Zoë\n" + "words\n" * 200, ensure_ascii=False).replace("Zo", "Zo\\ud83d"), ["Zo"],
            '"Zo\\ud83d\\u00eb\\n[200 lines omitted]\\n"', id="half of a surrogate pair stays an escape",
        ),
        pytest.param(
            wrapped("😀 one\n👩‍👩‍👧 two\n" + "words\n" * 200), ["👩"],
            '"\\ud83d\\ude00 one\\n\\ud83d\\udc69\\u200d\\ud83d\\udc69\\u200d\\ud83d\\udc67 two\\n[200 lines omitted]\\n"',
            id="pairs are one character",
        ),
    ],
)  # fmt: skip
def test_a_string_is_written_as_it_was(text, chosen, expected):
    parts = json_parts(text)
    shown = parts.show(parts_with(parts, *chosen))
    assert shown.endswith(f'"text": {expected}}}')
    assert shown.encode()


@pytest.mark.parametrize("digits", [5_000, 400_000])
def test_an_integer_of_any_length_is_read(digits):
    """ValueError: Exceeds the limit (4300 digits) for integer string conversion"""
    text = wrapped(json.dumps({"id": 1, "note": "word " * 200}).replace("1", "1" * digits))
    parts = json_parts(text)
    assert "1" * digits in parts.show(range(len(parts) - 1))
    assert parts.ending()
    assert Shape().truncate(text, 200, CHAR).after <= 200


HOSTILE = {
    "1,000 levels in a string": wrapped("[" * 1_000 + "1" * 1_000 + "]" * 1_000),
    "a string of opening brackets": wrapped("[" * 300_000),
    "a string of 5 MB": wrapped(json.dumps(["word " * 100] * 10_000)),
    "lines of JSON and one other": wrapped('{"a": "b"}\n' * 50_000 + "x"),
    "quotes": wrapped(json.dumps(['"' * 100_000])),
}


def in_strings(text, levels, limit):
    """Return a text as a string in an array, again and again; the escapes add few characters."""
    for _ in range(levels):
        text = '["' + text.replace("\\", "\\u005c").replace('"', "\\u0022") + '"]'
        if len(text) > limit:
            break
    return text


HOSTILE["1,000 strings in strings"] = in_strings('["' + "word " * 20_000 + '"]', 1_000, 400_000)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_is_nested_or_large_is_divided_quickly(text):
    began = time.process_time()
    parts = json_parts(text, 300)
    assert parts.show(parts.ending())
    assert parts.show(range(len(parts))) == text
    assert time.process_time() - began < 10


def test_a_string_that_is_shown_whole_is_shown_as_written():
    value = '"' + r"https:\/\/example.org\/\u00e9\n" * 40 + '"'
    parts = json_parts(f'{{"first":  {value},"rest": {json.dumps([PAGE])} }}')
    shown = parts.show([at for at in range(len(parts)) if parts.part(at).startswith("https")])
    assert shown == f'{{"first":  {value},"rest": ["[1 item omitted]"] }}'


def test_a_string_is_not_parsed_if_it_is_too_large_or_too_deep(monkeypatch):
    rows = json.dumps([{"id": number, "note": "a few words " * 9} for number in range(20)])
    assert len(json_parts(in_strings(rows, 4, 10**6))) == 20
    assert len(json_parts(in_strings(rows, 12, 10**6))) == 1
    monkeypatch.setattr("brim.truncate.json_parts.LARGEST", len(rows) - 1)
    parts = json_parts(in_strings(rows, 1, 10**6))
    assert parts.part(1) != json.dumps(json.loads(rows)[1])


words = st.sampled_from(
    ["ok", "Zoë", "a few words of text", "line\n" * 9, "😀 tab\t" * 6, 'a "quote" \\ slash ' * 4, "\ud800 x"]
)
leaves = st.none() | st.integers(-5, 10**20) | words
members = st.dictionaries(st.sampled_from("abcdë"), leaves | st.lists(leaves, max_size=4), min_size=1, max_size=4)
styles = st.fixed_dictionaries({"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 1])})


@st.composite
def wrappers(draw):
    """JSON as a string under the key `json` or, as lines, under `lines` of other JSON, up to four times."""
    text = json.dumps(draw(members), **draw(styles))
    for _ in range(draw(st.integers(0, 4))):
        held = {"type": "text", "json": text, **draw(members)}
        if draw(st.booleans()):
            rows = [json.dumps(each) for each in draw(st.lists(members, min_size=2, max_size=4))]
            held["lines"] = "\n".join(rows)
        held = dict(draw(st.permutations([*held.items()])))
        value = draw(st.sampled_from([held, [held], {"content": [held, {"n": 1}]}]))
        text = json.dumps(value, **draw(styles))
    return text


def texts_in(text):
    """Return a JSON text and the strings in it, those of its strings too; what claims to be JSON must be."""
    found, values = [text], [json.loads(text)]
    while values:
        value = values.pop()
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if key == "json" and not MARK.fullmatch(each):
                found += texts_in(each)
            elif key == "lines" and not MARK.fullmatch(each):
                found += [text for line in each.split("\n") for text in texts_in(line)]
            elif isinstance(each, str):
                found.append(each)
            elif isinstance(each, dict | list):
                values.append(each)
    return found


def unescaped(text):
    """Return what a piece of JSON in JSON is without its escapes, at every depth."""
    found = [text]
    while "\\" in found[-1] and len(found) < 6:
        escaped = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', found[-1]).replace("\n", "\\n").replace("\t", "\\t")
        try:
            found.append(json.loads(f'"{escaped}"'))
        except ValueError:
            break
    return found


@examples(150)
@given(text=wrappers(), room=st.sampled_from([0, 100, 300, None]), numbers=st.sets(st.integers(0, 80)))
def test_any_parts_are_shown_as_json_in_json(text, room, numbers):
    parts = json_parts(text, room)
    assert parts.show(range(len(parts))) == text
    chosen = sorted({number % len(parts) for number in numbers})
    shown = parts.show(chosen)
    if len(parts) == 1 or not chosen:
        assert shown == text if chosen else "omitted]" in shown or shown == text
        return
    texts = texts_in(shown)
    for at in chosen:
        assert any(parts.part(at) in each for each in texts), parts.part(at)


@examples(150)
@given(text=wrappers(), room=st.sampled_from([0, 100, 300, None]))
def test_each_part_is_at_its_offset(text, room):
    parts = json_parts(text, room)
    starts = [*parts.starts][: len(parts)]
    assert starts == sorted({*starts})
    for at, start in enumerate(starts):
        stop = start + parts.size(at)
        assert stop <= [*starts, len(text)][at + 1]
        assert parts.part_at(start) == parts.part_at(stop - 1) == at
        assert parts.part(at) in unescaped(text[start:stop])


@every_meter
@examples(60)
@given(text=wrappers(), share=shares)
def test_a_cut_of_json_in_json_is_json_in_json(meter, text, share):
    cut = checked(Shape(kind="json"), text, limits(text, meter, share), meter)
    if cut and len(cut.text) > 30 and cut.text[0] in "[{":
        try:
            json.loads(cut.text)
        except ValueError:
            assert "omitted]" in cut.text
        else:
            texts_in(cut.text)
