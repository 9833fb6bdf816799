"""The connections to model servers: every division of an answer, every end that is too early, and their reuse."""

import asyncio
import contextlib
import gzip
import http.client
import importlib.util
import io
import random
import socket
import ssl
import subprocess
import tracemalloc
import zlib

import aiohttp
import pytest

from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream import client as upstream_client
from brim.gateway.upstream.client import MOST_HEAD, BrokenAnswer, UpstreamClient, proxy_for
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
    up = UpstreamClient()
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
    b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 20_000 + b"\r\n") * 10 + b"\r\n",
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


def test_interim_answers_are_no_answers_and_their_headers_are_dropped(run):
    early = b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n" * 10_000

    async def ask():
        async with serving([early, whole(b"late", "X-One: 1")]) as (up, server):
            return await sent(up, server)

    assert run(ask()) == (200, [("x-one", "1"), ("content-length", "4")], b"late")


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
            await sent(up, server, headers=[("x-one", "é".encode().decode("latin-1")), ("x-one", "2")])
            await sent(up, server, "GET", None)
            await sent(up, server, "POST", None)
            return server.requests, server.port

    (first, second, third), port = run(ask())

    def lines(head):
        first, *headers = head.decode().removesuffix("\r\n\r\n").split("\r\n")
        return first, sorted((name.lower(), value) for name, _, value in (each.partition(": ") for each in headers))

    host, line = ("host", f"127.0.0.1:{port}"), "/v1/chat/completions HTTP/1.1"
    assert lines(first) == (f"POST {line}", [("content-length", "2"), host, ("x-one", "2"), ("x-one", "é")])
    assert lines(second) == (f"GET {line}", [host])
    assert lines(third) == (f"POST {line}", [("content-length", "0"), host])


@pytest.mark.parametrize("value", ["a\r\nx-forged: 1", "a\nb", "a\rb", "a\0b"])
def test_a_header_with_a_line_break_is_not_sent(run, value):
    async def ask():
        async with serving([whole()]) as (up, server):
            with pytest.raises(HttpProblem, match="line break") as caught:
                await sent(up, server, headers=[("x-one", value)])
            return caught.value.status, server.requests

    assert run(ask()) == (400, [])


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
    monkeypatch.setattr(upstream_client, "_IDLE", 0.1)

    async def ask():
        async with serving([whole()]) as (up, server):
            await asyncio.gather(*(sent(up, server) for _ in range(3)))
            while server.left < 3:
                await asyncio.sleep(0.05)
            assert server.connections == 3
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
    head = whole(b"slow and steady")[:-15]
    slow = [head, *(piece for byte in b"slow and steady" for piece in (bytes([byte]), 0.05))]

    async def ask():
        async with serving([5.0], [whole(b"abcdef")[:-3], 5.0], slow) as (up, server):
            with pytest.raises(HttpProblem, match=r"did not answer within 0\.5 seconds") as caught:
                await sent(up, server, timeout=0.5)
            with pytest.raises(BrokenAnswer, match=r"nothing came for 0\.5 seconds"):
                await sent(up, server, timeout=0.5)
            return caught.value.status, (await sent(up, server, timeout=0.5))[2]

    assert run(ask()) == (504, b"slow and steady")


def test_a_long_answer_waits_in_the_server_and_not_in_memory(run):
    piece = b"x" * 1_000_000

    async def ask():
        head = whole(b"")[:-5] + b"%d\r\n\r\n" % (60 * len(piece))
        async with serving([head, *[piece] * 60]) as (up, server):
            answer = await up.send("POST", server.url, [], b"{}", 0.8)
            await asyncio.sleep(1.2)  # The client is slow, not the server: no timeout.
            waiting = server.sent
            size = 0
            while got := await answer.read():
                size += len(got)
            return waiting < 30 * len(piece), size

    assert run(ask()) == (True, 60 * len(piece))


def test_a_request_that_nobody_waits_for_closes_its_connection(run):
    async def ask():
        async with serving([0.3, whole()]) as (up, server):
            task = asyncio.ensure_future(sent(up, server))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait({task})
            for _ in range(100):
                if server.left:
                    break
                await asyncio.sleep(0.05)
            return task.cancelled(), server.left

    assert run(ask()) == (True, 1)


def test_an_answer_that_comes_before_the_end_of_the_request_is_passed_back(run):
    async def ask():
        async with serving(["unread", whole(b"too long", status=413), 0.3]) as (up, server):
            status, _, body = await sent(up, server, body=b"x" * 30_000_000)
            return status, body

    assert run(ask()) == (413, b"too long")


def named(monkeypatch, **hosts):
    """Let names resolve to addresses."""

    async def look_up(_, host, port=0, family=0):
        common = {"hostname": host, "port": port, "proto": 6, "flags": socket.AI_NUMERICHOST}
        return [{**common, "host": each, "family": 10 if ":" in each else 2} for each in hosts[host]]

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", look_up)


@pytest.mark.parametrize("first", ["127.0.0.9", "::1"], ids=["closed", "closed IPv6"])
def test_the_next_address_of_a_host_is_tried(run, monkeypatch, first):
    named(monkeypatch, model=[first, "127.0.0.1"])

    async def ask():
        async with serving([whole(b"there")]) as (up, server):
            server.url = f"http://model:{server.port}"
            return (await sent(up, server))[2]

    assert run(ask()) == b"there"


def test_a_silent_address_is_given_up_and_the_message_says_after_how_many_seconds(run, monkeypatch):
    monkeypatch.setattr(upstream_client, "CONNECT_SECONDS", 0.2)

    async def silent(*_given, **_more):
        await asyncio.sleep(9)

    monkeypatch.setattr(aiohttp.TCPConnector, "_wrap_create_connection", silent)

    async def ask():
        async with serving([whole()]) as (up, server):
            with pytest.raises(HttpProblem, match=r"could not be connected to within 0\.2 seconds") as caught:
                await sent(up, server, timeout=600)
            return caught.value.status

    assert run(ask()) == 504


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1"]
)
def test_link_local_multicast_and_unspecified_addresses_are_never_used(run, monkeypatch, address):
    named(monkeypatch, model=[address])

    async def ask():
        async with serving([whole()]) as (up, server):
            server.url = f"http://model:{server.port}"
            with pytest.raises(HttpProblem, match="cannot be reached"):
                await sent(up, server)
            return server.connections

    assert run(ask()) == 0


def test_a_host_that_refuses_at_every_address_says_so(run):
    async def ask():
        async with serving() as (up, _):
            with pytest.raises(HttpProblem, match=r"cannot be reached \(ConnectionRefusedError\)"):
                await up.send("GET", "http://127.0.0.1:9/v1/models", [], None, 1)

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


@pytest.mark.parametrize("url", ["http://model/v1/x?a=b%2Fc&d", "http://model/a:80/%41%2f..%2f;x?"])
def test_a_path_goes_out_as_it_came(run, monkeypatch, url):
    named(monkeypatch, model=["127.0.0.1"])

    async def ask():
        async with serving([whole()]) as (up, server):
            await (await up.send("GET", url.replace("model", f"model:{server.port}"), [], None, 5)).read()
            return server.requests[0].split(b" ")[1].decode()

    assert run(ask()).rstrip("?") == url.removeprefix("http://model").rstrip("?")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_was_compressed_although_nobody_asked_is_read_as_its_text(run, coding):
    text = b"Incorrect API key provided: sk-1234 " * 2_000
    packed = gzip.compress(text) if coding == "gzip" else zlib.compress(text)

    async def ask():
        async with serving([whole(packed, f"Content-Encoding: {coding}", "X-One: 1")]) as (up, server):
            return await sent(up, server)

    assert run(ask()) == (200, [("x-one", "1")], text)


@pytest.mark.parametrize(
    ("coding", "body", "problem"),
    [
        ("snappy", b"xxxx", "in a way that cannot be read"),
        ("gzip, gzip", b"xxxx", "in a way that cannot be read"),
        ("br", b"xxxx", "in a way that cannot be read"),
        ("gzip", b"no gzip at all", "its gzip content cannot be decoded"),
    ],
)
def test_a_body_that_cannot_be_decoded_is_not_passed_on(run, coding, body, problem):
    async def ask():
        async with serving([whole(body, f"Content-Encoding: {coding}")]) as (up, server):
            with pytest.raises((HttpProblem, BrokenAnswer), match=problem):
                await sent(up, server)

    run(ask())


def test_a_compressed_bomb_takes_little_memory(run):
    packed = gzip.compress(bytes(200_000_000))

    async def ask():
        async with serving([whole(packed, "Content-Encoding: gzip")]) as (up, server):
            answer = await up.send("POST", server.url, [], b"{}", 5)
            tracemalloc.start()
            first = len(await answer.read())
            await asyncio.sleep(0.2)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            answer.close()
            return first < 2_000_000, peak < 5_000_000

    assert run(ask()) == (True, True)


@pytest.mark.parametrize("status", [600, 999, 101, 199])
def test_a_status_that_no_answer_has_is_a_502(run, status):
    async def ask():
        async with serving([whole(b"x", status=status)]) as (up, server):
            with pytest.raises(HttpProblem) as caught:
                await sent(up, server, timeout=2)
            return caught.value.status

    assert run(ask()) in ((502, 504) if status == 199 else (502,))


PROXIES = [
    ({"HTTPS_PROXY": "http://proxy:3128"}, "https://api.example/v1", "http://proxy:3128"),
    ({"HTTPS_PROXY": "http://proxy:3128"}, "http://api.example/v1", None),
    ({"http_proxy": "http://proxy:3128"}, "http://api.example/v1", "http://proxy:3128"),
    ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "other,.example"}, "https://api.example/v1", None),
    ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "api.example:8443"}, "https://api.example:8443/v1", None),
    ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, "https://api.example/v1", None),
    ({"HTTP_PROXY": "http://proxy:3128"}, "http://127.0.0.1:8101/v1", None),
    ({"HTTP_PROXY": "http://proxy:3128"}, "http://localhost:8101/v1", None),
]


@pytest.mark.parametrize(("told", "url", "proxy"), PROXIES, ids=range(len(PROXIES)))
def test_the_proxy_of_the_environment(monkeypatch, told, url, proxy):
    without_proxies(monkeypatch)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url) == proxy


def without_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("proxy_env", [True, False])
def test_requests_go_by_way_of_the_proxy_unless_the_settings_say_no(run, monkeypatch, proxy_env):
    without_proxies(monkeypatch)

    async def ask():
        async with RawServer([whole(b"by proxy")]) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            up = UpstreamClient(proxy_env=proxy_env)
            try:
                answer = await up.send("POST", "http://model.invalid/v1/x?a=b", [("x-one", "1")], b"{}", 5)
                return await answer.read(), proxy.requests[0].split(b"\r\n")[0]
            except HttpProblem as problem:
                return problem.status, len(proxy.requests)
            finally:
                await up.close()

    expected = (b"by proxy", b"POST http://model.invalid/v1/x?a=b HTTP/1.1") if proxy_env else (502, 0)
    assert run(ask()) == expected


def test_https_goes_through_a_tunnel_of_the_proxy_which_sees_no_header_of_the_request(run, monkeypatch):
    without_proxies(monkeypatch)

    async def ask():
        async with RawServer([whole(status=407)]) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            up = UpstreamClient()
            try:
                with pytest.raises(HttpProblem, match=r"the proxy of the environment refused .* \(status 407\)"):
                    await up.send("POST", "https://model.invalid/v1/x", [("authorization", "Bearer secret")], b"{}", 5)
            finally:
                await up.close()
            return proxy.requests[0]

    head = run(ask())
    assert head.startswith(b"CONNECT model.invalid:443 HTTP/1.1\r\n")
    assert b"secret" not in head
