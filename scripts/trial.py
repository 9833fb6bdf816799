"""Tries brim as a new user would: from its wheel, in an empty environment outside of the checkout. `make try` runs it.

    python scripts/trial.py                          the core, on this Python and another one, and the studio
    python scripts/trial.py --extras gateway,mcp     these extras, each in an environment of its own

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
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

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
_REQUEST = {"model": "gpt-4", "messages": [{"role": "user", "content": "word " * 9_000}]}
_LOG = [
    {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Look."}},
    {"type": "assistant", "sessionId": "s", "message": {"id": "m", "role": "assistant", "content": "I look."}},
]
_IMPORTS = {
    "open": "import splintr, tokenizers",
    "otel": "import brim.observe.otel",
    "gateway": "import brim.gateway.http.server",
    "openai": "import brim, openai; assert brim.wrap(openai.OpenAI(api_key='x')).brim is not None",
    "anthropic": "import brim, anthropic; assert brim.wrap(anthropic.Anthropic(api_key='x')).brim is not None",
    "mcp": "import brim.integrations.mcp",
    "postgres": "import brim.store.postgres",
    "embeddings": "import wordllama",
    "google-genai": "import brim; from google.genai import Client; assert brim.wrap(Client(api_key='x')).brim",
    "bedrock": "import brim, boto3; c = boto3.client('bedrock-runtime', 'eu-west-1', aws_access_key_id='x',"
    " aws_secret_access_key='x'); assert brim.wrap(c).brim is not None",
    "litellm": "from brim.integrations.litellm import BrimHook; BrimHook(window=4_000)",
    "langchain": "from brim.integrations.langchain import BrimMiddleware; BrimMiddleware(window=4_000)",
    "openai-agents": "from brim.integrations.openai_agents import BrimProvider; BrimProvider(4_000)",
    "pydantic-ai": "from brim.integrations.pydantic_ai import Brim; Brim(window=4_000)",
    "agent-framework": "from brim.integrations.agent_framework import BrimCompaction; BrimCompaction(window=4_000)",
    "llama-index": "from brim.integrations.llama_index import BrimLLM; BrimLLM",
    "google-adk": "from brim.integrations.google_adk import BrimPlugin; BrimPlugin(window=4_000)",
    "strands": "from brim.integrations.strands import BrimConversationManager; BrimConversationManager(window=4_000)",
    "smolagents": "from brim.integrations.smolagents import fit_steps",
}
"""What is run to see that an extra works: every extra that a user installs has its line, but for the studio."""


@dataclass
class Environment:
    """An empty environment with the wheel in it, and a folder to work in."""

    folder: Path
    python: str

    def install(self, what: str) -> None:
        """Create the environment and install a wheel with its extras."""
        subprocess.run([self.python, "-m", "venv", str(self.folder / "env")], check=True)
        subprocess.run([str(self.folder / "env/bin/python"), *_PIP, what], check=True)
        (self.folder / "work").mkdir()

    def run(self, *command: str, code: int = 0) -> str:
        """Run a program in its folder, and return what it printed."""
        bin_folder = self.folder / "env/bin"
        env = {"PATH": str(bin_folder), "HOME": str(self.folder), "LANG": "C.UTF-8"}
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
        return done.stdout

    def attempt(self, name: str, step: Callable[[], str | None]) -> bool:
        """Try one thing, print its outcome and the time that it took, and return whether it worked."""
        before = _cpu()
        try:
            outcome, worked = step() or "ok", True
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
            outcome, worked = f"FAILED: {error}", False
        print(f"{'ok  ' if worked else 'FAIL'} {_cpu() - before:7.2f} s  {name}: {outcome}", flush=True)
        return worked


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def steps(env: Environment) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """Yield what a new user does with the core, by name."""
    yield "fit sections, print the receipt", lambda: env.run("python", "-c", _FIT).splitlines()[0]
    yield "brim --version", lambda: ", ".join(env.run("brim", "--version").splitlines())
    yield "brim --help is not cut off", lambda: _whole(env)
    yield "brim demo, and what comes next", lambda: env.run("brim", "demo").splitlines()[-1]
    yield "brim status --line", lambda: env.run("brim", "status", "--line").strip()
    yield "brim check: a request over its window", lambda: _check(env)
    yield "brim audit: a session log of Claude Code, as wrap would do", lambda: _audit(env)
    yield "brim doctor", lambda: env.run("brim", "doctor").splitlines()[-1]


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
    (env.folder / "work/session.jsonl").write_text("".join(json.dumps(line) + "\n" for line in _LOG))
    told = json.loads(env.run("brim", "audit", "session.jsonl", "--json", "--model", "gpt-5"))
    assert told["plan"]["policies"][0]["name"] == "wrap"
    return f"{told['recorded']['requests']} request read, policy {told['plan']['policies'][0]['name']}"


def _studio(env: Environment) -> str:
    """Start the studio on its demo, and return what its first page is."""
    command = [str(env.folder / "env/bin/brim"), "studio", "--demo", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=env.folder / "work", stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            bare, _, token = json.loads(process.stdout.readline())["address"].partition("?token=")
            found = {}
            for name in ("", "studio.js", "api/sessions"):
                request = Request(bare + name, headers={"Authorization": f"Bearer {token}"})
                try:
                    with urlopen(request, timeout=30) as answer:
                        found[name] = answer.read().decode()
                except HTTPError as error:
                    found[name] = ""
                    error.close()
        finally:
            process.terminate()
    kinds = {each["kind"] for each in json.loads(found["api/sessions"])["sessions"]}
    assert kinds == {"session", "loop"}, f"it does not serve its demo: {kinds}"
    if "make studio" in found[""]:
        return "it has no page, and says how to build it"
    assert "/studio.js" in found[""], "it does not serve its page"
    assert len(found["studio.js"]) > 50_000, "it does not serve its screens"
    return "it serves the page"


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
    parser.add_argument("--extras", default="studio", help="extras, each in an environment of its own: names, or all")
    parser.add_argument("--pythons", type=int, default=2, help="how many Python versions to try")
    options = parser.parse_args(arguments)
    extras = ["studio", *_IMPORTS] if options.extras == "all" else [each for each in options.extras.split(",") if each]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    started, worked = time.monotonic(), True
    with tempfile.TemporaryDirectory(prefix="brim-try.") as scratch:
        wheel = str(build(Path(scratch)))
        for at, python in enumerate(pythons()[: options.pythons]):
            env = Environment(Path(scratch) / f"core-{at}", python)
            env.folder.mkdir()
            print(f"\n{subprocess.check_output([python, '--version'], text=True).strip()}, the core")
            worked &= env.attempt("pip install, from wheels only", lambda env=env: env.install(wheel))  # type: ignore[misc]
            for name, step in steps(env):
                worked &= env.attempt(name, step)
        for extra in extras:
            env = Environment(Path(scratch) / extra, sys.executable)
            env.folder.mkdir()
            print(f"\nbrim[{extra}]", flush=True)
            worked &= env.attempt("pip install", lambda env=env, extra=extra: env.install(f"{wheel}[{extra}]"))  # type: ignore[misc]
            if extra == "studio":
                worked &= env.attempt("works", lambda env=env: _studio(env))  # type: ignore[misc]
            else:
                worked &= env.attempt("works", lambda env=env, extra=extra: env.run("python", "-c", _IMPORTS[extra]))  # type: ignore[misc]
            shutil.rmtree(env.folder)  # All of them at once would take many gigabytes.
    print(f"\n{'all of it worked' if worked else 'something failed'}, {time.monotonic() - started:.0f} s in all")
    return 0 if worked else 1


if __name__ == "__main__":
    raise SystemExit(main())
