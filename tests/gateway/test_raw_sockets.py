"""The gateway between raw sockets: what a server may send, what a client may send, and how both may leave."""

import contextlib
import gzip
import json
import time
import zlib

import pytest

from gateway.attacks import FIELDS, LEADING_HEADERS, answers
from gateway.conftest import asked, call, conversation, metric, post
from gateway.raw_server import raw_upstream, whole
from gateway.test_relay import opened, settled

BODY = asked(conversation(1))
STREAM = asked(conversation(1), stream=True)
EVENTS = b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n'
SSE = "Content-Type: text/event-stream"
JSON = "Content-Type: application/json"
KEY = "sk-proj-4fQ9aZ7xT2bV8nR5mK1wL6yD3cH0jS"


def chunked(*parts, trailers=b"", headers=(JSON,)):
    """Return an answer in chunks."""
    head = "\r\n".join(["HTTP/1.1 200 OK", *headers, "Transfer-Encoding: chunked"]).encode() + b"\r\n\r\n"
    return head + b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


@pytest.fixture
def served(gateway):
    """Run gateways in front of raw servers; each call returns an address and the server."""
    with contextlib.ExitStack() as stack:

        def start(*scripts, **told):
            server = stack.enter_context(raw_upstream(*scripts))
            url, app = gateway(upstream=server.url + "/v1", **told)
            server.app = app
            return url, server

        yield start


ANSWERS = {
    "with a length": ([whole(b'{"a": 1}', JSON)], (200, b'{"a": 1}')),
    "in chunks": ([chunked(b'{"a"', b": 1}")], (200, b'{"a": 1}')),
    "with trailers": ([chunked(b'{"a": 1}', trailers=b"X-Late: 1\r\nAuthorization: x\r\n")], (200, b'{"a": 1}')),
    "to the end": ([b"HTTP/1.1 200 OK\r\n" + JSON.encode() + b"\r\n\r\n{}", "close"], (200, b"{}")),
    "HTTP/1.0": ([b"HTTP/1.0 200 OK\r\n" + JSON.encode() + b"\r\nContent-Length: 2\r\n\r\n{}"], (200, b"{}")),
    "after 1xx": ([b"HTTP/1.1 102 Wait\r\nX-Early: 1\r\n\r\n" * 3 + whole(b"{}", JSON)], (200, b"{}")),
    "204": ([b"HTTP/1.1 204 No\r\n\r\n"], (204, b"")),
    "429": ([whole(b"{}", JSON, "Retry-After: 7", status=429)], (429, b"{}")),
    "529": ([whole(b"{}", JSON, status=529)], (529, b"{}")),
    "599": ([whole(b"{}", JSON, status=599)], (599, b"{}")),
    "gzip": ([whole(gzip.compress(b'{"a": 1}'), JSON, "Content-Encoding: gzip")], (200, b'{"a": 1}')),
    "deflate": ([whole(zlib.compress(b"{}"), JSON, "Content-Encoding: deflate")], (200, b"{}")),
    "early": (["unread", whole(b"{}", JSON, "Connection: close", status=413), 0.2], (413, b"{}")),
}


@pytest.mark.parametrize(("script", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_passed_back_and_the_gateway_goes_on(served, script, expected):
    url, _ = served(script, script)
    for _ in range(2):
        status, headers, said = post(url, BODY)
        assert (status, said) == expected
        assert not {"x-early", "x-late", "content-encoding"} & set(headers)


REFUSED = {
    "status 600": ([whole(b"{}", status=600)], "invalid status 600"),
    "status 999": ([whole(b"{}", status=999)], "invalid status 999"),
    "a redirect": ([whole(b"{}", "Location: http://169.254.169.254/", status=307)], "a redirect, which the gateway"),
    "another protocol": (
        [b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
        "invalid status 101",
    ),
    "200 kB of headers": (
        [whole(b"{}", *(f"X-{number}: {'y' * 20_000}" for number in range(10)))],
        "longer than 131,072 bytes",
    ),
    "one header of 200 kB": ([whole(b"{}", f"X-One: {'y' * 200_000}")], "headers are too long"),
    "no HTTP": ([b"SSH-2.0-OpenSSH_9\r\n"], "did not answer with HTTP"),
    "two lengths": (
        [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"],
        "did not answer with HTTP",
    ),
    "nothing": (["close"], "closed the connection before it answered"),
    "half": ([whole(b"12345678", JSON)[:-4], "close"], "broke off its answer"),
    "half a chunk": ([chunked(b'{"a": 1}')[:-8], "close"], "broke off its answer"),
    "half of a gzip": (
        [whole(gzip.compress(b"12345678"), JSON, "Content-Encoding: gzip")[:-4], "close"],
        "it closed the connection, or sent invalid HTTP",
    ),
    "no gzip": ([whole(b"{}", JSON, "Content-Encoding: gzip")], "its gzip content cannot be decoded"),
    "an unknown coding": ([whole(b"{}", JSON, "Content-Encoding: x-own")], "in an unknown way"),
}


@pytest.mark.parametrize(("script", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_answer_is_a_502_that_says_why_and_the_gateway_goes_on(served, script, problem):
    url, _ = served(script, [whole(b"{}", JSON)])
    status, _, said = post(url, BODY)
    assert status == 502
    assert problem in json.loads(said)["error"]["message"]
    assert post(url, BODY)[0] == 200


@pytest.mark.slow
def test_a_silent_server_is_a_504_with_its_seconds(served):
    url, _ = served([5.0], timeout=0.3)
    status, _, said = post(url, BODY)
    assert (status, b"upstream did not answer within 0.3 seconds" in said) == (504, True)


@pytest.mark.parametrize("pause", [0.0, 0.1], ids=["at once", "later"])
def test_a_second_answer_that_nobody_asked_for_is_dropped(served, pause):
    forged = whole(b"forged", "X-Forged: 1")
    url, server = served([whole(b"{}", JSON), pause, forged], [whole(b"{}", JSON)])
    assert post(url, BODY)[::2] == (200, b"{}")
    time.sleep(0.2)
    status, headers, said = post(url, BODY)
    assert (status, said, "x-forged" in headers) == (200, b"{}", False)
    assert server.connections >= 2


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("kind", ["whole", "stream", "refusal", "other path"])
def test_the_key_of_the_gateway_does_not_come_back(served, monkeypatch, kind, coded):
    monkeypatch.setenv("MODEL_KEY", KEY)
    said = b'data: {"error": {"message": "Incorrect API key provided: %s"}}\n\n' % KEY.encode()
    raw = gzip.compress(said) if coded else said
    coding = ["Content-Encoding: gzip"] if coded else []
    answer = whole(raw, SSE if kind == "stream" else JSON, *coding, status=401 if kind == "refusal" else 200)
    url, _ = served([answer], upstream_key="MODEL_KEY")
    if kind == "other path":
        _, _, found = call(url, "POST", "/v1/embeddings", b"{}", content_type="application/json")
    else:
        _, _, found = post(url, STREAM if kind == "stream" else BODY)
    assert KEY.encode() not in found
    assert found == said.replace(KEY.encode(), b"*" * len(KEY))


def test_nothing_in_a_request_chooses_its_server(served):
    script = [whole(b"{}", JSON)]
    with raw_upstream(script) as elsewhere:
        url, server = served(*[script] * 4)
        place, said = elsewhere.url, json.loads(BODY)
        assert post(url, BODY, **{name.replace("-", "_"): place for name in LEADING_HEADERS})[0] == 200
        assert post(url, json.dumps({**said, **dict.fromkeys(FIELDS, place)}).encode())[0] == 200
        assert post(url, BODY, f"/v1/chat/completions?{'&'.join(f'{name}={place}' for name in FIELDS)}")[0] == 200
        head = f"POST {place}/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        answers(url, f"{head}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
        assert len(server.requests) >= 3
        assert elsewhere.requests == []


SMUGGLED = {
    "two lengths": b"Content-Length: 4\r\nContent-Length: 60\r\n\r\n",
    "length and chunks": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
    "chunks by another name": b"Transfer-Encoding: xchunked\r\n\r\n",
    "a space before the colon": b"Content-Length : 4\r\n\r\n",
    "a bare line feed": b"X-One: 1\nContent-Length: 60\r\nContent-Length: 4\r\n\r\n",
    "no number": b"Content-Length: +4\r\n\r\n",
}


@pytest.mark.parametrize("head", SMUGGLED.values(), ids=SMUGGLED)
def test_a_request_that_can_be_read_in_two_ways_is_refused(served, head):
    url, server = served([whole(b"{}", JSON)])
    hidden = b"0\r\n\r\nPOST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    found = answers(url, b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n" + head + hidden)
    assert all(400 <= status < 500 for status, _ in found)
    assert server.requests == []


@pytest.mark.slow
def test_a_slow_reader_holds_back_the_server_and_loses_nothing(served):
    pieces = [b"data: " + b"x" * 100_000 + b"\n\n"] * 200
    head = f"HTTP/1.1 200 OK\r\n{SSE}\r\nContent-Length: {sum(map(len, pieces))}\r\n\r\n".encode()
    url, server = served([head, *pieces])
    with opened(url, STREAM) as link:
        time.sleep(0.5)
        assert server.sent < 19_000_000
        said = b""
        while len(said) < len(b"".join(pieces)) and (got := link.recv(1 << 20)):
            said += got
    assert said.partition(b"\r\n\r\n")[2].count(b"x") == 200 * 100_000


@pytest.mark.parametrize("before", [True, False], ids=["before the answer", "within a stream"])
def test_a_client_that_leaves_ends_the_request_upstream(served, before):
    start = [] if before else [f"HTTP/1.1 200 OK\r\n{SSE}\r\nContent-Length: 900000\r\n\r\n".encode() + EVENTS]
    url, server = served([*start, *[0.02, b" "] * 200])
    link = opened(url, STREAM)
    if not before:
        assert link.recv(10)
    assert settled(lambda: server.requests)
    link.close()
    assert settled(lambda: server.left == 1, 3)
    assert metric(server.app, "brim_open_streams") == 0
