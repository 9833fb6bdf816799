"""Two simulated hours of three agents against a server that refuses long prompts: python examples/forge/main.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import agents
import overflow
from agents import ARCHITECT, REFLECTOR, WORKER, Run
from server import TOOLS, WINDOW, Client, Server, tokens

import brim
from brim.errors import ModelError
from brim.flows import report
from brim.sessions.memory import EpisodicMemory
from brim.testing import Scripted

HERE = Path(__file__).parent
HOURS, ATTEMPT = 2, 60
"""How long the run is, and the seconds that one attempt takes: no clock is asked."""
OUTPUT = "aide: /var/lib/aide/aide.db.gz: no such file; the database was not initialised.\n" * 50


def speak(prompt: str) -> str:
    """Answer as a model that means well and talks a lot."""
    if prompt.startswith("You are the Architect"):
        return "Plan: initialise the database, then check again. " * 30
    if prompt.startswith("You are the Reflector"):
        cause = "The configuration was edited and the database not made anew. " * 6
        return f"CAUSE: {cause}\nBANNED: editing aide.conf alone\nDISTILLED_LESSON: run aide --init after each edit."
    return "I will run the check again and read the file once more. " * 8


class Harness:
    """The loop around the three agents; without brim, texts are joined and sent."""

    def __init__(self, client: Client, log: list[dict[str, Any]], *, fitted: bool = True) -> None:
        self.client, self.log, self.fitted = client, log, fitted
        config = brim.load_config(HERE / "brim.yaml", environ={})
        names = {"architect": "forge-architect", "worker": "forge", "reflector": "forge-reflector"}
        self.settings = {agent: config.resolve(profile=profile) for agent, profile in names.items()}

    def run(self, rules: int = 12, hours: float = HOURS) -> Run:
        """Work through the rules, one after the other, until the time is over."""
        run = Run([f"V-{2300 + i}: rule {i} on the audit of files, its database and its schedule" for i in range(400)])
        attempts = int(hours * 3600 / ATTEMPT)
        for _ in range(rules):
            rule = run.failing.pop(0)
            plan = self.ask("architect", agents.architect(run), ARCHITECT, rule)
            self.work(run, rule, plan, attempts // rules)
            (run.escalated if len(run.failing) % 2 else run.fixed).append(rule)
        return run

    def work(self, run: Run, rule: str, plan: str, attempts: int) -> None:
        """Attempt one rule again and again; what is learned is a lesson, what was said goes to the log."""
        memory, told = EpisodicMemory(), list[str]()
        for i in range(attempts):
            # Every third time the worker does not do as it is told, and calls tools until it tires.
            approach = self.attempt(agents.worker(run, rule, plan, memory), rule, calls=15 if i % 3 == 2 else 1)
            sections = agents.reflector(rule, approach, OUTPUT, memory, told)
            reflection = self.ask("reflector", sections, REFLECTOR, rule)
            memory, event = memory.after(approach=approach, result=OUTPUT, reflection=reflection)
            self.log.append({**event, "rule_id": rule})
            told.append(f"{approach}\n{OUTPUT}\n{reflection}")
            for kind, text in (
                ("banned", "edit the file"),
                ("preferred", "aide --init"),
                ("strategic", "one at a time"),
            ):
                run.learn(kind, f"{text} (way {i % 7})")

    def ask(self, agent: str, sections: dict[str, Any], system: str, rule: str) -> str:
        """Return what the model answers to an agent's prompt, or nothing if it refuses."""
        try:
            if not self.fitted:
                return self.client.complete(_joined(sections), system).text
            told = {"system": system, "agent": agent, "emit": self.log.append, "about": {"rule_id": rule}}
            return self.settings[agent].exchange(sections, self.client, **told).reply.text
        except ModelError:
            return ""

    def attempt(self, sections: dict[str, Any], rule: str, calls: int) -> str:
        """Let the worker act: its prompt, and then call after call within the turn."""
        worker = self.settings["worker"]
        told = {"agent": "worker", "emit": self.log.append, "about": {"rule_id": rule}}
        text = worker.fit(sections, system=WORKER, tools=TOOLS, **told).text if self.fitted else _joined(sections)
        turn: list[dict[str, Any]] = [{"role": "user", "content": text}]
        said = ""
        for i in range(calls):
            try:
                grown = self.within(turn, rule) if self.fitted and i else turn
                said = self.client.complete(grown, WORKER, TOOLS).text
            except ModelError:
                return said
            call = {"id": f"c{i}", "type": "function", "function": {"name": "apply_fix", "arguments": "{}"}}
            turn.append({"role": "assistant", "content": said, "tool_calls": [call]})
            turn.append({"role": "tool", "tool_call_id": call["id"], "content": OUTPUT})
        return said

    def within(self, turn: list[dict[str, Any]], rule: str) -> list[dict[str, Any]]:
        """Return a turn that grew by calls and results, as much of it as the budget of a turn holds."""
        worker = self.settings["worker"]
        told = {"agent": "worker", "emit": self.log.append, "about": {"rule_id": rule}}
        total = worker.value("prompt.total")
        return list(worker.fit_messages(turn, system=WORKER, tools=TOOLS, budget=total, **told).messages)


def _joined(sections: dict[str, Any]) -> str:
    return "\n\n".join(text if isinstance(text, str) else "\n".join(text) for text in sections.values())


def simulate(*, fitted: bool, rules: int = 12, hours: float = HOURS) -> tuple[Server, list[dict[str, Any]], Run]:
    """Run the harness against a server of its own, and return both with the log."""
    log: list[dict[str, Any]] = []
    with Server(Scripted(speak)) as server:
        run = Harness(Client(server.url, log), log, fitted=fitted).run(rules, hours)
    return server, log, run


def replayed() -> Iterator[tuple[str, int, int]]:
    """Yield the points that overflowed: the rule, what they had, and what they have when fitted."""
    settings = brim.load_config(HERE / "brim.yaml", environ={}).resolve()
    for point in overflow.POINTS:
        said = overflow.messages(point)
        fitted = settings.fit_messages(said, tools=TOOLS, budget=settings.value("prompt.total"))
        yield point.rule[:6], tokens(said, TOOLS), tokens(list(fitted.messages), TOOLS)


def main() -> None:
    """Print what happened."""
    server, log, run = simulate(fitted=True)
    print(f"With brim: {server.answered:,} requests answered, {server.refused} refused with HTTP 400;")
    print(f"the largest had {server.largest:,} of {WINDOW:,} tokens. {len(run.fixed)} rules fixed.")
    print(report(log))
    event = next(item for item in log if item.get("event") == "prompt_assembled" and item["agent"] == "worker")
    print(f"An event: {event}")
    server, _, _ = simulate(fitted=False, rules=3, hours=HOURS / 4)
    print(f"\nHalf an hour without: {server.answered:,} answered, {server.refused:,} refused;", end=" ")
    print(f"the largest had {server.largest:,}.")
    print("\nrule    overflowed  fitted")
    for rule, before, after in replayed():
        print(f"{rule}  {before:>10,}  {after:>6,}")


if __name__ == "__main__":
    main()
