"""What the gateway costs by the size of a request, in CPU time of its process."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.growth import talk
from bench.growth.case import Case, Points

_ROOT = Path(__file__).parents[2]
_ROOMY = 4_000_000
"""A window in which every request fits."""
_WARM, _ROUNDS = 3, 5


@contextmanager
def _serving(run: list[str]) -> Iterator[subprocess.Popen[str]]:
    made = subprocess.Popen(run, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield made
    finally:
        made.terminate()
        made.wait(20)


@contextmanager
def gateway(window: int, *options: str) -> Iterator[tuple[int, int]]:
    """Run a gateway before a model that answers at once; yield its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, str(_ROOT / "scripts" / "gateway_bench.py"), "serve"]
    with _serving(serve) as model:
        assert model.stdout
        url = model.stdout.readline().strip()
        command = [sys.executable, "-m", "brim", "gateway", "--upstream", f"{url}/v1", "--port", str(port)]
        command += ["--window", str(window), "--meter", talk.METER, "--quiet", *options]
        with _serving(command) as made:
            assert made.stdout
            made.stdout.readline()
            yield made.pid, port


def spent(process: int) -> float:
    """Return the CPU seconds of a process so far, of all its threads."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def body(kilobytes: int, number: int) -> bytes:
    """Return a request of about so many kilobytes; its end tells requests apart."""
    messages = []
    size = 0
    at = 0
    while size < kilobytes * 1_000:
        messages += talk.turn(at)
        at += 1
        size += sum(len(json.dumps(message)) for message in messages[-talk.PER_TURN :])
    messages.append({"role": "user", "content": f"And now number {number}?"})
    return json.dumps({"model": "local", "messages": messages}).encode()


def _requests(port: int, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for each in bodies:
        connection.request("POST", "/v1/chat/completions", each, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    connection.close()


def _cost(sizes: Sequence[int], window: int | None) -> Points:
    for size in sizes:
        room = _ROOMY if window is None else max(2_000, size * window)
        with gateway(room) as (process, port):
            _requests(port, [body(size, number) for number in range(_WARM)])
            best = float("inf")
            for turn in range(_ROUNDS):
                bodies = [body(size, 10 * turn + number) for number in range(max(4, 400 // size))]
                time.sleep(0.2)
                before = spent(process)
                _requests(port, bodies)
                time.sleep(0.1)
                best = min(best, (spent(process) - before) / len(bodies))
            yield size, 1e3 * best


def _fits(sizes: Sequence[int]) -> Points:
    return _cost(sizes, None)


def _cut(sizes: Sequence[int]) -> Points:
    return _cost(sizes, 125)  # About half of its tokens.


CASES = [
    Case(name="gateway, 200 kB that fit", of="kB", sizes=(6, 60, 200), measure=_fits, most=4,
         about="CPU of the gateway's process for one request that fits, by its size"),
    Case(name="gateway, 1 MB that fits", of="kB", sizes=(6, 200, 1_000), measure=_fits, most=15, exponent=1.05,
         about="the same up to 1 MB"),
    Case(name="gateway, cut", of="kB", sizes=(6, 200, 1_000), measure=_cut, exponent=1.05,
         about="the same if half of it fits"),
]  # fmt: skip
