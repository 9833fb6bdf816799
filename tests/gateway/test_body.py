"""Bodies: as many values as the settings allow, read as Python's own reader reads them, in less than its time."""

import contextlib
import json
import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brim.gateway.client.body import check_values, decoded
from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream.answered import EventStream
from gateway.conftest import counted
from gateway.mutants import hit, seeds

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def by_python(raw):
    try:
        return repr(json.loads(raw.decode()))
    except (ValueError, RecursionError):
        return None


def by_gateway(raw):
    try:
        return repr(decoded(raw))
    except (ValueError, RecursionError):
        return None


@given(VALUES, st.booleans())
@example(float("nan"), True)
@example("\ud800", True)
@example({"a": 10**300}, False)
def test_values_are_read_as_by_python(value, escapes):
    raw = json.dumps(value, ensure_ascii=escapes).encode("utf-8", "surrogatepass")
    assert by_gateway(raw) == by_python(raw)


def test_bodies_that_were_hit_are_read_or_refused_as_by_python():
    chooser, (bodies, _) = random.Random(7), seeds()
    read_ = 0
    for number in range(2_000):
        raw = hit(chooser, list(bodies.values())[number % len(bodies)])
        found = by_gateway(raw)
        assert found == by_python(raw)
        read_ += found is not None
    assert 200 < read_ < 1_900


@given(st.text('ab,[{}]\\"\n '), st.integers(0, 12))
def test_only_the_signs_outside_of_strings_count(text, most):
    raw = text.encode()
    try:
        check_values(raw, most)
    except HttpProblem:
        assert counted(text) > most
    else:
        assert counted(text) <= most or len(raw) <= most


@pytest.mark.parametrize(
    "raw",
    [b"[" + b"[]," * 9_000_000 + b"[]]", b"[" + b'"",' * 9_000_000 + b'""]', b'["' + b'\\",[' * 7_000_000 + b'"]'],
    ids=["lists", "strings", "one string"],
)
def test_a_bomb_is_counted_in_little_time(raw):
    began = time.process_time()
    with contextlib.suppress(HttpProblem):
        check_values(raw, 250_000)
    assert time.process_time() - began < 1.0


def test_depth_is_limited():
    for levels, told in ((99, True), (101, False), (100_000, False)):
        raw = b'{"a": ' + b"[" * levels + b"]" * levels + b"}"
        if told:
            assert decoded(raw)
        else:
            with pytest.raises(RecursionError):
                decoded(raw)


@pytest.mark.parametrize("size", [1_400, 65_536])
def test_a_line_of_4_mb_costs_its_length(size):
    line = (
        b'data: {"choices": [{"delta": {"content": "' + b"x" * 4_000_000 + b'"}}], "usage": {"prompt_tokens": 7}}\n\n'
    )
    stream, began = EventStream(), time.process_time()
    for at in range(0, len(line), size):
        stream.feed(line[at : at + size])
    assert time.process_time() - began < 5  # Searched anew for each piece: minutes.
    assert stream.usage == {"prompt_tokens": 7}
    assert stream.between


def test_an_endless_line_takes_little_memory_and_what_follows_is_read():
    stream = EventStream()
    for _ in range(200):
        stream.feed(b"x" * 100_000)
        assert len(stream._reader.rest) <= 4_300_000
    stream.feed(b'\n\ndata: {"usage": {"prompt_tokens": 7}}\n\n')
    assert stream.usage == {"prompt_tokens": 7}
