"""The socket on which a server of ours listens."""

from __future__ import annotations

import socket

from brim.errors import SourceError

BACKLOG = 2_048
"""Connections that wait to be taken."""


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address.

    Raises:
        SourceError: it cannot be listened on.
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
        made.bind(place)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        told = f"cannot be listened on: {(error.strerror or '').lower()}; --port 0 takes any that is free"
        raise SourceError(f"{host}:{port}", told) from error
    return made
