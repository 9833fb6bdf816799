"""Memory is given back between requests: not while a thread works on one, and not never."""

import asyncio

import pytest

from brim.gateway import freed_memory
from brim.gateway.freed_memory import FreedMemory


class Request:
    raw = b"a" * 300_000

    def header(self, _):
        return None


class Pool:
    def __init__(self):
        self.given = []

    def submit(self, job):
        self.given.append(job)


@pytest.mark.parametrize(("jobs", "given"), [(0, True), (1, False)], ids=["idle", "at work"])
def test_memory_is_given_back_when_no_thread_works(jobs, given, monkeypatch):
    monkeypatch.setattr(freed_memory, "_PAUSE", 0.001)
    monkeypatch.setattr(freed_memory, "_MOST_PAUSES", 1_000_000)

    async def waited():
        freed = FreedMemory(pool := Pool())
        freed.jobs = jobs
        freed.after(Request())
        freed.after(Request())
        await asyncio.sleep(0.03)
        assert len(pool.given) == given
        freed.jobs = 0
        await asyncio.sleep(0.03)
        assert len(pool.given) == 1

    asyncio.run(waited())


def test_a_gateway_that_always_works_gives_memory_back_too(monkeypatch):
    monkeypatch.setattr(freed_memory, "_PAUSE", 0.001)

    async def waited():
        freed = FreedMemory(pool := Pool())
        freed.jobs = 1
        freed.after(Request())
        await asyncio.sleep(0.1)
        assert len(pool.given) == 1

    asyncio.run(waited())
