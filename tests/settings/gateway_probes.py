"""What the settings of the gateway do, seen where they decide; `tests/settings/test_effects.py` asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from unittest import mock

from brim.errors import BrimError
from brim.gateway.client.parsed import parse
from brim.gateway.client.paths import may_reach
from brim.gateway.exchange import Exchange
from brim.gateway.http import server as gateway_server
from brim.gateway.http.admitted import ONCE, admit
from brim.gateway.http.app import GatewayApp
from brim.gateway.http.connection import ClientConnection
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import settings_of
from brim.gateway.upstream.client import address, sent_headers
from brim.hosts import Access, Secrets
from gateway.conftest import admitted

ENVIRON = {"TEAM_KEY": "one", "MODEL_KEY": "two"}


def told(settings):
    return settings_of(settings, {"upstream": settings.value("gateway.upstream") or "http://127.0.0.1:9/v1"})


def goes_to(route):
    return lambda settings: address(told(settings).base(route), "/v1/x")


def sent(settings, route="chat"):
    with mock.patch.dict(os.environ, ENVIRON):
        return sent_headers([("authorization", "Bearer own")], told(settings), route)


def entered(host="127.0.0.1", **headers):
    """Look at who may come in."""

    def look(settings):
        made = told(settings)
        pairs = [(b"host", host.encode()), *((name.encode(), value.encode()) for name, value in headers.items())]
        scope = {
            "headers": pairs,
            "path": "/v1/models",
            "raw_path": b"/v1/models",
            "method": "GET",
            "query_string": b"",
        }
        with mock.patch.dict(os.environ, ENVIRON):
            keys = Secrets(made.secrets())
        try:
            return admit(scope, Access(made.host, made.hosts, once=ONCE), keys).key
        except HttpProblem as problem:
            return problem.status

    return look


def listens(settings):
    try:
        with gateway_server.listener(told(settings).host, 0) as taken:
            return taken.getsockname()[0]
    except BrimError as error:
        return type(error)


def read(settings):
    made = told(settings)
    try:
        asyncio.run(ClientConnection(None, None).body("500", made.most_bytes, 1)) if made.most_bytes < 500 else None
        return parse(admitted(), "chat", b'{"messages": [1, 2, 3, 4, 5]}').problem
    except HttpProblem as problem:
        return problem.status


def server(settings):
    made = told(settings)
    with mock.patch.dict(os.environ, ENVIRON):
        app = GatewayApp(made)
    app.state._pool.shutdown()
    return (
        gateway_server.config(app, made).timeout_graceful_shutdown,
        app.state.conversations._known._memory,
    )


def connections(settings):
    """Look at the connections from which on the server refuses requests."""
    made = told(settings)
    app = GatewayApp(made)
    app.state._pool.shutdown()
    return gateway_server.config(app, made).limit_concurrency


class NotNow(Exception):
    """Stops a server before it listens."""


def bound(settings):
    """Look at the address at which the server starts to listen."""
    made = told(settings)
    with mock.patch.object(gateway_server, "listener", side_effect=NotNow) as listener, contextlib.suppress(NotNow):
        gateway_server.run(made, lambda: made, print)
    return listener.call_args.args


def value(name):
    return lambda settings: getattr(told(settings), name)


def becomes(was, now):
    return lambda before, after: (before, after) == (was, now)


def outcome(content, **headers):
    """Look at what is done with a request: its policy, whether it is cut, and why it is passed on; or the status."""

    def look(settings):
        made = told(settings)
        app = GatewayApp(made)
        exchange = Exchange(app.state, admitted(**headers), "chat", ClientConnection(None, None))
        body = json.dumps({"model": "gpt-5", "messages": content}).encode()
        try:
            result = asyncio.run(exchange.fitted(asyncio.run(exchange.parsed(body))))
        except HttpProblem as problem:
            return problem.status
        finally:
            app.state._pool.shutdown()
        return result.policy, bool(result.edits), result.passed or ("offers recall" if result.recalls else "")

    return look


def asked_answer(settings):
    """Look at the answer that is asked for by a prompt that leaves no room for it, from a model that counts both."""
    made = told(settings)
    app = GatewayApp(made)
    values = {"model": "claude-opus-4-1", "max_tokens": 450, "messages": [{"role": "user", "content": "x" * 1_700}]}
    exchange = Exchange(app.state, admitted("/v1/messages"), "messages", ClientConnection(None, None))
    try:
        body = asyncio.run(exchange.fitted(asyncio.run(exchange.parsed(json.dumps(values).encode())))).body
    finally:
        app.state._pool.shutdown()
    return json.loads(body)["max_tokens"], len(json.loads(body)["messages"][0]["content"])


def waited(settings):
    """Look at a body that takes a fifth of a second to arrive: whether it is complete, or the status."""

    async def receive():
        await asyncio.sleep(0.2)
        return {"type": "http.request", "body": b"{}", "more_body": False}

    made = told(settings)
    try:
        return bool(asyncio.run(ClientConnection(receive, None).body(None, made.most_bytes, made.timeout)))
    except HttpProblem as problem:
        return problem.status


LONG = [{"role": "user", "content": f"Line {i} of the talk. " * 20} for i in range(9)]
UNREADABLE = 5
NARROW = "meter: chars\nwindow: {size: 2000}\n"
FITTED = ("fit", True, "")

GATEWAY = {
    "gateway.upstream": (
        goes_to("chat"),
        "http://127.0.0.1:7/v1",
        becomes("http://127.0.0.1:9/v1/x", "http://127.0.0.1:7/v1/x"),
    ),
    "gateway.upstream_messages": (
        lambda settings: (goes_to("messages")(settings), goes_to("chat")(settings)),
        "http://127.0.0.1:7",
        becomes(("http://127.0.0.1:9/v1/x",) * 2, ("http://127.0.0.1:7/v1/x", "http://127.0.0.1:9/v1/x")),
    ),
    "gateway.upstream_key": (
        lambda settings: dict(sent(settings))["authorization"],
        "MODEL_KEY",
        becomes("Bearer own", "Bearer two"),
    ),
    "gateway.upstream_messages_key": (
        lambda settings: dict(sent(settings, "messages")).get("x-api-key"),
        "MODEL_KEY",
        becomes(None, "two"),
        "gateway: {upstream_messages: 'http://127.0.0.1:7'}\n",
    ),
    "gateway.paths": (
        lambda settings: [may_reach("GET", f"/v1/{name}", told(settings).reachable("chat")) for name in ("a", "b")],
        ["GET /v1/a"],
        becomes([True, True], [True, False]),
    ),
    "gateway.keys": (
        lambda settings: [entered(authorization=f"Bearer {key}")(settings) for key in ("one", "two")],
        ["TEAM_KEY"],
        becomes(["", ""], ["TEAM_KEY", 401]),
    ),
    "gateway.host": (listens, "127.0.0.2", becomes("127.0.0.1", "127.0.0.2")),
    "gateway.port": (bound, 9_000, becomes(("127.0.0.1", 8_088), ("127.0.0.1", 9_000))),
    "gateway.hosts": (
        lambda settings: [entered(host)(settings) for host in ("brim.internal", "other.internal")],
        ["brim.internal"],
        becomes([421, 421], ["", 421]),
    ),
    "gateway.policy": (outcome(LONG), "warn", becomes(FITTED, ("warn", False, "")), NARROW),
    "gateway.rules": (outcome(LONG), [{"model": "gpt-*", "policy": "refuse"}], becomes(FITTED, 400), NARROW),
    "gateway.recall": (outcome(LONG), True, becomes(FITTED, ("fit", True, "offers recall")), NARROW),
    "gateway.lower_answer": (
        asked_answer,
        True,
        lambda before, after: before[0] == 450 and before[1] < 1_700 == after[1] and after[0] == 300,
        NARROW,
    ),
    "gateway.most_bytes": (read, 100, becomes("", 413)),
    "gateway.most_connections": (connections, 3, becomes(1_000, 3)),
    "gateway.keepalive": (value("keepalive"), 1, becomes(15, 1)),
    "gateway.timeout": (waited, 0.05, becomes(True, 408)),
    "gateway.drain": (server, 5, becomes((30, 2**26), (5, 2**26))),
    "gateway.memory": (server, 5, becomes((30, 2**26), (30, 5))),
}
"""The look, the value, the effect and the rest of the file for each key."""
