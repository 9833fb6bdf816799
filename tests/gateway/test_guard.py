"""Which requests are admitted, and which bodies and headers are refused."""

import contextlib
import gzip
import http.client
import json
import socket
import time

import pytest

from brim.errors import InvalidValue
from brim.gateway.http import protocol
from brim.gateway.settings import GatewaySettings
from gateway.attacks import answers, doors, gets_in
from gateway.conftest import asked, conversation, get, metric, post

SHORT = asked(conversation(1))
SECRET = "sk-canary-4f1c9a77"


@pytest.fixture
def locked(gateway, monkeypatch):
    monkeypatch.setenv("CLIENT_KEY", "correct horse")
    monkeypatch.setenv("MODEL_KEY", SECRET)
    return gateway(keys=("CLIENT_KEY",), upstream_key="MODEL_KEY")


def test_a_request_is_admitted_only_with_a_key(locked, upstream):
    url, _ = locked
    assert post(url, SHORT)[0] == 401
    assert post(url, SHORT, authorization="Bearer wrong")[0] == 401
    assert post(url, SHORT, authorization="Bearer correct horse")[0] == 200
    assert post(url, SHORT, x_api_key="correct horse")[0] == 200
    assert json.loads(post(url, SHORT, "/v1/messages")[2])["error"]["type"] == "authentication_error"
    google = post(url, SHORT, "/v1beta/models/gemini-3-pro:generateContent")[2]
    assert json.loads(google)["error"]["status"] == "UNAUTHENTICATED"
    amazon = post(url, SHORT, "/model/amazon.nova-pro/converse")[1]
    assert amazon["x-amzn-errortype"] == "AccessDeniedException"
    assert upstream.headers[-1]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.slow
def test_no_spelling_of_a_path_or_a_host_bypasses_the_key(locked, upstream):
    url, app = locked
    opened = 0
    for sent in doors(1_000, "correct horse", url.removeprefix("http://")):
        told = answers(url, sent)
        assert not gets_in(told), (sent, told)
        opened += any(status == 200 for status, _ in told)
    assert upstream.paths == []
    refused = {"name": "brim_requests_total", "model": "other", "outcome": "refused_401"}
    assert sum(metric(app, **refused, route=route) for route in ("chat", "other")) > 100
    assert opened  # Some of them ask for an open path.


@pytest.mark.slow
@pytest.mark.parametrize("begun", [b"GET /", b"GET /healthz HTTP/1.1\r\nX-A: ", b"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: "], ids=["path", "header", "trailer"])  # fmt: skip
@pytest.mark.parametrize("filling", [b"a" * 1_000, b"a\r\nX-A: b"], ids=["long", "many"])
def test_headers_without_an_end_are_cut_off(gateway, upstream, begun, filling):
    url, _ = gateway()
    host, port = url.removeprefix("http://").split(":")
    sent = 0
    with socket.create_connection((host, int(port)), timeout=5) as link:
        link.sendall(begun)
        with contextlib.suppress(OSError):
            while sent < 40_000_000:
                link.sendall(filling * (100_000 // len(filling)))
                sent += 100_000
    assert sent < 20_000_000
    assert post(url, SHORT)[0] == 200


def test_long_headers_of_an_honest_client_are_accepted(gateway, upstream):
    url, _ = gateway()
    assert post(url, SHORT, x_long="a" * 50_000)[0] == 200
    assert len(upstream.headers[-1]["x-long"]) == 50_000


@pytest.mark.slow
def test_a_client_that_never_ends_its_headers_is_disconnected(gateway, upstream, monkeypatch):
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.1)
    url, _ = gateway()
    host, port = url.removeprefix("http://").split(":")
    for begun in (b"", b"GET /healthz HTTP/1.1\r\nX-A:"):
        with socket.create_connection((host, int(port)), timeout=5) as link:
            link.sendall(begun)
            assert link.recv(100) == b""
    link = http.client.HTTPConnection(host, int(port), timeout=5)
    for _ in range(2):  # Between requests a connection may be idle.
        link.request("GET", "/healthz")
        assert link.getresponse().read() == b'{"status": "ok"}'
        time.sleep(0.15)
    link.close()


HELD = {
    "nothing": b"",
    "half a head": b"GET /healthz HTTP/1.1\r\nX-A:",
    "half a body": b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{",
    "a whole request": b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("held", HELD)
def test_connections_on_which_nothing_is_answered_give_way_to_others(gateway, upstream, held):
    url, _ = gateway(most_connections=10)
    host, port = url.removeprefix("http://").split(":")
    opened = []
    for _ in range(40):
        opened.append(socket.create_connection((host, int(port)), timeout=5))
        opened[-1].sendall(HELD[held])
    begun = time.monotonic()
    assert post(url, SHORT)[0] == 200
    assert time.monotonic() - begun < 2
    for link in opened:
        link.close()


@pytest.mark.slow
def test_a_request_above_the_limit_of_connections_is_refused_while_all_others_are_answered(gateway, upstream):
    url, _ = gateway(most_connections=3)
    upstream.pause = 0.2
    host, port = url.removeprefix("http://").split(":")
    busy = [http.client.HTTPConnection(host, int(port), timeout=20) for _ in range(3)]
    for link in busy:
        link.request("POST", "/v1/chat/completions", asked(conversation(1), stream=True))
    answers = [link.getresponse() for link in busy]
    assert get(url, "/healthz")[0] == 503
    assert all(b"[DONE]" in answer.read() for answer in answers)
    assert get(url, "/healthz")[0] == 200
    for link in busy:
        link.close()


AMBIGUOUS = (
    "/v1/..;/admin", "/v1/..;x=1/admin", "/v1/.;/admin", "/v1/%2e%2e;/admin", "/v1/..%3b/admin", "/v1/%2e%2e%3bx/admin",
    "/v1/%c0%ae%c0%ae/admin", "/v1/%c0%ae%c0%ae;/admin", "/v1/%e0%80%ae%e0%80%ae/admin", "/v1/%c0%af", "/v1/%ff",
    "/v1/%25c0%25ae/admin", "/v1/%ef%bc%8e%ef%bc%8e/admin", "/v1/%e2%80%a4%e2%80%a4/admin", "/v1/x%ef%bc%8f%ef%bc%8fy",
    "/v1/%252e%252e/admin", "/v1/%25252e%25252e/admin", "/v1/%2525252525252e/admin", "/v1/%5c", "/v1/a%00b",
    "/v1/models/a;b", "/v1/models/a%3bb", "/v1/%EF%BD%8Dodels/a", "/v1/" + "x" * 5_000,
)  # fmt: skip
PLAIN = (
    "/v1/models/a:b",
    "/v1/models/org%2Fmodel",
    "/v1/models/x..y",
    "/v1/...",
    "/v1/%E4%BD%A0",
    "/v1/e%CC%81",
    "/v1/100%25",
)


def test_a_path_that_servers_read_in_different_ways_is_refused(gateway, upstream):
    url, _ = gateway()
    for path in AMBIGUOUS:
        assert get(url, path)[0] == 400, path
    assert upstream.paths == []
    for path in PLAIN:
        assert get(url, path)[0] == 404, path
    assert len(upstream.paths) == len(PLAIN)


def test_a_foreign_host_or_page_is_refused(gateway, upstream):
    url, _ = gateway()
    assert post(url, SHORT, host="evil.example:8088")[0] == 421
    assert post(url, SHORT, origin="https://evil.example")[0] == 403
    assert post(url, SHORT, origin="null")[0] == 403
    assert post(url, SHORT, sec_fetch_site="cross-site")[0] == 403
    assert post(url, SHORT, host="localhost:1")[0] == 200
    assert len(upstream.bodies) == 1
    named, _ = gateway(hosts=("brim.internal",))
    assert post(named, SHORT, host="brim.internal")[0] == 200
    two = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\nConnection: close\r\n"
    assert answers(url, two + b"Content-Length: %d\r\n\r\n" % len(SHORT) + SHORT)[0][0] == 400


def bombs(size=36_000_000):
    """Yield a name, a body, its encoding, and the allowed statuses: 200 if it is harmless."""
    unit = b'{"role":"user","content":""}'
    start = b'{"model":"gpt-4o","messages":['
    deep = json.dumps("[" * 100_000).encode()
    call = b'{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":%s}}]}'
    yield "gzip", gzip.compress(b" " * size), "gzip", (415,)
    yield "many encodings", b"x", ",".join(["br", "gzip"] * 2_000), (415,)
    yield "depth", b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "", (400,)
    yield "depth without an end", b'{"messages":' + b"[" * 1_000_000, "", (400, 413)
    yield "depth in objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "", (400,)
    yield (
        "depth in a text",
        start + call % deep + b',{"role":"tool","tool_call_id":"a","content":%s}]}' % deep,
        "",
        (200, 400),
    )
    yield "keys", b"{" + b'"a":1,"b":2,"c":3,"d":4,' * 250_000 + b'"e":5}', "", (413,)
    yield "messages", start + b",".join([unit] * 1_000_000) + b"]}", "", (413,)
    yield "parts", start + b'{"role":"user","content":[' + b",".join([b"{}"] * 1_000_000) + b"]}]}", "", (413,)
    yield "digits", b'{"model":"gpt-4o","n":' + b"9" * 1_000_000 + b"}", "", (400,)
    yield (
        "a large number",
        start + unit + b'],"max_tokens":1e400,"n":-1e400,"seed":123456789012345678901234567890}',
        "",
        (200, 400),
    )
    yield "no number", start + unit + b'],"max_tokens":NaN,"n":-Infinity}', "", (200, 400)
    yield "a million spaces", start + b'{"role":"user","content":"' + b" " * 1_000_000 + b'"}]}', "", (200, 400)
    yield "one letter", start + b'{"role":"user","content":"' + b"a" * 1_000_000 + b'"}]}', "", (200, 400)
    yield "not JSON", b'{"model": gpt}', "", (400,)
    yield "not UTF-8", b'{"model":"\xff\xfe"}', "", (400,)
    yield "half a pair", start + b'{"role":"user","content":"\\ud800"}]}', "", (200, 400)
    yield "a list", b"[1,2]", "", (400,)
    yield "nothing", b"", "", (400,)
    yield "too big", b" " * 34_000_000, "", (413,)


@pytest.fixture(scope="module")
def every_bomb():
    return list(bombs())


@pytest.mark.slow
def test_bombs_are_refused_quickly(gateway, upstream, every_bomb):
    url, _ = gateway()
    for name, body, encoding, expected in every_bomb:
        begun = time.perf_counter()
        try:
            status = post(url, body, **({"content_encoding": encoding} if encoding else {}))[0]
        except (BrokenPipeError, ConnectionResetError):
            status = 413  # The gateway did not wait for the rest.
        assert status in expected, name
        assert time.perf_counter() - begun < 4, name  # On a busy machine; the proof requires one second.
    assert post(url, SHORT)[0] == 200


def test_a_number_too_large_for_a_float_is_passed_on_unchanged(gateway, upstream):
    url, _ = gateway()
    body = SHORT.replace(b'"model"', b'"seed": 1e400, "model"')
    assert post(url, body)[0] == 200
    assert upstream.bodies[-1] == body


def test_a_secret_in_the_settings_is_not_repeated_by_the_error():
    with pytest.raises(InvalidValue) as caught:
        GatewaySettings(upstream="http://127.0.0.1:1/v1", upstream_key="sk-12345-abc")
    assert "sk-12345" not in str(caught.value)


def test_the_gateway_does_not_start_without_the_variable_of_a_key(gateway, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InvalidValue, match="NOT_SET"):
        gateway(keys=("NOT_SET",))
