"""Who may come in: looked at before anything else is done with a request.

The page holds conversations, so a stranger's page in the same browser must not reach it. A token that is made anew at
each start becomes a cookie; the Host must be a name of this machine; what writes must come from the page itself.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from brim.errors import InvalidValue

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of a request's body."""
LEAST_TOKEN = 16
"""Characters of a token that somebody chose."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own files and nothing else; nothing written into the page itself runs."""
HEADERS = (
    ("content-security-policy", POLICY),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
_ONCE = ("host", "origin", "authorization", "cookie", "content-type", "content-length", "sec-fetch-site")
"""Headers that mean something else when they come twice."""
_READS = ("GET", "HEAD")

# A page that leads on by itself, so that the next request comes from this site and carries the cookie; the token is
# gone from the address by then.
_ENTER = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>brim studio</title>'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on to brim studio</a></p></html>'
)
_KNOCK = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>brim studio</title>'
    "<h1>This studio needs its token</h1>"
    "<p>Open the address that <code>brim studio</code> printed when it started: it ends with the token.</p></html>"
)


class Refusal(Exception):
    """A request that may not come in."""

    def __init__(self, status: int, told: str) -> None:
        self.status = status
        self.told = told
        super().__init__(told)


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """What a request has to show."""

    host: str = "127.0.0.1"
    port: int = 8_090
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    chosen: bool = False
    """Whether somebody chose the token, rather than this start."""
    names: tuple[str, ...] = ()
    """Names by which the studio may be called, beside those of this machine."""

    def __post_init__(self) -> None:
        if self.chosen and len(self.token) < LEAST_TOKEN:
            told = f"a token of at least {LEAST_TOKEN} characters, so that nobody guesses it"
            raise InvalidValue("the studio's token", f"{len(self.token)} characters", told)
        if not self.is_loopback and not self.chosen:
            told = "127.0.0.1, unless --token names the variable that holds a token for those who come from elsewhere"
            raise InvalidValue("--host", self.host, told)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host.lower() in LOOPBACK

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers share cookies between the ports of a machine."""
        return f"brim_studio_{self.port}"

    @property
    def address(self) -> str:
        """Where the page is, without the token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"

    def opens(self, shown: str) -> bool:
        """Return whether a token is the right one; how long that takes tells nothing."""
        mine, theirs = (sha256(each.encode("utf-8", "surrogateescape")).digest() for each in (self.token, shown))
        return hmac.compare_digest(mine, theirs)

    def knows(self, host: str) -> bool:
        """Return whether a Host header names this studio; a page of a stranger's may have led a browser here."""
        name, port = _split(host)
        allowed = {*LOOPBACK, self.host.lower(), *(each.lower() for each in self.names)}
        return (port in (None, self.port)) and (name in allowed or (not self.is_loopback and _is_ip(name)))


class Guard:
    """Stands before the application."""

    def __init__(self, app: App, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with a refusal."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, send)
            return

        async def sending(event: MutableMapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                told = {name.lower() for name, _ in event.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in HEADERS if name.encode() not in told]
                event = {**event, "headers": [*event.get("headers", ()), *more]}
            await send(event)

        try:
            headers = _headers(scope)
            self._check(scope, headers)
            if scope["path"] == "/" and (shown := _shown(scope)) is not None:
                await self._enter(shown, sending)
                return
            self._authorise(headers)
        except Refusal as refusal:
            await _refuse(sending, refusal, page=scope["path"] == "/")
            return
        await self._app(scope, _limited(receive), sending)

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Pass if the request was made to this studio, and by its own page where it was made by one."""
        if not self._door.knows(headers.get("host", "")):
            raise Refusal(421, "the Host is not one of this studio; --allow-host names others by which it is called")
        api = scope["path"].startswith("/api/")
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if origin is not None and not self._is_own(origin):
            raise Refusal(403, "pages of other sites may not call the studio")
        if site in ("cross-site", "same-site") and (api or scope["method"] not in _READS):
            raise Refusal(403, "pages of other sites may not call the studio")
        if scope["method"] not in _READS:
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise Refusal(415, "what writes must be JSON: content-type application/json")
            if origin is None and site != "same-origin" and _bearer(headers) is None:
                raise Refusal(403, "what writes must come from the studio's own page, or with the token as Bearer")
            length = headers.get("content-length", "0")
            if not length.isdigit() or int(length[:20]) > MOST_BYTES:
                raise Refusal(413, f"a body may have {MOST_BYTES:,} bytes")

    def _is_own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
            return parts.scheme == "http" and self._door.knows(parts.netloc) and "@" not in parts.netloc
        except ValueError:
            return False

    def _authorise(self, headers: Mapping[str, str]) -> None:
        shown = [value for value in (_bearer(headers), _cookie(headers, self._door.cookie)) if value is not None]
        if not any(self._door.opens(each) for each in shown):
            raise Refusal(401, "the token is missing or of another start: open the address that brim studio printed")

    async def _enter(self, shown: str, send: Send) -> None:
        """Turn a token in the address into a cookie, and lead on to an address without it."""
        if not self._door.opens(shown):
            raise Refusal(401, "the token is of another start: open the address that brim studio printed last")
        cookie = f"{self._door.cookie}={self._door.token}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 200, _ENTER.encode(), "text/html; charset=utf-8", [("set-cookie", cookie)])


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name in _ONCE:
            raise Refusal(400, f"the header {name} must come once")
        found[name] = value.decode("latin-1")
    return found


def _shown(scope: Scope) -> str | None:
    """Return the token of an address."""
    if scope["method"] != "GET":
        return None
    told = parse_qs(scope["query_string"].decode("latin-1"))
    return told["token"][0] if "token" in told else None


def _bearer(headers: Mapping[str, str]) -> str | None:
    told = headers.get("authorization", "")
    return told[7:].strip() if told[:7].lower() == "bearer " else None


def _cookie(headers: Mapping[str, str], name: str) -> str | None:
    for pair in headers.get("cookie", "").split(";"):
        known, _, value = pair.strip().partition("=")
        if known == name:
            return value
    return None


def _split(host: str) -> tuple[str, int | None]:
    """Return the name and the port of a Host header; a name that cannot be is empty."""
    if set(host) & set("@/?#\\ \t"):  # More than a name and a port, so not what a browser sends.
        return "", -1
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port
    except ValueError:
        return "", -1
    return (parts.hostname or "").lower(), port


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _limited(receive: Receive) -> Receive:
    """Return what receives a body up to its most bytes, whatever its length was said to be."""
    size = 0

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal size
        event = await receive()
        size += len(event.get("body", b""))
        return {"type": "http.disconnect"} if size > MOST_BYTES else event

    return receiving


async def _refuse(send: Send, refusal: Refusal, *, page: bool) -> None:
    import json

    if page and refusal.status == 401:
        await _answer(send, 401, _KNOCK.encode(), "text/html; charset=utf-8")
    else:
        await _answer(send, refusal.status, json.dumps({"problem": refusal.told}).encode(), "application/json")


async def _answer(send: Send, status: int, body: bytes, kind: str, more: list[tuple[str, str]] | None = None) -> None:
    headers = [("content-type", kind), ("content-length", str(len(body))), *(more or [])]
    raw = [(name.encode(), value.encode()) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
