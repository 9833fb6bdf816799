"""Parts of the gateway's proof that put load on it: two workers beside one, and small requests beside large ones."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import aiohttp

from gateway_process import gateway
from model_server import completion

_SMALL = [{"role": ("user", "assistant")[i % 2], "content": f"{i} hello there " * 20} for i in range(20)]
_LARGE = [{"role": ("user", "assistant")[i % 2], "content": f"{i} hello there " * 60} for i in range(1_000)]
_SECONDS = 6.0
_CLIENTS = 32
_WARM = 5
"""Requests of a large conversation before the time is taken."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def _body(messages: list[dict[str, str]]) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


@contextmanager
def _model() -> Iterator[str]:
    """Run a model that answers at once in a process of its own, and yield its address."""
    serve = [sys.executable, str(Path(__file__).parent / "gateway_bench.py"), "serve"]
    with subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def _load(url: str, clients: list[Callable[[], bytes]], seconds: float) -> list[list[float]]:
    """Return the milliseconds of each request of each client; a client makes its next body when it asks."""
    times: list[list[float]] = [[] for _ in clients]
    until = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession, make: Callable[[], bytes], took: list[float]) -> None:
        while (begun := time.perf_counter()) < until:
            async with session.post(f"{url}/v1/chat/completions", data=make()) as answer:
                await answer.read()
                assert answer.status == 200, answer.status
            took.append((time.perf_counter() - begun) * 1000)

    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(client(session, make, took) for make, took in zip(clients, times, strict=True)))
    return times


def _spent(pid: int) -> float:
    """Return the CPU seconds of a process and its threads so far."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _children(pid: int) -> list[int]:
    return [int(each) for task in Path(f"/proc/{pid}/task").glob("*/children") for each in task.read_text().split()]


def workers() -> bool:
    """Print how many requests one worker and two would serve, each with a core of its own.

    The clients and the model take cores too, so what counts is the CPU of the worker that has most to do.
    """
    body, rates = _body(_SMALL), {}
    with _model() as upstream:
        for count in (1, 2):
            with gateway(upstream, "--window", "100000", "--workers", str(count)) as (url, pid):
                asyncio.run(_load(url, [lambda: body] * _CLIENTS, 1))
                each = _children(pid) if count > 1 else [pid]
                before = {one: _spent(one) for one in each}
                served = sum(map(len, asyncio.run(_load(url, [lambda: body] * _CLIENTS, _SECONDS))))
                spent = [_spent(one) - before[one] for one in each]
                rates[count] = served / max(spent)
                shares = ", ".join(f"{one / sum(spent):.0%}" for one in spent)
                print(
                    f"workers: {count}: {served / _SECONDS:,.0f} requests/s here; {rates[count]:,.0f} a second of CPU "
                    f"of the busiest; their shares {shares}"
                )
    print(f"workers: two serve {rates[2] / rates[1]:.2f} times as many as one, each with a core of its own")
    return rates[2] >= 1.8 * rates[1]


def _growing(number: int) -> Callable[[], bytes]:
    """Return what makes the next body of a large conversation, cheaply: the client has to leave the cores to others."""
    body, more = (
        _body([{"role": "user", "content": f"Task {number}."}, *_LARGE])[:-2],
        b', {"role": "user", "content": "Go on."}',
    )

    def grown() -> bytes:
        nonlocal body
        body += more
        return body + b"]}"

    return grown


@contextmanager
def _process(part: str, *given: str) -> Iterator[str]:
    """Run a part of this module as a process of its own, so that it holds up nobody, and yield what it says first."""
    with subprocess.Popen([sys.executable, __file__, part, *given], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _answer() -> None:
    """Be a model that answers at once and reads a long request at next to no cost, on plain sockets."""
    said = json.dumps(completion("chat", {"model": "gpt-4o"}, 9)).encode()
    told = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(said) + said

    def serve(link: socket.socket) -> None:
        with suppress(ConnectionError):
            answer(link)

    def answer(link: socket.socket) -> None:
        data, buffer = b"", bytearray(1 << 20)
        while more := link.recv(1 << 20):
            data += more
            head, end, body = data.partition(b"\r\n\r\n")
            if end and (length := _LENGTH.search(head)):
                left = int(length[1]) - len(body)
                while left > 0:
                    left -= link.recv_into(buffer, min(left, len(buffer)))
                link.sendall(told)
                data = b""

    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        print(f"http://127.0.0.1:{server.getsockname()[1]}", flush=True)
        while True:
            link, _ = server.accept()
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=[link], daemon=True).start()


def _ask(url: str, clients: str) -> None:
    """Be clients whose large conversations grow, on plain sockets."""

    def ask(number: int) -> None:
        grown, link = _growing(number), http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        for turn in count():
            link.request("POST", "/v1/chat/completions", grown(), {"content-type": "application/json"})
            answer = link.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            if turn == _WARM and number == 0:
                print("ready", flush=True)

    for number in range(int(clients)):
        threading.Thread(target=ask, args=[number]).start()


def beside() -> bool:
    """Print how long small requests take alone, and beside two clients whose conversations of 1 MB grow.

    Two cores are shared with the model and the clients, so these are as cheap as can be, and the same is measured with
    the large requests at the model itself: what is left then is the machine.
    """
    small, found = _body(_SMALL), {}
    with _process("answer") as upstream, gateway(upstream, "--window", "2000000") as (url, _):
        asyncio.run(_load(url, [lambda: small], 2))
        for name, place in (("alone", ""), ("beside large ones at the model", upstream), ("beside large ones", url)):
            with _process("ask", place, "2") if place else nullcontext():
                (times,) = asyncio.run(_load(url, [lambda: small], _SECONDS))
            times.sort()
            found[name] = times[int(len(times) * 0.99)]
            print(
                f"beside: {name}: {len(times):,} small requests, p50 {times[len(times) // 2]:.2f} ms, "
                f"p99 {found[name]:.2f} ms"
            )
    ratio = found["beside large ones"] / found["alone"]
    print(f"beside: p99 is {ratio:.1f} times that alone")
    return ratio <= 3


PARTS: dict[str, Callable[[], bool]] = {"workers": workers, "beside": beside}

if __name__ == "__main__":  # What `_process` runs.
    _answer() if sys.argv[1] == "answer" else _ask(*sys.argv[2:])
