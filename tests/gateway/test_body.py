"""Bodies of many values are refused, and long lines cost their length."""

import time

import pytest

from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream.server_event import EventStream
from gateway.conftest import parsed


@pytest.mark.parametrize("piece", [b"[],", b'"",', b"{},"])
def test_a_bomb_of_values_is_refused_before_it_is_parsed(piece):
    began = time.process_time()
    with pytest.raises(HttpProblem, match="more than 500,000 commas") as caught:
        parsed("chat", b"[" + piece * 9_000_000 + b"0]")
    assert caught.value.status == 413
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


@pytest.mark.slow
def test_an_endless_line_takes_little_memory_and_what_follows_is_read():
    stream = EventStream()
    for _ in range(200):
        stream.feed(b"x" * 100_000)
        assert sum(map(len, stream._rest)) <= 4_300_000
    stream.feed(b'\n\ndata: {"usage": {"prompt_tokens": 7}}\n\n')
    assert stream.usage == {"prompt_tokens": 7}
