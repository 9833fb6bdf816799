"""A gateway as a process of its own, and the least that a proxy can do, for proofs and measurements."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASS = """
import sys, aiohttp
from aiohttp import web
async def forward(request):
    body = await request.read()
    headers = {"content-type": "application/json"}
    async with request.app["s"].post(sys.argv[1] + request.path, data=body, headers=headers) as got:
        return web.Response(body=await got.read(), status=got.status, content_type="application/json")
async def start(app):
    app["s"] = aiohttp.ClientSession(auto_decompress=False)
    yield
    await app["s"].close()
app = web.Application(client_max_size=1 << 30)
app.cleanup_ctx.append(start)
app.router.add_post("/{path:.*}", forward)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[2]), print=None, access_log=None)
"""
"""The least that a proxy can do."""


@contextmanager
def gateway(upstream: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run `brim gateway` before a server, and yield its address and its process."""
    run = [sys.executable, "-m", "brim", "gateway", "--upstream", f"{upstream}/v1", "--port", "0", "--json", *options]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(run, cwd=folder, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"].removesuffix("/v1"), process.pid
        finally:
            process.terminate()


def memory(pid: int, field: str = "VmRSS") -> float:
    """Return the memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":  # `gateway_process.py UPSTREAM PORT` is that proxy.
    exec(PASS)
