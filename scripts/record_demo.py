"""Records the gateway's conversations of the studio's demo: `python scripts/record_demo.py`.

A real gateway runs in front of a test server with a hard window, and three clients use it: a bot with streamed
answers, an agent with tools, and a report writer. The recording is what the gateway wrote to its store. The server has
no model; it counts with the real meter.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import brim
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.studio.demo import turn

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "src" / "brim" / "studio" / "demo_gateway.json"
WINDOW = 6_000


def recorded() -> dict[str, Any]:
    """Return what a gateway writes while three clients use it."""
    sys.path.insert(0, str(ROOT / "tests"))
    from model_server import ModelServer, running

    model = ModelServer(window=WINDOW)
    with tempfile.TemporaryDirectory() as folder, running(model) as upstream:
        url = f"sqlite:///{folder}/brim.db"
        default = RequestRule(policy="fit", window=WINDOW)
        settings = GatewaySettings(upstream=f"{upstream}/v1", default=default, store=url, port=8_088)
        app = GatewayApp(settings)
        with running(app, server.config(app, settings)) as address:
            _converse(address, model)
        with brim.open_store(url) as store:
            sessions = {
                row.id: [entry.body for entry in store.entries(row.id, kinds=["prompt"])] for row in store.sessions()
            }
    return dict(sorted(sessions.items()))


def _converse(address: str, model: Any) -> None:
    chat: list[Any] = []
    tools: list[Any] = []
    report: list[Any] = []
    for i in range(22):
        question, call, result, answer = turn(i)
        chat += [question, {"role": "assistant", "content": answer["content"] + " " + result["content"][:900]}]
        _post(address, "/v1/chat/completions", "support-bot", {"model": "gpt-5-mini", "stream": True, "messages": chat})
        arguments = json.loads(call["tool_calls"][0]["function"]["arguments"])
        used = {"type": "tool_use", "id": call["tool_calls"][0]["id"], "name": "read_log", "input": arguments}
        output = {"type": "tool_result", "tool_use_id": used["id"], "content": result["content"][:12_000]}
        tools += [{"role": "user", "content": question["content"]}, {"role": "assistant", "content": [used]}]
        tools += [{"role": "user", "content": [output]}]
        body = {"model": "claude-sonnet-4-5", "max_tokens": 400, "messages": tools}
        _post(address, "/v1/messages", "code-agent", body)
        tools.append({"role": "assistant", "content": answer["content"]})
        if i % 3 == 0:
            report += [
                question,
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": "Go on."},
            ]
            _post(address, "/v1/responses", "report-writer", {"model": "gpt-5", "input": report})
    model.script.append((503, {"error": {"message": "overloaded", "type": "server_error", "code": None}}))
    _post(address, "/v1/responses", "report-writer", {"model": "gpt-5", "input": report})
    _post(address, "/v1/chat/completions", "support-bot", {"model": "gpt-5-mini", "messages": chat[:1]}, budget="many")


def _post(address: str, path: str, name: str, body: dict[str, Any], budget: str = "") -> None:
    headers = {"content-type": "application/json", "x-brim-session-id": name}
    headers |= {"x-brim-budget": budget} if budget else {}
    try:
        with urlopen(Request(address + path, json.dumps(body).encode(), headers), timeout=30) as answer:
            answer.read()
    except HTTPError as error:  # Two of the requests are refused.
        error.close()


if __name__ == "__main__":
    PATH.write_text(json.dumps(recorded(), separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{PATH.relative_to(ROOT)}: {PATH.stat().st_size:,} bytes")
