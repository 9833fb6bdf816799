"""Runs brim against a real small model on a real server, and prints what that shows.

The server refuses what is over its window. A loop of many calls through brim is refused nothing, counted by the model's
own vocabulary; a prompt that keeps its prefix is read from the server's cache; and questions about a fact of an older
turn are answered from its excerpt.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import brim

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT / "tests" / "real"
NAME = "smollm2"
FRAMING = {"per_message": 4, "per_name": 0, "reply": 3}
"""The model's template adds two marks and two line breaks to a message, and its role."""
RULES = "You are a careful clerk. You answer each question about the ledger in one short sentence."


class Served:
    """A model behind its address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.calls = 0
        self.refused = 0
        self.worst = 0
        """By how much a request was counted too low at the most."""
        self.cached: list[int] = []
        self.sizes: list[int] = []
        self.seconds: list[float] = []

    def ask(self, messages: Sequence[Mapping[str, Any]], *, most: int = 12, cache: bool = True) -> str:
        """Return what the model says; a refusal is counted and raised."""
        body = {"messages": list(messages), "max_tokens": most, "temperature": 0, "cache_prompt": cache}
        self.calls += 1
        started = time.monotonic()
        try:
            answer = self._post("/v1/chat/completions", body)
        except urllib.error.HTTPError:
            self.refused += 1
            raise
        self.seconds.append(time.monotonic() - started)
        usage = answer["usage"]
        self.cached.append(usage["prompt_tokens_details"]["cached_tokens"])
        self.sizes.append(usage["prompt_tokens"])
        self.worst = max(self.worst, usage["prompt_tokens"] - brim.meter(NAME).count_messages(messages))
        return str(answer["choices"][0]["message"]["content"]).strip() or "Noted."

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)


@contextmanager
def served(python: str, window: int) -> Iterator[Served]:
    """Serve the model with a window of so many tokens, and have brim know it by its name."""
    sys.path.insert(0, str(REAL))
    from gguf import tokenizer

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "server.log")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [python, str(REAL / "serve.py"), str(window)], stdout=subprocess.PIPE, stderr=errors, text=True
            )
        try:
            assert process.stdout is not None
            address, _, model = process.stdout.readline().strip().partition(" ")
            if not address:
                raise SystemExit(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
            vocabulary = Path(folder, "tokenizer.json")
            tokenizer(Path(model), vocabulary)
            row = {"window": window, "vocabulary": str(vocabulary), "framing": FRAMING}
            Path(folder, "brim.models.yaml").write_text(json.dumps({"models": {NAME: row}}))
            os.chdir(folder)
            yield Served(address)
        finally:
            os.chdir(ROOT)
            process.terminate()
            process.wait()


def overlong(model: Served, window: int) -> None:
    """Show that the server refuses what is over its window, and that the same history through brim is answered."""
    said = [f"Entry {i}: crate {i * 7} went to berth {i % 9} at {i % 24}:00." for i in range(window // 8)]
    messages = [{"role": "system", "content": RULES}, *({"role": "user", "content": text} for text in said)]
    try:
        model.ask(messages)
    except urllib.error.HTTPError as error:
        told = json.loads(error.read())["error"]
        print(
            f"without brim: HTTP {error.code} {told['type']}, {told['n_prompt_tokens']:,} tokens for {told['n_ctx']:,}"
        )
    else:
        raise SystemExit("an over-long prompt was not refused: the window is not what it was asked to be")
    fitted = brim.fit_messages(messages, brim.Window(window, reserve=32), meter=brim.meter(NAME))
    model.ask(fitted.messages)
    print(f"through brim: {fitted.used:,} of {window - 32:,} tokens, the server counted {model.sizes[-1]:,}")
    model.calls, model.refused = 0, 0


def loop(model: Served, window: int, calls: int) -> None:
    """Run one loop of so many calls, and print what became of it."""

    def act(tick: Any) -> brim.Step:
        said = model.ask(tick.messages)
        number = len(model.sizes)
        more = f"Entry {number}: crate {number * 7} went to berth {number % 9}. What comes next?"
        messages = [{"role": "assistant", "content": said}, {"role": "user", "content": more}]
        result = f"entry {number}"
        if model.calls >= calls:
            return brim.Step(messages=messages, end="goal", result=result)
        return brim.Step(messages=messages, end="iteration" if number % 10 == 0 else "continue", result=result)

    started = time.monotonic()
    outcome = brim.Loop(
        goal="Keep the ledger of the harbour, entry by entry, and never lose count.",
        act=act,
        window=brim.Window(window, reserve=32),
        model=NAME,
        tick_cap=0.9,
        system=RULES,
        max_iterations=calls,
        max_sub_ticks=calls,
    ).run()
    print(
        f"a loop through brim: {model.calls:,} calls, {model.refused} refused, {outcome.iterations} iterations,"
        f" {outcome.sub_ticks} sub-ticks, ended by {outcome.ended!r}, largest prompt {max(model.sizes):,} of {window:,}"
        f" tokens, counted too low by {model.worst} at the most, {time.monotonic() - started:.0f} s"
    )
    if model.refused or model.calls < calls:
        raise SystemExit("the loop was refused, or ended too soon")


def cache(model: Served, window: int, turns: int) -> None:
    """Print what a prefix that stays is worth on the server's own cache."""
    rows = {}
    for name, stable in (("plain", None), ("stable", True)):
        history = brim.History(brim.meter(NAME), stable=stable)
        history.extend([{"role": "system", "content": RULES}, {"role": "user", "content": "Keep the ledger."}])
        model.cached, model.sizes, model.seconds = [], [], []
        for turn in range(turns):
            said = model.ask(history.fit(brim.Window(window, reserve=32)).messages, most=4)
            more = f"Entry {turn}: crate {turn * 13} went to berth {turn % 9}, signed by the clerk on duty. Next?"
            history.extend([{"role": "assistant", "content": said}, {"role": "user", "content": more}])
        late = slice(turns // 2, None)
        rows[name] = [sum(row[late]) / len(row[late]) for row in (model.sizes, model.cached, model.seconds)]
    for name, (size, kept, seconds) in rows.items():
        print(f"{name:7} {size:.0f} tokens a prompt, {kept:.0f} ({kept / size:.0%}) cached, {seconds:.2f} s a turn")
    print(f"stable mode takes {rows['stable'][2] / rows['plain'][2]:.2f} of the time of plain trimming")


def planted(model: Served, window: int, tasks: int) -> None:
    """Print how many questions about a fact of an older turn are answered with excerpts, and without."""
    rows = {True: [0, 0], False: [0, 0]}
    for number in range(tasks):
        dice = random.Random(number)
        messages, code = _asked(dice)
        for excerpts, row in rows.items():
            sent = brim.fit_messages(
                messages, brim.Window(window, reserve=32), meter=brim.meter(NAME), excerpts=excerpts
            ).messages
            row[0] += code in model.ask(sent, most=24, cache=False)
            row[1] += any(code in str(message["content"]) for message in sent)
    for excerpts, (solved, there) in rows.items():
        told = "with excerpts" if excerpts else "without excerpts"
        print(f"{told}: {solved} of {tasks} questions answered, the fact was in {there} of the prompts")


def _asked(dice: random.Random) -> tuple[list[dict[str, str]], str]:
    """Return a conversation that ends with a question, and the code that answers it."""
    depots = [f"depot_{name}" for name in dice.sample(("north", "south", "east", "west", "hill", "lake", "mill"), 6)]
    codes = [f"{dice.choice('BCDFGHK')}{dice.randrange(1_000, 10_000)}" for _ in depots]
    messages = [
        {"role": "system", "content": RULES},
        {"role": "user", "content": "Read the reports of the depots with me."},
    ]
    for depot, code in zip(depots, codes, strict=True):
        weather = " ".join(
            dice.choices(("The gates were open.", "Rain came late.", "The road is dry.", "No one called."), k=7)
        )
        report = f"Report of today.\n{weather}\nThe key of {depot} is {code}.\n{weather}\n{weather}"
        messages += [
            {"role": "user", "content": report},
            {"role": "assistant", "content": f"I have read about {depot}."},
        ]
    asked = dice.randrange(3)
    messages.append({"role": "user", "content": f"What is the key of {depots[asked]}? Answer with the key alone."})
    return messages, codes[asked]


def main() -> None:
    """Run all of it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--python", default=str(ROOT / ".venv-llm" / "bin" / "python"), help="what has the model")
    asked.add_argument("--window", type=int, default=512, help="tokens of the server's window")
    asked.add_argument("--calls", type=int, default=200, help="calls of the loop")
    asked.add_argument("--turns", type=int, default=40, help="turns of each conversation with the cache")
    asked.add_argument("--tasks", type=int, default=50, help="questions about a fact of an older turn")
    given = asked.parse_args()
    with served(given.python, given.window) as model:
        planted(model, given.window, given.tasks)
        overlong(model, given.window)
        cache(model, given.window, given.turns)
        model.calls, model.refused, model.sizes = 0, 0, []
        loop(model, given.window, given.calls)


if __name__ == "__main__":
    main()
