"""JSON with long strings has the values that the library's decoder finds, in pieces of bounded size."""

import json
import random

import pytest

from brim.files import long_json
from brim.files.json_body import body_of
from brim.files.long_json import decoded

STEP = 40
UNITS = ("a", "\\\\", '\\"', "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\udc00", "é", "😀", " ", "u", "d83d", "\\\\u", "[", ",", "{", ":")  # fmt: skip
"""What strings are made of: letters, escapes, halves of pairs, and what looks like either."""
DAMAGE = ("\\", '"', "x", "\n", "", "\\u12")
DECODER = json.JSONDecoder()


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch):
    monkeypatch.setattr(long_json, "_STEP", STEP)
    monkeypatch.setattr(long_json, "_LONG", STEP)


def string(rng):
    units = rng.sample(UNITS, rng.randint(1, 4))
    return '"' + "".join(rng.choices(units, k=rng.choice((0, 3, 30, 100, 400)))) + '"'


def value(rng, depth=0):
    kind = rng.random()
    if depth > 3 or kind < 0.5:
        return string(rng)
    if kind < 0.6:
        return " " * rng.choice((0, 100)) + str(rng.randint(0, 9))
    if kind < 0.8:
        return f"[{','.join(value(rng, depth + 1) for _ in range(rng.randint(0, 5)))}]"
    keys = {string(rng) if rng.random() < 0.3 else f'"{i}"' for i in range(rng.randint(0, 4))}
    return "{" + ", ".join(f"{key}: {value(rng, depth + 1)}" for key in sorted(keys)) + "}"


def outcome(decode, text):
    try:
        return decode(text)
    except json.JSONDecodeError as error:
        return ("not JSON", error.doc == text)


@pytest.mark.parametrize("seed", range(8))
def test_the_values_are_those_of_the_library_and_what_it_refuses_is_refused(seed):
    rng = random.Random(seed)
    for _ in range(150):
        text = value(rng)
        if rng.random() < 0.2:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(DAMAGE) + text[at + rng.randint(0, 2) :]
        assert outcome(lambda text: decoded(text, DECODER), text) == outcome(DECODER.decode, text)


@pytest.mark.parametrize("unit", [*UNITS, "\\" * 60, "lorem \\n"])
def test_no_long_string_is_read_in_one_go(unit, monkeypatch):
    text = json.dumps({"before": "x", "long": 0})[:-2] + '"' + (unit + "a") * 1_000 + '"}'
    read = []
    loads = json.loads
    monkeypatch.setattr(long_json.json, "loads", lambda piece: read.append(len(piece)) or loads(piece))
    assert decoded(text, DECODER) == DECODER.decode(text)
    assert sum(read) > len(text) - 40  # All of it.
    assert max(read) <= STEP + 3


def test_positions_of_messages_after_a_long_string_are_those_in_the_body():
    messages = [{"role": "user", "content": 'say "a" \n' * 50}, {"role": "user", "content": "b"}, {"role": "user"}]
    text = json.dumps({"system": "s" * 99, "messages": messages, "model": "m" * 60})
    body = body_of(text, "here", ["messages"])
    assert [json.loads(text[start:end]) for start, end in body.spans] == messages
    assert text[body.starts["model"] :] == f'"{"m" * 60}"}}'


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a": "' + "b" * 99 + '",\n"c": x}', 2), ('{"a":\n"' + "b" * 99 + "\\x" + "b" * 99 + '"}', 2)],
)
def test_an_error_after_or_in_a_long_string_has_its_line(text, line):
    with pytest.raises(json.JSONDecodeError) as caught:
        decoded(text, DECODER)
    with pytest.raises(json.JSONDecodeError) as expected:
        DECODER.decode(text)
    assert (caught.value.lineno, caught.value.pos, caught.value.msg) == (line, expected.value.pos, expected.value.msg)


def test_a_long_key_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="a long key stands twice"):
        decoded(f'{{"{"k" * 99}": 1, "{"k" * 99}": 2}}', DECODER)
