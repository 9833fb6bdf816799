"""Who may call the MCP server over HTTP: programs that name this machine, with the token if there is one.

A page in a browser must not reach it, by its own address or by a name that was rebound to this machine.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from brim.errors import InvalidValue
from brim.hosts import LEAST_TOKEN, LOOPBACK, Access, Secrets, bearer, is_loopback

_ADVICE = {421: "; --allow-host adds a name"}


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
        self._access = Access(host, names)
        self._tokens = Secrets({} if token is None else {"token": token})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or refuse it."""
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONResponse | None:
        if (refusal := self._access.refusal(headers.items(), pages=False)) is not None:
            return _refused(refusal.status, refusal.problem + _ADVICE.get(refusal.status, ""))
        if self._tokens and self._tokens.name_of(bearer(headers.get("authorization")) or "") is None:
            return _refused(401, "the token of this server is required: authorization: Bearer TOKEN")
        return None


def _refused(status: int, problem: str) -> JSONResponse:
    return JSONResponse({"problem": problem}, status, {"www-authenticate": "Bearer"} if status == 401 else None)
