"""What every framework is tested for: a run in which the model calls a tool many times.

The file of a framework imports these tests, and defines `run(server, window, stream=..., **options)`, which returns the
answer and the conversations.
"""

from __future__ import annotations

import json

import pytest

import brim

WINDOW, CALLS = 6_000, 36
SYSTEM = "You are a careful surveyor."
TASK = "Find out why the harbour is silting up."


def seen(number: int) -> str:
    """Return what the tool `look` returns."""
    return f"Place {number}: " + "mud, sand and shells over old chains; " * 30 + "no end."


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_long_run_fits_to_its_end(upstream, request, stream):
    server = upstream(WINDOW, calls=CALLS)
    answer, conversations = request.module.run(server, WINDOW, stream=stream)
    assert answer == "Well done."
    assert (server.made, server.refused, server.illegal) == (CALLS, 0, [])
    assert len(server.sizes) == CALLS + 1
    assert max(server.sizes) <= WINDOW
    last = json.dumps(server.requests[-1])
    assert TASK in last
    assert seen(CALLS) in last
    assert seen(1) not in last
    status = conversations.sessions[-1].status()
    assert status.prompts == CALLS + 1
    assert status.reported == server.sizes[-1] or (stream and status.reported is None)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_refused_call_is_sent_again_and_smaller(upstream, request, stream):
    server = upstream(WINDOW, calls=CALLS)
    answer, conversations = request.module.run(server, 100_000, stream=stream)
    assert answer == "Well done."
    assert server.illegal == []
    assert 1 <= server.refused <= 3
    assert conversations.sessions[-1].status().overflows == server.refused


def test_a_session_has_the_name_that_is_set(upstream, request, tmp_path):
    server, store = upstream(WINDOW, calls=5), brim.open_store(f"sqlite:///{tmp_path / 'brim.db'}")
    _, conversations = request.module.run(server, WINDOW, session="harbour", store=store)
    [session] = conversations.sessions
    assert session.id == "harbour"
    assert session.status().reported == server.sizes[-1]
    assert "tools" in session.status().categories
    kinds = [entry.kind for entry in store.entries("harbour")]
    assert kinds.count("prompt") == kinds.count("usage") == 6
