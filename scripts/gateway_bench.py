"""Measures the gateway and other proxies in one run: `python scripts/gateway_bench.py [SECONDS] [ROUNDS]`.

    direct     the model alone
    bare       the least that a proxy can do: aiohttp before it
    brim       `brim gateway`, which counts each request and finds that it fits
    litellm    LiteLLM's proxy with one model, one worker, no database, no key

All of them have the same model behind them, which answers at once, the same body, and the same clients. They take
turns, so that what else the machine does falls on all alike. Needs the environment that `make bench-gateway` builds;
what is not there is left out.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import aiohttp

from gateway_process import PASS, gateway
from model_server import answering, completion, running, say
from services import free_port

ROOT = Path(__file__).resolve().parent.parent
LITELLM = ROOT / ".venv-bench-gateway/bin/litellm"
BESIDE = (1, 16, 64)
"""Clients at once."""


async def fixed(_: Any, send: Any) -> None:
    """Be a model that answers at once."""
    await say(send, 200, completion("chat", {"model": "gpt-4o"}, 9))


@contextmanager
def process(run: list[str], **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program as long as the block lasts."""
    quiet = subprocess.DEVNULL
    made = subprocess.Popen(
        run, env={**os.environ, **environ}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, text=True
    )
    try:
        yield made
    finally:
        made.terminate()
        made.wait(20)
        for end in (made.stdin, made.stdout):
            if end is not None:
                end.close()


@contextmanager
def litellm(upstream: str, folder: str) -> Iterator[str]:
    """Run LiteLLM's proxy before a model."""
    port, settings = free_port(), Path(folder) / "litellm.yaml"
    told = {"model": "openai/gpt-4o", "api_base": f"{upstream}/v1", "api_key": "none"}
    settings.write_text(json.dumps({"model_list": [{"model_name": "gpt-4o", "litellm_params": told}]}))
    run = [str(LITELLM), "--config", str(settings), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    log = subprocess.DEVNULL
    environ = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "HOME": folder}
    environ["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"  # Nobody checks keys here.
    made = subprocess.Popen([*run, "--telemetry", "False"], env=environ, stdout=log, stderr=log, cwd=folder)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        made.terminate()
        made.wait(30)


async def answers(url: str, body: bytes, wait: float) -> bool:
    """Return whether a server answers a request before some seconds have gone."""
    until = time.monotonic() + wait
    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        while time.monotonic() < until:
            try:
                async with session.post(f"{url}/v1/chat/completions", data=body) as answer:
                    if answer.status == 200:
                        return True
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.3)
    return False


async def load(url: str, body: bytes, seconds: float, beside: int) -> list[float]:
    """Return the milliseconds of every request of some clients at once."""
    times: list[float] = []
    until = time.perf_counter() + seconds

    async def client(session: aiohttp.ClientSession) -> None:
        while (begun := time.perf_counter()) < until:
            async with session.post(f"{url}/v1/chat/completions", data=body) as answer:
                await answer.read()
                assert answer.status == 200, answer.status
            times.append((time.perf_counter() - begun) * 1000)

    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        await asyncio.gather(*(client(session) for _ in range(beside)))
    return times


def measured(places: dict[str, str], body: bytes, seconds: float, rounds: int) -> dict[str, dict[str, float]]:
    """Measure each place in turn, alone and with many clients, and return its numbers: medians of the rounds."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in places}
    for name, place in places.items():
        asyncio.run(load(place, body, seconds / 2, BESIDE[1]))  # Nobody is measured cold.
        print(f"  {name} is up", flush=True)
    for turn in range(rounds):
        for name in list(places)[turn % len(places) :] + list(places)[: turn % len(places)]:
            numbers = {}
            for beside in BESIDE:
                took = sorted(asyncio.run(load(places[name], body, seconds, beside)))
                numbers[f"requests_per_second_{beside}"] = len(took) / seconds
                numbers[f"p50_ms_{beside}"] = took[len(took) // 2]
                numbers[f"p99_ms_{beside}"] = took[int(len(took) * 0.99)]
            for key, value in numbers.items():
                found[name].setdefault(key, []).append(value)
    return {name: {key: statistics.median(each) for key, each in told.items()} for name, told in found.items()}


def main() -> int:
    """Measure, print and write; return 1 where brim is slower than it may be beside LiteLLM or the bare proxy."""
    if sys.argv[1:2] == ["serve"]:
        with running(answering(fixed)) as url:
            print(url, flush=True)
            sys.stdin.read()
        return 0
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    said = [{"role": ("user", "assistant")[i % 2], "content": f"{i} hello there " * 20} for i in range(20)]
    body = json.dumps({"model": "gpt-4o", "messages": said}).encode()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        model = stack.enter_context(process([sys.executable, __file__, "serve"]))
        assert model.stdout is not None
        upstream = model.stdout.readline().strip()
        port = free_port()
        stack.enter_context(process([sys.executable, "-c", PASS, upstream, str(port)]))
        url, _ = stack.enter_context(gateway(upstream, "--window", "100000"))
        places = {"direct": upstream, "bare": f"http://127.0.0.1:{port}", "brim": url}
        if LITELLM.exists():
            places["litellm"] = stack.enter_context(litellm(upstream, folder))
        for name, place in list(places.items()):
            if not asyncio.run(answers(place, body, 90)):
                print(f"{name} does not answer, and is left out")
                del places[name]
        found = measured(places, body, seconds, rounds)
    return told(found, len(body), seconds, rounds)


def told(found: dict[str, dict[str, float]], size: int, seconds: float, rounds: int) -> int:
    """Print the numbers and write them down; return 1 where they are not good enough."""
    print(f"{size:,} bytes, {rounds} rounds of {seconds:g} s each, load {os.getloadavg()[0]:.1f}")
    for beside in BESIDE:
        print(f"{beside} clients:")
        for name, each in found.items():
            served, p50, p99 = (each[f"{key}_{beside}"] for key in ("requests_per_second", "p50_ms", "p99_ms"))
            print(f"  {name:<8} {served:>7,.0f} requests/s   p50 {p50:>8.2f} ms   p99 {p99:>8.2f} ms")
    rate = {name: each[f"requests_per_second_{BESIDE[1]}"] for name, each in found.items()}
    ratios = {"cost_of_brim_to_bare": rate["bare"] / rate["brim"]}
    for beside, key in itertools.product(BESIDE, ("p50_ms", "p99_ms")):
        ratios[f"added_{key}_{beside}"] = found["brim"][f"{key}_{beside}"] - found["direct"][f"{key}_{beside}"]
    if "litellm" in rate:
        ratios["brim_to_litellm"] = rate["brim"] / rate["litellm"]
    for name, value in ratios.items():
        print(f"{name}: {value:.2f}")
    print(f"{size:,} bytes, {rounds} rounds of {seconds:g} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    good = ratios["cost_of_brim_to_bare"] <= 2.2 and ratios.get("brim_to_litellm", 15) >= 15
    return 0 if good and ratios["added_p99_ms_16"] < 25 else 1


if __name__ == "__main__":
    raise SystemExit(main())
