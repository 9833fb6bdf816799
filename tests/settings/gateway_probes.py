"""What the settings of the gateway do; `tests/settings/test_effects.py` asks.

Those that decide about one request are seen in its outcome. Of the others it is seen that they reach the gateway, whose
own tests show what it does with them.
"""

from __future__ import annotations

import asyncio
import json

from brim.gateway.exchange import Exchange
from brim.gateway.http.app import GatewayApp
from brim.gateway.http.connection import ClientConnection
from brim.gateway.http.problem import HttpProblem
from brim.gateway.settings import settings_of
from gateway.conftest import admitted


def told(settings):
    return settings_of(settings, {"upstream": settings.value("gateway.upstream") or "http://127.0.0.1:9/v1"})


def field(name):
    return lambda settings: getattr(told(settings), name)


def becomes(was, now):
    return lambda before, after: (before, after) == (was, now)


def fitted(settings, route, values):
    """Return what becomes of a request, or the status of its refusal."""
    app = GatewayApp(told(settings))
    path = "/v1/messages" if route == "messages" else "/v1/chat/completions"
    exchange = Exchange(app.state, admitted(path), route, ClientConnection(None, None))
    try:
        return asyncio.run(exchange.fitted(asyncio.run(exchange.parsed(json.dumps(values).encode()))))
    except HttpProblem as problem:
        return problem.status
    finally:
        app.state._pool.shutdown()


def outcome(settings):
    """Look at what is done with a long request: its policy, and whether it is cut."""
    result = fitted(settings, "chat", {"model": "gpt-5", "messages": LONG})
    return result if isinstance(result, int) else (result.policy, bool(result.edits))


LONG = [{"role": "user", "content": f"Line {i} of the talk. " * 20} for i in range(9)]
NARROW = "meter: chars\nwindow: {size: 2000}\n"
FITTED = ("fit", True)
HERE = "http://127.0.0.1:9/v1"
FIELDS = {
    "upstream": (HERE, "http://127.0.0.1:7/v1"),
    "upstream_messages": (None, "http://127.0.0.1:7"),
    "upstream_key": (None, "MODEL_KEY"),
    "paths": (None, ["GET /v1/a"]),
    "keys": ((), ["TEAM_KEY"]),
    "host": ("127.0.0.1", "127.0.0.2"),
    "port": (8_088, 9_000),
    "hosts": ((), ["brim.internal"]),
    "most_bytes": (33_554_432, 100),
    "most_connections": (1_000, 3),
    "timeout": (600, 0.05),
    "drain": (30, 5),
    "memory": (67_108_864, 5),
}

GATEWAY = {
    **{
        f"gateway.{name}": (field(name), new, becomes(old, tuple(new) if isinstance(new, list) else new))
        for name, (old, new) in FIELDS.items()
    },
    "gateway.upstream_messages_key": (
        field("upstream_messages_key"),
        "MODEL_KEY",
        becomes(None, "MODEL_KEY"),
        "gateway: {upstream_messages: 'http://127.0.0.1:7'}\n",
    ),
    "gateway.policy": (outcome, "warn", becomes(FITTED, ("warn", False)), NARROW),
    "gateway.rules": (outcome, [{"model": "gpt-*", "policy": "refuse"}], becomes(FITTED, 400), NARROW),
}
"""The look, the value, the effect and the rest of the file for each key."""
