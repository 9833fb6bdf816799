"""The task of an agent: read the parts of a long log one by one with the shell, then answer.

A program without tools gets the parts as messages instead.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.agents.part import part

MARK = "LOGTASK"
"""The word by which a request that belongs to the task is recognized."""
FINAL = "FINAL-ANSWER"
END = "END-OF-ANSWER"
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The word by which mini-swe-agent ends; its own prompt names it."""
TURN = re.compile(r"TURN (\d+) of (\d+):")


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """How many parts are read, and how long each is."""

    steps: int = 45
    chars: int = 6_000

    @property
    def prompt(self) -> str:
        """What the agent is asked to do."""
        return f"{MARK}: read all the log parts one by one with the shell, then give the final answer."

    @property
    def final(self) -> str:
        """The last answer, with characters that a proxy may break."""
        return (
            f"{FINAL}: all {self.steps} parts were read. Umlaut äöü, emoji 🧪👩‍🔬, CJK 漢字, tab\tand "
            f'"quotes" \\ backslash.\n'
            f"- line two\n- line three `code`\n{END}"
        )

    def command(self, step: int) -> str:
        """Return the shell command that prints a part."""
        program = Path(__file__).with_name("part.py")
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} {step} {self.chars}"

    def part(self, step: int) -> str:
        """Return the text that the command prints."""
        return part(step, self.chars)

    def turn(self, step: int) -> str:
        """Return one message of a program without tools: a single line."""
        text = self.part(step).replace("\n", " | ")
        return f"TURN {step} of {self.steps}: read this part of a log and answer in one sentence. {text}"
