"""Handles requests that are not fitted: passes them on unchanged, or counts them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from brim.gateway.client.parsed import parse, unread
from brim.gateway.client.paths import COUNTED, FITTED, METHODS, NO_PATH, may_reach, model_path, shortened
from brim.gateway.fit.planned import PASS, plan, rule_of
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.connection import ClientConnection, Headers
from brim.gateway.http.problem import MESSAGES, PATH, RESPONSES, HttpProblem
from brim.gateway.state import GatewayState
from brim.gateway.upstream.answered import pass_bytes
from brim.gateway.upstream.client import BrokenAnswer, UpstreamAnswer, address, returned_headers, sent_headers


def check_reach(state: GatewayState, admitted: Admitted) -> None:
    """Check that a request may be passed on.

    Raises:
        HttpProblem: it may not be passed on.
    """
    settings, method, short = state.settings, admitted.method, shortened(admitted.path)
    named = model_path(admitted.path)
    route = named[0] if named else FITTED.get(short) or COUNTED.get(short)
    if route and rule_of(unread(admitted, route, b""), settings).policy != PASS:
        raise HttpProblem(405, f"{admitted.path} only accepts POST", headers={"allow": "POST"})
    if method not in METHODS:
        raise HttpProblem(405, f"{method} is not passed on", headers={"allow": ", ".join(METHODS)})
    if not may_reach(method, admitted.path, settings.reachable(_route(admitted))):
        raise HttpProblem(
            403, "this gateway does not pass on this path; gateway.paths lists the paths that it does", PATH
        )


async def pass_on(state: GatewayState, admitted: Admitted, raw: bytes, client: ClientConnection) -> None:
    """Pass on a request and its answer unchanged.

    Raises:
        HttpProblem: there is no answer, or it broke off.
    """
    settings, route = state.settings, _route(admitted)
    url = address(settings.base(route), admitted.target, admitted.query)
    headers = sent_headers(admitted.forwarded, settings, route)
    answer = await state.upstream.send(admitted.method, url, headers, raw or None, settings.timeout)
    try:
        await _pass_whole(answer, b"", client, [*_mine(admitted), ("x-brim-passthrough", "route")])
    except BrokenAnswer as error:
        raise error.problem from error
    finally:
        answer.close()


async def count(state: GatewayState, admitted: Admitted, route: str, raw: bytes, client: ClientConnection) -> None:
    """Answer with the tokens of a request, counted by upstream, or by brim if upstream has no such path.

    Raises:
        HttpProblem: the request cannot be read.
    """
    settings = state.settings
    url = address(settings.base(route), "/v1" + shortened(admitted.path), admitted.query)
    headers = sent_headers(admitted.forwarded, settings, route)
    try:
        answer = await state.upstream.send("POST", url, headers, raw, settings.timeout)
        try:
            if answer.status not in NO_PATH:
                await _pass_whole(answer, await answer.read_all(), client, _mine(admitted))
                return
        finally:
            answer.close()
    except (HttpProblem, BrokenAnswer):
        if client.began:
            raise
    values, method = await state.work(partial(_counted, state, admitted, route, raw))  # Counting needs no server.
    mine = [*_mine(admitted), ("content-type", "application/json"), ("x-brim-count-method", method)]
    await client.answer(200, mine, json.dumps(values).encode())


def _counted(state: GatewayState, admitted: Admitted, route: str, raw: bytes) -> tuple[dict[str, Any], str]:
    """Return brim's count of a request, and how it was counted.

    Raises:
        HttpProblem: the request cannot be read.
    """
    parsed = parse(admitted, route, raw, state.settings, state.secrets)
    if parsed.request is None:
        raise HttpProblem(400, parsed.problem)
    planned = plan(parsed, state.settings, state.conversations, state.owner(admitted, route))
    try:
        tokens, exact = state.fitter.count(planned)
    except ValueError as error:
        raise HttpProblem(400, str(error)) from error
    counted: dict[str, Any] = {"input_tokens": tokens}
    if route == RESPONSES:
        counted = {"object": "response.input_tokens", **counted}
    return counted, planned.method(exact=exact)


async def _pass_whole(answer: UpstreamAnswer, first: bytes, client: ClientConnection, mine: Headers) -> None:
    await client.head(answer.status, [*returned_headers(answer, whole=True), *mine])
    await pass_bytes(answer, client, first)


def _route(admitted: Admitted) -> str:
    """Return the route that chooses the upstream of a request."""
    anthropic = admitted.header("anthropic-version") or shortened(admitted.path).startswith("/messages")
    return MESSAGES if anthropic else "other"


def _mine(admitted: Admitted) -> Headers:
    return [("x-brim-request-id", admitted.id)]
