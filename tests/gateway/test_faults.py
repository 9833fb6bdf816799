"""A fault of ours, wherever it is: the request goes on as it came and says so, or is refused; never altered by mistake."""

import contextlib
import json

import pytest

from brim.errors import BrimError, StoreError
from brim.gateway import ask, deciding, fitting, identity, recall, serve
from brim.gateway.app import App
from brim.gateway.meters import Meters
from brim.gateway.policy import RequestRule
from brim.gateway.settings import GatewaySettings
from brim.gateway.talks import HeldConversation, HeldConversations
from brim.gateway.windows import Windows
from brim.history.request_body import RequestBody
from brim.sessions.view import View
from gateway.conftest import asked, conversation, post
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
BOTH, LONG, SHORT = ("long", "short"), ("long",), ("short",)
PLACES = {
    "weigh": (fitting, SHORT),
    "weigh_view": (fitting, LONG),
    "whole": (fitting, BOTH),
    "cut": (fitting, LONG),
    "wire": (fitting, SHORT),
    "named": (identity, LONG),
    "digests": (identity, LONG),
    "ruled": (deciding, BOTH),
    "_lessened": (deciding, BOTH),
    "show": (HeldConversation, LONG),
    "shelve": (HeldConversation, LONG),
    "keep": (HeldConversation, LONG),
    "get": (HeldConversations, LONG),
    "begun": (HeldConversations, LONG),
    "stored": (HeldConversations, LONG),
    "moved": (HeldConversations, LONG),
    "noted": (HeldConversations, LONG),
    "room": (Windows, BOTH),
    "told": (Windows, BOTH),
    "scale": (Meters, BOTH),
    "ready": (Meters, SHORT),
    "chat": (Meters, SHORT),
    "offered": (Meters, BOTH),
    "tool": (recall, LONG),
    "body_of": (recall, LONG),
    "fit": (View, LONG),
    "left_out": (View, LONG),
    "extend": (View, LONG),
    "written": (RequestBody, LONG),
    "request_of": (ask, BOTH),
}
"""Where a fault is put, and which requests come by: those that have to be cut, those that fit, or both."""


@pytest.fixture(scope="module")
def both(served_model):
    """A gateway that passes a request on after a fault, and one that refuses it."""
    with contextlib.ExitStack() as stack:
        made = []
        for on_fault in ("pass", "refuse"):
            usual = RequestRule(policy="fit", window=1_000, recall=True)
            settings = GatewaySettings(upstream=served_model[1] + "/v1", usual=usual, on_fault=on_fault)
            app = App(settings)
            made.append((stack.enter_context(running(app, serve.config(app, settings))), app))
        yield made


@pytest.mark.parametrize("name", PLACES)
def test_after_a_fault_of_ours_nothing_altered_is_sent(both, upstream, monkeypatch, caplog, name):
    (passing, app), (refusing, _) = both
    place, hit = PLACES[name]
    kind = KINDS[list(PLACES).index(name) % len(KINDS)]

    def broken(*given, **more):
        raise kind(SECRET)

    monkeypatch.setattr(place, name, broken)
    before = counted(app)
    for size, turns in (("long", 60), ("short", 1)):
        body = asked([{"role": "system", "content": name}, *conversation(turns)])
        upstream.bodies.clear()
        status, headers, answer = post(passing, body, x_brim_budget="900")
        assert SECRET not in f"{headers}{answer}"
        judge(upstream, headers, body)
        if size in hit:
            assert headers.get("x-brim-passthrough") == "fault" or (name == "request_of" and status == 503)
        upstream.bodies.clear()
        status, headers, answer = post(refusing, body, x_brim_budget="900")
        judge(upstream, headers, body)
        if size in hit:
            assert status == 503
            assert not upstream.bodies
    assert counted(app) > before
    assert SECRET not in caplog.text


def counted(app):
    faults = app.state.tally.faults
    return sum(faults.value(kind="fault", became=each) for each in ("pass", "refuse"))


def judge(upstream, headers, body):
    """Pass if upstream was sent what came, or what the headers say was made of it."""
    for sent in upstream.bodies:
        if sent != body:
            assert int(headers["x-brim-edits"]) > 0
            assert "x-brim-passthrough" not in headers
            assert upstream.size("chat", json.loads(sent)) <= 900
    assert not upstream.illegal


def test_a_store_that_fails_is_no_fault(gateway, upstream, monkeypatch, tmp_path):
    def broken(*given, **more):
        raise StoreError("sqlite", "it is full")

    for on_fault in ("pass", "refuse"):
        url, app = gateway(on_fault=on_fault, recall=True, store=f"sqlite:///{tmp_path}/brim.db")
        for name in ("load", "save", "append", "keep"):
            monkeypatch.setattr(type(app.state.store), name, broken)
        status, headers, _ = post(url, asked(conversation(60)))
        assert (status, headers.get("x-brim-passthrough")) == (200, None)
        assert int(headers["x-brim-edits"]) > 0
        assert app.state.keeping.failed
