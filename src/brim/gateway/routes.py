"""Which path leads where. What is not listed here is passed on as it came, to the upstream of the settings."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import Any

from brim.gateway import client_request, relay
from brim.gateway.body import decompress_body, json_value, read_answer, read_body
from brim.gateway.connection import ClientConnection, ClientGone, Send
from brim.gateway.decision import Decision
from brim.gateway.exchange import exchange
from brim.gateway.guard import IncomingRequest
from brim.gateway.outcome import GatewayPlan
from brim.gateway.paths import METHODS, may_reach, model_path, shortened
from brim.gateway.policy import ruled
from brim.gateway.problem import MESSAGES, PATH, RESPONSES, HttpProblem
from brim.gateway.state import GatewayState
from brim.gateway.upstream import address, returned_headers, sent_headers
from brim.gateway.upstream_client import BrokenAnswer, Headers
from brim.observe.metrics import CONTENT_TYPE

Handler = Callable[[GatewayState, IncomingRequest, Send], Awaitable[str | None]]
"""Answers a request, and returns how it ended."""

FITTED = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
"""Paths whose requests are fitted, without the `/v1` before them."""
STATUS = "/brim/status"
"""Where the gateway lists its conversations."""
COUNTED = {"/messages/count_tokens": MESSAGES, "/responses/input_tokens": RESPONSES}
"""Paths that count a request."""
OWN = ("/healthz", "/readyz", "/metrics", STATUS)
_NONE = (404, 405, 501)
"""Statuses of a server that has no such path."""
_NO_WEBSOCKET = {"upgrade": "HTTP/1.1", "connection": "close"}


@lru_cache(maxsize=256)
def route_of(path: str) -> str:
    """Return the route in whose format a client of a path is answered."""
    short, found = shortened(path), model_path("/" + path.strip("/"))
    return found[0] if found else FITTED.get(short) or COUNTED.get(short) or "chat"


async def served(state: GatewayState, incoming: IncomingRequest, client: ClientConnection) -> str | None:
    """Answer one request, and return how it ended; `None` if it is not counted, as one to the gateway itself.

    Raises:
        ClientGone: the client has disconnected.
        HttpProblem: it is refused.
    """
    if (incoming.header("upgrade") or "").lower() == "websocket":
        # Clients that try a WebSocket first send the request by POST after this status, and wait after any other.
        raise HttpProblem(426, "the gateway takes no WebSockets; send the request by POST", headers=_NO_WEBSOCKET)
    if incoming.path in OWN:
        await _own(state, incoming, client.send)
        return None
    handle = _handler(state, incoming)
    if not await read_body(incoming, client.receive, state.settings):
        raise ClientGone
    return await client.watched(handle(state, incoming, client.send))


def _handler(state: GatewayState, incoming: IncomingRequest) -> Handler:
    """Return what answers a request.

    Raises:
        HttpProblem: its path does not take its method.
    """
    short, method, found = shortened(incoming.path), incoming.method, model_path(incoming.path)
    if route := found[0] if found else FITTED.get(short) or COUNTED.get(short):
        if method == "POST":
            return partial(exchange if found or short in FITTED else _count, route=route)
        unread = client_request.unread(route, b"", "")
        if not Decision(state=state, settings=state.settings, incoming=incoming, ask=unread).passes:
            raise HttpProblem(405, f"{incoming.path} takes POST", headers={"allow": "POST"})
    if method not in METHODS:
        raise HttpProblem(405, f"{method} is not passed on", headers={"allow": ", ".join(METHODS)})
    if not may_reach(method, incoming.path, state.settings.reachable(_passed_route(incoming))):
        raise HttpProblem(403, "this gateway does not pass on this path; gateway.paths lists those that it does", PATH)
    return _pass


def _passed_route(incoming: IncomingRequest) -> str:
    """Return the route that decides to which upstream a request is passed on."""
    anthropic = incoming.header("anthropic-version") or shortened(incoming.path).startswith("/messages")
    return "messages" if anthropic else "other"


async def _own(state: GatewayState, incoming: IncomingRequest, send: Send) -> None:
    """Answer what is asked of the gateway itself."""
    if incoming.method not in ("GET", "HEAD"):
        raise HttpProblem(405, f"{incoming.path} takes GET", headers={"allow": "GET"})
    if incoming.path == "/metrics":
        state.metrics.store.put(state.conversations.store.failures)
        page = state.sums.page().encode()
        await relay.send_answer(send, 200, [("content-type", CONTENT_TYPE)], page)
        return
    wrong = await state.problem() if incoming.path == "/readyz" else ""
    said = state.sums.status(incoming.key) if incoming.path == STATUS else {"status": wrong or "ok"}
    body = json.dumps(said).encode()
    await relay.send_answer(send, 503 if wrong else 200, [("content-type", "application/json")], body)


def _headers(state: GatewayState, incoming: IncomingRequest, route: str) -> Headers:
    return sent_headers(incoming.forwarded, state.settings, route)


async def _pass(state: GatewayState, incoming: IncomingRequest, send: Send) -> None:
    """Pass on a request as it came, and its answer as it comes; only what is fitted is counted."""
    settings, route = state.settings, _passed_route(incoming)
    url = address(settings.base(route), incoming.target, incoming.query)
    response = await state.upstream.send(
        incoming.method, url, _headers(state, incoming, route), incoming.raw or None, settings.timeout
    )
    mine = [("x-brim-request-id", incoming.id), ("x-brim-passthrough", "route")]
    try:
        first = b""
        if shortened(incoming.path) == "/models" and response.status == 200:
            first = await read_answer(response)
            state.conversations.windows.take(settings.base(route), json_value(first))
        await relay.send_head(send, response.status, [*returned_headers(response, whole=True), *mine])
        await relay.pass_bytes(response, send, first)
    except BrokenAnswer as error:
        raise relay.broken_answer(error) from error
    finally:
        response.close()


async def _count(state: GatewayState, incoming: IncomingRequest, send: Send, route: str) -> None:
    """Answer how many tokens a request has: by upstream, and by brim's own count where upstream has no such path."""
    settings = state.settings
    url = address(settings.base(route), "/v1" + shortened(incoming.path), incoming.query)
    mine: Headers = [("x-brim-request-id", incoming.id)]
    try:
        response = await state.upstream.send(
            "POST", url, _headers(state, incoming, route), incoming.raw, settings.timeout
        )
        try:
            if response.status not in _NONE:
                first = await read_answer(response)
                await relay.send_read(send, response, first, mine)
                return
        finally:
            response.close()
    except (HttpProblem, BrokenAnswer):
        pass  # Counting needs no server.
    await decompress_body(incoming, settings.most_bytes)
    values, method = await state.work(_counted, state, incoming, route)
    body = json.dumps(values).encode()
    mine += [("content-type", "application/json"), ("x-brim-count-method", method)]
    await relay.send_answer(send, 200, mine, body)


def _counted(state: GatewayState, incoming: IncomingRequest, route: str) -> tuple[dict[str, Any], str]:
    """Return the count of a request by brim, and how it was counted.

    Raises:
        HttpProblem: it cannot be read.
    """
    ask = client_request.read(route, incoming.body, state.settings.most_values)
    if ask.request is None:
        raise HttpProblem(400, ask.problem)
    rule = ruled(state.settings.rules, ask.model, incoming.key, route, state.settings.default)
    engine, given = state.conversations, ask.input()
    plan = GatewayPlan(rule=rule, policy="warn", engine=engine.plan(given, meter=rule.meter))
    try:
        size = engine.count(given, plan.engine)
    except ValueError as error:
        raise HttpProblem(400, str(error)) from error
    counted: dict[str, Any] = {"input_tokens": size.tokens}
    if route == RESPONSES:
        counted = {"object": "response.input_tokens", **counted}
    return counted, plan.method(exact=size.exact)
