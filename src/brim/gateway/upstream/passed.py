"""Passes on requests that are not fitted, unchanged."""

from __future__ import annotations

from brim.gateway.client.parsed import unread
from brim.gateway.client.paths import FITTED, METHODS, may_reach, model_path, shortened
from brim.gateway.fit import PASS, rule_of
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.connection import ClientConnection
from brim.gateway.http.problem import MESSAGES, PATH, HttpProblem
from brim.gateway.state import GatewayState
from brim.gateway.upstream.answer import pass_bytes
from brim.gateway.upstream.client import address, returned_headers, sent_headers, sent_query


def check_reach(state: GatewayState, admitted: Admitted) -> None:
    """Check that a request may be passed on.

    Raises:
        HttpProblem: it may not be passed on.
    """
    settings, method, short = state.settings, admitted.method, shortened(admitted.path)
    named = model_path(admitted.path)
    route = named[0] if named else FITTED.get(short)
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
    url = address(settings.base(route), admitted.target, sent_query(admitted.query, settings, route))
    headers = sent_headers(admitted.forwarded, settings, route)
    answer = await state.upstream.send(admitted.method, url, headers, raw or None, settings.timeout)
    try:
        mine = [("x-brim-request-id", admitted.id), ("x-brim-passthrough", "route")]
        await client.head(answer.status, [*returned_headers(answer), *mine])
        await pass_bytes(answer, client)
    finally:
        answer.close()


def _route(admitted: Admitted) -> str:
    """Return the route that chooses the upstream of a request."""
    anthropic = admitted.header("anthropic-version") or shortened(admitted.path).startswith("/messages")
    return MESSAGES if anthropic else "other"
