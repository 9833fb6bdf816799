"""The agent programs: how each is started and pointed at a base URL.

Each one gets a home of its own and an empty working directory, and no network but loopback.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scripts.agents.task import Task

ROOT = Path(__file__).resolve().parents[2]
_NODE = ROOT / "scripts/agents/node_modules/.bin"
_PYTHON = ROOT / ".venv-agents/bin"
_AIDER = ROOT / ".venv-aider/bin"
_KEY = "sk-none"
MODEL = "rig-model"
"""A model that no catalogue knows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a program runs, and what it is pointed at."""

    base: str
    """The address without `/v1`."""
    home: Path
    task: Task
    model: str
    asked: int | None
    wrapped: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """The commands of a run, one after the other, and their surroundings."""

    commands: list[list[str]]
    env: dict[str, str] = field(default_factory=dict)
    stdin: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """An agent program."""

    name: str
    api: Literal["messages", "openai"]
    launch: Callable[[Place], Launch]
    needs: Path = field(default=Path(sys.executable))
    """The file without which it is not installed."""


def surroundings(place: Place, launch: Launch) -> dict[str, str]:
    """Return the environment of a program: nothing of the user's, and a closed port as the way out."""
    closed = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place.home),
        "XDG_CONFIG_HOME": str(place.home / ".config"),
        "XDG_DATA_HOME": str(place.home / ".local/share"),
        "XDG_CACHE_HOME": str(place.home / ".cache"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "1",
        "NO_COLOR": "1",
        "HTTPS_PROXY": closed,
        "https_proxy": closed,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        **launch.env,
    }


def _claude(place: Place) -> Launch:
    quiet = (
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )
    env = {"ANTHROPIC_BASE_URL": place.base, "ANTHROPIC_API_KEY": _KEY, "IS_SANDBOX": "1", **dict.fromkeys(quiet, "1")}
    if place.asked is not None:
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(place.asked)
    options = ["--output-format", "json", "--dangerously-skip-permissions", "--model", place.model]
    return Launch(commands=[[str(_NODE / "claude"), "-p", place.task.prompt, *options]], env=env)


def _codex(place: Place, settings: str) -> Launch:
    home = place.home / ".codex"
    home.mkdir()
    general = f'model = "{place.model}"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
    (home / "config.toml").write_text(general + settings)
    command = [str(_NODE / "codex"), "exec", "--skip-git-repo-check", "--json", place.task.prompt]
    return Launch(commands=[command], env={"CODEX_HOME": str(home), "OPENAI_API_KEY": _KEY, "RIG_KEY": _KEY})


def _codex_own(place: Place) -> Launch:
    provider = f'name = "rig"\nbase_url = "{place.base}/v1"\nenv_key = "RIG_KEY"\nwire_api = "responses"\n'
    return _codex(place, f'model_provider = "rig"\n[model_providers.rig]\n{provider}')


def _codex_builtin(place: Place) -> Launch:
    return _codex(place, f'openai_base_url = "{place.base}/v1"\n')


def _opencode(place: Place) -> Launch:
    options = {"baseURL": f"{place.base}/v1", "apiKey": _KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "rig", "options": options, "models": {place.model: {}}}
    config = place.home / "opencode.json"
    config.write_text(json.dumps({"provider": {"rig": provider}, "autoupdate": False, "share": "disabled"}))
    command = [str(_NODE / "opencode"), "run", "--format", "json", "--model", f"rig/{place.model}", place.task.prompt]
    return Launch(commands=[command], env={"OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1"})


def _qwen(place: Place) -> Launch:
    env = {"OPENAI_BASE_URL": f"{place.base}/v1", "OPENAI_API_KEY": _KEY, "OPENAI_MODEL": place.model}
    return Launch(commands=[[str(_NODE / "qwen"), "--auth-type", "openai", "-p", place.task.prompt, "--yolo"]], env=env)


def _pi(place: Place) -> Launch:
    provider = {
        "baseUrl": f"{place.base}/v1",
        "api": "openai-completions",
        "apiKey": _KEY,
        "models": [{"id": place.model}],
    }
    folder = place.home / ".pi/agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"rig": provider}}))
    command = [str(_NODE / "pi"), "-p", "--provider", "rig", "--model", place.model, place.task.prompt]
    return Launch(commands=[command])


def _mini(place: Place) -> Launch:
    env = {"OPENAI_API_BASE": f"{place.base}/v1", "OPENAI_API_KEY": _KEY, "MSWEA_CONFIGURED": "true"}
    command = [
        str(_PYTHON / "mini"),
        "-m",
        f"openai/{place.model}",
        "-t",
        place.task.prompt,
        "-y",
        "--exit-immediately",
    ]
    return Launch(commands=[command], env={**env, "MSWEA_COST_TRACKING": "ignore_errors"})


def _aider(place: Place) -> Launch:
    off = ["git", "check-update", "show-model-warnings", "show-release-notes", "fancy-input", "detect-urls", "pretty"]
    command = [str(_AIDER / "aider"), "--model", f"openai/{place.model}", "--yes-always", "--edit-format", "ask"]
    command += ["--map-tokens", "0", "--analytics-disable", *(f"--no-{name}" for name in off)]
    turns = "".join(place.task.turn(step) + "\n" for step in range(1, place.task.steps + 1))
    return Launch(commands=[command], env={"OPENAI_API_BASE": f"{place.base}/v1", "OPENAI_API_KEY": _KEY}, stdin=turns)


def _llm(place: Place) -> Launch:
    folder = place.home / "llm"
    folder.mkdir()
    model = {"model_id": place.model, "model_name": place.model, "api_base": f"{place.base}/v1"}
    (folder / "extra-openai-models.yaml").write_text(json.dumps([model]))
    first = [str(_PYTHON / "llm"), "-m", place.model, "--key", _KEY]
    commands = [
        [*first, *(["-c"] if step > 1 else []), place.task.turn(step)] for step in range(1, place.task.steps + 1)
    ]
    return Launch(commands=commands, env={"LLM_USER_PATH": str(folder)})


def _client(name: str) -> Callable[[Place], Launch]:
    """Return the launcher of our own agent loop with a provider's client, plain or wrapped."""

    def launch(place: Place) -> Launch:
        command = [sys.executable, "-m", "scripts.agents.client_loop", name, place.base, place.model, place.task.prompt]
        return Launch(commands=[[*command, "wrapped" if place.wrapped else "plain"]], env={"PYTHONPATH": str(ROOT)})

    return launch


PROGRAMS = {
    program.name: program
    for program in (
        Program(name="claude", api="messages", launch=_claude, needs=_NODE / "claude"),
        Program(name="codex", api="openai", launch=_codex_own, needs=_NODE / "codex"),
        Program(name="codex-builtin", api="openai", launch=_codex_builtin, needs=_NODE / "codex"),
        Program(name="opencode", api="openai", launch=_opencode, needs=_NODE / "opencode"),
        Program(name="qwen", api="openai", launch=_qwen, needs=_NODE / "qwen"),
        Program(name="pi", api="openai", launch=_pi, needs=_NODE / "pi"),
        Program(name="mini", api="openai", launch=_mini, needs=_PYTHON / "mini"),
        Program(name="aider", api="openai", launch=_aider, needs=_AIDER / "aider"),
        Program(name="llm", api="openai", launch=_llm, needs=_PYTHON / "llm"),
        Program(name="anthropic-client", api="messages", launch=_client("anthropic")),
        Program(name="openai-client", api="openai", launch=_client("chat")),
        Program(name="responses-client", api="openai", launch=_client("responses")),
    )
}
