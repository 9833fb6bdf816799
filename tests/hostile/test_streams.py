"""Streams leave nothing behind, however they end: to their end, reset by upstream, or abandoned by the client."""

import asyncio
import os
import time

import aiohttp
import pytest

from gateway.watched import Watched
from model_server import ModelServer, running

COUNT = 120


def sockets(pid):
    """Return how many sockets a process holds."""
    found = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            found += os.readlink(entry.path).startswith("socket:")
        except OSError:
            continue
    return found


async def stream(url, number):
    """Open a stream; of ten, three are abandoned and one is reset; return how it ended."""
    body = {"model": "gpt-4o", "stream": True, "seed": number, "messages": [{"role": "user", "content": "Say it."}]}
    body |= {"user": "reset"} if number % 10 == 3 else {}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/v1/chat/completions", json=body) as answer:
        await answer.content.readany()
        if number % 10 in (0, 4, 8):
            answer.close()
            return "abandoned"
        told = await answer.content.read()
    return "reset" if b"broke off" in told else "ended" if told.endswith(b"data: [DONE]\n\n") else told


async def streams(url):
    return await asyncio.gather(*(stream(url, number) for number in range(COUNT)))


@pytest.mark.hostile
def test_streams_at_once_leave_no_socket_and_no_open_stream(tmp_path):
    server = ModelServer(2_000)
    server.pause, server.pieces = 0.2, 12
    with running(server) as upstream:
        made = Watched(tmp_path, upstream, "--window", "2000")
        try:
            asyncio.run(streams(made.url))
            time.sleep(6)
            idle = sockets(made.process.pid)
            ended = asyncio.run(streams(made.url))
            until = time.monotonic() + 10
            while (server.open or sockets(made.process.pid) > idle) and time.monotonic() < until:
                time.sleep(0.05)
            assert {kind: ended.count(kind) for kind in set(ended)} == {"abandoned": 36, "reset": 12, "ended": 72}
            assert (server.open, sockets(made.process.pid) <= idle) == (0, True)
        finally:
            made.end()
