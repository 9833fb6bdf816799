"""The connections to model servers: every division of an answer, every end that is too early, and their reuse."""

import asyncio
import contextlib
import http.client
import importlib.util
import io
import random
import ssl
import subprocess

import pytest

from brim.gateway import dialer, upstream
from brim.gateway.problem import HttpProblem
from brim.gateway.upstream import Upstream
from brim.gateway.upstream_connection import MOST_HEAD, BrokenAnswer
from gateway.raw_server import RawServer, whole

LOOPS = {"asyncio": asyncio.new_event_loop}
if importlib.util.find_spec("uvloop"):  # There is none for Windows.
    LOOPS["uvloop"] = importlib.import_module("uvloop").new_event_loop


@pytest.fixture(params=LOOPS)
def run(request):
    """Run a coroutine on each of the loops that the gateway runs on."""
    factory = LOOPS[request.param]

    def on_loop(job):
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(job, 20))

    return on_loop


@contextlib.asynccontextmanager
async def serving(*answers, context=None):
    """Yield connections to a server, and the server."""
    up = Upstream()
    up = Upstream()
    async with RawServer(*answers, context=context) as server:
        try:
            yield up, server
        finally:
            await up.close()


async def sent(up, server, method="POST", body=b"{}", *, headers=(), timeout=5.0):
    """Return the status, the headers and the body of an answer."""
    answer = await up.send(method, server.url + "/v1/chat/completions", list(headers), body, timeout)
    try:
        pieces = []
        while piece := await answer.read():
            pieces.append(piece)
        assert answer.at_end
        return answer.status, answer.pairs, b"".join(pieces)
    finally:
        answer.close()


class Read:
    """Bytes as `http.client` takes them."""

    def __init__(self, raw):
        self.makefile = lambda _: io.BytesIO(raw)


def read_by_other(raw, method="POST"):
    """Return what Python's own client reads."""
    answer = http.client.HTTPResponse(Read(raw), method=method)
    answer.begin()
    return answer.status, [(name.lower(), value) for name, value in answer.getheaders()], answer.read()


def made_up(rng):
    """Return an answer, and whether the end of the connection is its end."""
    body = rng.randbytes(rng.choice((0, 1, 7, 300, 70_000)))
    status = rng.choice((200, 200, 400, 429, 500, 204, 304))
    headers = [
        f"X-{rng.choice('abcXYZ')}{number}: {rng.choice(('', 'v', 'é ü', 'a, b'))}"
        for number in range(rng.randint(0, 5))
    ]
    kind = rng.choice(("length", "chunked", "close"))
    before = b"".join(rng.choices((b"", b"HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n"), k=1))
    if status in (204, 304):
        kind, body = "length", b""
    head = [f"HTTP/1.1 {status} So", *headers]
    if kind == "chunked":
        head.append("Transfer-Encoding: chunked")
        cuts = sorted(rng.sample(range(len(body) + 1), min(len(body), rng.randint(0, 4))))
        parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if a < b]
        trailer = rng.choice((b"", b"X-Trailer: 1\r\nAuthorization: stolen\r\n"))
        extension = rng.choice((b"", b";name=value"))
        body = (
            b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n" + trailer + b"\r\n"
        )
    elif kind == "length":
        head.append(f"Content-Length: {len(body)}" if status not in (204, 304) else "X-None: 0")
    return before + "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body, kind == "close"


def divided(rng, raw):
    """Return bytes in pieces, some after a pause."""
    cuts = sorted(rng.sample(range(1, len(raw)), min(len(raw) - 1, rng.choice((0, 1, 3, 40)))))
    pieces = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        pieces.append(raw[start:end])
        if rng.random() < 0.3:
            pieces.append(0.0)
    return pieces


@pytest.mark.parametrize("seed", range(2))
def test_made_up_answers_are_read_as_by_another_client_however_they_are_divided(run, seed):
    rng = random.Random(seed)
    made = [made_up(rng) for _ in range(40)]

    async def ask():
        async with serving(*([*divided(rng, raw), *(["close"] if ends else [])] for raw, ends in made)) as (up, server):
            got = [await sent(up, server) for _ in made]
            return got, server.connections

    got, connections = run(ask())
    assert got == [read_by_other(raw) for raw, _ in made]
    assert connections == 1 + sum(ends for _, ends in made[:-1])  # All others were reused.


@pytest.mark.parametrize(
    "raw", [whole(b"abc", "X-One: 1"), b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"]
)
def test_an_answer_that_ends_too_early_is_broken_wherever_it_ends(run, raw):
    async def ask():
        async with serving(*([raw[:end], "close"] for end in range(len(raw)))) as (up, server):
            for _ in range(len(raw)):
                with pytest.raises((HttpProblem, BrokenAnswer)) as caught:
                    await sent(up, server)
                assert getattr(caught.value, "status", 502) == 502
            return len(server.requests)

    assert run(ask()) == len(raw)  # A request that a model may have answered is not sent twice.


NO_HTTP = [
    b"SSH-2.0-OpenSSH_9\r\n",
    b"\x15\x03\x01\x00\x02\x02\x50",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nrest",
    b"HTTP/1.1 200 OK\r\nX: " + b"x" * (MOST_HEAD + 1),
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * MOST_HEAD,
    b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + b"X: y\r\n" * MOST_HEAD,
]


@pytest.mark.parametrize("raw", NO_HTTP, ids=range(len(NO_HTTP)))
def test_what_is_not_http_or_has_endless_headers_breaks_off(run, raw):
    async def ask():
        async with serving([raw, 3.0]) as (up, server):
            with pytest.raises((HttpProblem, BrokenAnswer)) as caught:
                await sent(up, server)
            assert getattr(caught.value, "status", 502) == 502

    run(ask())


def test_bytes_after_an_answer_are_not_the_answer_to_the_next_request(run):
    forged = whole(b"forged")

    async def ask():
        answers = [whole(b"one") + forged], [whole(b"two")], [whole(b"three"), 0.05, forged], [whole(b"four")]
        async with serving(*answers) as (up, server):
            got = [(await sent(up, server))[2] for _ in range(3)]
            await asyncio.sleep(0.1)
            return [*got, (await sent(up, server))[2]], server.connections

    assert run(ask()) == ([b"one", b"two", b"three", b"four"], 3)


def test_a_request_goes_out_with_its_host_and_its_length_and_no_header_of_ours(run):
    async def ask():
        async with serving([whole()]) as (up, server):
            await sent(up, server, headers=[("x-one", "é"), ("x-one", "2")])
            await sent(up, server, "GET", None)
            await sent(up, server, "POST", None)
            return server.requests, server.port

    (first, second, third), port = run(ask())
    line = "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n"
    assert first == (line.format(port) + "x-one: é\r\nx-one: 2\r\ncontent-length: 2\r\n\r\n").encode("latin-1")
    assert second == line.format(port).replace("POST", "GET").encode() + b"\r\n"
    assert third == line.format(port).encode() + b"content-length: 0\r\n\r\n"


@pytest.mark.parametrize("value", ["a\r\nx-forged: 1", "a\nb", "a\rb", "a\0b"])
def test_a_header_with_a_line_break_is_not_sent(run, value):
    async def ask():
        async with serving([whole()]) as (up, server):
            with pytest.raises(HttpProblem, match="line break") as caught:
                await sent(up, server, headers=[("x-one", value)])
            return caught.value.status, server.connections

    assert run(ask()) == (400, 0)


@pytest.mark.parametrize("answer", [whole(b"x", "Connection: close"), b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"])
def test_a_connection_that_the_server_closes_is_not_used_again(run, answer):
    async def ask():
        async with serving([answer]) as (up, server):
            got = [(await sent(up, server))[2] for _ in range(3)]
            return got, server.connections

    assert run(ask()) == ([b"x"] * 3, 3)


def test_an_answer_to_head_has_no_body(run):
    async def ask():
        async with serving([whole(b"12345")[:-5]]) as (up, server):
            return [(await sent(up, server, "HEAD", None))[::2] for _ in range(2)]

    assert run(ask()) == [(200, b"")] * 2


def test_a_free_connection_is_closed_after_some_seconds(run, monkeypatch):
    monkeypatch.setattr(upstream, "_IDLE", 0.1)

    async def ask():
        async with serving([whole()]) as (up, server):
            await asyncio.gather(*(sent(up, server) for _ in range(3)))
            await asyncio.sleep(0.4)
            assert (server.connections, server.left, up._free, up._sweeper) == (3, 3, {}, None)
            await sent(up, server)
            return server.connections

    assert run(ask()) == 4


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("POST", 502)])
def test_only_what_reads_is_sent_again_if_the_server_closed_a_free_connection(run, method, status):
    async def ask():
        async with serving([whole()], ["close"], [whole()]) as (up, server):
            await sent(up, server)
            try:
                return (await sent(up, server, method, None))[0], len(server.requests)
            except HttpProblem as problem:
                return problem.status, len(server.requests)

    assert run(ask()) == (status, 3 if method == "GET" else 2)


def test_a_silent_server_is_given_up_and_a_slow_one_is_not(run):
    slow = [piece for byte in whole(b"slow and steady") for piece in (bytes([byte]), 0.005)]

    async def ask():
        async with serving([5.0], [whole(b"abcdef")[:-3], 5.0], slow) as (up, server):
            with pytest.raises(HttpProblem, match=r"did not answer within 0\.1 seconds") as caught:
                await sent(up, server, timeout=0.1)
            with pytest.raises(TimeoutError):
                await sent(up, server, timeout=0.1)
            return caught.value.status, (await sent(up, server, timeout=0.1))[2]

    assert run(ask()) == (504, b"slow and steady")


def test_a_long_answer_waits_in_the_server_and_not_in_memory(run):
    piece = b"x" * 1_000_000

    async def ask():
        head = whole(b"")[:-5] + b"%d\r\n\r\n" % (60 * len(piece))
        async with serving([head, *[piece] * 60]) as (up, server):
            answer = await up.send("POST", server.url, [], b"{}", 0.15)
            await asyncio.sleep(0.35)  # The client is slow, not the server: no timeout.
            waiting = server.sent
            size = 0
            while got := await answer.read():
                size += len(got)
            return waiting < 30 * len(piece), size

    assert run(ask()) == (True, 60 * len(piece))


def test_a_request_that_nobody_waits_for_closes_its_connection(run):
    async def ask():
        async with serving([5.0]) as (up, server):
            task = asyncio.ensure_future(sent(up, server))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.wait({task})
            return task.cancelled(), dict(up._free)

    assert run(ask()) == (True, {})


def test_an_answer_that_comes_before_the_end_of_the_request_is_passed_back(run):
    async def ask():
        async with serving(["unread", whole(b"too long", status=413), 0.3]) as (up, server):
            status, _, body = await sent(up, server, body=b"x" * 30_000_000)
            return status, body, dict(up._free)

    assert run(ask()) == (413, b"too long", {})


@pytest.mark.parametrize("first", ["closed", "silent"])
def test_the_next_address_of_a_host_is_tried(run, monkeypatch, first):
    opened = dialer.Dialer._opened

    async def some(self, host, address):
        if host == "127.0.0.9":
            if first == "silent":
                await asyncio.sleep(9)
            raise ConnectionRefusedError
        return await opened(self, host, address)

    monkeypatch.setattr(dialer.Dialer, "_opened", some)

    async def ask():
        async with serving([whole(b"there")]) as (up, server):
            up._dialer._hosts["model.example"] = (1e12, ["127.0.0.9", "127.0.0.1"])
            server.url = f"http://model.example:{server.port}"
            return (await sent(up, server))[2]

    assert run(ask()) == b"there"


def test_a_host_that_refuses_at_every_address_says_so(run):
    async def ask():
        with pytest.raises(HttpProblem, match=r"cannot be reached \(ConnectionRefusedError\)"):
            await Upstream().send("GET", "http://127.0.0.1:9/v1/models", [], None, 1)

    run(ask())


def test_a_server_with_a_certificate_that_is_known_is_asked_over_tls(run, tmp_path, monkeypatch):
    subject = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
    files = ["-keyout", "key.pem", "-out", "cert.pem", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(["openssl", "req", *subject, *files], check=True, capture_output=True, cwd=tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))

    async def ask():
        body = b"x" * 200_000
        async with serving([whole(body)], context=context) as (up, server):
            got = [(await sent(up, server, body=body))[2] == body for _ in range(3)]
            return got, server.connections

    assert run(ask()) == ([True] * 3, 1)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://127.0.0.1:8000/v1/models?a=b", (("127.0.0.1", 8000, False), "127.0.0.1:8000", "/v1/models?a=b")),
        ("HTTPS://Model.Example/v1", (("model.example", 443, True), "Model.Example", "/v1")),
        ("https://model.example:443/v1", (("model.example", 443, True), "model.example", "/v1")),
        ("https://model.example:80/v1", (("model.example", 80, True), "model.example:80", "/v1")),
        ("http://[::1]:8000/v1", (("::1", 8000, False), "[::1]:8000", "/v1")),
        ("http://[::1]", (("::1", 80, False), "[::1]", "/")),
        ("http://model.example/a:80/b", (("model.example", 80, False), "model.example", "/a:80/b")),
    ],
)
def test_the_server_of_a_url(url, target):
    assert upstream._target(url) == target
