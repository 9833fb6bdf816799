"""What follows the head of a request: its body in time, trailers that are no headers, offers that change nothing."""

import http.client
import json
import socket

import pytest

from gateway.conftest import asked, conversation

BODY = asked(conversation(1))
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)


def answered(url, *pieces):
    """Send pieces, each in a packet of its own, over one connection; return the answer to each request."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found = []
        for requests in pieces:
            for piece in requests:
                link.sendall(piece)
            answer = http.client.HTTPResponse(link)
            answer.begin()
            found.append((answer.status, answer.read()))
            answer.close()
        return found


@pytest.mark.parametrize("apart", [False, True], ids=["in one packet", "in two"])
def test_trailers_do_not_become_headers(gateway, upstream, monkeypatch, apart):
    monkeypatch.setenv("TEAM_A", "key-of-team-a")
    trailers = b"X-Api-Key: key-of-team-a\r\nX-Brim-Policy: refuse\r\nX-Told: yes\r\n\r\n"
    pieces = [HEAD + CHUNKED, trailers] if apart else [HEAD + CHUNKED + trailers]
    url, _ = gateway()
    assert answered(url, pieces, pieces)[1][0] == 200
    assert not {"x-api-key", "x-told", "x-brim-policy"} & set(upstream.headers[-1])
    locked, _ = gateway(keys=("TEAM_A",))
    assert answered(locked, pieces)[0][0] == 401


@pytest.mark.parametrize("apart", [False, True], ids=["in one packet", "in two"])
@pytest.mark.parametrize("body", [LENGTH + BODY, CHUNKED + b"\r\n"], ids=["length", "chunked"])
def test_an_offer_of_http_2_is_ignored_and_the_body_is_read(gateway, upstream, body, apart):
    url, _ = gateway()
    request = HEAD + OFFER + body
    middle = len(request) - len(body) // 2
    pieces = [request[:middle], request[middle:]] if apart else [request]
    found = answered(url, pieces, [HEAD + LENGTH + BODY], pieces)
    assert [status for status, _ in found] == [200] * 3
    assert upstream.bodies == [BODY] * 3
    assert not {"upgrade", "http2-settings"} & set(upstream.headers[-1])


def test_requests_with_offers_that_come_at_once_are_answered_in_order(gateway, upstream):
    url, _ = gateway()
    healthy = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + OFFER + b"\r\n"
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(healthy + HEAD + OFFER + LENGTH + BODY + healthy)
        with link.makefile("rb") as lines:
            found = []
            for _ in range(3):
                status = int(lines.readline().split()[1])
                headers = dict(line.rstrip().split(b": ", 1) for line in iter(lines.readline, b"\r\n"))
                found.append((status, json.loads(lines.read(int(headers[b"content-length"])))))
    assert [status for status, _ in found] == [200] * 3
    assert "choices" in found[1][1]
    assert found[0][1] == found[2][1] == {"status": "ok"}


@pytest.mark.slow
def test_a_body_that_does_not_arrive_is_refused_on_a_used_connection_too(gateway, upstream):
    url, _ = gateway(timeout=0.2)
    whole = HEAD + LENGTH + BODY
    for pieces in ([whole[:-1]], [HEAD + CHUNKED]):
        (first, _), (second, said) = answered(url, [whole], pieces)
        assert (first, second) == (200, 408)
        assert b"did not arrive within 0.2 seconds" in said


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_a_long_body_is_passed_on_whole_and_the_connection_is_used_again(gateway, upstream, chunked):
    url, _ = gateway()
    body = BODY + b" " * 450_000
    parts = [body[at : at + 12_500] for at in range(0, len(body), 12_500)]
    if chunked:
        head, parts = CHUNKED.partition(b"\r\n\r\n")[0], [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
        parts.append(b"0\r\n\r\n")
    else:
        head = b"Content-Length: %d" % len(body)
    request = [HEAD + head + b"\r\n\r\n", *parts]
    assert [status for status, _ in answered(url, request, [HEAD + LENGTH + BODY], request)] == [200] * 3
    assert upstream.bodies == [body, BODY, body]


@pytest.mark.parametrize("apart", [False, True], ids=["in one packet", "in two"])
def test_headers_of_200_kb_are_refused_however_they_arrive(gateway, upstream, apart):
    url, _ = gateway()
    long = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 10_000) for number in range(20))
    request = HEAD + long + LENGTH + BODY
    pieces = [request[:100_000], request[100_000:]] if apart else [request]
    assert answered(url, pieces)[0][0] == 431
    assert upstream.bodies == []
