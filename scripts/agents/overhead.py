"""CPU time of the gateway for a request of the size of Claude Code's: 24 tools, 100 kB, a conversation that grows.

Measured on the process of the gateway, sockets and parsing included, once it is warm.
"""

from __future__ import annotations

import http.client
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripts.agents.cache import BreakpointCache
from scripts.agents.gateway import running_gateway
from scripts.agents.messages_api import MessagesApi
from scripts.agents.part import part
from scripts.agents.request_log import RequestLog
from scripts.agents.script import Script
from scripts.agents.server import serving_api
from scripts.agents.task import Task
from scripts.agents.upstream import Upstream

_WARM, _MEASURED = 10, 40
_TOOLS, _BYTES = 24, 100_000
_FITS, _CUT = 200_000, 36_000
"""A window for which the conversation is short, and one for which it is cut."""
_WORDS = (
    "the",
    "a",
    "file",
    "path",
    "command",
    "output",
    "tool",
    "use",
    "when",
    "you",
    "must",
    "never",
    "read",
    "search",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Overhead:
    """CPU milliseconds of the gateway for one request, on average."""

    fits: float
    """The request is passed on whole."""
    cut: float
    """The conversation was cut, and the cut is held."""
    size: int
    """Bytes of the first request that was measured."""


def overhead(folder: Path) -> Overhead:
    """Measure both cases, with the log in a folder."""
    size = len(json.dumps(next(_requests())))
    return Overhead(fits=_measured(_FITS, folder / "fits"), cut=_measured(_CUT, folder / "cut"), size=size)


def _measured(window: int, folder: Path) -> float:
    upstream = Upstream(
        script=Script(Task(), "toolu_rig_"), log=RequestLog(folder, "upstream"), cache=BreakpointCache(), window=window
    )
    with serving_api(MessagesApi(upstream)) as address, running_gateway(address, folder, window) as gateway:
        host = urlsplit(gateway.address)
        connection = http.client.HTTPConnection(host.hostname or "", host.port)
        began = 0.0
        for number, request in enumerate(_requests()):
            if number == _WARM:
                began = _cpu(gateway.pid)
            if number == _WARM + _MEASURED:
                break
            connection.request("POST", "/v1/messages", json.dumps(request), {"content-type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"request {number} was answered with {answer.status}: {said[:300].decode()}")
        used = _cpu(gateway.pid) - began
        connection.close()
    return used / _MEASURED * 1000


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _requests() -> Iterator[dict[str, Any]]:
    """Yield the requests of a conversation, the first of about 100 kB; each adds a call and its result."""
    dice = random.Random(0)
    tools = [_tool(dice, number) for number in range(_TOOLS)]
    system = [{"type": "text", "text": _prose(dice, 12_000), "cache_control": {"type": "ephemeral"}}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": _prose(dice, 400)}]}]
    request = {
        "model": "claude-sonnet-4-5-20250929",
        "max_tokens": 8_000,
        "stream": True,
        "system": system,
        "tools": tools,
    }
    step = 0
    while True:
        step += 1
        call = {"type": "tool_use", "id": f"toolu_{step}", "name": "tool_0", "input": {"field_0": f"cat part-{step}"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": part(step, 2_000)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        if len(json.dumps({**request, "messages": messages})) >= _BYTES:
            marked = {**result, "cache_control": {"type": "ephemeral"}}
            yield {**request, "messages": [*messages[:-1], {"role": "user", "content": [marked]}]}


def _tool(dice: random.Random, number: int) -> dict[str, Any]:
    fields = {f"field_{i}": {"type": "string", "description": _prose(dice, 120)} for i in range(4)}
    schema = {"type": "object", "properties": fields, "required": ["field_0"], "additionalProperties": False}
    return {"name": f"tool_{number}", "description": _prose(dice, 1_600), "input_schema": schema}


def _prose(dice: random.Random, chars: int) -> str:
    words = dice.choices(_WORDS, k=chars // 5)
    return " ".join(f"{word}." if i % 12 == 11 else word for i, word in enumerate(words))
