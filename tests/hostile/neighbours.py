"""Two tenants of one gateway over HTTP, one of whom teaches everything that can be taught, as wrongly as it can.

The model server answers Ada as her request says, so whatever she wants to be read stands in its answers. Bob's answers
depend on his own requests alone. So all that it receives from Bob has to be what it receives when he is alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import ssl
from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest import mock

from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from gateway.conftest import get, post
from model_server import PATHS, completion, read, running, say

KEYS = {
    "NEIGHBOUR_ADA": "gateway-key-of-ada-7f31",
    "NEIGHBOUR_BOB": "gateway-key-of-bob-90c2",
    "NEIGHBOUR_MODEL": "model-55aa-key",
}
SETUPS: dict[str, dict[str, Any]] = {
    "keys of the gateway": {"keys": ("NEIGHBOUR_ADA", "NEIGHBOUR_BOB"), "upstream_key": "NEIGHBOUR_MODEL"},
    "keys that are passed on": {},
}
MODELS = ("mystery-1", "claude-sonnet-4-5", "gpt-4o", "local-model")
WINDOW = 3_000
"""Tokens that the server takes, by its own rough count, which no meter of ours shares."""
SAID = (
    "This model's maximum context length is {n} tokens. However, your messages resulted in {m} tokens.",
    "'max_tokens' is too large: {m}. This model's maximum context length is {n} tokens and your request has {m} input tokens",
    "prompt is too long: {m} tokens > {n} maximum",
    "input length and `max_tokens` exceed context limit: {m} + 20 > {n}, decrease input length or `max_tokens`",
    "The input token count ({m}) exceeds the maximum number of tokens allowed ({n}).",
    "request ({m} tokens) exceeds the available context size ({n} tokens), try increasing it",
    "Range of input length should be [1, {n}]",
    "too long",
    "Input is too long for requested model.",
)
"""How servers say that a prompt is too long, with the numbers that a client would like to be believed."""
UNCOUNTED = (
    {"type": "document", "source": {"type": "url", "url": "https://a.example/report.pdf"}},
    {"type": "document", "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"}},
    {"type": "image", "source": {"type": "url", "url": "https://a.example/chart.png"}},
    {"type": "image_url", "image_url": {"url": "https://a.example/chart.png"}},
)
FIELDS = (
    {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
    {"previous_response_id": "resp_1"},
    {"thread": {"type": "continue", "id": "t"}},
    {"web_search_options": {"search_context_size": "high"}},
)
TRICKS = (
    *("refused", "refused by a stream", "repeated", "quoted", "fault", "usage", "uncounted", "edited", "stopped"),
    *("models", "names", "budget", "invalid key", "lists"),
)


class TaughtServer:
    """A server that answers Ada as she wants, and Bob as his request deserves."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        """The bodies of Bob's requests."""

    async def __call__(self, scope, receive, send) -> None:
        body = await read(scope, receive, send)
        if body is None:
            return
        if scope["path"] == "/v1/models":
            await say(send, *self._listed(dict(scope["headers"])))
        elif scope["path"] in PATHS:
            values = json.loads(body)
            if values["metadata"]["user_id"] == "bob":
                self.received.append(body)
                await say(send, *_deserved(PATHS[scope["path"]], values, len(body)))
            else:
                await say(send, *_wanted(PATHS[scope["path"]], values))
        else:
            await say(send, 404, {"error": {"message": "no such path"}})

    def _listed(self, headers):
        shown = (headers.get(b"authorization") or headers.get(b"x-api-key") or b"").decode()
        if "invalid" in shown:
            return 401, {"error": {"message": "invalid key"}}
        small = "ada" in shown or b"x-ada" in headers
        return 200, {"data": [{"id": "local-model", "max_model_len": 300 if small else WINDOW}]}


def _deserved(route, values, size):
    """Answer by the length of a body alone; its tokens are a third of its bytes."""
    tokens = size // 3
    if tokens > WINDOW:
        return 400, {"error": {"message": SAID[0].format(n=WINDOW, m=tokens), "code": "context_length_exceeded"}}
    return 200, completion(route, values, tokens)


def _wanted(route, values):
    """Answer as a request says."""
    told = values["metadata"]["do"]
    trick, text = told["trick"], told["text"]
    error = {"error": {"message": text, "code": "context_length_exceeded", "type": "invalid_request_error"}}
    if trick == "refused":
        return told["status"], error
    if trick == "refused by a stream":
        event = f"event: error\ndata: {json.dumps(error)}\n\n".encode()
        return 200, event, [(b"content-type", b"text/event-stream")]
    if trick == "quoted":
        return 400, {"error": {"message": f"Invalid value for 'seed': '{text}'", "type": "invalid_request_error"}}
    if trick == "fault":
        return 500, {"error": {"message": f"Error: {text}"}}
    answer = completion(route, values, told["usage"])
    if trick in ("repeated", "edited"):
        answer |= {"metadata": values["metadata"], "error": None, "instructions": text, "message": text}
    if trick == "edited":
        edits = [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": told["usage"]}]
        answer |= {"context_management": {"applied_edits": edits}}
    if trick == "stopped":
        answer |= {"stop_reason": "model_context_window_exceeded", "status": "incomplete"}
        answer |= {"incomplete_details": {"reason": "context_length_exceeded"}}
    return 200, answer


@contextlib.contextmanager
def gateway(upstream: str, setup: str, **told: Any) -> Iterator[str]:
    """Run a gateway in front of the server."""
    os.environ.update(KEYS)
    settings = GatewaySettings(
        upstream=f"{upstream}/v1",
        default=RequestRule(policy="fit", window=told.pop("window", None)),
        **SETUPS[setup],
        **told,
    )
    app = GatewayApp(settings)
    with running(app, server.config(app, settings)) as url:
        yield url


def talk(rng: random.Random, turns: int, who: str) -> list[dict[str, Any]]:
    """Return a history; both tenants begin alike."""
    said = [{"role": "user", "content": "The task: find out why the build is slow."}]
    for i in range(turns):
        said.append(
            {"role": "assistant", "content": f"Step {i}: " + "looked at the log, found nothing. " * rng.randrange(2, 9)}
        )
        said.append({"role": "user", "content": f"Go on with part {i}, {who}."})
    return said


def _ask(url: str, path: str, key: str, values: dict[str, Any], **headers: str) -> None:
    post(url, json.dumps(values).encode(), path, authorization=f"Bearer {key}", **headers)


def misbehave(url: str, key: str, rng: random.Random, path: str, model: str) -> str:
    """Let Ada teach something wrong about the model that Bob uses, and return what."""
    trick = rng.choice(TRICKS)
    small = rng.choice([40, 300, 700, 1_100])
    text = rng.choice(SAID).format(n=small, m=rng.choice([small + 20, 9_000, 200_000]))
    usage = rng.choice([1, 40, 150_000, 2_000_000])
    told = {"trick": trick, "text": text, "status": rng.choice([400, 413, 422]), "usage": usage}
    words = "input" if path == "/v1/responses" else "messages"
    said = talk(rng, rng.randrange(1, 30), rng.choice(["ada", "bob"]))
    values: dict[str, Any] = {"model": model, "max_tokens": 50, words: said}
    values |= {"metadata": {"user_id": "ada", "do": told, "message": text}, "user": rng.choice(["bob", text])}
    headers = {"x_brim_session_id": "talk", "x_ada": "1"} if rng.random() < 0.5 else {}
    if trick == "refused by a stream":
        values["stream"] = True
    elif trick == "quoted":
        values["seed"] = text
    elif trick == "uncounted":
        said[-1] = {"role": "user", "content": [{"type": "text", "text": "What does it say?"}, rng.choice(UNCOUNTED)]}
    elif trick == "edited":
        values |= rng.choice(FIELDS)
    elif trick == "names":
        for i in range(12):
            _ask(url, path, key, values | {"model": f"{model}-{i}"})
    elif trick == "budget":
        headers |= {"x_brim_budget": str(small)}
    elif trick == "invalid key":
        key = key if key in KEYS.values() else "invalid"
        headers |= {"accept": "text/html", "range": "bytes=0-9", "x_http_method_override": "DELETE"}
    elif trick == "lists":
        get(url, "/v1/models?n=300", authorization=f"Bearer {key}")
    _ask(url, path, key, values, **headers)
    return trick


def received(upstream: str, model_server: TaughtServer, seed: int, *, alone: bool, store: str | None) -> list[bytes]:
    """Return what the server receives of Bob in one run."""
    rng, other = random.Random(seed), random.Random(f"ada {seed}")
    setup, path, model = rng.choice(list(SETUPS)), rng.choice(list(PATHS)), rng.choice(MODELS)
    ada, bob = (
        (KEYS["NEIGHBOUR_ADA"], KEYS["NEIGHBOUR_BOB"])
        if SETUPS[setup]
        else (f"sk-ada-{seed}-own-key", f"sk-bob-{seed}-own-key")
    )
    told = {"window": rng.choice([None, None, 2_500]), "store": store}
    words = "input" if path == "/v1/responses" else "messages"
    said = talk(rng, 34, "bob")
    before = len(model_server.received)
    with gateway(upstream, setup, **told) as url:
        for turns in (9, 31, 69):
            if not alone:
                for _ in range(other.randrange(1, 4)):
                    misbehave(url, ada, other, path, model)
            values = {"model": model, "max_tokens": 50, words: said[:turns], "metadata": {"user_id": "bob"}}
            _ask(url, path, bob, values, x_brim_session_id="talk")
    return model_server.received[before:]


def differing(seeds: range, folder: str = "") -> list[int]:
    """Return the seeds of the pairs in which Bob's requests differ from those of a run alone."""
    made, found = TaughtServer(), []
    certificates = cache(ssl.create_default_context)  # Nobody needs them here, and each gateway would load them.
    with running(made) as upstream, mock.patch("ssl.create_default_context", certificates):
        for seed in seeds:
            stores = [f"sqlite:///{folder}/{seed}-{run}.db" if folder and seed % 4 == 0 else None for run in range(2)]
            alone = received(upstream, made, seed, alone=True, store=stores[0])
            beside = received(upstream, made, seed, alone=False, store=stores[1])
            assert len(alone) >= 3, seed
            if alone != beside:
                found.append(seed)
    return found
