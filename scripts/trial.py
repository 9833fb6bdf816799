"""Tries brim as a new user would: from its wheel, in an empty environment outside of the checkout. `make try` runs it.

    python scripts/trial.py                          the core, on this Python and on others that are installed
    python scripts/trial.py --extras gateway,studio  these extras too, each in an environment of its own
    python scripts/trial.py --wheel dist/brim.whl    a wheel that was built before

The environment has no Node and no compiler on its path, and packages are installed from wheels only. Times are CPU
seconds of the process and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from build_wheel import build

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")

_FIT = """
import brim
docs = [f"Document {i}: " + "some retrieved text. " * 40 for i in range(50)]
rules = brim.Section("rules", "Be brief.", priority="required")
p = brim.fit([rules, brim.Section("docs", docs, keep="best")], budget=900, model="gpt-5")
assert p.receipt.used <= 900 and p.receipt.exact
print(p.receipt)
"""
_VALUES = """
import brim, copy, pickle
p = brim.fit([brim.Section("a", "word " * 900)], budget=100, model="gpt-5")
f = brim.fit_messages([{"role": "user", "content": "word " * 900}], budget=100, model="gpt-5")
for value in (p, p.receipt, f, brim.Window(9000), brim.meter("gpt-5"), brim.History(model="gpt-5")):
    copies = pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)
    assert isinstance(value, brim.History) or all(each == value for each in copies)
assert str(p.receipt) == p.receipt.table() and p.receipt.to_markdown().count("|") > 8
assert "<table>" in p.receipt._repr_html_()
assert dir(brim) == brim.__all__
"""
_POOL = """
import brim
from concurrent.futures import ProcessPoolExecutor
def work(budget):
    return brim.fit([brim.Section("a", "word " * 900, required=True)], budget=budget)
if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        try:
            pool.submit(work, 10).result()
        except brim.DoesNotFit as error:
            assert error.needed > 10 and error.parts["a"] == error.needed, vars(error)
        else:
            raise AssertionError
"""
_SESSION = """
import asyncio, brim
store = brim.open_store("sqlite:///brim.db")
async def talk(name):
    for i in range(30):
        options = {"create": True, "window": brim.Window(900), "meter": "chars/4"}
        session = await asyncio.to_thread(brim.Session.open, name, store=store, **options)
        session.add({"role": "user", "content": f"question {i} " * 30})
        fitted = await asyncio.to_thread(session.prompt)
        assert fitted.used <= 900
    return session.notices
async def main():
    notices = await asyncio.gather(talk("a"), talk("b"))
    assert notices[0] == brim.Session.open("a", store=store).notices != []
asyncio.run(main())
try:
    brim.Session.open("a", store=store, keep_turn=3)
except brim.InvalidValue as error:
    assert "keep_turns" in str(error)
else:
    raise AssertionError
"""
_REQUEST = {"model": "gpt-4", "messages": [{"role": "user", "content": "word " * 9_000}]}
_LOG = [
    {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-15T10:00:00Z", "cwd": "/work"},
    {"type": "message", "id": "b", "parentId": None, "timestamp": "", "message": {"role": "user", "content": "Look."}},
    {"type": "message", "id": "c", "parentId": "b", "timestamp": "", "message": {"role": "assistant", "content": []}},
]
_IMPORTS = {
    "tiktoken": "import tiktoken",
    "open": "import splintr, tokenizers",
    "otel": "import brim.observe.otel",
    "gateway": "import brim.gateway.http.server",
    "studio": "import brim.studio.server",
    "openai": "import brim, openai; assert brim.wrap(openai.OpenAI(api_key='x')).brim is not None",
    "anthropic": "import brim, anthropic; assert brim.wrap(anthropic.Anthropic(api_key='x')).brim is not None",
    "mcp": "import brim.integrations.mcp",
    "postgres": "import brim.store.postgres",
    "claude": "import brim; brim.meter('claude-sonnet-4-5').count('x')",
    "embeddings": "import wordllama",
    "google-genai": "import brim; from google.genai import Client; assert brim.wrap(Client(api_key='x')).brim",
    "bedrock": "import brim, boto3; c = boto3.client('bedrock-runtime', 'eu-west-1', aws_access_key_id='x',"
    " aws_secret_access_key='x'); assert brim.wrap(c).brim is not None",
    "litellm": "from brim.integrations.litellm import BrimHook; BrimHook(window=4_000)",
    "langchain": "from brim.integrations.langchain import BrimMiddleware; BrimMiddleware(window=4_000)",
    "openai-agents": "from brim.integrations.openai_agents import fit_input; fit_input(4_000)",
    "pydantic-ai": "from brim.integrations.pydantic_ai import Brim; Brim(window=4_000)",
    "agent-framework": "from brim.integrations.agent_framework import BrimCompaction; BrimCompaction(window=4_000)",
    "llama-index": "from brim.integrations.llama_index import BrimLLM; BrimLLM",
    "google-adk": "from brim.integrations.google_adk import BrimPlugin; BrimPlugin(window=4_000)",
    "strands": "from brim.integrations.strands import BrimConversationManager; BrimConversationManager(window=4_000)",
    "smolagents": "from brim.integrations.smolagents import fit_steps",
}
"""What is run to see that an extra works: every extra that a user installs has its line."""


@dataclass
class Environment:
    """An empty environment with the wheel in it, and a folder to work in."""

    folder: Path
    python: str
    tried: list[tuple[str, str, float]] = field(default_factory=list)

    def install(self, what: str) -> None:
        """Create the environment and install a wheel with its extras."""
        subprocess.run([self.python, "-m", "venv", str(self.folder / "env")], check=True)
        subprocess.run([str(self.folder / "env/bin/python"), *_PIP, what], check=True)
        (self.folder / "work").mkdir()

    def run(self, *command: str, code: int = 0, **variables: str) -> str:
        """Run a program in its folder, and return what it printed; with variables, its errors too."""
        bin_folder = self.folder / "env/bin"
        env = {"PATH": str(bin_folder), "HOME": str(self.folder), "LANG": "C.UTF-8", **variables}
        program = command[0] if os.path.isabs(command[0]) else str(bin_folder / command[0])
        work = self.folder / "work"
        done = subprocess.run(
            [program, *command[1:]],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != code:
            raise AssertionError(f"{' '.join(command)[:80]}: exit code {done.returncode}: {done.stderr[-400:]}")
        return done.stdout + (done.stderr if variables else "")

    def attempt(self, name: str, step: Callable[[], str | None]) -> bool:
        """Try one thing, print its outcome and the time that it took, and return whether it worked."""
        before = _cpu()
        try:
            outcome, worked = step() or "ok", True
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
            outcome, worked = f"FAILED: {error}", False
        self.tried.append((name, outcome, _cpu() - before))
        print(f"{'ok  ' if worked else 'FAIL'} {self.tried[-1][2]:7.2f} s  {name}: {outcome}", flush=True)
        return worked


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def steps(env: Environment) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """Yield what a new user does with the core, by name."""
    python = ("python", "-c")
    work = env.folder / "work"
    yield "fit sections, print the receipt", lambda: env.run(*python, _FIT).splitlines()[0]
    yield "results and errors are values", lambda: env.run(*python, _VALUES)
    (work / "pool.py").write_text(_POOL)
    yield "DoesNotFit crosses a process pool", lambda: env.run("python", "pool.py")
    yield "sessions: create, async, notices, near options", lambda: env.run(*python, _SESSION)
    yield "brim --version", lambda: ", ".join(env.run("brim", "--version").splitlines())
    yield "brim --help is not cut off", lambda: _whole(env)
    yield "brim demo, and what comes next", lambda: _last(env.run("brim", "demo"))
    yield "brim status --line", lambda: _last(env.run("brim", "status", "--line"))
    yield "brim check: a request over its window", lambda: _check(env)
    yield "brim audit: a session log of pi, as wrap would do", lambda: _audit(env)
    yield "brim doctor", lambda: env.run("brim", "doctor").splitlines()[-1]
    yield "starts of the command line", lambda: _starts(env)


def _last(printed: str) -> str:
    return printed.strip().splitlines()[-1].strip()


def _whole(env: Environment) -> str:
    lines = [
        line.rstrip() for words in ([], ["config"], ["flow"]) for line in env.run("brim", *words, "--help").splitlines()
    ]
    cut = [line for line in lines if line.endswith("...") and "[ARGS]" not in line]
    assert not cut, cut
    return f"{len(lines)} lines"


def _check(env: Environment) -> str:
    (env.folder / "work/request.json").write_text(json.dumps(_REQUEST))
    (env.folder / "work/broken.json").write_text(json.dumps(_REQUEST)[:-2])
    told = json.loads(env.run("brim", "check", "request.json", "--json", code=1))["files"][0]
    env.run("brim", "check", "broken.json", code=2)
    env.run("brim", "check", "request.json", "--model", "gpt-5")
    return f"{told['count']:,} of {told['budget']:,} tokens, exit code 1; broken JSON exit code 2"


def _audit(env: Environment) -> str:
    (env.folder / "work/pi.jsonl").write_text("".join(json.dumps(line) + "\n" for line in _LOG))
    told = json.loads(env.run("brim", "audit", "pi.jsonl", "--json", "--model", "gpt-5", "--workers", "1"))
    assert told["plan"]["policies"][0]["name"] == "wrap"
    return f"{told['recorded']['requests']} request read, policy {told['plan']['policies'][0]['name']}"


def _starts(env: Environment) -> str:
    """Return the modules that a start of the command line loads beyond what it cannot do without.

    Modules, not seconds: a busy machine changes the time of a start, and nothing else here does.
    """
    (env.folder / "work/small.md").write_text("A small file.\n")
    bare, typer, brim_ = (_modules(env, "python", "-c", code) for code in ("pass", "import typer", "import brim"))
    held = {
        "import brim": (brim_ - bare, 40),
        "brim --version beyond typer": (_modules(env, "brim", "--version") - typer, 25),
        "brim --help beyond typer": (_modules(env, "brim", "--help") - typer, 25),
        "brim status --line beyond typer": (_modules(env, "brim", "status", "--line") - typer, 210),
        "brim count beyond typer": (_modules(env, "brim", "count", "small.md") - typer, 180),
    }
    told = "; ".join(f"{name} {value} modules (at most {most})" for name, (value, most) in held.items())
    assert all(value <= most for value, most in held.values()), told
    return told


def _modules(env: Environment, *command: str) -> int:
    return env.run(*command, PYTHONPROFILEIMPORTTIME="1").count("import time:")


def pythons() -> list[str]:
    """Return the Pythons that are installed and can run, this one first."""
    found = {f"python3.{sys.version_info.minor}": sys.executable}
    for name in PYTHONS:
        path = shutil.which(name)
        if path is not None and subprocess.run([path, "-c", ""], check=False, capture_output=True).returncode == 0:
            found.setdefault(name, path)
    return list(found.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the wheel, try it on each Python and with each extra, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description="Try brim from its wheel, in empty environments.")
    parser.add_argument("--wheel", help="a wheel that was built before")
    parser.add_argument("--extras", default="", help="extras to try, each in an environment of its own: names, or all")
    parser.add_argument("--pythons", type=int, default=2, help="how many Python versions to try")
    parser.add_argument("--only", default="", help="only what has this in its name")
    options = parser.parse_args(arguments)
    extras = list(_IMPORTS) if options.extras == "all" else [each for each in options.extras.split(",") if each]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    started, worked = time.monotonic(), True
    with tempfile.TemporaryDirectory(prefix="brim-try.") as scratch:
        wheel = options.wheel or str(build(Path(scratch)))
        for at, python in enumerate(pythons()[: options.pythons]):
            env = Environment(Path(scratch) / f"core-{at}", python)
            env.folder.mkdir()
            print(f"\n{subprocess.check_output([python, '--version'], text=True).strip()}, the core")
            worked &= env.attempt("pip install, from wheels only", lambda env=env: env.install(wheel))  # type: ignore[misc]
            for name, step in steps(env):
                if options.only in name:
                    worked &= env.attempt(name, step)
        for extra in extras:
            env = Environment(Path(scratch) / extra, sys.executable)
            env.folder.mkdir()
            print(f"\nbrim[{extra}]", flush=True)
            worked &= env.attempt("pip install", lambda env=env, extra=extra: env.install(f"{wheel}[{extra}]"))  # type: ignore[misc]
            worked &= env.attempt("works", lambda env=env, extra=extra: env.run("python", "-c", _IMPORTS[extra]))  # type: ignore[misc]
            shutil.rmtree(env.folder)  # All of them at once would take many gigabytes.
    print(f"\n{'all of it worked' if worked else 'something failed'}, {time.monotonic() - started:.0f} s in all")
    return 0 if worked else 1


if __name__ == "__main__":
    raise SystemExit(main())
