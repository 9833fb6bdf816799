"""Decides which requests the studio serves, before anything else is done with them.

The page shows conversations, so no other page in the same browser may access them. A token, new at each start, is
exchanged for a cookie; the Host header must name this machine; and requests that write must come from the page itself.

Browsers send a cookie to every port of a host, so other servers on this machine can see it. Therefore the cookie is not
the token: it is only valid for this studio, until it stops.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from brim.errors import InvalidValue
from brim.hosts import LEAST_TOKEN, Access, Secrets, bearer, is_loopback

MOST_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a body, except that of a file."""
UPLOAD = "/api/open_file"
"""The path to which the page uploads a file."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page loads only its own files; inline scripts do not run."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ONCE = ("cookie", "content-type")
"""Further headers that are ambiguous if repeated."""
_ADVICE = {421: "; --allow-host adds a name"}
_READS = ("GET", "HEAD")

_HEAD = '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>brim studio</title>'
# A page that redirects by itself: the next request then comes from this site and carries the cookie, and the token is
# gone from the address.
_ENTER = f'{_HEAD}<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Continue to brim studio</a></p></html>'
_NO_TOKEN = (
    f"{_HEAD}<h1>This studio needs its token</h1>"
    "<p>Open the address that <code>brim studio</code> printed when it started: it ends with the token.</p></html>"
)


class AccessDenied(Exception):
    """A request that is not served."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        self.problem = problem
        super().__init__(problem)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudioAccess:
    """The address of the studio, and what requests need to be served."""

    host: str = "127.0.0.1"
    port: int = 8_090
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    chosen: bool = False
    """Whether the user chose the token."""
    session: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    """The value of the cookie, which is new at each start."""
    names: tuple[str, ...] = ()
    """Host names of the studio, in addition to those of this machine."""

    def __post_init__(self) -> None:
        if self.chosen and len(self.token) < LEAST_TOKEN:
            expected = f"at least {LEAST_TOKEN} characters long"
            raise InvalidValue("the studio's token", f"{len(self.token)} characters", expected)
        if not is_loopback(self.host) and not self.chosen:
            expected = "127.0.0.1, unless you name an environment variable with your own token (--token)"
            raise InvalidValue("--host", self.host, expected)

    @property
    def cookie(self) -> str:
        """The name of the cookie; it contains the port, since browsers share cookies between ports."""
        return f"brim_studio_{self.port}"

    @property
    def address(self) -> str:
        """The address of the page, without the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"

    def accepts(self, token: str) -> bool:
        """Return whether a token is correct, compared in constant time."""
        return Secrets({"token": self.token}).name_of(token) is not None

    def continues(self, cookie: str) -> bool:
        """Return whether a cookie is correct, compared in constant time."""
        return Secrets({"cookie": self.session}).name_of(cookie) is not None


class AccessMiddleware:
    """Passes on requests that may be served, and answers all others."""

    def __init__(self, app: ASGIApp, access: StudioAccess) -> None:
        self._app = app
        self._access = access
        self._names = Access(access.host, access.names, port=access.port, once=_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or refuse it."""

        async def send_secured(event: Message) -> None:
            if event["type"] == "http.response.start":
                present = Headers(raw=event.get("headers", ()))
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name not in present]
                event = {**event, "headers": [*event.get("headers", ()), *more]}
            await send(event)

        request = Request(scope)
        try:
            self._check(request)
            if scope["path"] == "/" and request.method == "GET" and "token" in request.query_params:
                await self._enter(request.query_params["token"])(scope, receive, send_secured)
                return
            self._authorise(request)
        except AccessDenied as error:
            page = scope["path"] == "/" and error.status == 401
            refusal = HTMLResponse(_NO_TOKEN, 401) if page else JSONResponse({"problem": error.problem}, error.status)
            await refusal(scope, receive, send_secured)
            return
        await self._app(scope, receive if scope["path"] == UPLOAD else _limited(receive), send_secured)

    def _check(self, request: Request) -> None:
        """Check that a request is meant for this studio, and does not come from a page of another site.

        Raises:
            AccessDenied: it was not.
        """
        headers, reads = request.headers, request.method in _READS
        # A page of another site may link to the studio, but neither read what it says nor write.
        links = reads and not request.scope["path"].startswith("/api/") and "origin" not in headers
        named = [pair for pair in headers.items() if not (links and pair[0] == "sec-fetch-site")]
        if (refusal := self._names.refusal(named)) is not None:
            raise AccessDenied(refusal.status, refusal.problem + _ADVICE.get(refusal.status, ""))
        if reads:
            return
        uploads = request.scope["path"] == UPLOAD
        expected = "application/octet-stream" if uploads else "application/json"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != expected:
            raise AccessDenied(415, f"the content-type must be {expected}")
        own = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if not own and bearer(headers.get("authorization")) is None:
            raise AccessDenied(403, "only the studio's own page, or a request with the token as Bearer, may write")
        length = headers.get("content-length", "0")
        if not uploads and (not length.isdigit() or int(length[:20]) > MOST_BYTES):
            raise AccessDenied(413, f"the body is longer than {MOST_BYTES:,} bytes")

    def _authorise(self, request: Request) -> None:
        token, cookie = bearer(request.headers.get("authorization")), request.cookies.get(self._access.cookie)
        if token is not None and self._access.accepts(token):
            return
        if cookie is None or not self._access.continues(cookie):
            raise AccessDenied(401, "the token is missing or outdated: open the address that brim studio printed")

    def _enter(self, token: str) -> Response:
        """Return the page that exchanges the token in the address for a cookie.

        Raises:
            AccessDenied: the token is wrong.
        """
        if not self._access.accepts(token):
            raise AccessDenied(401, "the token is outdated: open the address that brim studio printed last")
        cookie = f"{self._access.cookie}={self._access.session}; HttpOnly; SameSite=Strict; Path=/"
        return HTMLResponse(_ENTER, headers={"set-cookie": cookie})


def _limited(receive: Receive) -> Receive:
    """Return a `receive` that ends a body after `MOST_BYTES`, regardless of its content-length."""
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        event = await receive()
        size += len(event.get("body", b""))
        return {"type": "http.disconnect"} if size > MOST_BYTES else event

    return receive_limited
