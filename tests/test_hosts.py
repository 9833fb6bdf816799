"""Which hosts are this machine, and which names a Host header may hold."""

import socket

import pytest

from brim.errors import SourceError
from brim.hosts import Access, is_ip, is_loopback, listener, split_host


@pytest.mark.parametrize(
    ("header", "name", "port"),
    [
        ("localhost", "localhost", None),
        ("LOCALHOST:8088", "localhost", 8088),
        ("127.0.0.1:80", "127.0.0.1", 80),
        ("[::1]:8088", "::1", 8088),
        ("[::1]", "::1", None),
        ("brim.internal", "brim.internal", None),
    ],
)
def test_a_host_header_has_a_name_and_perhaps_a_port(header, name, port):
    assert split_host(header) == (name, port)


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", "a b", "::1", "127.0.0.1\t", "localhost\n"),
        *("127.0.0.1@evil", "evil#@127.0.0.1", "localhost/healthz", "localhost, evil"),
        *("localhost:", "localhost:123456", "localhost:\u0661"),
    ],
)
def test_an_invalid_host_header_has_no_name(header):
    assert split_host(header)[0] == ""


def test_only_addresses_of_this_machine_are_loopback():
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost", "LocalHost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "", "localhost.evil"))


def test_an_ip_address_is_told_from_a_name():
    assert is_ip("10.0.0.1")
    assert is_ip("fe80::1")
    assert not is_ip("2130706433")
    assert not is_ip("0x7f.1")
    assert not is_ip("")


def test_a_server_answers_to_this_machine_its_own_host_and_the_listed_names():
    own = Access("127.0.0.1", ["Brim.Internal"])
    assert all(map(own.is_named, ("127.0.0.1", "LOCALHOST:80", "[::1]:8088", "brim.internal")))
    assert not any(map(own.is_named, ("10.0.0.1", "evil.example", "")))
    assert Access("0.0.0.0").is_named("0.0.0.0")


def test_a_port_that_is_taken_is_an_error_that_names_it():
    with listener("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        with pytest.raises(SourceError, match=f"127.0.0.1:{port}.*--port 0"):
            listener("127.0.0.1", port)
    with pytest.raises(SourceError, match="cannot listen there"):
        listener("no-such-host.invalid", 1)
