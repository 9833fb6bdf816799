"""The addresses that the host name of an upstream may resolve to.

The settings name the host; its DNS records can change while the gateway runs. A name that was public and now resolves
to a private address may be an attempt to have the gateway call, with its key, what only this network can reach.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_WRAPPED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
"""IPv6 networks whose addresses end with an IPv4 address."""

IpAddress = IPv4Address | IPv6Address


async def looked_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name, as the system knows them, in their order.

    Raises:
        OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class SafeResolver:
    """Resolves names, without the addresses that requests must not be sent to."""

    def __init__(self, look_up: Callable[[str, int], Awaitable[list[str]]] = looked_up) -> None:
        self._look_up = look_up
        self._public: set[str] = set()
        """Names that resolved to a public address before; all come from the settings, so they are few."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the allowed addresses of a name.

        Raises:
            OSError: the name has no allowed address.
        """
        allowed = [each for each in await self._look_up(host, port) if self._allows(host, address_of(each))]
        if not allowed:
            raise OSError(f"{host} resolves to no address that requests may be sent to")
        if any(address_of(each).is_global for each in allowed):
            self._public.add(host)
        return allowed

    def _allows(self, host: str, address: IpAddress) -> bool:
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        return address.is_global or host not in self._public


def address_of(text: str) -> IpAddress:
    """Return an IP address; of an IPv6 address that stands for an IPv4 address, that one."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return address
    if any(address in network for network in _WRAPPED):
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address
