"""Bodies: as many values and levels as the settings allow, and lines that cost their length."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.gateway.client.body import check_values
from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream.answered import EventStream
from gateway.conftest import counted


@given(st.text('ab,[{}]\\"\n '), st.integers(0, 12))
def test_only_the_signs_outside_of_strings_count(text, most):
    raw = text.encode()
    try:
        check_values(raw, most)
    except HttpProblem:
        assert counted(text) > most
    else:
        assert counted(text) <= most or len(raw) <= most


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_endless_line_takes_little_memory_and_what_follows_is_read():
    stream = EventStream()
    for _ in range(200):
        stream.feed(b"x" * 100_000)
        assert len(stream._reader.rest) <= 4_300_000
    stream.feed(b'\n\ndata: {"usage": {"prompt_tokens": 7}}\n\n')
    assert stream.usage == {"prompt_tokens": 7}
