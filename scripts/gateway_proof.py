"""Proves the gateway on real sockets: `python scripts/gateway_proof.py [PART...]`, or all of them.

    streams    500 streams at once, 30 % of the clients killed and 10 % of the upstreams reset: nothing leaks
    bytes      5,000 generated bodies that fit: each arrives byte for byte
    bombs      bodies made to hurt: each refused within a second, and the process stays below 300 MB
    around     5,000 ways to write a request without a key: none gets in
    elsewhere  requests and redirects that point to other hosts: none is called
    secrets    keys of twelve shapes, shown everywhere: none stands in anything that is left
    mutants    20,000 bodies and streams hit by random bytes: each is read or refused

The gateway is a process of its own; the model is a server of ours with a hard window.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import aiohttp

from gateway.attacks import KEY_SHAPES, REDIRECTS, answers, doors, gets_in, pointers
from gateway.conftest import asked, conversation, get, post
from gateway.mutants import fuzzed
from gateway.test_process import left_by, places
from gateway.watched import Canary, Leading, Watched
from gateway_process import gateway, memory
from model_server import ModelServer, running

WINDOW = 2_000
_KEY = "correct-horse-battery"
_SHORT = asked(conversation(1))


def sockets(pid: int) -> int:
    """Return how many sockets a process holds."""
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += os.readlink(entry).startswith("socket:")
        except OSError:
            continue
    return found


@contextmanager
def model(*given: float) -> Iterator[str]:
    """Run the model in a process of its own, so that it is not held up by the clients."""
    path = Path(__file__).resolve().parent.parent / "tests" / "model_server.py"
    run = [sys.executable, str(path), *map(str, given)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def _streams(url: str, upstream: str, count: int) -> tuple[dict[int, float], int]:
    """Open streams at once and kill some; return when each was killed, and how many came to their end."""
    chooser, killed, ended = random.Random(5), dict[int, float](), 0
    begun = asyncio.Event()

    async def one(number: int) -> None:
        nonlocal ended
        await asyncio.sleep(number * 0.004)
        reset, kill = number % 10 == 3, number % 10 in (0, 4, 8)
        said = [{"role": "user", "content": "Say it."}]
        body: dict[str, Any] = {"model": "gpt-4o", "stream": True, "seed": number, "messages": said}
        body |= {"user": "reset"} if reset else {}
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            response = await session.post(f"{url}/v1/chat/completions", json=body)
            await response.content.readany()
            await begun.wait()
            if kill:
                await asyncio.sleep(chooser.random() * 1.5)
                killed[number] = time.monotonic()
                response.close()
                return
            answer = await response.content.read()
            ended += answer.endswith(b"data: [DONE]\n\n") or (reset and b"broke off" in answer)

    tasks = [asyncio.create_task(one(number)) for number in range(count)]
    while _state(upstream)["open"] < count * 0.85 and not all(task.done() for task in tasks):
        await asyncio.sleep(0.1)
    begun.set()
    await asyncio.gather(*tasks)
    return killed, ended


def streams(count: int = 500) -> bool:
    """Show that streams leave nothing behind, however they end."""
    with model(WINDOW, 0.8, 12) as upstream, gateway(upstream, "--window", str(WINDOW)) as (url, pid):
        asyncio.run(_streams(url, upstream, 50))
        time.sleep(6)
        idle, before = sockets(pid), memory(pid)
        killed, ended = asyncio.run(_streams(url, upstream, count))
        deadline = time.monotonic() + 10
        while (_state(upstream)["open"] or sockets(pid) > idle) and time.monotonic() < deadline:
            time.sleep(0.05)
        after, left = memory(pid), sockets(pid)
        closed = _state(upstream)["closed"]
        delays = sorted(closed.get(str(number), when + 9) - when for number, when in killed.items())
        page = _get(url, "/metrics")
        asyncio.run(_streams(url, upstream, count))
        again = memory(pid)
    middle, slow = (delays[int(len(delays) * share)] * 1000 for share in (0.5, 0.99))
    open_streams = next(line for line in page.splitlines() if line.startswith("brim_open_streams "))
    print(
        f"streams: {count} at once, {len(killed)} killed, {ended} ended; sockets {idle} -> {left}; {open_streams}; "
        f"memory {before:.0f} -> {after:.0f} -> {again:.0f} MB; "
        f"upstream closed within {middle:.0f} ms (p50), {slow:.0f} ms (p99)"
    )
    fine = left <= idle and float(open_streams.split()[-1]) == 0 and again < after * 1.1 and slow <= 100
    return fine and ended == count - len(killed)


def _state(upstream: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_get(upstream, "/state"))
    return found


def byte_identity(count: int = 5_000) -> bool:
    """Show that what fits arrives byte for byte."""
    from hypothesis import HealthCheck, given, settings

    from gateway.bodies import bodies

    server, wrong, seen = ModelServer(100_000), 0, 0
    with running(server) as upstream, gateway(upstream, "--window", "100000") as (url, _):
        link = _link(url)

        @settings(max_examples=count, suppress_health_check=list(HealthCheck), deadline=None, database=None)
        @given(bodies())
        def check(body: bytes) -> None:
            nonlocal wrong, seen
            seen += 1
            link.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            answer = link.getresponse()
            answer.read()
            wrong += answer.status != 200 or server.bodies[-1] != body
            server.bodies.clear()

        check()
        link.close()
    print(f"bytes: {seen:,} bodies that fit, {wrong} arrived otherwise")
    return wrong == 0 and seen >= count * 0.9


def bombs() -> bool:
    """Show that bodies made to hurt are refused at once."""
    from gateway.test_guard import bombs as made

    server, slowest, worst, passed = ModelServer(WINDOW), 0.0, "", list[str]()
    with running(server) as upstream, gateway(upstream, "--window", str(WINDOW)) as (url, pid):
        for name, body, packing, expected in made(1_000_000_000):
            link = _link(url)
            headers = {"content-type": "application/json", **({"content-encoding": packing} if packing else {})}
            begun = time.perf_counter()
            try:
                link.request("POST", "/v1/chat/completions", body, headers)
                status = link.getresponse().status
            except OSError:
                status = expected[0]
            taken = time.perf_counter() - begun
            slowest, worst = max((slowest, worst), (taken, name))
            if "-v" in sys.argv:
                print(f"  {name}: {status}, {taken:.2f} s, peak {memory(pid, 'VmHWM'):.0f} MB")
            if status not in expected:
                passed.append(name)
            link.close()
        peak = memory(pid, "VmHWM")
    print(f"bombs: all refused: {not passed}; slowest {slowest:.2f} s ({worst}); peak {peak:.0f} MB")
    return not passed and slowest < 1 and peak < 300


def _link(url: str) -> http.client.HTTPConnection:
    host, _, port = url.removeprefix("http://").partition(":")
    return http.client.HTTPConnection(host, int(port), timeout=30)


def _get(url: str, path: str) -> str:
    link = _link(url)
    link.request("GET", path)
    said = link.getresponse().read().decode()
    link.close()
    return said


def around(count: int = 5_000) -> bool:
    """Show that no way to write a path, a host or a header leads around the key."""
    model, seen, found = Leading(), Counter[int](), []
    with tempfile.TemporaryDirectory() as folder, running(model) as upstream:
        Path(folder, "brim.yaml").write_text("gateway: {keys: [CLIENT_KEY], upstream_key: MODEL_KEY}\n")
        made = Watched(folder, upstream, "--window", "1000", CLIENT_KEY=_KEY, MODEL_KEY="sk-none")
        begun = time.perf_counter()
        for raw in doors(count, _KEY, made.url.removeprefix("http://")):
            told = answers(made.url, raw)
            seen.update(status for status, _ in told)
            found += [(raw, each) for each in gets_in(told)]
        taken = time.perf_counter() - begun
        reached, opened = len(model.paths), post(made.url, _SHORT, authorization=f"Bearer {_KEY}")[0]
        made.end()
    print(
        f"around: {count:,} requests without a key in {taken:.1f} s: {len(found)} got in, {reached} reached upstream; "
        f"statuses {dict(sorted(seen.items()))}; with the key {opened}"
    )
    for raw, each in found[:5]:
        print(raw, each)
    return not found and not reached and opened == 200 and seen[401] > count / 10


def elsewhere(count: int = 2_000) -> bool:
    """Show that nothing that a client or an upstream says makes the gateway call another host."""
    model, canaries, faults = Leading(), [Canary(), Canary("::1")], 0
    with tempfile.TemporaryDirectory() as folder, running(model) as upstream:
        made = Watched(folder, upstream, "--window", "1000")
        for path, headers, body in pointers(count, places(canaries), conversation(1)):
            faults += post(made.url, json.dumps(body).encode(), path, **headers)[0] >= 500
        followed = 0
        for status in REDIRECTS:
            for place in [*places(canaries), "/v1/stolen"]:
                lead = {"x_lead": place, "x_status": status}
                followed += post(made.url, _SHORT, **lead)[0] != 502
                followed += post(made.url, _SHORT, "/v1/embeddings", **lead)[0] != 502
                followed += get(made.url, "/v1/models", **lead)[0] != 502
        connected, mine = made.connected(), {("127.0.0.1", int(upstream.rsplit(":", 1)[1]))}
        called = sum(canary.called() for canary in canaries)
        made.end()
    for canary in canaries:
        canary.close()
    print(
        f"elsewhere: {count:,} requests that point elsewhere and {len(REDIRECTS) * 11 * 3} redirects: "
        f"{called} calls heard, {len(connected - mine)} other hosts connected to, {followed} redirects followed, "
        f"{faults} faults"
    )
    return connected == mine and not called and not followed and not faults and "/v1/stolen" not in model.paths


def secrets() -> bool:
    """Show that keys of twelve shapes, shown everywhere, stand in nothing that the gateway leaves or shows."""
    with tempfile.TemporaryDirectory() as folder, running(Leading()) as upstream:
        made = Watched(folder, upstream, "--window", "1000", "--store", "sqlite:///brim.db")
        sinks, names = left_by(made, KEY_SHAPES)
    found = [(key, name) for key in KEY_SHAPES for name, said in sinks.items() if key.encode() in said]
    sizes = ", ".join(f"{name} {len(said):,}" for name, said in sorted(sinks.items()))
    print(f"secrets: {len(KEY_SHAPES)} keys, {len(names)} sessions; bytes searched: {sizes}; {len(found)} hits {found}")
    return not found and len(sinks["log"]) > 10_000


def mutants(count: int = 20_000) -> bool:
    """Show that bodies and streams that were hit by random bytes are read or refused."""
    read, wrong = fuzzed(count)
    print(
        f"mutants: {count:,} bodies and streams hit by random bytes: {read:,} read, {len(wrong)} with a fault of ours"
    )
    for each in wrong[:5]:
        print(each)
    return not wrong


PARTS: dict[str, Callable[[], bool]] = {
    "streams": streams,
    "bytes": byte_identity,
    "bombs": bombs,
    "around": around,
    "elsewhere": elsewhere,
    "secrets": secrets,
    "mutants": mutants,
}


def main() -> int:
    """Run the parts that are asked for; return 1 if one does not hold."""
    failed = [name for name in [each for each in sys.argv[1:] if each != "-v"] or PARTS if not PARTS[name]()]
    print(f"does not hold: {', '.join(failed)}" if failed else "all of it holds")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
