"""What the settings of the gateway do, seen where they decide; `tests/settings/test_effects.py` asks."""

from __future__ import annotations

import os
import zlib
from unittest import mock

from brim.errors import BrimError
from brim.gateway import body, guard
from brim.gateway import client_request as ask
from brim.gateway import server as gateway_server
from brim.gateway.app import GatewayApp
from brim.gateway.policy import ruled
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import settings_of
from brim.gateway.upstream import address, sent_headers

ENVIRON = {"TEAM_KEY": "one", "MODEL_KEY": "two"}


def told(settings):
    return settings_of(settings, {"upstream": settings.value("gateway.upstream") or "http://127.0.0.1:9/v1"})


def goes_to(route):
    return lambda settings: address(told(settings).base(route), "/v1/x")


def sent(settings):
    with mock.patch.dict(os.environ, ENVIRON):
        return sent_headers([("authorization", "Bearer own")], told(settings), "chat")


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
            keys = guard.ClientKeys(made.secrets())
        try:
            return guard.admit(scope, made, keys).key
        except HttpProblem as problem:
            return problem.status

    return look


def rule(settings):
    made = told(settings)
    return ruled(made.rules, "gpt-5", "TEAM_KEY", "chat", made.default)


def listens(settings):
    try:
        with gateway_server.listener(told(settings).host, 0) as taken:
            return taken.getsockname()[0]
    except BrimError as error:
        return type(error)


def read(settings):
    made = told(settings)
    try:
        body.decompressed_request(zlib.compress(b" " * 500), "deflate", made.most_bytes)
        return ask.read("chat", b'{"messages": [1, 2, 3, 4, 5]}', made.most_values).problem
    except HttpProblem as problem:
        return problem.status


def server(settings):
    made = told(settings)
    with mock.patch.dict(os.environ, ENVIRON):
        app = GatewayApp(made)
    app.state._pool.shutdown()
    return (
        gateway_server.config(app, made).timeout_graceful_shutdown,
        app.state._pool._max_workers,
        app.state.conversations._most,
    )


def value(name):
    return lambda settings: getattr(told(settings), name)


GATEWAY = {
    "gateway.upstream": (goes_to("chat"), "http://127.0.0.1:7/v1"),
    "gateway.upstream_messages": (goes_to("messages"), "http://127.0.0.1:7"),
    "gateway.upstream_key": (sent, "MODEL_KEY"),
    "gateway.keys": (entered(authorization="Bearer one"), ["TEAM_KEY"]),
    "gateway.host": (listens, "127.0.0.2"),
    "gateway.port": (value("port"), 9_000),
    "gateway.hosts": (entered("brim.internal"), ["brim.internal"]),
    "gateway.policy": (rule, "warn"),
    "gateway.rules": (rule, [{"model": "gpt-*", "policy": "refuse", "window": 9}]),
    "gateway.recall": (rule, True),
    "gateway.on_fault": (value("on_fault"), "refuse"),
    "gateway.client_policy": (value("client_policy"), True),
    "gateway.most_bytes": (read, 100),
    "gateway.most_values": (read, 3),
    "gateway.keepalive": (value("keepalive"), 1),
    "gateway.timeout": (value("timeout"), 1),
    "gateway.drain": (server, 5),
    "gateway.workers": (server, 5),
    "gateway.sessions": (server, 5),
}
"""The look and the value of each key."""
