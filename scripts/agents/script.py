"""What the scripted model answers: the next shell call of the task, a summary, or a word.

The same for every protocol. An upstream says what it read in a request, and encodes the answer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from scripts.agents.task import MARK, SUBMIT, TURN, Task

Kind = Literal["main", "compaction", "side"]
_SHELLS = (
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "execute_command",
    "run_shell_command",
    "run_command",
    "terminal",
)
_SUMMARY = re.compile(
    r"(detailed|concise|continuation|handoff|hand-off) summary|summari[sz]e (the|our|this|all) (conversation|history)"
    r"|context summarization|CONTEXT CHECKPOINT|Do NOT call any tools|Respond with TEXT ONLY|prompt for continuing",
    re.IGNORECASE,
)
"""How clients ask for a summary of a conversation that grew too long for them; some send it as text, without tools."""
_STEP = re.compile(r"_(\d{4})_[ab]\d")
_PART = re.compile(r"PART \d+ (BEGIN|END)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What the script needs to know of a request."""

    text: str
    """All text of the messages."""
    tail: str
    """The text after the last message of the assistant."""
    results: list[str]
    """The ids of the calls whose results stand there."""
    tools: Mapping[str, Mapping[str, Any]]
    """The schema of the arguments by the name of the tool."""
    thinks: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRequest:
    """A call that the model makes."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedAnswer:
    """What the model says."""

    kind: Kind
    step: int | None = None
    text: str = ""
    thinking: str = ""
    calls: list[ToolRequest] = field(default_factory=list)


class Script:
    """One run of the task: knows how far it went, since a client may forget it by a summary."""

    def __init__(self, task: Task, prefix: str) -> None:
        self.task, self._prefix = task, prefix
        self._furthest = self._answers = 0
        self._lock = threading.Lock()

    def answer(self, seen: Seen) -> ScriptedAnswer:
        """Return the answer to a request."""
        with self._lock:
            self._answers += 1
            steps = [int(found) for name in seen.results for found in _STEP.findall(name)]
            turns = TURN.findall(seen.tail)
            shell = next((name for name in _SHELLS if name in seen.tools), None)
            if _SUMMARY.search(seen.tail[-8_000:]) or (shell is None and _PART.search(seen.text) and not turns):
                return ScriptedAnswer(kind="compaction", text=self._summary())
            if turns:
                return self._turn(*map(int, turns[-1]))
            if shell is None or not (steps or MARK in seen.text):
                return ScriptedAnswer(kind="side", text='{"title": "Reading log parts", "isNewTopic": false}')
            return self._step((max(steps) if steps else self._furthest) + 1, shell, seen)

    def _summary(self) -> str:
        """Return a summary of the length that a model writes, with what the task needs to go on."""
        told = f"{MARK} goes on: parts up to {self._furthest} were read, the next one is {self._furthest + 1}."
        notes = [
            f"- Part {step} is a log of workers; nothing in it needs an action."
            for step in range(1, self._furthest + 1)
        ]
        return f"<analysis>All parts are alike.</analysis><summary>{told}\n" + "\n".join(notes) + "</summary>"

    def _turn(self, step: int, last: int) -> ScriptedAnswer:
        self._furthest = max(self._furthest, step)
        text = self.task.final if step == last else f"ANSWER {step}: nothing of note."
        return ScriptedAnswer(kind="main", step=step, text=text)

    def _step(self, step: int, shell: str, seen: Seen) -> ScriptedAnswer:
        self._furthest = max(self._furthest, step)
        done = step > self.task.steps
        if done and SUBMIT not in seen.text:
            return ScriptedAnswer(kind="main", step=step, text=self.task.final)
        commands = [f"echo {SUBMIT} && echo {self.task.final.splitlines()[-1]}" if done else self.task.command(step)]
        if not done and step % 5 == 0:
            commands.append(f"echo second call of {step}")
        schema = seen.tools[shell].get("properties") or {}
        return ScriptedAnswer(
            kind="main",
            step=step,
            text=f"Reading part {step} — ⏳ …" if step % 3 == 0 else "",
            thinking=f"Part {step} is next; the parts before it said nothing of note. " * 4 if seen.thinks else "",
            calls=[
                ToolRequest(
                    id=f"{self._prefix}{step:04d}_{'ab'[i]}{self._answers}",
                    name=shell,
                    arguments=_arguments(schema, each),
                )
                for i, each in enumerate(commands)
            ],
        )


def _arguments(schema: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the arguments of a shell tool for a command, by the names that its schema has."""
    if "cmd" in schema:
        return {"cmd": command}
    if (schema.get("command") or {}).get("type") == "array":
        return {"command": ["bash", "-lc", command]}
    extra = {"is_background": False, "description": "Read one part"}
    return {"command": command, **{name: value for name, value in extra.items() if name in schema}}
