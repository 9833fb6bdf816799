"""LiteLLM's proxy, a real process with its config.yaml, in front of a server with a hard window."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import openai

import brim
from integrations.test_litellm import ANSWER, CALLS, SYSTEM, TASK, WINDOW, Loop, well
from services import free_port

_STARTS = 240
"""Seconds within which the proxy is up; on two busy cores it takes one minute."""

CONFIG = """\
model_list:
  - model_name: ours
    litellm_params: {{model: openai/gpt-5, api_base: "{url}/v1", api_key: none}}
litellm_settings:
  callbacks: [{callback}]
  num_retries: 0
"""
KEY = "sk-" + "5f2c1e9b7a3d4086" * 2
"""The proxy starts with no weaker one."""


@contextmanager
def proxy(folder: Path, config: str):
    """Run the proxy, and yield its address."""
    (folder / "config.yaml").write_text(config)
    port, log = free_port(), folder / "proxy.log"
    command = Path(sys.executable).parent / "litellm"
    with log.open("w") as out:
        given = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
        arguments = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        started = subprocess.Popen([command, *arguments], cwd=folder, env=given, stdout=out, stderr=out)
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + _STARTS
            while True:
                try:
                    httpx2.get(f"{url}/health/liveliness", timeout=2)
                    break
                except httpx2.HTTPError:
                    assert started.poll() is None, log.read_text()[-3_000:]
                    assert time.monotonic() < until, log.read_text()[-3_000:]
                    time.sleep(0.2)
            yield url
        finally:
            started.terminate()
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


def client(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def looped(server, url):
    loop, own = Loop(server), client(url)
    return loop.run(lambda **asked: own.chat.completions.create(**{**kept(asked), "model": "ours"}))


def kept(asked):
    return {key: value for key, value in asked.items() if not key.startswith(("api_", "max_retries"))}


def test_with_brim_there_is_none(upstream, tmp_path):
    server = upstream(WINDOW, calls=CALLS)
    store = f"sqlite:///{tmp_path}/brim.db"
    (tmp_path / "brim.yaml").write_text(f"window: {{size: {WINDOW}}}\nstore: {{url: '{store}'}}\n")
    with proxy(tmp_path, CONFIG.format(url=server.url, callback="brim.integrations.litellm.hook")) as url:
        assert looped(server, url) == "Well done."
        well(server)
        streamed(server, url)
        named(url)
    with brim.open_store(store) as opened:
        rows = opened.sessions()
    assert any(row.id.endswith(".nightly") for row in rows), "the name, and whose key it was"
    told = max((row.meta["status"] for row in rows), key=lambda status: status["prompts"])
    assert told["prompts"] == CALLS + 1
    assert told["reported"] == server.sizes[CALLS]


def streamed(server, url):
    asked = {"model": "ours", "messages": long(), "max_completion_tokens": ANSWER, "stream": True}
    events = list(client(url).chat.completions.create(**asked))
    assert len(events) > 1
    assert server.sizes[-1] + ANSWER <= WINDOW


def named(url):
    client(url).chat.completions.create(
        model="ours", messages=long(), extra_headers={"x-litellm-session-id": "nightly"}
    )


def long():
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK + " really" * 5_000}]
