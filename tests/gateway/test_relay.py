"""Streams: keepalive comments, an error event at a broken end, and an upstream that is closed when the client leaves."""

import asyncio
import json
import socket
import time

import pytest

from brim.gateway.http.connection import KEEPALIVE
from brim.gateway.upstream.server_event import EventStream
from gateway.conftest import asked, conversation, post
from model_server import running


def opened(url, body):
    host, port = url.removeprefix("http://").split(":")
    link = socket.create_connection((host, int(port)), timeout=10)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    link.sendall(head.encode() + body)
    return link


def settled(look, seconds=30.0):
    until = time.monotonic() + seconds
    while not look() and time.monotonic() < until:
        time.sleep(0.005)
    return look()


@pytest.mark.slow
def test_a_silent_stream_gets_keepalive_comments(gateway, upstream):
    url, _ = gateway(keepalive=0.03)
    upstream.pause, upstream.pieces = 0.1, 3
    _, _, answer = post(url, asked(conversation(1), stream=True))
    assert answer.count(KEEPALIVE) >= 3
    assert answer.replace(KEEPALIVE, b"").count(b"data: ") == 5
    assert all(part.startswith((b"data: ", b": ")) for part in answer.split(b"\n\n") if part)


def test_an_upstream_that_breaks_off_becomes_an_error_event(gateway, upstream):
    url, _ = gateway()
    _, _, answer = post(url, asked(conversation(1), stream=True, user="reset"))
    last = answer.rstrip().split(b"\n\n")[-1]
    assert json.loads(last.removeprefix(b"data: "))["error"]["message"] == "upstream broke off its answer"


def test_usage_is_read_wherever_a_stream_is_split():
    said = (
        b'data: {"choices":[]}\r\n\r\ndata: {"usage": {"prompt_tokens": 7}, "x": "'
        + b"y" * 50
        + b'"}\n\ndata: [DONE]\n\n'
    )
    for size in (1, 2, 5, 17, 1_000):
        stream = EventStream()
        for at in range(0, len(said), size):
            stream.feed(said[at : at + size])
        assert stream.usage == {"prompt_tokens": 7}
        assert stream.between
    stream = EventStream()
    stream.feed(b"data: half")
    assert not stream.between


async def halting(scope, receive, send):
    """A server that stops in the middle of an event."""
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": (await receive())["type"] + ".complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for piece in (b"data: first\n\n", b"data: ha", b"lf\n\n", b"data: [DONE]\n\n"):
        await asyncio.sleep(0.08)
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.slow
def test_no_comment_is_sent_in_the_middle_of_an_event(gateway, upstream):
    with running(halting) as url:
        before, _ = gateway(upstream=url + "/v1", keepalive=0.03)
        _, _, answer = post(before, asked(conversation(1), stream=True))
    assert b"data: half\n\n" in answer
    assert KEEPALIVE in answer


def splitting(said, sizes):
    """Return a server that sends bytes in pieces of these sizes, over and over."""

    async def serve(scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        at, turn = 0, 0
        while at < len(said):
            size = sizes[turn % len(sizes)]
            await send({"type": "http.response.body", "body": said[at : at + size], "more_body": True})
            at, turn = at + size, turn + 1
        await send({"type": "http.response.body", "body": b""})

    return serve


EVENTS = b"".join(f'event: x\ndata: {{"at": {i}, "usage": null}}\n\n'.encode() for i in range(100))


@pytest.mark.parametrize(
    ("said", "sizes"),
    [
        (EVENTS, [1]),
        (EVENTS.replace(b"\n", b"\r\n"), [1, 2, 3, 5]),
        (EVENTS.replace(b"\n", b"\r"), [7, 1]),
        (b"data: " + b"x" * 1_000_000 + b"\n\n" + EVENTS, [65_536]),
        (b": a comment\n\n\n\n" + EVENTS + b"data: no end", [11]),
    ],
    ids=["each byte", "CRLF", "CR", "an event of 1 MB", "without an end"],
)
def test_a_stream_is_passed_on_byte_for_byte_wherever_upstream_splits_it(gateway, upstream, said, sizes):
    with running(splitting(said, sizes)) as url:
        before, _ = gateway(upstream=url + "/v1")
        status, _, answer = post(before, asked(conversation(1), stream=True))
    assert status == 200
    assert answer == said


def test_a_client_that_closes_its_sending_side_has_disconnected(gateway, upstream):
    url, _ = gateway()
    upstream.pause, upstream.pieces = 0.2, 100
    with opened(url, asked(conversation(1), stream=True)) as link:
        assert link.recv(1_000)
        assert settled(lambda: upstream.open == 1)
        link.shutdown(socket.SHUT_WR)
        assert settled(lambda: upstream.open == 0)
