"""The addresses that the host name of an upstream may resolve to."""

import asyncio
import socket

import pytest

from brim.gateway.resolver import SafeResolver
from gateway.conftest import asked, conversation, post

SHORT = asked(conversation(1))


def flipping(*told):
    """Return a name server whose answer changes."""
    left = list(told)

    async def look_up(host, port):
        return left.pop(0) if len(left) > 1 else left[0]

    return look_up


FORBIDDEN = ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fe80::1%eth0", "0.0.0.0",
          "::", "224.0.0.1", "ff02::1"]  # fmt: skip


@pytest.mark.parametrize("address", FORBIDDEN)
def test_link_local_multicast_and_unspecified_addresses_are_never_used(address):
    with pytest.raises(OSError, match="resolves to no address"):
        asyncio.run(SafeResolver(flipping([address])).resolve("model.example", 443))
    found = asyncio.run(SafeResolver(flipping([address, "10.0.0.7"])).resolve("model.example", 443))
    assert found == ["10.0.0.7"]


@pytest.mark.parametrize("inside", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "::ffff:127.0.0.1", "fd00::7"])
def test_a_name_that_was_public_does_not_resolve_to_a_private_address_later(inside):
    async def flip():
        names = SafeResolver(flipping(["93.184.216.34"], [inside]))
        assert (await names.resolve("model.example", 443)) == ["93.184.216.34"]
        await names.resolve("model.example", 443)

    with pytest.raises(OSError, match="resolves to no address"):
        asyncio.run(flip())
    assert asyncio.run(SafeResolver(flipping([inside])).resolve("vllm", 80))  # A local model has such a name.


def test_a_name_that_changes_to_the_metadata_address_is_not_called(gateway, served_model, upstream, monkeypatch):
    port = int(served_model[1].rsplit(":", 1)[1])
    told, look = ["127.0.0.1"], socket.getaddrinfo

    def changing(host, *given, **more):
        if host == "model.example":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (told[0], port))]
        return look(host, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    url, app = gateway(upstream=f"http://model.example:{port}/v1")
    upstream.script = [(200, {"choices": []}, [(b"connection", b"close")])]
    assert post(url, SHORT)[0] == 200
    told[0] = "169.254.169.254"
    app.state.upstream._dialer._hosts.clear()  # as after some seconds
    status, _, answer = post(url, SHORT)
    assert (status, b"cannot be reached" in answer) == (502, True)
    assert len(upstream.bodies) == 1
