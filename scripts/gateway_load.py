"""Parts of the gateway's proof that put load on it: two workers beside one, and small requests beside large ones."""

from __future__ import annotations

import http.client
import json
import re
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from gateway_process import gateway
from model_server import completion

_SECONDS = 6.0
_ROUNDS = 5
_CLIENTS = 32
_WARM = 5
"""Requests of a large conversation before the time is taken."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def _messages(count: int, length: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": f"{i} hello there " * length} for i in range(count)]


def _body(messages: list[dict[str, str]]) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode()


_SMALL = _body(_messages(20, 20))


def _complete(data: bytes) -> bool:
    """Return whether bytes are a whole answer."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if not end or length is None or len(body) < int(length[1]):
        return False
    assert head.startswith(b"HTTP/1.1 200"), head
    return True


def _load(url: str, clients: int, seconds: float) -> list[float]:
    """Return the milliseconds of each small request of some clients, each of which asks again once it is answered.

    They are plain sockets: the less the clients take of the cores, the more is left for what is measured.
    """
    host, _, port = url.removeprefix("http://").rpartition(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
    asked = f"{head}content-length: {len(_SMALL)}\r\n\r\n".encode() + _SMALL
    times, begun, came = [], dict[socket.socket, float](), dict[socket.socket, bytes]()
    until = time.perf_counter() + seconds

    def ask(link: socket.socket) -> None:
        begun[link], came[link] = time.perf_counter(), b""
        link.sendall(asked)

    with ExitStack() as open_, selectors.DefaultSelector() as waiting:
        for _ in range(clients):
            link = open_.enter_context(socket.create_connection((host, int(port))))
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(link, selectors.EVENT_READ, link)
            ask(link)
        while begun:
            for key, _ in waiting.select():
                link = key.data
                came[link] += link.recv(65_536)
                if _complete(came[link]):
                    now = time.perf_counter()
                    times.append((now - begun.pop(link)) * 1000)
                    if now < until:
                        ask(link)
    return times


def _spent(pid: int) -> float:
    """Return the CPU seconds of a process and its threads so far."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _children(pid: int) -> list[int]:
    return [int(each) for task in Path(f"/proc/{pid}/task").glob("*/children") for each in task.read_text().split()]


def _rate(upstream: str, count: int) -> float:
    """Print how many requests some workers serve; return that by the second of CPU of the busiest."""
    clients = _CLIENTS * count
    with gateway(upstream, "--window", "100000", "--workers", str(count)) as (url, pid):
        _load(url, clients, 1)
        each = _children(pid) if count > 1 else [pid]
        before = {one: _spent(one) for one in each}
        served = len(_load(url, clients, _SECONDS))
        spent = [_spent(one) - before[one] for one in each]
    rate, shares = served / max(spent), ", ".join(f"{one / sum(spent):.0%}" for one in spent)
    print(
        f"workers: {count}: {served / _SECONDS:,.0f} requests/s here; {rate:,.0f} a second of CPU of the busiest; "
        f"their shares {shares}"
    )
    return rate


def _by_one(upstream: str) -> float:
    one = _rate(upstream, 1)
    return _rate(upstream, 2) / one


def workers() -> bool:
    """Print how many requests one worker and two would serve, each with a core of its own.

    The clients and the model take cores too, so what counts is the CPU of the worker that has most to do. They disturb
    two workers more than one, now more and now less, so the median of some rounds counts.
    """
    with _process("answer") as upstream:
        ratios = sorted(_by_one(upstream) for _ in range(_ROUNDS))
    told = ", ".join(f"{one:.2f}" for one in ratios)
    print(f"workers: two serve {told} times as many as one, each with a core of its own")
    return ratios[len(ratios) // 2] >= 1.8


def _growing(number: int) -> Callable[[], bytes]:
    """Return what makes the next body of a large conversation, cheaply: the client has to leave the cores to others."""
    body, more = (
        _body([{"role": "user", "content": f"Task {number}."}, *_messages(1_000, 60)])[:-2],
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


def _p99(name: str, url: str, clients: int) -> float:
    times = sorted(_load(url, clients, _SECONDS))
    found = times[int(len(times) * 0.99)]
    print(f"beside: {name}: {len(times):,} small requests, p50 {times[len(times) // 2]:.2f} ms, p99 {found:.2f} ms")
    return found


def beside() -> bool:
    """Print how long small requests take alone, and beside two clients whose conversations of 1 MB grow.

    Two cores are shared with the model and the clients, so these are as cheap as can be, and the same is measured with
    the large requests at the model itself: what is left then is the machine. That is nearly all for a single client,
    who has a core of its own when it is alone; so several count.
    """
    ratios = {}
    with _process("answer") as upstream, gateway(upstream, "--window", "2000000") as (url, _):
        _load(url, 1, 2)
        for clients in (1, 4, 8):
            found = {}
            for name, place in (("alone", ""), ("large ones at the model", upstream), ("large ones", url)):
                with _process("ask", place, "2") if place else nullcontext():
                    found[name] = _p99(f"{clients} clients, {name}", url, clients)
            ratios[clients] = found["large ones"] / found["alone"]
            machine = found["large ones at the model"] / found["alone"]
            print(
                f"beside: {clients} clients: p99 is {ratios[clients]:.1f} times that alone ({machine:.1f} by machine)"
            )
    return max(ratios[4], ratios[8]) <= 3


PARTS: dict[str, Callable[[], bool]] = {"workers": workers, "beside": beside}

if __name__ == "__main__":  # What `_process` runs.
    _answer() if sys.argv[1] == "answer" else _ask(*sys.argv[2:])
