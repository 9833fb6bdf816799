"""Who may come in, and how much a body may hold: looked at before anything else is done with a request."""

from __future__ import annotations

import asyncio
import hmac
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address
from secrets import token_hex
from time import perf_counter
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from brim.gateway.line import KEY, ClientConnection
from brim.gateway.problems import Problem
from brim.gateway.settings import LOOPBACK, GatewaySettings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

OPEN = ("/healthz", "/readyz")
"""Paths that need no key: they tell nothing but whether the process is well."""
_PATH = re.compile(rb"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)+")
_FOUL = re.compile(rb"//|\\|[\x00-\x20\x7f]|(^|/)\.{1,2}(/|$)")
_TWICE = ("host", "authorization", "x-api-key", "content-length", "content-encoding")
"""Headers that mean something else when they come twice."""


@dataclass(kw_only=True, slots=True)
class Incoming:
    """A request that may come in."""

    id: str
    method: str
    path: str
    """The path by which it is routed: without a slash at its end."""
    target: str
    """The path as it came, for what is passed on."""
    query: str
    headers: list[tuple[str, str]] = field(repr=False)
    """All headers, their names in small letters."""
    line: ClientConnection = field(default_factory=ClientConnection, repr=False)
    key: str = ""
    """The name of the client's key; nothing where none is asked for."""
    started: float = field(default_factory=perf_counter)
    raw: bytes = field(default=b"", repr=False)
    """The body as it came."""
    body: bytes = field(default=b"", repr=False)
    """The body, unpacked."""

    @property
    def shown(self) -> list[str]:
        """The keys that it shows, its own provider's among them."""
        found = [value for name, value in self.headers if name in ("authorization", "x-api-key", "api-key")]
        return [value.partition(" ")[2] or value for value in found]

    def header(self, name: str) -> str | None:
        """Return the first header of a name."""
        return next((value for known, value in self.headers if known == name), None)


class Keys:
    """The keys of clients, compared in constant time."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._digests = {name: sha256(secret.encode()).digest() for name, secret in secrets.items()}

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, shown: str) -> str | None:
        """Return the name of a key; every key is compared, whichever it is."""
        digest, found = sha256(shown.encode("utf-8", "surrogateescape")).digest(), None
        for name, known in self._digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found


def admitted(scope: Scope, settings: GatewaySettings, keys: Keys) -> Incoming:
    """Return a request that may come in.

    Raises:
        Problem: it may not.
    """
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    raw = scope.get("raw_path") or scope["path"].encode()
    path = "/" + scope["path"].strip("/")
    incoming = Incoming(
        id=f"brim-{token_hex(16)}",
        method=scope["method"],
        path=path,
        target=raw.decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        line=scope.get(KEY) or ClientConnection(),
    )
    names = [name for name, _ in headers]
    if len(names) > len(set(names)):
        for name in _TWICE:
            if names.count(name) > 1:
                raise Problem(400, f"the header {name} must come once")
    _check_host(incoming.header("host"), settings)
    _check_origin(incoming, settings)
    if not _is_plain(raw):
        raise Problem(400, "the path must be plain: no dots, empty parts, backslashes or control characters in it")
    if keys and path not in OPEN:
        incoming.key = _key_of(incoming, keys)
    return incoming


@lru_cache(maxsize=256)
def _is_plain(path: bytes) -> bool:
    """Return whether a path can be read in one way only, however often it is decoded."""
    decoded = unquote_to_bytes(unquote_to_bytes(path))
    return bool(_PATH.fullmatch(path)) and not _FOUL.search(path) and not _FOUL.search(decoded)


def _check_host(host: str | None, settings: GatewaySettings) -> None:
    """Pass if a request was made to a name of this gateway: a page of a stranger's may have led a browser here."""
    name = _name(host or "")
    if name in _allowed(settings.host, settings.hosts) or (not settings.is_loopback and _is_ip(name)):
        return
    raise Problem(421, "the Host is not one of this gateway; gateway.hosts lists the names by which it may be called")


@lru_cache(maxsize=8)
def _allowed(host: str, hosts: tuple[str, ...]) -> frozenset[str]:
    return frozenset((*LOOPBACK, host.lower(), *(each.lower() for each in hosts)))


def _check_origin(incoming: Incoming, settings: GatewaySettings) -> None:
    origin = incoming.header("origin")
    if origin is None:
        if incoming.header("sec-fetch-site") in ("cross-site", "same-site"):
            raise Problem(403, "pages of other sites may not call the gateway")
        return
    try:
        name = (urlsplit(origin).hostname or "").lower()
    except ValueError:
        name = ""
    if name not in {*LOOPBACK, *(each.lower() for each in settings.hosts)}:
        raise Problem(403, "pages of other sites may not call the gateway")


def _key_of(incoming: Incoming, keys: Keys) -> str:
    shown = [value for name, value in incoming.headers if name == "x-api-key"]
    bearer = incoming.header("authorization") or ""
    if bearer[:7].lower() == "bearer ":
        shown.append(bearer[7:].strip())
    found = [name for each in shown if (name := keys.name_of(each)) is not None]
    if not found:
        raise Problem(401, "a key of this gateway is needed, as a Bearer token or as x-api-key", "invalid_api_key")
    return found[0]


async def read_body(incoming: Incoming, receive: Receive, settings: GatewaySettings) -> bool:
    """Read the body of a request; return whether it came to its end.

    Raises:
        Problem: it is longer than is taken, or packed in a way that is not.
    """
    most = settings.most_bytes
    told = incoming.header("content-length")
    if told is not None and (not told.isdigit() or int(told[:20]) > most):
        raise _too_big(most)
    try:
        async with asyncio.timeout(settings.timeout):
            raw = await _received(receive, most)
    except TimeoutError:
        raise Problem(408, f"the body did not come within {settings.timeout:g} seconds") from None
    if raw is None:
        return False
    incoming.raw = incoming.body = raw
    packing = (incoming.header("content-encoding") or "identity").strip().lower()
    if packing != "identity":
        incoming.body = await asyncio.to_thread(unpacked, raw, packing, most)
    return True


async def _received(receive: Receive, most: int) -> bytes | None:
    """Return the bytes of a body; nothing where the client left."""
    pieces, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        piece = event.get("body", b"")
        size += len(piece)
        if size > most:
            raise _too_big(most)
        pieces.append(piece)
        more = event.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def unpacked(raw: bytes, packing: str, most: int) -> bytes:
    """Return what a packed body holds.

    Raises:
        Problem: it would be longer than is taken, or is packed in a way that is not.
    """
    if packing in ("identity", ""):
        return raw
    if packing not in ("gzip", "deflate"):
        raise Problem(415, "the body may be packed by gzip or deflate, once, or not at all")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        made = unpacker.decompress(raw, most + 1)
    except zlib.error:
        raise Problem(400, f"the body is not what its Content-Encoding says: {packing}") from None
    if len(made) > most or unpacker.unconsumed_tail:
        raise _too_big(most)
    if not unpacker.eof or unpacker.unused_data:
        raise Problem(400, f"the body is not what its Content-Encoding says: {packing}")
    return made


def _too_big(most: int) -> Problem:
    return Problem(413, f"the body is bigger than {most:,} bytes, which gateway.most_bytes takes at the most")


def _name(host: str) -> str:
    """Return the name of a Host header without its port; nothing where it is none."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?", host)
    return found[1].strip("[]").lower() if found else ""


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
