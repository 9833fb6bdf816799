"""One run of an agent program: upstream, gateway and hop are started, the program works, the log gives the figures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from scripts.agents.cache import BreakpointCache, PrefixCache
from scripts.agents.client_loop import WINDOW
from scripts.agents.gemini_api import GeminiApi
from scripts.agents.messages_api import MessagesApi
from scripts.agents.openai_api import OpenAiApi
from scripts.agents.programs import Launch, Place, Program, surroundings
from scripts.agents.script import Script
from scripts.agents.server import RequestLog, recording, serving_api
from scripts.agents.task import END
from scripts.agents.upstream import Cache, ProviderApi, Upstream

Via = Literal["direct", "gateway", "wrap"]
_TIMEOUT = 400
"""Seconds that a program has."""
_ENDS = 10
"""Seconds that a gateway has to end."""


def run(program: Program, window: int, via: Via, folder: Path) -> Figures:
    """Run a program with a window in one of the ways, with the log in a folder, and return its figures."""
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
        _work(program.launch(place), place, window, folder)
    path = folder / "agent.out"
    out = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return figures(program, via, out, upstream_log, client_log)


def api_of(program: Program, window: int, log: RequestLog) -> ProviderApi:
    """Return the upstream of a program."""
    messages = program.api == "messages"
    cache: Cache = BreakpointCache() if messages else PrefixCache()
    script = Script(program.task, "toolu_rig_" if messages else "call_rig_")
    upstream = Upstream(script=script, log=log, cache=cache, window=window)
    apis: dict[str, type[ProviderApi]] = {"messages": MessagesApi, "openai": OpenAiApi, "gemini": GeminiApi}
    return apis[program.api](upstream)


def _work(launch: Launch, place: Place, window: int, folder: Path) -> None:
    """Run the commands of a program one after the other, until one takes too long."""
    env = {**surroundings(place, launch), WINDOW: str(window)}
    until = time.monotonic() + _TIMEOUT
    with (folder / "agent.out").open("w") as out, (folder / "agent.err").open("w") as errors:
        for command in launch.commands:
            options = {"cwd": place.work, "env": env, "stdin": subprocess.PIPE, "stdout": out, "stderr": errors}
            with subprocess.Popen(command, text=True, start_new_session=True, **options) as process:  # type: ignore[call-overload]
                try:
                    process.communicate(launch.stdin, timeout=max(1.0, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    return
                finally:  # Some leave children: the group is ended.
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def running_gateway(upstream: str, folder: Path) -> Iterator[str]:
    """Run the gateway before an upstream, with its output in a folder, and yield its address.

    It is told nothing: the window is found out by the first refusal.
    """
    command = [sys.executable, "-m", "brim", "gateway", "--upstream", upstream, "--port", "0", "--json"]
    with (
        tempfile.TemporaryDirectory() as empty,
        (folder / "gateway.out").open("w") as out,
        (folder / "gateway.err").open("w") as errors,
        subprocess.Popen(command, cwd=empty, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise RuntimeError(f"the gateway did not start; what it printed is in {errors.name}")
        threading.Thread(target=_copy, args=(process.stdout, out), daemon=True).start()
        try:
            yield json.loads(first)["address"].removesuffix("/v1")
        finally:
            process.terminate()
            try:
                process.wait(_ENDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _copy(source: IO[str], target: IO[str]) -> None:
    for line in source:
        target.write(line)
        target.flush()


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What the table states of a run."""

    finished: bool
    """Whether the model was asked for its report, and the program printed it."""
    steps: int
    """The last step of the task that was asked for."""
    overflows: int
    """Overflows that the program was told."""
    illegal: list[str]
    """Why requests were refused for their form, without those that the program itself sent so."""
    compactions: int
    """Summaries that the program asked for by itself."""
    cached: float
    """The share of all prompt tokens that was read from the cache."""
    facts: str
    """The facts that the last request shows, by their letters."""
    edits: int
    kept: bool
    """Whether the user's later words and the subagent's answer, once there, are in every later request."""


def figures(program: Program, via: Via, out: str, upstream: RequestLog, client: RequestLog) -> Figures:
    """Return the figures of a run: from what the program printed, what the upstream was sent, and what came back."""
    rows = upstream.rows
    answered = [row for row in rows if row["status"] == 200]
    main = [row for row in answered if row["kind"] == "main"]
    tokens = sum(row["tokens"] for row in answered)
    steps = max((row["step"] for row in main), default=0)
    facts, edits = main[-1]["shown"] if main else ("", 0)
    sent = [body for row in client.rows if (body := client.body(row)) is not None]
    return Figures(
        finished=END in out and steps >= program.task.steps,
        steps=steps,
        overflows=sum(row["overflow"] for row in client.rows) if via != "wrap" else out.count("exceed"),
        illegal=[row["illegal"] for row in rows if "illegal" in row and upstream.body(row) not in sent],
        compactions=sum(row["kind"] == "compaction" for row in answered),
        cached=sum(row["read"] for row in answered) / tokens if tokens else 0.0,
        facts=facts,
        edits=edits,
        kept=all(_stays(letter, [row["shown"][0] for row in main]) for letter in "US"),
    )


def _stays(letter: str, shown: list[str]) -> bool:
    first = next((i for i, facts in enumerate(shown) if letter in facts), len(shown))
    return all(letter in facts for facts in shown[first:])
