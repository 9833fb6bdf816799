"""Where the name of an upstream leads, and where it may not.

The settings name the host; who answers for that name can change while the gateway runs. A name that led to the outside
and now leads inwards is somebody's attempt to have the gateway ask, with its key, what only this machine can reach.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_WRAPPED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
"""Addresses of version 6 whose last four bytes are one of version 4."""
_MOST = 64
"""Names that are remembered; the settings have two."""

Address = IPv4Address | IPv6Address


class Steady(AbstractResolver):
    """Looks names up, and leaves out addresses that no upstream has."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner if inner is not None else ThreadedResolver()
        self._outside: OrderedDict[str, None] = OrderedDict()
        """Names that led to the outside."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return where a name leads.

        Raises:
            OSError: it leads nowhere, or only where no request may go.
        """
        found = await self._inner.resolve(host, port, family)
        fine = [each for each in found if self._may(host, address_of(each["host"]))]
        if not fine:
            raise OSError(f"{host} leads to no address that requests may go to")
        if any(address_of(each["host"]).is_global for each in fine):
            self._outside[host] = None
            while len(self._outside) > _MOST:
                self._outside.popitem(last=False)
        return fine

    async def close(self) -> None:
        """Let go of what looks names up."""
        await self._inner.close()

    def _may(self, host: str, address: Address) -> bool:
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        return address.is_global or host not in self._outside


def address_of(text: str) -> Address:
    """Return an address; one of version 4 that is wrapped in one of version 6 as what it is."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if any(address in wrapped for wrapped in _WRAPPED):
        return IPv4Address(address.packed[-4:])
    return address
