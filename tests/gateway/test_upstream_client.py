"""The connections to model servers: what goes out, which addresses are used, TLS, proxies, and their reuse."""

import asyncio
import contextlib
import gzip
import socket
import ssl
import subprocess
import tracemalloc

import aiohttp
import pytest
import uvicorn

from brim.gateway.http.problem import HttpProblem
from brim.gateway.upstream import client as upstream_client
from brim.gateway.upstream.client import UpstreamClient, proxy_for
from gateway.raw_server import RawServer, whole


@pytest.fixture
def run():
    """Run a coroutine on the loop that the gateway runs on."""

    def on_loop(job):
        with asyncio.Runner(loop_factory=uvicorn.Config(None).get_loop_factory()) as runner:
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


def named(monkeypatch, **hosts):
    """Let names resolve to addresses."""

    async def look_up(_, host, port=0, family=0):
        common = {"hostname": host, "port": port, "proto": 6, "flags": socket.AI_NUMERICHOST}
        return [{**common, "host": each, "family": 10 if ":" in each else 2} for each in hosts[host]]

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", look_up)


def test_a_silent_address_is_given_up_and_the_message_says_after_how_many_seconds(run, monkeypatch):
    monkeypatch.setattr(upstream_client, "CONNECT_SECONDS", 0.2)

    async def silent(*_given, **_more):
        await asyncio.sleep(9)

    monkeypatch.setattr(aiohttp.TCPConnector, "_wrap_create_connection", silent)

    async def ask():
        async with serving([whole()]) as (up, server):
            with pytest.raises(HttpProblem, match=r"no connection to upstream within 0\.2 seconds") as caught:
                await sent(up, server, timeout=600)
            return caught.value.status

    assert run(ask()) == 504


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


@pytest.mark.slow
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


def test_requests_go_by_way_of_the_proxy(run, monkeypatch):
    without_proxies(monkeypatch)

    async def ask():
        async with RawServer([whole(b"by proxy")]) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            up = UpstreamClient()
            try:
                answer = await up.send("POST", "http://model.invalid/v1/x?a=b", [("x-one", "1")], b"{}", 5)
                return await answer.read(), proxy.requests[0].split(b"\r\n")[0]
            finally:
                await up.close()

    assert run(ask()) == (b"by proxy", b"POST http://model.invalid/v1/x?a=b HTTP/1.1")


def test_https_goes_through_a_tunnel_of_the_proxy_which_sees_no_header_of_the_request(run, monkeypatch):
    without_proxies(monkeypatch)

    async def ask():
        async with RawServer([whole(status=407)]) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            up = UpstreamClient()
            try:
                with pytest.raises(
                    HttpProblem, match=r"the proxy from the environment did not connect .* \(status 407\)"
                ):
                    await up.send("POST", "https://model.invalid/v1/x", [("authorization", "Bearer secret")], b"{}", 5)
            finally:
                await up.close()
            return proxy.requests[0]

    head = run(ask())
    assert head.startswith(b"CONNECT model.invalid:443 HTTP/1.1\r\n")
    assert b"secret" not in head
