"""What the scripted model answers: the next step of the task, a summary, a report, or a word.

The same for every protocol. An upstream says what it read in a request, and encodes the answer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from scripts.agents.task import END, FACTS, HELPER, MARK, REPORT, TURN, Task, shown, summary

Kind = Literal["main", "compaction", "helper", "side"]
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The word by which mini-swe-agent ends; its own prompt names it."""
_SHELLS = (
    *("Bash", "bash", "exec_command", "shell_command", "shell", "Shell", "execute_command", "run_shell_command"),
    *("run_command", "run_commands", "terminal", "execute_bash", "run_terminal_command", "run_in_terminal"),
)
_COMMAND = ("command", "cmd", "commands", "script")
_ENDS = ("attempt_completion", "final_answer", "finish", "submit_and_exit")
"""Tools by which a program wants to be told that the task is done."""
_SUMMARY = re.compile(
    r"(detailed|concise|continuation|handoff|hand-off|comprehensive|structured|anchored) summary"
    r"|summari[sz]e (the|our|this|all|what)|create a summary|context summarization|CONTEXT CHECKPOINT|state_snapshot"
    r"|Do NOT call any tools|Respond with TEXT ONLY|prompt for continuing|compact(ing|ion)? (the|this) conversation",
    re.IGNORECASE,
)
"""How clients ask for a summary of a conversation that grew too long for them; some send it as text, without tools."""
_STEP = re.compile(r"_(\d{4})_[ab]\d")
_OWN = re.compile(rf"(?s)<summary>{MARK} goes on.*?(</summary>|$)")
_DONE = re.compile(r"Steps up to (\d+) are done")
_HELPED = 10
"""The step in which a subagent is started."""
_HELPER_STEPS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What the script needs to know of a request."""

    text: str
    """All text of the messages, with the arguments of calls."""
    tail: list[str]
    """The texts after the last message of the assistant, without results."""
    results: list[str]
    """The ids of the calls whose results stand there."""
    tools: Mapping[str, Mapping[str, Any]]
    """The schema of the arguments by the name of the tool."""
    system: str = ""
    thinks: bool = False
    summarizes: bool = False
    """Whether the protocol itself has a request for a summary, and this is one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRequest:
    """A call that the model makes."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedAnswer:
    """What the model says, and what it saw."""

    kind: Kind
    step: int | None = None
    text: str = ""
    thinking: str = ""
    calls: list[ToolRequest] = field(default_factory=list)
    shown: tuple[str, int] = ("", 0)


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
            sees = shown(seen.text)
            turns = TURN.findall("\n".join(seen.tail))
            shell = next((name for name in _SHELLS if name in seen.tools), None)
            steps = [int(found) for name in seen.results for found in _STEP.findall(name)]
            if self._asks_summary(seen, shell) and not turns:
                return ScriptedAnswer(kind="compaction", text=summary(seen.text, self._furthest), shown=sees)
            if turns:
                step, last = map(int, turns[-1])
                return self._turn(step, last, sees)
            if shell and HELPER in seen.text and MARK not in seen.text:
                return self._helper(steps, shell, seen)
            if shell is None or not (steps or seen.results or MARK in seen.text):
                return ScriptedAnswer(kind="side", text='{"title": "Billing worker", "isNewTopic": false}')
            return self._step(self._next(steps, seen), shell, seen, sees)

    @staticmethod
    def _asks_summary(seen: Seen, shell: str | None) -> bool:
        if seen.summarizes:
            return True
        asked = _SUMMARY.search(_OWN.sub("", "\n".join(each for each in seen.tail if not _is_reminder(each)))[-9_000:])
        if asked is None and shell is None and MARK in seen.text:
            asked = _SUMMARY.search(seen.system[:6_000] + "".join(seen.tail))
        return asked is not None

    def _next(self, steps: list[int], seen: Seen) -> int:
        """Return the step that follows the newest result, or the newest summary."""
        told = [int(each) for each in _DONE.findall(seen.text)]
        if not steps and seen.results:
            return self._furthest + 1
        return (max(steps) if steps else max(told, default=0)) + 1

    def _turn(self, step: int, last: int, sees: tuple[str, int]) -> ScriptedAnswer:
        self._furthest = max(self._furthest, step)
        text = _report(sees) if step == last else f"ANSWER {step}: nothing of note."
        return ScriptedAnswer(kind="main", step=step, text=text, shown=sees)

    def _helper(self, steps: list[int], shell: str, seen: Seen) -> ScriptedAnswer:
        """Return the next step of a subagent: it reads a few logs, and reports."""
        step = max(steps, default=0) + 1
        if step > _HELPER_STEPS:
            return ScriptedAnswer(kind="helper", step=step, text=f"I looked at the replicas: {REPORT}.")
        call = shell, _arguments(seen.tools[shell], self.task.step(self.task.steps + step).command)
        return ScriptedAnswer(kind="helper", step=step, thinking=_thinking(step, seen), calls=self._calls(step, [call]))

    def _step(self, step: int, shell: str, seen: Seen, sees: tuple[str, int]) -> ScriptedAnswer:
        self._furthest = max(self._furthest, step)
        if step > self.task.steps:
            return self._end(step, shell, seen, sees)
        planned = self.task.step(step)
        calls = [(shell, _arguments(seen.tools[shell], planned.command))]
        if step % 6 == 0:
            calls.append((shell, _arguments(seen.tools[shell], f"echo second call of {step}")))
        helper = next((name for name in ("Agent", "Task") if "subagent_type" in _fields(seen.tools.get(name))), None)
        if step == _HELPED and helper:
            asked = f"{HELPER}: read three logs with the shell and report how the replicas answer."
            values = {"description": "Look at replicas", "prompt": asked, "subagent_type": "general-purpose"}
            calls.append((helper, values))
        made, thinking = self._calls(step, calls), _thinking(step, seen)
        return ScriptedAnswer(kind="main", step=step, text=planned.said, thinking=thinking, calls=made, shown=sees)

    def _end(self, step: int, shell: str, seen: Seen, sees: tuple[str, int]) -> ScriptedAnswer:
        """Return the report, by the tool for it where the program has one."""
        report, calls = _report(sees), []
        if SUBMIT in seen.text + seen.system:
            calls = [(shell, _arguments(seen.tools[shell], f"echo {SUBMIT}; echo '{report}'"))]
        elif end := next((name for name in _ENDS if name in seen.tools), None):
            values = dict.fromkeys(seen.tools[end].get("required") or list(_fields(seen.tools[end]))[:1], report)
            calls = [(end, values)]
        made = self._calls(step, calls)
        return ScriptedAnswer(kind="main", step=step, text="" if made else report, calls=made, shown=sees)

    def _calls(self, step: int, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[ToolRequest]:
        return [
            ToolRequest(id=f"{self._prefix}{step:04d}_{'ab'[i]}{self._answers}", name=name, arguments=values)
            for i, (name, values) in enumerate(calls)
        ]


def _report(sees: tuple[str, int]) -> str:
    """Return the last answer, with characters that a proxy may break."""
    known = " | ".join(f"{letter}={fact if letter in sees[0] else 'unknown'}" for letter, fact in FACTS.items())
    return f"Report: {known} | {sees[1]} files changed. äöü 🧪 漢字 {END}"


def _thinking(step: int, seen: Seen) -> str:
    return f"Step {step} is next; the logs before it said nothing of note. " * 4 if seen.thinks else ""


def _is_reminder(text: str) -> bool:
    """Return whether a text that stands after the last answer is the task or an envelope of the client."""
    return MARK in text[:4_000] or text.startswith("<system-reminder>") or "continued from a previous" in text


def _fields(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (schema or {}).get("properties") or {}


def _arguments(schema: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the arguments of a shell tool for a command, by the names that its schema has."""
    fields = _fields(schema)
    name = next((each for each in _COMMAND if each in fields), "command")
    field_ = fields.get(name) or {}
    values: dict[str, Any] = {name: command}
    if field_.get("type") == "array" or any(each.get("type") == "array" for each in field_.get("anyOf") or []):
        values[name] = [command] if name == "commands" else ["bash", "-lc", command]
    plain = {"boolean": False, "integer": 60, "number": 60, "array": [], "object": {}}
    needed = [*(schema.get("required") or []), *(each for each in ("description", "is_background") if each in fields)]
    for each in needed:
        about = fields.get(each) or {}
        values.setdefault(each, (about.get("enum") or [plain.get(str(about.get("type")), "Read one file")])[0])
    return values
