"""A fault of ours, wherever it is: a request that fits for certain goes on as it came, any other is refused."""

import json

import pytest

import brim
from brim.errors import BrimError, StoreError
from brim.gateway import fit
from brim.gateway.client import parsed as client_request
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.sessions.conversations import Conversations, conversations
from brim.sessions.learning.windows import Windows
from gateway.conftest import asked, conversation, metric, post
from model_server import running

SECRET = "what a prompt says"
KINDS = (
    ZeroDivisionError,
    KeyError,
    RecursionError,
    MemoryError,
    OSError,
    AssertionError,
    TypeError,
    ValueError,
    BrimError,
)
BOTH, LONG = ("long", "short"), ("long",)
PLACES = {
    "written": (fit, BOTH),
    "conversation_name": (fit, BOTH),
    "plan": (Conversations, BOTH),
    "fit": (Conversations, BOTH),
    "room": (Windows, BOTH),
    "request_meter": (conversations, BOTH),
    "request_of": (client_request, BOTH),
}
"""Where a fault is put, and which requests come by: those that have to be cut, those that fit, or both."""
PROOF = ("plan", "room", "request_meter")
"""Places without which nobody knows how many tokens a body takes, or may take."""


@pytest.fixture(scope="module")
def started(served_model):
    """The address and the application of one gateway."""
    default = RequestRule(policy="fit", window=1_000)
    settings = GatewaySettings(upstream=served_model[1] + "/v1", default=default)
    app = GatewayApp(settings)
    with running(app, server.config(app, settings)) as url:
        yield url, app


@pytest.mark.parametrize("name", PLACES)
def test_after_a_fault_of_ours_nothing_altered_is_sent(started, upstream, monkeypatch, caplog, name):
    url, app = started
    place, hit = PLACES[name]
    kind = KINDS[list(PLACES).index(name) % len(KINDS)]

    def broken(*given, **more):
        raise kind(SECRET)

    monkeypatch.setattr(place, name, broken)
    before = counted(app)
    for size, turns in (("long", 60), ("short", 1)):
        body = asked([{"role": "system", "content": name}, *conversation(turns)])
        upstream.bodies.clear()
        status, headers, answer = post(url, body, x_brim_budget="900")
        assert SECRET not in f"{headers}{answer}"
        judge(upstream, headers, body)
        if size in hit and name != "request_of":
            passed = size == "short" and name not in PROOF
            assert (status, headers.get("x-brim-passthrough")) == ((200, "fault") if passed else (503, None))
            assert bool(upstream.bodies) == passed
            told = "could not be counted" if name in PROOF else "it may have "
            assert passed or told in json.loads(answer)["error"]["message"]
    assert counted(app) > before
    assert SECRET not in caplog.text


def test_what_brim_cannot_read_is_passed_on_only_if_it_fits_for_certain(gateway, upstream):
    url, app = gateway()
    said = {"role": "critic", "content": "new in this world " * 150}
    for body in (asked("hi"), asked([said])):
        assert post(url, body)[1]["x-brim-passthrough"] == "unreadable"
        assert upstream.bodies.pop() == body
    assert metric(app, "brim_faults_total", kind="unreadable", became="pass") == 2
    body = asked([said, said])
    most, fits = brim.meter("gpt-4o").upper(body.decode()), upstream.window
    status, _, answer = post(url, body)
    assert (status, upstream.bodies) == (400, [])
    assert f"it may have {most:,} tokens, and only {fits:,} fit" in json.loads(answer)["error"]["message"]
    assert metric(app, "brim_faults_total", kind="unreadable", became="refuse") == 1
    assert post(url, asked([said], max_tokens=700))[0] == 400
    for kind in ("image", "input_image", "image_url", "document", "input_file"):
        _, _, answer = post(url, asked([{"role": "critic", "content": [{"type": kind, "url": "https://a.example/x"}]}]))
        assert "images and files are unknown" in json.loads(answer)["error"]["message"]
    assert upstream.bodies == []
    assert app.state.activity.summary()["faults"] == 0


@pytest.mark.parametrize("told", [{"window": None}, {"policy": "warn"}], ids=["an unknown window", "warn"])
def test_where_nothing_is_promised_what_brim_cannot_read_is_passed_on(gateway, upstream, told):
    url, _ = gateway(**told)
    body = asked([{"role": "critic", "content": "new in this world " * 900}]).replace(b"gpt-4o", b"mystery-1")
    assert post(url, body)[1]["x-brim-passthrough"] == "unreadable"
    assert upstream.bodies == [body]


def counted(app):
    return sum(metric(app, "brim_faults_total", kind="fault", became=each) for each in ("pass", "refuse"))


def judge(upstream, headers, body):
    """Pass if upstream was sent what came, or what the headers say was made of it."""
    for sent in upstream.bodies:
        if sent != body:
            assert int(headers["x-brim-edits"]) > 0
            assert "x-brim-passthrough" not in headers
            assert 300 < upstream.size("chat", json.loads(sent)) <= 900
    assert not upstream.illegal


def test_a_store_that_fails_is_no_fault(gateway, upstream, monkeypatch, tmp_path, caplog):
    def broken(*given, **more):
        raise StoreError("sqlite", "it is full")

    url, app = gateway(store=f"sqlite:///{tmp_path}/brim.db")
    for name in ("load", "save", "append", "session"):
        monkeypatch.setattr(type(app.state.store), name, broken)
    status, headers, _ = post(url, asked(conversation(60)))
    assert (status, headers.get("x-brim-passthrough")) == (200, None)
    assert int(headers["x-brim-edits"]) > 0
    assert app.state.conversations.store.failures
    assert "the store failed (sqlite: it is full); the request goes on without it" in caplog.messages
