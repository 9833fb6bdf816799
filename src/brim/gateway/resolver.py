"""The addresses that the host name of an upstream may resolve to.

The settings name the host; its DNS records can change while the gateway runs. A name that was public and now resolves
to a private address may be an attempt to have the gateway call, with its key, what only this network can reach.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_WRAPPED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
"""IPv6 networks whose addresses end with an IPv4 address."""

Address = IPv4Address | IPv6Address


class SafeResolver(AbstractResolver):
    """Resolves names, without the addresses that requests must not be sent to."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner if inner is not None else ThreadedResolver()
        self._public: set[str] = set()
        """Names that resolved to a public address before; all come from the settings, so they are few."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the allowed addresses of a name.

        Raises:
            OSError: the name has no allowed address.
        """
        found = await self._inner.resolve(host, port, family)
        allowed = [each for each in found if self._allows(host, address_of(each["host"]))]
        if not allowed:
            raise OSError(f"{host} resolves to no address that requests may be sent to")
        if any(address_of(each["host"]).is_global for each in allowed):
            self._public.add(host)
        return allowed

    async def close(self) -> None:
        """Close the resolver."""
        await self._inner.close()

    def _allows(self, host: str, address: Address) -> bool:
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            return False
        return address.is_global or host not in self._public


def address_of(text: str) -> Address:
    """Return an IP address; of an IPv6 address that stands for an IPv4 address, that one."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address) or address.is_loopback or address.is_unspecified:
        return address
    if any(address in network for network in _WRAPPED):
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address
