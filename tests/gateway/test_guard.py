"""Who may come in, and what nobody may bring."""

import gzip
import http.client
import json
import logging
import random
import socket
import time
import zlib

import pytest

from brim.errors import InvalidValue
from brim.gateway.settings import Settings
from gateway.conftest import asked, conversation, post

SHORT = asked(conversation(1))
SECRET = "sk-canary-4f1c9a77"


def raw(url, head, body=b""):
    """Send bytes as they are, and return the status of the answer."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(head + f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = b""
        while piece := link.recv(65_536):
            answer += piece
    return int(answer.split(b" ", 2)[1]), answer


@pytest.fixture
def locked(gateway, monkeypatch):
    monkeypatch.setenv("CLIENT_KEY", "correct horse")
    monkeypatch.setenv("MODEL_KEY", SECRET)
    return gateway(keys=("CLIENT_KEY",), upstream_key="MODEL_KEY")


def test_only_who_shows_a_key_comes_in(locked, upstream):
    url, _ = locked
    assert post(url, SHORT)[0] == 401
    assert post(url, SHORT, authorization="Bearer wrong")[0] == 401
    assert post(url, SHORT, authorization="Bearer correct horse")[0] == 200
    assert post(url, SHORT, x_api_key="correct horse")[0] == 200
    assert json.loads(post(url, SHORT, "/v1/messages")[2])["error"]["type"] == "authentication_error"
    assert upstream.headers[-1]["authorization"] == f"Bearer {SECRET}"


def test_no_way_of_writing_a_path_or_a_host_leads_around_the_key(locked, upstream):
    url, _ = locked
    host = url.removeprefix("http://")
    paths = ["/v1/models", "/v1/chat/completions", "/metrics", "/v1/embeddings"]
    ways = ["/{}", "//{}", "/./{}", "/healthz/../{}", "/%2e%2e/{}", "/healthz/%2e%2e/{}", "/%2f{}", "/{}/", "/{}%00",
            "/healthz;/{}", "/{}?x=/healthz", "http://127.0.0.1/{}", "http://evil/healthz/../{}", "/{}#/healthz", "\\{}"]  # fmt: skip
    hosts = [host, "127.0.0.1", "evil.example", "127.0.0.1@evil", "localhost/healthz", "", "[::1]", f"{host}, evil"]
    extra = ["", "X-Forwarded-Host: 127.0.0.1\r\n", "X-Original-URL: /healthz\r\n", "X-Forwarded-For: 127.0.0.1\r\n"]
    chooser = random.Random(7)
    for _ in range(300):
        path = chooser.choice(ways).format(chooser.choice(paths).lstrip("/"))
        head = f"GET {path} HTTP/1.1\r\nHost: {chooser.choice(hosts)}\r\n{chooser.choice(extra)}".encode()
        status, answer = raw(url, head)
        assert status in (400, 401, 403, 404, 405, 421), (head, answer[:200])
    assert not upstream.bodies
    assert upstream.paths == []


def test_a_strange_host_or_page_is_turned_away(gateway, upstream):
    url, _ = gateway()
    assert post(url, SHORT, host="evil.example:8088")[0] == 421
    assert post(url, SHORT, origin="https://evil.example")[0] == 403
    assert post(url, SHORT, origin="null")[0] == 403
    assert post(url, SHORT, sec_fetch_site="cross-site")[0] == 403
    assert post(url, SHORT, host="localhost:1")[0] == 200
    assert len(upstream.bodies) == 1
    named, _ = gateway(hosts=("brim.internal",))
    assert post(named, SHORT, host="brim.internal")[0] == 200
    two = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil\r\n"
    assert raw(url, two, SHORT)[0] == 400


def test_no_field_of_a_body_chooses_where_it_goes(gateway, upstream):
    url, _ = gateway()
    for name in ("api_base", "base_url", "url", "user_config", "extra_body", "api_key", "proxy", "model_list"):
        value = {"api_base": "http://169.254.169.254", "nested": [{"base_url": "http://[::1]:9"}]}
        assert post(url, asked(conversation(1), **{name: value}))[0] == 200
    assert len(upstream.bodies) == 8


def test_no_redirect_is_followed(gateway, upstream):
    url, _ = gateway()
    host, port = url.removeprefix("http://").split(":")
    link = http.client.HTTPConnection(host, int(port), timeout=10)
    link.request("GET", "/v1/away")
    answer = link.getresponse()
    assert answer.status == 502
    assert answer.getheader("location") is None
    assert upstream.paths == ["/v1/away"]
    link.close()


def packed_blanks(size, wrap):
    """Return blanks in a few bytes, made piece by piece."""
    packer = zlib.compressobj(1, wbits=wrap)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(size // 1_000_000)) + packer.flush()


def bombs(size=60_000_000):
    unit = b'{"role":"user","content":""}'
    yield "gzip", packed_blanks(size, 31), "gzip", (413,)
    yield "deflate", packed_blanks(size, 15), "deflate", (413,)
    yield "nested packing", gzip.compress(gzip.compress(SHORT)), "gzip, gzip", (415,)
    yield "unknown packing", b"x", "br", (415,)
    yield "packed twice", gzip.compress(gzip.compress(SHORT)), "gzip", (400,)
    yield "trailing bytes", gzip.compress(SHORT) + b"more", "gzip", (400,)
    yield "depth", b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "", (400,)
    yield "depth in objects", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "", (400,)
    yield "keys", b"{" + b",".join(b'"k%d":1' % i for i in range(1_000_000)) + b"}", "", (413,)
    yield "messages", b'{"model":"gpt-4o","messages":[' + b",".join([unit] * 1_000_000) + b"]}", "", (413,)
    yield "digits", b'{"model":"gpt-4o","n":' + b"9" * 1_000_000 + b"}", "", (400,)
    yield "not JSON", b'{"model": gpt}', "", (400,)
    yield "not UTF-8", b'{"model":"\xff\xfe"}', "", (400,)
    yield "a list", b"[1,2]", "", (400,)
    yield "nothing", b"", "", (400,)
    yield "too big", b" " * 34_000_000, "", (413,)


@pytest.fixture(scope="module")
def packed():
    return list(bombs())


def test_bombs_are_refused_in_a_moment(gateway, upstream, packed):
    url, _ = gateway()
    for name, body, packing, expected in packed:
        begun = time.perf_counter()
        try:
            status = post(url, body, **({"content_encoding": packing} if packing else {}))[0]
        except (BrokenPipeError, ConnectionResetError):
            status = 413  # It did not wait for the rest.
        assert status in expected, name
        assert time.perf_counter() - begun < 2, name
    assert not upstream.bodies
    assert post(url, SHORT)[0] == 200


def test_a_number_too_large_for_a_float_passes_as_it_came(gateway, upstream):
    url, _ = gateway()
    body = SHORT.replace(b'"model"', b'"seed": 1e400, "model"')
    assert post(url, body)[0] == 200
    assert upstream.bodies[-1] == body


def test_keys_stand_in_no_answer_no_log_and_no_metric(locked, upstream, caplog, capfd):
    url, app = locked
    key = {"authorization": "Bearer correct horse"}
    with caplog.at_level(logging.DEBUG):
        upstream.script = [(401, {"error": {"message": f"Incorrect API key provided: {SECRET}"}})]
        answers = [post(url, SHORT, **key)]
        upstream.script = [(500, f"failed with {SECRET}".encode())]
        answers.append(post(url, asked(conversation(60), stream=True), **key))
        answers += [
            post(url, SHORT, "/v1/chat/completions?key=" + SECRET),
            post(url, b"{", **key),
            post(url, SHORT, **key),
        ]
        answers.append(post(url, SHORT, authorization=f"Bearer {SECRET}"))
    told = caplog.text + "".join(capfd.readouterr()) + app.state.tally.metrics.text() + repr(app.state.settings)
    told += "".join(str(headers) + body.decode("utf-8", "replace") for _, headers, body in answers)
    assert SECRET not in told
    assert "correct horse" not in told
    assert "why the build is slow" not in told


def test_a_key_given_itself_is_not_repeated():
    with pytest.raises(InvalidValue) as caught:
        Settings(upstream="http://127.0.0.1:1/v1", upstream_key="sk-12345-abc")
    assert "sk-12345" not in str(caught.value)
    with pytest.raises(InvalidValue) as caught:
        Settings(upstream="http://user:hunter2@127.0.0.1/v1")
    assert "hunter2" not in str(caught.value)


def test_a_key_whose_variable_is_not_set_stops_the_start(gateway, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InvalidValue, match="NOT_SET"):
        gateway(keys=("NOT_SET",))
