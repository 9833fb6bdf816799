"""Every kind of store behind one fixture, so that one suite tells whether they are the same."""

import itertools

import pytest

from brim.store import open_store
from brim.testing import MemoryStore
from services import postgres

_numbers = itertools.count(1)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL server that runs as long as the tests do."""
    with postgres() as url:
        yield url


@pytest.fixture
def database(server):
    """The address of an empty PostgreSQL database."""
    import psycopg

    name = f"brim_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.rpartition("/")[0] + "/" + name


@pytest.fixture
def clock():
    return Clock()


_ON_DISK = ("sqlite", pytest.param("postgres", marks=pytest.mark.services))
DATABASES = pytest.mark.parametrize("kind", _ON_DISK, indirect=True)
"""For what a store in memory does not have: tables, and a life beyond its process."""


@pytest.fixture(params=["memory", *_ON_DISK])
def kind(request):
    return request.param


@pytest.fixture
def url(kind, request, tmp_path):
    """The address of an empty store, `None` for one in memory."""
    if kind == "postgres":
        return request.getfixturevalue("database")
    return f"sqlite:///{tmp_path}/brim.db" if kind == "sqlite" else None


def opened_at(url, clock):
    """Open a store that does not wait for the disk: what it answers is the same, and nobody pulls the plug here."""
    opened = open_store(url, clock=clock)
    if url.startswith("sqlite:"):
        opened._database.rows("PRAGMA synchronous = OFF")
    return opened


@pytest.fixture
def store(url, clock):
    with MemoryStore(clock) if url is None else opened_at(url, clock) as opened:
        yield opened


@pytest.fixture
def second(url, clock, store):
    """Another connection to the same store, as another process would have; in memory it is the same."""
    if url is None:
        yield store
        return
    with opened_at(url, clock) as opened:
        yield opened
