"""What the gateway costs by the size of a request, in CPU time of its process."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.growth import talk
from bench.growth.case import Case, Points

_ROOT = Path(__file__).parents[2]
_ROOMY = 4_000_000
"""A window in which every request fits."""
_WARM, _ROUNDS = 3, 3


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
            _wait(port)
            yield made.pid, port


def _wait(port: int) -> None:
    """Wait until something listens on a port."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.2)


def spent(process: int) -> float:
    """Return the CPU seconds of a process so far, of all its threads."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def body(kilobytes: int, number: int, start: int = 0) -> bytes:
    """Return the request of a conversation of about so many kilobytes, so many turns later.

    Args:
        kilobytes: the size of the first request.
        number: turns that have come since.
        start: tells conversations apart.
    """
    messages = []
    size = 0
    at = 0
    while size < kilobytes * 1_000:
        messages += talk.turn(start + at)
        at += 1
        size += sum(len(json.dumps(message)) for message in messages[-talk.PER_TURN :])
    messages.append({"role": "user", "content": "And now?"})
    for each in range(number):
        messages += [{"role": "assistant", "content": f"Step {each} is done."}, {"role": "user", "content": "Go on."}]
    return json.dumps({"model": "local", "messages": messages}).encode()


def _requests(port: int, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for each in bodies:
        connection.request("POST", "/v1/chat/completions", each, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    connection.close()


def _cost(sizes: Sequence[int], window: int | None, *, new: bool = False) -> Points:
    for size in sizes:
        room = _ROOMY if window is None else max(2_000, size * window)
        with gateway(room) as (process, port):
            _requests(port, [body(size, number) for number in range(_WARM)])
            best, number = float("inf"), _WARM
            for turn in range(_ROUNDS):
                count = max(4, 200 // size)
                if new:
                    bodies = [body(size, 0, 1_000_000 * (turn * count + each + 1)) for each in range(count)]
                else:
                    bodies = [body(size, number + each) for each in range(count)]
                number += count
                before = spent(process)
                _requests(port, bodies)
                time.sleep(0.1)
                best = min(best, (spent(process) - before) / len(bodies))
            yield size, 1e3 * best


def _fits(sizes: Sequence[int]) -> Points:
    return _cost(sizes, None)


def _new(sizes: Sequence[int]) -> Points:
    return _cost(sizes, None, new=True)


def _cut(sizes: Sequence[int]) -> Points:
    return _cost(sizes, 125)  # About half of its tokens.


CASES = [
    Case(name="gateway, 200 kB that fit", of="kB", sizes=(6, 60, 200), measure=_fits, most=4,
         about="CPU of the gateway's process for one request that fits, by its size"),
    Case(name="gateway, 1 MB that fits", of="kB", sizes=(6, 200, 1_000), measure=_fits, most=15, exponent=1.05,
         about="the same up to 1 MB"),
    Case(name="gateway, new conversations", of="kB", sizes=(6, 60, 200), measure=_new, exponent=1.05,
         about="the same if each request is the first of its conversation, so that all of it is counted"),
    Case(name="gateway, cut", of="kB", sizes=(6, 60, 200), measure=_cut, exponent=1.05,
         about="the same if half of it fits"),
]  # fmt: skip
