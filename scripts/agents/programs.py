"""The agent programs: how each is started and pointed at a base URL, and the windows that it is tried with.

Each one gets a home of its own and the project of the task as its working directory, and no network but loopback.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scripts.agents.task import PROMPT, Task

ROOT = Path(__file__).resolve().parents[2]
_NODE = ROOT / "scripts/agents/node_modules/.bin"
_KEY = "sk-none"
_CHECKOUT = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
"""Makes our own programs find brim and each other."""
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
    wrapped: bool = False

    @property
    def work(self) -> Path:
        """The folder with the project."""
        return self.home / "work"

    def write(self, name: str, text: str) -> Path:
        """Write a file of the home, and return its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


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
    launch: Callable[[Place], Launch]
    windows: tuple[int, ...]
    needs: Path = field(default=Path(sys.executable))
    """The file without which it is not installed."""
    api: Literal["messages", "openai", "gemini"] = "openai"
    model: str = MODEL
    task: Task = field(default=Task())
    wrapped: bool = False
    """Whether brim wraps the client instead of standing between."""


def surroundings(place: Place, launch: Launch) -> dict[str, str]:
    """Return the environment of a program: nothing of the user's, and a closed port as the way out."""
    closed = "http://127.0.0.1:9"
    return {
        "PATH": f"{_NODE}:{os.environ['PATH']}",
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


def _python(venv: str, name: str) -> Path:
    return ROOT / f".venv-{venv}/bin/{name}"


def _claude(place: Place) -> Launch:
    quiet = (
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    )
    env = {"ANTHROPIC_BASE_URL": place.base, "ANTHROPIC_API_KEY": _KEY, "IS_SANDBOX": "1", **dict.fromkeys(quiet, "1")}
    typed = [sys.executable, "-m", "scripts.agents.claude_session", str(_NODE / "claude"), place.model]
    return Launch(commands=[typed], env={**env, **_CHECKOUT})


def _codex(place: Place) -> Launch:
    provider = f'name = "rig"\nbase_url = "{place.base}/v1"\nenv_key = "RIG_KEY"\nwire_api = "responses"\n'
    general = f'model = "{place.model}"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
    config = place.write(".codex/config.toml", f'{general}model_provider = "rig"\n[model_providers.rig]\n{provider}')
    command = [str(_NODE / "codex"), "exec", "--skip-git-repo-check", "--json", PROMPT]
    return Launch(commands=[command], env={"CODEX_HOME": str(config.parent), "RIG_KEY": _KEY})


def _opencode(place: Place) -> Launch:
    options = {"baseURL": f"{place.base}/v1", "apiKey": _KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "rig", "options": options, "models": {place.model: {}}}
    settings = {"provider": {"rig": provider}, "autoupdate": False, "share": "disabled"}
    config = place.write("opencode.json", json.dumps({**settings, "permission": {"bash": "allow", "edit": "allow"}}))
    command = [str(_NODE / "opencode"), "run", "--format", "json", "--model", f"rig/{place.model}", PROMPT]
    return Launch(commands=[command], env={"OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1"})


def _qwen(place: Place) -> Launch:
    env = {"OPENAI_BASE_URL": f"{place.base}/v1", "OPENAI_API_KEY": _KEY, "OPENAI_MODEL": place.model}
    return Launch(commands=[[str(_NODE / "qwen"), "--auth-type", "openai", "-p", PROMPT, "--yolo"]], env=env)


def _gemini(place: Place) -> Launch:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False}}
    place.write(".gemini/settings.json", json.dumps({**settings, "privacy": {"usageStatisticsEnabled": False}}))
    env = {"GOOGLE_GEMINI_BASE_URL": place.base, "GEMINI_API_KEY": _KEY, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    command = [str(_NODE / "gemini"), "-m", place.model, "-p", PROMPT, "--yolo", "--skip-trust"]
    return Launch(commands=[command], env=env)


def _copilot(place: Place) -> Launch:
    provider = {"BASE_URL": f"{place.base}/v1", "TYPE": "openai", "WIRE_API": "completions", "API_KEY": _KEY}
    env = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
    env |= {"COPILOT_MODEL": place.model, "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    command = [str(_NODE / "copilot"), "-p", PROMPT, "--allow-all-tools", "--allow-all-paths", "--no-color"]
    return Launch(commands=[command], env={**env, "COPILOT_HOME": str(place.home / ".copilot")})


def _cline(place: Place) -> Launch:
    cline = str(_NODE / "cline")
    login = [cline, "auth", "-p", "openai", "-k", _KEY, "-m", place.model, "-b", f"{place.base}/v1"]
    work = [cline, "--json", "-P", "openai", "-m", place.model, "-c", str(place.work), PROMPT]
    return Launch(commands=[login, work], env={"CLINE_TELEMETRY_DISABLED": "1"})


def _continue(place: Place) -> Launch:
    model = {"name": "rig", "provider": "openai", "model": place.model, "apiBase": f"{place.base}/v1", "apiKey": _KEY}
    limits = {"defaultCompletionOptions": {"contextLength": 200_000, "maxTokens": 4_096}}
    tools = {"roles": ["chat"], "capabilities": ["tool_use"]}
    settings = {"name": "rig", "version": "0.0.1", "schema": "v1", "models": [{**model, **tools, **limits}]}
    config = place.write(".continue/config.yaml", json.dumps(settings))
    command = [str(_NODE / "cn"), "-p", PROMPT, "--config", str(config), "--auto"]
    return Launch(commands=[command], env={"CONTINUE_TELEMETRY_ENABLED": "0"})


def _kimi(place: Place) -> Launch:
    model = {"NAME": place.model, "BASE_URL": f"{place.base}/v1", "API_KEY": _KEY, "PROVIDER_TYPE": "openai"}
    env = {f"KIMI_MODEL_{name}": value for name, value in {**model, "MAX_CONTEXT_SIZE": "200000"}.items()}
    env |= {"KIMI_CODE_HOME": str(place.home / ".kimi"), "KIMI_DISABLE_TELEMETRY": "1"}
    return Launch(commands=[[str(_NODE / "kimi"), "-p", PROMPT]], env=env)


def _vibe(place: Place) -> Launch:
    off = "".join(f"enable_{name} = false\n" for name in ("telemetry", "auto_update", "update_checks"))
    provider = f'name = "rig"\napi_base = "{place.base}/v1"\napi_key_env_var = "RIG_KEY"\napi_style = "openai"\n'
    model = f'[[models]]\nname = "{place.model}"\nprovider = "rig"\nalias = "rig"\n'
    settings = f'active_model = "rig"\n{off}[[providers]]\n{provider}backend = "generic"\n{model}'
    config = place.write(".vibe/config.toml", settings)
    env = {"VIBE_HOME": str(config.parent), "RIG_KEY": _KEY, "MISTRAL_API_KEY": _KEY}
    return Launch(commands=[[str(_python("vibe", "vibe")), "-p", PROMPT, "--yolo", "--trust"]], env=env)


def _pi(place: Place) -> Launch:
    model = {"id": place.model}
    provider = {"baseUrl": f"{place.base}/v1", "api": "openai-completions", "apiKey": _KEY, "models": [model]}
    place.write(".pi/agent/models.json", json.dumps({"providers": {"rig": provider}}))
    return Launch(commands=[[str(_NODE / "pi"), "-p", "--provider", "rig", "--model", place.model, PROMPT]])


def _mini(place: Place) -> Launch:
    env = {"OPENAI_API_BASE": f"{place.base}/v1", "OPENAI_API_KEY": _KEY, "MSWEA_CONFIGURED": "true"}
    command = [str(_python("mini", "mini")), "-m", f"openai/{place.model}", "-t", PROMPT, "-y", "--exit-immediately"]
    return Launch(commands=[command], env={**env, "MSWEA_COST_TRACKING": "ignore_errors"})


def _aider(place: Place) -> Launch:
    off = ["git", "check-update", "show-model-warnings", "show-release-notes", "fancy-input", "detect-urls", "pretty"]
    command = [str(_python("aider", "aider")), "--model", f"openai/{place.model}", "--yes-always"]
    command += ["--edit-format", "ask", "--map-tokens", "0", "--analytics-disable", *(f"--no-{name}" for name in off)]
    turns = "".join(f"{turn}\n" for turn in place.task.turns(place.work))
    return Launch(commands=[command], env={"OPENAI_API_BASE": f"{place.base}/v1", "OPENAI_API_KEY": _KEY}, stdin=turns)


def _llm(place: Place) -> Launch:
    model = {"model_id": place.model, "model_name": place.model, "api_base": f"{place.base}/v1"}
    models = place.write("llm/extra-openai-models.yaml", json.dumps([model]))
    first = [str(_python("llm", "llm")), "-m", place.model, "--key", _KEY]
    turns = place.task.turns(place.work)
    commands = [[*first, *(["-c"] if number else []), turn] for number, turn in enumerate(turns)]
    return Launch(commands=commands, env={"LLM_USER_PATH": str(models.parent)})


def _client(name: str) -> Callable[[Place], Launch]:
    """Return the launcher of our own agent loop with a provider's client, plain or wrapped."""

    def launch(place: Place) -> Launch:
        python = _python("genai", "python") if name == "gemini" else sys.executable
        command = [str(python), "-m", "scripts.agents.client_loop", name, place.base, place.model]
        return Launch(commands=[[*command, "wrapped" if place.wrapped else "plain"]], env=_CHECKOUT)

    return launch


_CLAUDE, _CODEX, _GEMINI = "claude-sonnet-4-5-20250929", "gpt-5.1-codex", "gemini-2.5-pro"
_USUAL = (40_000, 60_000)
_SMALL = (18_000, 30_000)
_TURNS = Task(steps=14, chars=6_000)

PROGRAMS = (
    Program(
        name="Claude Code",
        launch=_claude,
        windows=(36_000, 60_000, 100_000),
        needs=_NODE / "claude",
        api="messages",
        model=_CLAUDE,
    ),
    Program(name="Codex", launch=_codex, windows=(30_000, 60_000), needs=_NODE / "codex", model=_CODEX),
    Program(name="qwen-code", launch=_qwen, windows=(24_000, 48_000), needs=_NODE / "qwen"),
    Program(name="opencode", launch=_opencode, windows=(24_000, 40_000), needs=_NODE / "opencode"),
    Program(name="gemini-cli", launch=_gemini, windows=_USUAL, needs=_NODE / "gemini", api="gemini", model=_GEMINI),
    Program(name="Copilot CLI", launch=_copilot, windows=_USUAL, needs=_NODE / "copilot", model=_CODEX),
    Program(name="Cline CLI", launch=_cline, windows=_USUAL, needs=_NODE / "cline"),
    Program(name="Continue CLI", launch=_continue, windows=_USUAL, needs=_NODE / "cn"),
    Program(name="kimi-code", launch=_kimi, windows=_USUAL, needs=_NODE / "kimi"),
    Program(name="Mistral Vibe", launch=_vibe, windows=_USUAL, needs=_python("vibe", "vibe")),
    Program(name="pi", launch=_pi, windows=_USUAL, needs=_NODE / "pi"),
    Program(name="mini-swe-agent", launch=_mini, windows=_USUAL, needs=_python("mini", "mini")),
    Program(name="aider", launch=_aider, windows=(16_000, 24_000), needs=_python("aider", "aider"), task=_TURNS),
    Program(name="llm", launch=_llm, windows=(16_000, 24_000), needs=_python("llm", "llm"), task=_TURNS),
    Program(
        name="anthropic, wrapped",
        launch=_client("anthropic"),
        windows=_SMALL,
        api="messages",
        model="claude-opus-4-8",
        wrapped=True,
    ),
    Program(name="openai chat, wrapped", launch=_client("chat"), windows=_SMALL, wrapped=True),
    Program(name="openai responses, wrapped", launch=_client("responses"), windows=_SMALL, wrapped=True),
    Program(
        name="google-genai, wrapped",
        launch=_client("gemini"),
        windows=_SMALL,
        needs=_python("genai", "python"),
        api="gemini",
        model=_GEMINI,
        wrapped=True,
    ),
)
