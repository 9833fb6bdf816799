"""How a connection to a model server is opened: by the addresses of its host, the first that accepts one."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

from brim.gateway.resolver import SafeResolver
from brim.gateway.upstream_connection import Address, UpstreamConnection
from brim.hosts import is_ip

_SECONDS = 10
"""Seconds in which a connection must be open."""
_NEXT = 0.25
"""Seconds after which the next address is tried beside one that is silent."""
_KNOWN = 10
"""Seconds for which the addresses of a host are known."""


class Dialer:
    """Opens connections."""

    def __init__(self, free: Callable[[UpstreamConnection], None]) -> None:
        self._free = free
        self._resolver = SafeResolver()
        self._hosts: dict[str, tuple[float, list[str]]] = {}
        """The addresses of each host, and until when they are known."""
        self._security: ssl.SSLContext | None = None

    async def connection(self, address: Address) -> UpstreamConnection:
        """Return a new connection.

        Raises:
            OSError: no address of the host accepts one.
        """
        async with asyncio.timeout(_SECONDS):
            return await self._first(await self._addresses(*address[:2]), address)

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host.

        Raises:
            OSError: it has none.
        """
        if is_ip(host):
            return [host]
        now = asyncio.get_running_loop().time()
        until, found = self._hosts.get(host, (0.0, []))
        if until < now:
            found = await self._resolver.resolve(host, port)
            self._hosts[host] = now + _KNOWN, found
        return found

    async def _first(self, hosts: list[str], address: Address) -> UpstreamConnection:
        """Return a connection to the first of some addresses that accepts one.

        A network may lose what is sent to some of them, so the next is tried beside one that is silent.

        Raises:
            OSError: none accepts one.
        """
        left, tried, error = list(hosts), set[asyncio.Task[UpstreamConnection]](), OSError("there is no address")
        try:
            while left or tried:
                if left:
                    tried.add(asyncio.ensure_future(self._opened(left.pop(0), address)))
                limit = _NEXT if left else None
                done, tried = await asyncio.wait(tried, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                made = []
                for task in done:
                    try:
                        made.append(task.result())
                    except OSError as refused:
                        error = refused
                for connection in made[1:]:
                    connection.close()
                if made:
                    return made[0]
        finally:
            for task in tried:
                task.cancel()
        raise error

    async def _opened(self, host: str, address: Address) -> UpstreamConnection:
        """Return a connection to one address.

        Raises:
            OSError: it does not accept one.
        """
        name, port, secure = address
        loop = asyncio.get_running_loop()
        end = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(end, (host, port))
            _, connection = await loop.create_connection(
                lambda: UpstreamConnection(address, self._free),
                sock=end,
                ssl=self._context() if secure else None,
                server_hostname=name if secure else None,
            )
        except BaseException:  # Whatever ends it, no connection stays open.
            end.close()
            raise
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._security is None:
            self._security = ssl.create_default_context()
            self._security.set_alpn_protocols(["http/1.1"])
        return self._security
