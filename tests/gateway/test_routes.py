"""What passes without a look, what is refused at once, and answers that pass back whole."""

import gzip
import json
import socket

import pytest

from brim.gateway.upstream import client as upstream_client
from gateway.conftest import asked, call, conversation, get, post
from gateway.scripted import JSON, Scripted, played
from model_server import running

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
ODD = {
    "no JSON": (b"<xml>\xff\x00</xml>", {}),
    "nothing": (b"", {}),
    "a list": (b"[1, 2]", {}),
    "many values": (b"[" + b"1," * 300_000 + b"1]", {}),
    "deep": (b"[" * 5_000 + b"]" * 5_000, {}),
    "a key twice": (b'{"model": "a", "model": "b", "messages": 1, "messages": 2}', {}),
    "zstd": (b"\x28\xb5\x2f\xfd\x00", {"content_encoding": "zstd"}),
    "two encodings": (b"\x1f\x8b", {"content_encoding": "gzip, br"}),
    "a bomb": (gzip.compress(b" " * 3_000_000), {"content_encoding": "gzip"}),
}


@pytest.mark.parametrize("path", PATHS)
def test_the_policy_pass_passes_anything_byte_for_byte(gateway, upstream, path):
    answers = [(299, JSON, [f"answer {name}".encode()]) for name in ODD]
    with played(gateway, *answers, policy="pass", most_bytes=1_000_000, window=None) as (url, model, _):
        for name, (body, headers) in ODD.items():
            status, told, said = post(url, body, path, **headers)
            assert (status, said, told["x-brim-passthrough"]) == (299, f"answer {name}".encode(), "policy"), name
            method, target, sent, received = model.received[-1]
            assert (method, target, received) == ("POST", path, body), name
            assert sent.get("content-encoding") == headers.get("content_encoding")
        assert post(url, b" " * 1_000_001, path)[0] == 413
    assert len(model.received) == len(ODD)


def test_the_policy_pass_passes_every_method_and_the_others_only_post(gateway, upstream):
    answers = [(200, JSON, [b"listed"]) for _ in range(3)]
    with played(gateway, *answers, policy="pass") as (url, model, _):
        assert get(url, "/v1/chat/completions?limit=2")[::2] == (200, b"listed")
        assert call(url, "DELETE", "/v1/responses", b"body")[::2] == (200, b"listed")
        assert call(url, "PATCH", "/v1/messages/count_tokens")[::2] == (200, b"listed")
    received = [(method, target, body) for method, target, _, body in model.received]
    assert received[0] == ("GET", "/v1/chat/completions?limit=2", b"")
    assert received[1:] == [("DELETE", "/v1/responses", b"body"), ("PATCH", "/v1/messages/count_tokens", b"")]
    with played(gateway) as (url, model, _):
        status, headers, _ = get(url, "/v1/chat/completions")
        assert (status, headers["allow"]) == (405, "POST")
    assert not model.received


def test_other_paths_pass_whatever_their_encoding(gateway, upstream):
    with played(gateway, (200, JSON, [b"taken"])) as (url, model, _):
        assert post(url, b"\x28\xb5\x2f\xfd", "/v1/files", content_encoding="zstd")[::2] == (200, b"taken")
    assert (model.bodies, model.received[0][2]["content-encoding"]) == ([b"\x28\xb5\x2f\xfd"], "zstd")


@pytest.mark.parametrize("path", [*PATHS, "/v1/realtime"])
def test_a_websocket_is_refused_at_once_and_a_post_works_after_it(gateway, upstream, path):
    url, _ = gateway()
    host, port = url.removeprefix("http://").split(":")
    head = (
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(head.encode())
        said = b""
        while piece := link.recv(65_536):
            said += piece
    lines, _, body = said.partition(b"\r\n\r\n")
    assert lines.startswith(b"HTTP/1.1 426 ")
    assert b"\r\nupgrade: HTTP/1.1" in lines
    error = json.loads(body)["error"]
    assert (error["type"], "POST" in error["message"]) == ("invalid_request_error", True)
    assert json.loads(body).get("type") == ("error" if path == "/v1/messages" else None)
    assert not upstream.paths
    assert post(url, asked(conversation(1)))[0] == 200


def models(count):
    rows = [{"id": f"model-{i}", "description": "x" * 1_000, "context_length": 7_000 + i} for i in range(count)]
    return json.dumps({"object": "list", "data": rows}).encode()


def test_long_answers_are_not_truncated(gateway, upstream, monkeypatch):
    listed, refusal = models(1_500), json.dumps({"error": {"message": "y" * 1_500_000}}).encode()
    script = ("models", 200, JSON, [listed[:9], listed[9:]])
    with played(gateway, script, (400, JSON, [refusal]), (422, JSON, [refusal])) as (url, model, _):
        assert get(url, "/v1/models")[::2] == (200, listed)
        assert post(url, asked(conversation(1)))[::2] == (400, refusal)
        monkeypatch.setattr(upstream_client, "MOST_READ", 1_000)
        assert post(url, asked(conversation(1)))[::2] == (422, refusal)
    assert len(model.received) == 3


def test_a_list_of_models_above_a_mebibyte_states_windows_and_a_failed_one_forgets_none(gateway, upstream):
    clock = type("Clock", (), {"now": 1.0, "__call__": lambda self: self.now})()
    answer = (200, JSON, [b'{"choices": []}'])
    scripts = [("models", 200, JSON, [models(1_500)]), answer, ("models", 500, JSON, [b"{}"]), answer]
    model = Scripted(*scripts)
    with running(model) as address:
        url, app = gateway(upstream=address + "/v1", window=None)
        app.state.conversations.windows._clock = clock
        body = asked(conversation(400)).replace(b"gpt-4o", b"model-7")
        for _ in range(2):
            status, headers, _ = post(url, body)
            assert (status, int(headers["x-brim-edits"]) > 0) == (200, True)
            assert int(headers["x-brim-tokens-after"]) <= 7_007
            clock.now += 601
    assert [target for _, target, _, _ in model.received if "models" in target] == ["/v1/models"] * 2
