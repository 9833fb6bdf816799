"""One run of an agent program: upstream, gateway and hop are started, the program works, the log is kept."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scripts.agents.cache import BreakpointCache, PrefixCache
from scripts.agents.client_loop import WINDOW
from scripts.agents.gateway import running_gateway
from scripts.agents.gemini_api import GeminiApi
from scripts.agents.hop import recording
from scripts.agents.messages_api import MessagesApi
from scripts.agents.openai_api import OpenAiApi
from scripts.agents.programs import Launch, Place, Program, surroundings
from scripts.agents.request_log import RequestLog
from scripts.agents.script import Script
from scripts.agents.server import Api, serving_api
from scripts.agents.upstream import Cache, Upstream

Via = Literal["direct", "gateway", "wrap"]
_TIMEOUT = 400
"""Seconds that a program has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What a run left."""

    program: Program
    via: Via
    upstream: RequestLog
    """What the upstream was sent."""
    client: RequestLog
    """What the client was answered."""
    out: str
    errors: str
    ended: str
    """How the program ended: `0`, another code, or `timeout`."""
    seconds: float


def run(program: Program, window: int, via: Via, folder: Path) -> Run:
    """Run a program with a window in one of the ways, with the log in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    upstream_log, client_log = RequestLog(folder, "upstream"), RequestLog(folder, "client")
    with ExitStack() as stack:
        address = stack.enter_context(serving_api(api_of(program, window, upstream_log)))
        if via == "gateway":
            address = stack.enter_context(running_gateway(address, folder))
        address = stack.enter_context(recording(address, client_log))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        place = Place(base=address, home=home, task=program.task, model=program.model, wrapped=via == "wrap")
        program.task.create(place.work)
        began = time.monotonic()
        ended = _work(program.launch(place), place, window, folder)
        seconds = time.monotonic() - began
    return Run(
        program=program,
        via=via,
        upstream=upstream_log,
        client=client_log,
        out=_text(folder / "agent.out"),
        errors=_text(folder / "agent.err"),
        ended=ended,
        seconds=seconds,
    )


def _text(path: Path) -> str:
    """Return the text of a file, or nothing if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def api_of(program: Program, window: int, log: RequestLog) -> Api:
    """Return the upstream of a program."""
    messages = program.api == "messages"
    cache: Cache = BreakpointCache() if messages else PrefixCache()
    script = Script(program.task, "toolu_rig_" if messages else "call_rig_")
    upstream = Upstream(script=script, log=log, cache=cache, window=window)
    apis: dict[str, Callable[[Upstream], Api]] = {"messages": MessagesApi, "openai": OpenAiApi, "gemini": GeminiApi}
    return apis[program.api](upstream)


def _work(launch: Launch, place: Place, window: int, folder: Path) -> str:
    """Run the commands of a program one after the other, until one takes too long."""
    env = {**surroundings(place, launch), WINDOW: str(window)}
    until = time.monotonic() + _TIMEOUT
    ended = "0"
    with (folder / "agent.out").open("w") as out, (folder / "agent.err").open("w") as errors:
        for command in launch.commands:
            options = {"cwd": place.work, "env": env, "stdin": subprocess.PIPE, "stdout": out, "stderr": errors}
            with subprocess.Popen(command, text=True, start_new_session=True, **options) as process:  # type: ignore[call-overload]
                ended = _wait(process, launch, until)
            if ended == "timeout":
                break
    return ended


def _wait(process: subprocess.Popen[str], launch: Launch, until: float) -> str:
    """Wait for a program; its group is ended with it, since some leave children."""
    try:
        process.communicate(launch.stdin, timeout=max(1.0, until - time.monotonic()))
        return str(process.returncode)
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
