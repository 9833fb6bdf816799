"""`client.brim.last` is what went over the wire: the same messages, and the tokens that the body counts.

The server keeps the bodies that it received, and counts them by a meter of its own.
"""

from __future__ import annotations

import json

import pytest

import brim
from brim.wire import wire
from brim.wire.base import jsonable, other_fields
from integrations.test_wrap import LOOPS, WINDOW, Chat, Messages, closed, drained, made  # noqa: F401

FORMATS = {"chat": "openai", "responses": "responses", "messages": "anthropic"}
METER = brim.meter("o200k_base")
CALLS = 24
"""Enough calls to cut the history more than once."""


@pytest.fixture(params=list(LOOPS))
def route(request):
    return request.param


@pytest.fixture
def server(upstream):
    return upstream(WINDOW, calls=CALLS, meter="o200k_base")


def as_sent(loop, wire):
    """Return the messages of a request as its client sends them; of an item, it leaves out what it has parsed."""
    messages = jsonable(loop.asked()[wire.list_key])
    parsed = ("parsed_arguments",) if wire.name == "responses" else ()
    return [{key: value for key, value in raw.items() if key not in parsed} for raw in messages]


class Watched:
    """A wrapped client, and what its `last` was while the server read each request."""

    def __init__(self, route, server, window=WINDOW, *, corrected=False, **options):
        self.route, self.server, self.wire = route, server, wire(FORMATS[route])
        self.client = brim.wrap(made(route, server), window, **{"meter": METER, **options})
        self.corrected = corrected
        """Whether the server reports another size than it counts."""
        self.used = []
        self.cuts = 0

    def ask(self, loop, ask=None):
        """Ask, and compare what the server received with `last`."""
        given = as_sent(loop, self.wire)
        answer = (ask or loop.ask)(self.client)
        self.compare(given)
        return answer

    def compare(self, given):
        body, last = json.loads(self.server.bodies[-1]), self.client.brim.last
        sent = body[self.wire.list_key]
        assert last.messages == sent
        assert last.used - last.correction == self.count(body, sent) == self.server.size(self.route, body)
        assert last.before - last.correction == self.count(body, given)
        assert last.receipt.used == last.used - last.correction
        assert last.correction == 0 or self.corrected
        assert last.changed == (sent != given)
        self.cuts += bool(self.used) and last.used < self.used[-1]
        self.used.append(last.used)

    def count(self, body, messages):
        system = body.get(self.wire.system_key) if self.wire.system_key else None
        fields = other_fields(body, self.wire)
        return METER.count_messages(messages, body["tools"], system=system, fields=fields, format=self.wire.name)


def run(watched, loop, ask=None):
    """Run a loop to its end, cut several times on the way."""
    for _ in range(CALLS + 1):
        if (text := loop.take(watched.ask(loop, ask and (lambda client: ask(loop, client))))) is not None:
            assert watched.cuts >= 2
            assert (watched.server.refused, watched.server.illegal) == (0, [])
            assert watched.client.brim.sessions[-1].status().reported == watched.server.sizes[-1]
            return text
    return None


def test_it_is_what_the_server_received(route, server):
    assert run(Watched(route, server), LOOPS[route]()) == "Well done."


@pytest.mark.slow
def test_after_a_refusal_it_is_what_was_sent_again(route, server):
    # This provider's refusal has the answer in its number.
    watched, loop = Watched(route, server, 4 * WINDOW, corrected=route == "messages"), LOOPS[route]()
    retried = 0
    for _ in range(CALLS + 1):
        answer = watched.ask(loop)
        retried += watched.client.brim.last.retried
        if loop.take(answer) is not None:
            break
    assert retried == server.refused == watched.client.brim.sessions[-1].status().overflows >= 1
    assert server.illegal == []
    assert len(server.bodies) == CALLS + 1 + retried


def test_of_a_model_that_nobody_knows_it_is_what_was_sent(server):
    watched, loop = Watched("chat", server, None), Chat()
    loop.asked = lambda: {**Chat.asked(loop), "model": "our-own"}
    for number in range(CALLS + 1):
        given = as_sent(loop, watched.wire)
        answer = loop.ask(watched.client)
        last = watched.client.brim.last
        assert last.messages == json.loads(server.bodies[-1])["messages"]
        if server.refused:
            watched.compare(given)
        else:
            assert (last.used, last.before, last.receipt) == (None, None, None), f"nobody has counted {number}"
        if loop.take(answer) is not None:
            break
    assert server.refused == 1


def test_what_a_caller_does_to_its_messages_later_is_not_in_it(server):
    watched, loop = Watched("chat", server), Chat()
    watched.ask(loop)
    loop.messages[1]["content"] = "Something else."
    assert watched.client.brim.last.messages == json.loads(server.bodies[-1])["messages"]


def test_an_estimate_is_corrected_by_one_number_that_it_tells(upstream):
    """What the provider reported corrects the next count; without the correction, both numbers are the meter's."""
    server = upstream(WINDOW, calls=CALLS, meter="claude-sonnet-5")
    watched, loop, corrected = Watched("messages", server, meter=None), Messages(), 0
    counted = []
    size = server.size

    def watch(route, values):
        last, meter = watched.client.brim.last, watched.client.brim.sessions[-1].meter
        rest = {"system": values["system"], "fields": other_fields(values, watched.wire), "format": "anthropic"}
        counts = [meter.count_messages(each, values["tools"], **rest) for each in (values["messages"], given)]
        counted.append((last.used - last.correction, last.before - last.correction) == tuple(counts))
        return size(route, values)

    server.size = watch
    for _ in range(CALLS + 1):
        given = as_sent(loop, watched.wire)
        answer = loop.ask(watched.client)
        corrected += bool(watched.client.brim.last.correction)
        if loop.take(answer) is not None:
            break
    assert corrected > CALLS // 3  # Not before four reports agree, nor where a cut leaves little of the last prompt.
    assert counted == [True] * (CALLS + 1)
