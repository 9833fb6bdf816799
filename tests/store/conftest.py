"""Every kind of store behind one fixture, so that one suite tells whether they are the same."""

import itertools

import pytest

from brim.store import open_store
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


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def kind(request):
    return request.param


@pytest.fixture
def url(kind, request, tmp_path):
    """The address of an empty store."""
    return request.getfixturevalue("database") if kind == "postgres" else f"sqlite:///{tmp_path}/brim.db"


def opened_at(url, clock):
    """Open a store that does not wait for the disk: what it answers is the same, and nobody pulls the plug here."""
    opened = open_store(url, clock=clock)
    if url.startswith("sqlite:"):
        opened._rows("PRAGMA synchronous = OFF")
    return opened


@pytest.fixture
def store(url, clock):
    with opened_at(url, clock) as opened:
        yield opened


@pytest.fixture
def second(url, clock, store):
    """Another connection to the same store, as another process would have."""
    with opened_at(url, clock) as opened:
        yield opened
