"""The address of a local server: the socket on which it listens, and the host names by which it may be called."""

from __future__ import annotations

import re
import socket
from functools import lru_cache
from ipaddress import ip_address

from brim.errors import SourceError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine."""
BACKLOG = 2_048
"""Connections that wait to be accepted."""
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


@lru_cache(maxsize=256)
def split_host(header: str) -> tuple[str, int | None]:
    """Return the name in a Host header, in lower case, and its port; an invalid header has an empty name."""
    found = _HOST.fullmatch(header)
    if found is None:
        return "", None
    return found[1].strip("[]").lower(), int(found[2]) if found[2] else None


def host_name(header: str) -> str:
    """Return the name in a Host header, in lower case and without its port; empty if it is invalid."""
    return split_host(header)[0]


@lru_cache(maxsize=8)
def allowed_hosts(host: str, extra: tuple[str, ...]) -> frozenset[str]:
    """Return the names by which a server may be called: this machine's, the host on which it listens, and `extra`."""
    return frozenset((*LOOPBACK, host.lower(), *(name.lower() for name in extra)))


def listener(host: str, port: int, *, shared: bool = False, listens: bool = True) -> socket.socket:
    """Return a socket of an address.

    Args:
        host: the host.
        port: the port; 0 chooses a free one.
        shared: whether other sockets may listen on the same address; the system then divides the connections.
        listens: whether it listens; if not, it only holds the address.

    Raises:
        SourceError: the address is not available.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SourceError(f"{host}:{port}", f"cannot be listened on: {error.strerror or error}") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(place)
        if listens:
            made.listen(BACKLOG)
    except OSError as error:
        made.close()
        problem = f"cannot be listened on: {(error.strerror or '').lower()}; --port 0 chooses a free port"
        raise SourceError(f"{host}:{port}", problem) from error
    return made
