"""Proves the audit at scale: `python scripts/audit_proof.py [PART...] [--size MB] [--memory-size MB]`.

    speed      the same audit with one process and with two: at least 0.9 of a linear speed-up
    memory     1 GB of traces within 1 GB of memory, summed over all processes of the audit

The traces are made up here, line by line: logs of requests to OpenAI and Anthropic whose conversations are interleaved,
sessions of Claude Code, and OpenTelemetry spans.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PARTS = ("speed", "memory")
LEAST = 0.9
"""Of a linear speed-up."""
MOST = 1_000_000_000
"""Bytes of memory, of all processes together."""
POLICIES = ("window", "lean:budget=8000", "held:budget=8000,stable=true")
_MIB = 1024 * 1024
_OPEN = 24
"""Conversations that go on at a time."""
_WORDS = re.findall(
    r"\w+",
    "the prompt holds what the model has to know and no more than the window takes so each part is counted once and"
    " kept or left out by its worth error stack trace file line value result test passed failed module import function"
    " returned customer order flight booking changed refund policy please thanks details weather report summary",
)


class Writer:
    """Makes up conversations, and writes them in one format until a file has its size."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._texts = [self._text(self._dice.randint(8, 420)) for _ in range(1500)]
        self._made = 0

    def _text(self, words: int) -> str:
        return " ".join(self._dice.choices(_WORDS, k=words))

    def text(self) -> str:
        """Return a text that has not been before."""
        self._made += 1
        return f"{self._made} {self._dice.choice(self._texts)}"

    def write(self, path: Path, size: int, form: str) -> None:
        """Write a file of about this many bytes."""
        made = {"openai": self._openai, "anthropic": self._anthropic, "claude": self._claude, "otel": self._otel}[form]
        left = size
        with path.open("w", encoding="utf-8") as file:
            talks: list[Iterator[Any]] = []
            while left > 0:
                while len(talks) < (1 if form == "claude" else _OPEN):
                    talks.append(made())
                talk = self._dice.choice(talks)
                line = next(talk, None)
                if line is None:
                    talks.remove(talk)
                    continue
                left -= file.write(json.dumps(line) + "\n")

    def _openai(self) -> Iterator[Any]:
        """Yield the requests of one conversation, as a gateway logs them."""
        messages: list[Any] = [{"role": "system", "content": self.text()}, {"role": "user", "content": self.text()}]
        for _ in range(self._dice.randint(4, 30)):
            usage = {"prompt_tokens": sum(len(str(each)) for each in messages) // 5}
            yield {"request": {"model": "gpt-4o-mini", "messages": messages}, "response": {"usage": usage}}
            named = f"call_{self._made}"
            call = {"name": "look", "arguments": json.dumps({"query": self.text()[:60]})}
            messages = [
                *messages,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": named, "type": "function", "function": call}],
                },
                {"role": "tool", "tool_call_id": named, "content": self.text()},
            ]

    def _anthropic(self) -> Iterator[Any]:
        """Yield the bodies of one conversation."""
        messages: list[Any] = [{"role": "user", "content": self.text()}]
        system = self.text()
        for _ in range(self._dice.randint(4, 24)):
            yield {"model": "claude-sonnet-4-5", "max_tokens": 2048, "system": system, "messages": messages}
            named = f"toolu_{self._made}"
            use = {"type": "tool_use", "id": named, "name": "look", "input": {"query": self.text()[:60]}}
            result = {"type": "tool_result", "tool_use_id": named, "content": self.text()}
            said = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
            messages = [*messages, *said]

    def _claude(self) -> Iterator[Any]:
        """Yield the lines of one session."""
        session = f"session-{self._dice.getrandbits(64):x}"
        yield {"type": "user", "sessionId": session, "message": {"role": "user", "content": self.text()}}
        for turn in range(self._dice.randint(20, 160)):
            named = f"toolu_{self._made}"
            use = {"type": "tool_use", "id": named, "name": "Bash", "input": {"command": self.text()[:80]}}
            answer = {
                "id": f"msg_{session}_{turn}",
                "model": "claude-sonnet-4-5",
                "role": "assistant",
                "content": [use],
            }
            yield {"type": "assistant", "sessionId": session, "message": answer}
            result = {"type": "tool_result", "tool_use_id": named, "content": self.text()}
            yield {"type": "user", "sessionId": session, "message": {"role": "user", "content": [result]}}

    def _otel(self) -> Iterator[Any]:
        """Yield one export of spans for each request of a conversation."""
        messages: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": self.text()}]}]
        named = f"{self._dice.getrandbits(64):x}"
        for turn in range(self._dice.randint(4, 24)):
            told = {
                "gen_ai.request.model": "gpt-4o-mini",
                "gen_ai.conversation.id": named,
                "gen_ai.input.messages": json.dumps(messages),
            }
            attributes = [{"key": key, "value": {"stringValue": value}} for key, value in told.items()]
            span = {"traceId": named, "startTimeUnixNano": str(turn), "name": "chat", "attributes": attributes}
            yield {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
            call = {"type": "tool_call", "id": f"c{turn}", "name": "look", "arguments": {"query": self.text()[:60]}}
            answer = {"type": "tool_call_response", "id": f"c{turn}", "response": self.text()}
            said = [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answer]}]
            messages = [*messages, *said]


def made(folder: Path, size: int) -> list[Path]:
    """Make traces of about this many MiB, in four formats."""
    shares = (("openai", 0.4), ("anthropic", 0.25), ("claude", 0.2), ("otel", 0.15))
    paths = []
    for seed, (form, share) in enumerate(shares):
        path = folder / f"{form}.jsonl"
        Writer(seed).write(path, int(size * _MIB * share), form)
        paths.append(path)
    return paths


def command(paths: list[Path], *more: str) -> list[str]:
    """Return the command line of an audit."""
    policies = [word for policy in POLICIES for word in ("--policy", policy)]
    return [sys.executable, "-m", "brim", "audit", *map(str, paths), *policies, "--json", *more]


def speed(paths: list[Path], rounds: int) -> bool:
    """Measure one process against two, in turns, and print the best of each."""
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(rounds):
        for workers in (1, 2):
            began = time.perf_counter()
            subprocess.run(command(paths, "--workers", str(workers)), check=True, stdout=subprocess.DEVNULL)
            best[workers] = min(best[workers], time.perf_counter() - began)
    ratio = best[1] / best[2]
    size = sum(path.stat().st_size for path in paths) / _MIB
    told = f"1 process {best[1]:.1f} s, 2 processes {best[2]:.1f} s: {ratio:.2f} times, {ratio / 2:.2f} of linear"
    print(f"speed    {size:.0f} MiB, {size / best[1]:.1f} MiB/s with one: {told} (at least {LEAST})", flush=True)
    return ratio / 2 >= LEAST


def memory(paths: list[Path]) -> bool:
    """Sample the memory of an audit and of all processes below it."""
    began = time.perf_counter()
    with subprocess.Popen(command(paths), stdout=subprocess.PIPE) as process:
        most = count = 0
        while process.poll() is None:
            most, count = max(most, resident(process.pid)), count + 1
            time.sleep(0.1)
        told = json.loads(process.stdout.read()) if process.stdout is not None else {}
    took = time.perf_counter() - began
    size = sum(path.stat().st_size for path in paths)
    print(
        f"memory   {size:,} bytes, {told['recorded']['requests']:,} requests in {took:.0f} s:"
        f" {most:,} bytes at the most in {count:,} samples (at most {MOST:,})",
        flush=True,
    )
    return most <= MOST and process.returncode in (0, 1)


def resident(root: int) -> int:
    """Return the bytes in memory of a process and of all below it."""
    below: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            below.setdefault(int(stat[1]), []).append(int(name))
            sizes[int(name)] = int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
    total, waiting = 0, [root]
    while waiting:
        each = waiting.pop()
        total += sizes.get(each, 0)
        waiting += below.get(each, [])
    return total


def main() -> int:
    """Run the parts that are asked for; return 1 if one of them does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all without any")
    parser.add_argument("--size", type=int, default=256, help="MiB of traces for speed")
    parser.add_argument("--memory-size", type=int, default=1024, help="MiB of traces for memory")
    parser.add_argument("--rounds", type=int, default=2, help="how often each speed is measured")
    asked = parser.parse_args()
    parts = asked.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    held = []
    with tempfile.TemporaryDirectory(prefix="brim-proof.") as name:
        folder = Path(name)
        paths = made(folder, asked.size) if "speed" in parts else []
        if "speed" in parts:
            held.append(speed(paths, asked.rounds))
        for path in paths:
            path.unlink()
        if "memory" in parts:
            held.append(memory(made(folder, asked.memory_size)))
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
