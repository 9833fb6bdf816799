"""The gateway beside other proxies, in one run.

    direct     the model alone
    bare       the least that a proxy can do: aiohttp before it
    brim       `brim gateway`, which counts each request and finds that it fits
    litellm    LiteLLM's proxy with one model, one worker, no database, no key

All of them have the same model behind them, which answers at once, the same body, and the same clients. They take
turns, so that what else the machine does falls on all alike. LiteLLM is in the environment `.venv-litellm`, which
`make bench BENCH=gateway` builds; without it, it is left out.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

import bench.suite  # noqa: F401 - it makes the servers of the tests found
from bench.outcome import Cell, Gate, Outcome, Setting, Table

_ROOT = Path(__file__).parents[1]
_LITELLM = _ROOT / ".venv-litellm" / "bin" / "litellm"
_CLIENTS = (1, 16, 64)
"""Clients at once."""
_SECONDS, _ROUNDS = 4.0, 5


@contextmanager
def _process(*command: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program as long as the block lasts, without settings of the user."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("BRIM_")}
    pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=_ROOT, env=own | environ, stdin=pipe, stdout=pipe, stderr=quiet, text=True
    ) as made:
        try:
            yield made
        finally:
            made.terminate()


@contextmanager
def _own(*words: str) -> Iterator[str]:
    """Run one of the servers of this module, and yield its address."""
    with _process(sys.executable, "-m", "bench.gateway", *words) as made:
        assert made.stdout
        yield made.stdout.readline().strip()


def model() -> AbstractContextManager[str]:
    """Run a model that answers at once, as long as the block lasts, and yield its address."""
    return _own("model")


@contextmanager
def gateway(upstream: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run `brim gateway` before a server, and yield its address and its process."""
    command = (sys.executable, "-m", "brim", "gateway", "--upstream", f"{upstream}/v1", "--port", "0", "--json")
    with _process(*command, *options) as made:
        assert made.stdout
        yield json.loads(made.stdout.readline())["address"].removesuffix("/v1"), made.pid


@contextmanager
def _litellm(upstream: str) -> Iterator[str]:
    """Run LiteLLM's proxy before a model."""
    told = {"model": "openai/gpt-4o", "api_base": f"{upstream}/v1", "api_key": "none"}
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port, settings = free.getsockname()[1], Path(folder) / "litellm.yaml"
        free.close()
        settings.write_text(json.dumps({"model_list": [{"model_name": "gpt-4o", "litellm_params": told}]}))
        command = [str(_LITELLM), "--config", str(settings), "--host", "127.0.0.1", "--port", str(port)]
        environ = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "HOME": folder}
        environ["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # Nobody checks keys here.
        with _process(*command, "--num_workers", "1", "--telemetry", "False", **environ):
            yield f"http://127.0.0.1:{port}"


def spent(process: int) -> float:
    """Return the CPU seconds of a process so far, of all its threads."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def post(url: str, bodies: Sequence[bytes]) -> None:
    """Send requests one after the other."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)
    for each in bodies:
        connection.request("POST", "/v1/chat/completions", each, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    connection.close()


def _answers(url: str, body: bytes, wait: float = 90) -> bool:
    """Return whether a server answers a request before some seconds have gone."""
    until = time.monotonic() + wait
    while time.monotonic() < until:
        try:
            post(url, [body])
        except (OSError, http.client.HTTPException, AssertionError):
            time.sleep(0.3)
        else:
            return True
    return False


async def _load(url: str, body: bytes, seconds: float, clients: int) -> list[float]:
    """Return the milliseconds of every request of some clients at once, in order."""
    times: list[float] = []
    until = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        while (begun := time.perf_counter()) < until:
            async with session.post(f"{url}/v1/chat/completions", data=body) as answer:
                await answer.read()
                assert answer.status == 200, answer.status
            times.append((time.perf_counter() - begun) * 1000)

    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))
    return sorted(times)


def run(setting: Setting) -> Outcome:
    seconds, rounds = (_SECONDS / 10, 1) if setting.quick else (_SECONDS, _ROUNDS)
    said = [{"role": ("user", "assistant")[i % 2], "content": f"{i} hello there " * 20} for i in range(20)]
    body = json.dumps({"model": "gpt-4o", "messages": said}).encode()
    with ExitStack() as stack:
        upstream = stack.enter_context(model())
        places = {"direct": upstream, "bare": stack.enter_context(_own("bare", upstream))}
        places["brim"], _ = stack.enter_context(gateway(upstream, "--window", "100000"))
        if _LITELLM.exists():
            places["litellm"] = stack.enter_context(_litellm(upstream))
        places = {name: place for name, place in places.items() if _answers(place, body)}
        found = _measured(places, body, seconds, rounds)
    rows: list[list[Cell]] = [
        [name, *(value for clients in _CLIENTS for value in each[clients])] for name, each in found.items()
    ]
    columns = [f"{what}, {clients} clients" for clients in _CLIENTS for what in ("requests/s", "p50 ms", "p99 ms")]
    note = f"{len(body):,} bytes, {rounds} rounds of {seconds:g} s, the median of the rounds."
    rate = {name: each[16][0] for name, each in found.items()}
    gates = [
        Gate(name="gateway: bare by brim, 16 clients", value=rate["bare"] / rate["brim"], limit=2.2, unit="x"),
        Gate(name="gateway: added p99, 16 clients", value=found["brim"][16][2] - found["direct"][16][2], limit=25,
             unit="ms"),
    ]  # fmt: skip
    if "litellm" in rate:
        ratio = rate["brim"] / rate["litellm"]
        gates.append(Gate(name="gateway: brim by LiteLLM, 16 clients", value=ratio, limit=15, unit="x", at_least=True))
    table = Table(title="A request that fits, by proxy", columns=["proxy", *columns], rows=rows, notes=[note])
    return Outcome(name="gateway", tables=[table], gates=gates)


def _measured(
    places: dict[str, str], body: bytes, seconds: float, rounds: int
) -> dict[str, dict[int, tuple[float, ...]]]:
    """Measure each place in turn, and return its requests a second, p50 and p99 by the number of clients."""
    found: dict[str, dict[int, list[tuple[float, ...]]]] = {name: {n: [] for n in _CLIENTS} for name in places}
    for place in places.values():
        asyncio.run(_load(place, body, seconds / 2, 16))  # Nobody is measured cold.
    for _ in range(rounds):
        for name, place in places.items():
            for clients in _CLIENTS:
                took = asyncio.run(_load(place, body, seconds, clients))
                figures = (len(took) / seconds, took[len(took) // 2], took[int(len(took) * 0.99)])
                found[name][clients].append(figures)
    return {
        name: {n: tuple(map(statistics.median, zip(*told, strict=True))) for n, told in each.items()}
        for name, each in found.items()
    }


def _bare(upstream: str) -> web.Application:
    """Return the least that a proxy can do."""
    app, key = web.Application(client_max_size=1 << 30), web.AppKey("session", aiohttp.ClientSession)

    async def forward(request: web.Request) -> web.Response:
        headers, body = {"content-type": "application/json"}, await request.read()
        async with app[key].post(upstream + request.path, data=body, headers=headers) as got:
            return web.Response(body=await got.read(), status=got.status, content_type="application/json")

    async def start(app: web.Application) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(auto_decompress=False) as app[key]:
            yield

    app.cleanup_ctx.append(start)
    app.router.add_post("/{path:.*}", forward)
    return app


def main(kind: str, upstream: str = "") -> None:
    """Serve the model or the bare proxy, and print the address."""
    if kind == "model":
        from model_server import answering, completion, running, say

        async def fixed(_: Any, send: Any) -> None:
            await say(send, 200, completion("chat", {"model": "gpt-4o"}, 9))

        with running(answering(fixed)) as url:
            print(url, flush=True)
            sys.stdin.read()
        return
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        web.run_app(_bare(upstream), sock=bound, print=None, access_log=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
