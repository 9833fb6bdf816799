"""What the gateway costs by the size of a request, in CPU time of its process."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from bench.growth import talk
from bench.growth.case import Case, Points

_ROOT = Path(__file__).parents[2]
_BENCH = _ROOT / "scripts" / "gateway_bench.py"
_ROOMY = 4_000_000
"""A window in which every request fits."""
_NARROW = 4_000
"""A window in which none of 300 turns does."""
_WARM, _ROUNDS = 3, 3


@contextmanager
def _serving(run: list[str]) -> Iterator[subprocess.Popen[str]]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("BRIM_")}  # No setting of the user.
    made = subprocess.Popen(run, cwd=_ROOT, env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield made
    finally:
        made.terminate()
        made.wait(20)


@contextmanager
def _before_a_model(command: Callable[[str, int], list[str]]) -> Iterator[tuple[int, int]]:
    """Run a server before a model that answers at once; yield its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with _serving([sys.executable, str(_BENCH), "serve"]) as model:
        assert model.stdout
        with _serving([sys.executable, *command(model.stdout.readline().strip(), port)]) as made:
            _wait(port)
            yield made.pid, port


def gateway(window: int) -> AbstractContextManager[tuple[int, int]]:
    """Run a gateway; yield its process and its port."""
    options = ["--window", str(window), "--meter", talk.METER, "--quiet"]
    return _before_a_model(
        lambda url, port: ["-m", "brim", "gateway", "--upstream", f"{url}/v1", "--port", str(port), *options]
    )


def bare() -> AbstractContextManager[tuple[int, int]]:
    """Run the least that a proxy can do; yield its process and its port."""
    return _before_a_model(lambda url, port: [str(_ROOT / "scripts" / "gateway_process.py"), url, str(port)])


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


def short_body(turns: int) -> bytes:
    """Return the request of a conversation of so many short turns: what grows most is the number of its messages."""
    messages = [{"role": "user", "content": "Mend the build."}]
    for each in range(turns):
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
                best = min(best, _spent_on(process, port, bodies))
            yield size, 1e3 * best


def _by_turns(sizes: Sequence[int], window: int) -> Points:
    """Yield the cost of a request above that of the least that a proxy can do, which has to read and send it too."""
    for size in sizes:
        grown = [short_body(250), short_body(size // 2), *(short_body(size + each) for each in range(_WARM))]
        rounds = [[short_body(size + _WARM + 10 * turn + each) for each in range(10)] for turn in range(_ROUNDS)]
        costs = []
        for server in (gateway(window), bare()):
            with server as (process, port):
                _requests(port, grown)
                costs.append(min(_spent_on(process, port, bodies) for bodies in rounds))
        yield size, 1e3 * (costs[0] - costs[1])


def _spent_on(process: int, port: int, bodies: Sequence[bytes]) -> float:
    before = spent(process)
    _requests(port, bodies)
    time.sleep(0.1)
    return (spent(process) - before) / len(bodies)


def _turns(sizes: Sequence[int]) -> Points:
    return _by_turns(sizes, _ROOMY)


def _turns_cut(sizes: Sequence[int]) -> Points:
    return _by_turns(sizes, _NARROW)


def _fits(sizes: Sequence[int]) -> Points:
    return _cost(sizes, None)


def _new(sizes: Sequence[int]) -> Points:
    return _cost(sizes, None, new=True)


def _cut(sizes: Sequence[int]) -> Points:
    return _cost(sizes, 125)  # About half of its tokens.


CASES = [
    Case(name="gateway, short turns", of="turns", sizes=(300, 1_000, 5_000, 20_000), measure=_turns, exponent=0.15,
         about="CPU for one request that fits, above that of a proxy that only reads and sends it"),
    Case(name="gateway, short turns that are cut", of="turns", sizes=(300, 1_000, 5_000, 20_000), measure=_turns_cut,
         exponent=0.15, about="the same if nearly all of them have to go"),
    Case(name="gateway, 200 kB that fit", of="kB", sizes=(6, 60, 200), measure=_fits, most=4,
         about="CPU of the gateway's process for one request that fits, by its size"),
    Case(name="gateway, 1 MB that fits", of="kB", sizes=(6, 200, 1_000), measure=_fits, most=15, exponent=1.05,
         about="the same up to 1 MB"),
    Case(name="gateway, new conversations", of="kB", sizes=(6, 60, 200), measure=_new, exponent=1.05,
         about="the same if each request is the first of its conversation, so that all of it is counted"),
    Case(name="gateway, cut", of="kB", sizes=(6, 60, 200), measure=_cut, exponent=1.05,
         about="the same if half of it fits"),
]  # fmt: skip
