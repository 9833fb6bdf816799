"""Whether a connection comes from another user of this machine, as far as the system tells."""

from __future__ import annotations

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
_ROOT = 0
_ADDRESS, _USER = 1, 7
"""The columns of a table of connections: the address of the socket, and the user who owns it."""


def is_foreign(host: str, port: int) -> bool:
    """Return whether the socket of a client belongs to another user, and not to root.

    Only Linux tells that, and only for clients on this machine; where nothing is known, no client is foreign.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if not address.is_loopback or not sys.platform.startswith("linux"):
        return False
    owner = _owner(host, port, address.version)
    return owner is not None and owner not in (_ROOT, os.getuid())


def _owner(host: str, port: int, version: int) -> int | None:
    """Return the user who owns a socket; `None` if the system does not say."""
    packed = socket.inet_pton(socket.AF_INET if version == 4 else socket.AF_INET6, host)
    words = [packed[i : i + 4] for i in range(0, len(packed), 4)]
    name = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{port:04X}"
    try:
        rows = _TABLES[version].read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return None
    found = (row.split() for row in rows)
    return next((int(row[_USER]) for row in found if len(row) > _USER and row[_ADDRESS] == name), None)
