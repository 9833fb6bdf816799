"""A local server: its socket, its host names, and the requests that it accepts.

The gateway, the studio and the MCP server check each request before anything else. A page of another site in a browser
must not reach them, neither from its own address nor by a name that was rebound to this machine.
"""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Iterable, Mapping
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from brim.errors import SourceError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine."""
BACKLOG = 2_048
"""Connections that can wait to be accepted."""
LEAST_TOKEN = 16
"""Characters of the shortest token that a user may choose."""
_ONCE = ("host", "origin", "authorization", "content-length", "sec-fetch-site")
"""Headers that are ambiguous if repeated."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?")


def is_ip(name: str) -> bool:
    """Return whether a name is an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on a host."""
    return host.lower() == "localhost" or (is_ip(host) and ip_address(host).is_loopback)


def split_host(header: str) -> tuple[str, int | None]:
    """Return the name in a Host header, in lower case, and the port; the name is empty if the header is invalid."""
    found = _HOST.fullmatch(header)
    if found is None:
        return "", None
    return found[1].strip("[]").lower(), int(found[2]) if found[2] else None


def listener(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address.

    Args:
        host: the host.
        port: the port; 0 chooses a free one.

    Raises:
        SourceError: the address is not available.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SourceError(f"{host}:{port}", f"cannot listen there: {error.strerror or error}") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        problem = f"cannot listen there: {(error.strerror or '').lower()}; --port 0 chooses a free port"
        raise SourceError(f"{host}:{port}", problem) from error
    return made


class Refusal(NamedTuple):
    """Why a request is refused."""

    status: int
    problem: str


class Access:
    """The host names of a server, and the requests that it accepts."""

    def __init__(self, host: str, names: Iterable[str] = (), *, port: int | None = None, once: Iterable[str] = ()):
        """Create the check.

        Args:
            host: the address that it listens on.
            names: further host names.
            port: the port of the server's own pages; `None` if any page of this machine may call.
            once: further headers that must not be repeated.
        """
        self._host, self._port = host, port
        self._names = {name.lower() for name in names}
        self._once = frozenset((*_ONCE, *once))

    def refusal(self, headers: Iterable[tuple[str, str]]) -> Refusal | None:
        """Return why a request is refused, or `None`: pages of other sites may not call."""
        first: dict[str, str] = {}
        for name, value in headers:
            if name in first and name in self._once:
                return Refusal(400, f"the header {name} must not be repeated")
            first.setdefault(name, value)
        if not self.is_named(first.get("host", "")):
            return Refusal(421, "the Host header does not name this server")
        origin, site = first.get("origin"), first.get("sec-fetch-site", "none")
        foreign = not self._is_own(origin) if origin is not None else site in ("cross-site", "same-site")
        return Refusal(403, "pages from other sites may not call this server") if foreign else None

    def is_named(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        name, port = split_host(host)
        own = name in (*LOOPBACK, self._host.lower(), *self._names)
        known = own or (is_ip(name) and not is_loopback(self._host))
        return known and (self._port is None or port in (None, self._port))

    def _is_own(self, origin: str) -> bool:
        """Return whether an Origin header names a page of this server or machine."""
        try:
            parts = urlsplit(origin)
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        if self._port is not None:
            return parts.scheme == "http" and "@" not in parts.netloc and self.is_named(parts.netloc)
        return name in LOOPBACK or name in self._names


class Secrets:
    """Keys by name, compared in constant time."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._digests = {name: _digest(key) for name, key in keys.items()}

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, shown: str) -> str | None:
        """Return the name of a key. All keys are compared, so that the time reveals nothing."""
        digest, found = _digest(shown), None
        for name, known in self._digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found


def bearer(header: str | None) -> str | None:
    """Return the Bearer token of an Authorization header, or `None`."""
    header = header or ""
    return header[7:].strip() if header[:7].lower() == "bearer " else None


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
