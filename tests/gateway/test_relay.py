"""Streams: byte for byte, broken off where upstream breaks off, and closed upstream when the client leaves."""

import http.client
import socket
import time

import pytest

from brim.gateway.upstream.server_event import EventStream
from gateway.conftest import asked, conversation, post
from gateway.scripted import opened as opened_answer
from gateway.scripted import played
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


def test_a_stream_that_upstream_breaks_off_is_broken_off(gateway, upstream):
    url, _ = gateway()
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(url, asked(conversation(1), stream=True, user="reset"))
    assert caught.value.partial.startswith(b"data: ")
    assert b"error" not in caught.value.partial


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", b"application/json"),
        ("/model/amazon.nova-pro-v1:0/converse-stream", b"application/vnd.amazon.eventstream"),
    ],
    ids=["Gemini's array", "Bedrock's frames"],
)
def test_a_broken_stream_without_events_gets_no_text_of_the_gateway(gateway, upstream, path, kind):
    reset = type("Reset", (), {"wait": lambda self, _: False})()
    body = {"contents": [{"parts": [{"text": "Go."}]}]} if b"json" in kind else {"messages": []}
    script = 200, [(b"content-type", kind)], [b'[{"candidates": []}', 0.01, reset]
    with played(gateway, script) as (url, _, _), opened_answer(url, path, body) as found:
        with pytest.raises(http.client.IncompleteRead) as caught:
            found.read()
        assert caught.value.partial == b'[{"candidates": []}'


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
