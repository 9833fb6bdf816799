"""Who may call the MCP server over HTTP: programs that name this machine, with the token if there is one.

A page in a browser must not reach it, by its own address or by a name that was rebound to this machine.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from brim.errors import InvalidValue
from brim.hosts import LOOPBACK, allowed_hosts, host_name, is_loopback

LEAST_TOKEN = 16
"""Characters of the shortest token."""
_ONCE = ("host", "origin", "authorization")
"""Headers that are ambiguous if repeated."""


class McpAccess:
    """Passes on the requests that are served, and answers all others."""

    def __init__(self, app: ASGIApp, host: str, token: str | None, names: tuple[str, ...] = ()) -> None:
        """Guard an application.

        Args:
            app: the application.
            host: the address that it listens on.
            token: what clients send as Bearer token; without one, only programs of this machine are served.
            names: further host names of the server.

        Raises:
            InvalidValue: the token is too short, or other machines could reach the address and there is none.
        """
        if token is None and not is_loopback(host):
            raise InvalidValue("--host", host, f"one of {', '.join(LOOPBACK)}, unless --token names a token")
        if token is not None and len(token) < LEAST_TOKEN:
            raise InvalidValue("the token", f"{len(token)} characters", f"of at least {LEAST_TOKEN} characters")
        self._app = app
        self._hosts = allowed_hosts(host, names)
        self._digest = None if token is None else _digest(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or refuse it."""
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse | None:
        if any(len(headers.getlist(name)) > 1 for name in _ONCE):
            return _refused(400, f"none of the headers {', '.join(_ONCE)} may be repeated")
        if host_name(headers.get("host", "")) not in self._hosts:
            return _refused(421, "the Host header does not name this server; --allow-host adds a name")
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return _refused(403, "pages in a browser may not call this server")
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        shown = shown.strip() if scheme.lower() == "bearer" else ""
        if self._digest is not None and not hmac.compare_digest(_digest(shown), self._digest):
            return _refused(401, "the token of this server is required: authorization: Bearer TOKEN")
        return None


def _refused(status: int, problem: str) -> JSONResponse:
    return JSONResponse({"problem": problem}, status, {"www-authenticate": "Bearer"} if status == 401 else None)


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
