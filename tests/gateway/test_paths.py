"""Which paths may be reached with which key, and that a key goes to its own upstream alone."""

import json

import pytest

from brim.cli import main
from brim.errors import InvalidValue
from brim.gateway.settings import GatewaySettings
from gateway.conftest import asked, call, conversation, get, post, seen_by
from gateway.scripted import JSON, Scripted, played
from model_server import running

HERE, THERE = "key-of-the-gateway-for-one", "key-of-the-gateway-for-two"
VERSION = {"anthropic_version": "2023-06-01"}
FORBIDDEN = [
    ("GET", "/v1/organization/admin_api_keys", {}),
    ("GET", "/organization/admin_api_keys", {}),
    ("GET", "/v1/organizations/api_keys", VERSION),
    ("GET", "/v1/files", {}),
    ("GET", "/v1/responses/resp_1", {}),
    ("GET", "/v1/chat/completions", {}),
    ("DELETE", "/v1/models/ft:mine", {}),
    ("POST", "/v1/models", {}),
    ("GET", "/v1/embeddings", {}),
    ("POST", "/v1/embeddings/x", {}),
    ("POST", "/v1/messages/batches", VERSION),
    ("GET", "/v1/threads/t/messages", {}),
    ("GET", "/v1/models/%2e%2e/files", {}),
    ("GET", "/v1/models/..;/files", {}),
]
ALLOWED = [
    ("GET", "/v1/models", {}),
    ("HEAD", "/v1/models/gpt-5", {}),
    ("GET", "/v1/models/org%2Fmodel", VERSION),
    ("POST", "/v1/embeddings", {}),
    ("POST", "/embeddings", {}),
]


def test_with_its_own_key_a_gateway_reaches_models_and_nothing_of_the_account(gateway, upstream, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", HERE)
    with played(gateway, *[("models", 200, JSON, [b"{}"])] * 9, upstream_key="MODEL_KEY", policy="pass") as (
        url,
        model,
        _,
    ):
        for method, path, more in FORBIDDEN:
            status, _, body = call(url, method, path, b"{}" if method == "POST" else None, **more)
            assert status == (400 if ".." in path or "%2e" in path else 403), path
            assert status == 400 or b"gateway.paths" in body
        assert model.received == []
        for method, path, more in ALLOWED:
            assert call(url, method, path, b"{}" if method == "POST" else None, **more)[0] == 200, path
        assert len(model.received) == len(ALLOWED)


def test_the_settings_list_other_paths_and_the_clients_own_key_reaches_all(gateway, upstream, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", HERE)
    listed = ("GET /v1/files/*", "/v1/batches")
    for told in ({"paths": listed, "upstream_key": "MODEL_KEY"}, {"paths": listed}):
        with played(gateway, *[(200, JSON, [b"{}"])] * 4, **told) as (url, _, _):
            tried = [
                ("GET", "/v1/files/f/content"),
                ("POST", "/v1/files/f"),
                ("POST", "/v1/batches"),
                ("GET", "/v1/models"),
            ]
            found = [call(url, method, path, b"{}" if method == "POST" else None)[0] for method, path in tried]
            assert found == [200, 403, 200, 403]
            assert post(url, asked(conversation(1)))[0] == 200
    for told in ({"paths": ("*",), "upstream_key": "MODEL_KEY"}, {}):
        with played(gateway, (200, JSON, [b"{}"]), **told) as (url, _, _):
            assert get(url, "/v1/organization/admin_api_keys", authorization="Bearer own")[0] == 200


def test_a_refused_path_is_counted_and_told_by_its_reason(gateway, upstream, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", HERE)
    url, app = gateway(upstream_key="MODEL_KEY")
    seen = seen_by(app)
    status, _, body = get(url, "/v1/files")
    assert (status, json.loads(body)["error"]["code"]) == (403, "path_not_allowed")
    assert [event.fields["reason"] for event in seen if event.name == "refused"] == ["path"]


@pytest.mark.parametrize("path", ["files", "GET  /x", "TRACE /x", "/a b", "GET *", ""])
def test_a_listed_path_must_be_one(path):
    with pytest.raises(InvalidValue, match="gateway.paths"):
        GatewaySettings(upstream="http://127.0.0.1:1/v1", paths=(path,))


def test_each_key_goes_to_its_own_upstream(gateway, upstream, monkeypatch):
    monkeypatch.setenv("ONE_KEY", HERE)
    monkeypatch.setenv("TWO_KEY", THERE)
    said = json.dumps({"error": {"message": f"no: {HERE} {THERE}"}}).encode()
    other = Scripted(*[("models", 200, JSON, [said])] * 4)
    with (
        running(other) as second,
        played(
            gateway,
            *[("models", 200, JSON, [said])] * 4,
            upstream_key="ONE_KEY",
            upstream_messages=second,
            upstream_messages_key="TWO_KEY",
        ) as (url, first, _),
    ):
        answers = [
            post(url, asked(conversation(1)), "/v1/chat/completions"),
            post(url, asked(conversation(1)), "/v1/responses"),
            get(url, "/v1/models"),
            post(url, asked(conversation(1)), "/v1/messages", **VERSION),
            post(url, asked(conversation(1)), "/v1/messages/count_tokens", **VERSION),
            get(url, "/v1/models", **VERSION),
        ]
    assert [status for status, _, _ in answers] == [200] * 6
    assert not any(key.encode() in body for _, _, body in answers for key in (HERE, THERE))
    assert (len(first.received), len(other.received)) == (3, 3)
    assert HERE in str(first.received)
    assert THERE not in str(first.received)
    assert THERE in str(other.received)
    assert HERE not in str(other.received)


def test_a_key_that_would_go_to_two_hosts_is_refused_with_what_to_set():
    """Settings of 0.1 sent `upstream_key` to both."""
    both = {"upstream": "https://api.openai.com/v1", "upstream_messages": "https://api.anthropic.com"}
    with pytest.raises(InvalidValue, match="gateway.upstream_messages_key.*only sent to gateway.upstream"):
        GatewaySettings(**both, upstream_key="MODEL_KEY")
    with pytest.raises(InvalidValue, match="while gateway.upstream_messages is null"):
        GatewaySettings(upstream=both["upstream"], upstream_messages_key="MODEL_KEY")


def test_the_check_asks_each_upstream_with_its_own_key(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONE_KEY", HERE)
    monkeypatch.setenv("TWO_KEY", THERE)
    one, two = (Scripted(*[("models", 200, JSON, [b'{"data": []}'])] * 3) for _ in range(2))
    with running(one) as first, running(two) as second:
        gateway = {"upstream": first + "/v1", "upstream_messages": second}
        keys = {"upstream_key": "ONE_KEY", "upstream_messages_key": "TWO_KEY"}
        (tmp_path / "brim.yaml").write_text(json.dumps({"gateway": {**gateway, **keys}}))
        assert main(["gateway", "--check", "--json"]) == 0
    assert THERE not in str(one.received)
    assert HERE not in str(two.received)
    assert HERE in str(one.received)
    assert THERE in str(two.received)
