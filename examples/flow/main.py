"""A flow of ten steps end to end: a fresh pack for each, a curator that fails once, a receipt for each step.

python examples/flow/main.py [RUN_BASE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from brim.errors import ModelError
from brim.flows import StepOutcome, flow_of, report, run_flow
from brim.llm import Messages, Reply
from brim.testing import Scripted

HERE = Path(__file__).parent

SENTENCES = 60
"""Sentences of each answer: about 3,000 characters."""


def answer(pack: str) -> str:
    """Return what the agent of a step says, which is long and has its step's name in it."""
    title = pack.split("\n", 1)[0].removeprefix("# ")
    return "\n".join(f"{title}, sentence {i}: all of this was looked at." for i in range(SENTENCES))


class Curator:
    """Chooses the file with the user for each step, and is busy when it is asked for the third time."""

    model = "a cheap model"

    def __init__(self) -> None:
        busy = ModelError("busy", status=503)
        self._asked = 0
        self._answers = Scripted(
            lambda _: busy if self._asked == 3 else '{"files": ["user.py"], "summary": "The login is at stake."}'
        )

    def complete(self, messages: Messages, system: str | None = None) -> Reply:
        """Return the choice for one step."""
        self._asked += 1
        return self._answers.complete(messages, system)


def tell(ran: StepOutcome) -> None:
    """Print what a step had to work with."""
    told = ran.receipt
    seen = told["context_truncation"]
    print(f"{ran.step_id} ({ran.agent}): pack {told['used_chars']:,} of {told['budget_chars']:,} chars")
    cut = sum(step["state"] == "cut" for step in told["steps"])
    print(f"  history: {seen['steps_included']} of {seen['steps_total']} steps, {cut} of them cut")
    if told["note"]:
        print(f"  {told['note']}")
    files = ", ".join(f"{file['path']} {file['given']}" for file in told["files"]) or "none"
    print(f"  files: {files}; {told['curator']['reason']}")


def main() -> None:
    """Run the flow and tell what its receipts say."""
    run_base = sys.argv[1] if len(sys.argv) > 1 else "runs"
    config, name = flow_of(str(HERE / "flows" / "build.yaml"))
    model = Scripted(answer)
    outcome = run_flow(config, name, model, run_base=run_base, root=HERE / "code", curator=Curator(), watch=tell)
    print(
        f"{outcome.flow}: {'done' if outcome.ok else outcome.reason}, {len(outcome.steps)} of {outcome.planned} steps"
    )
    print(f"the largest pack has {max(map(len, model.asked)):,} chars")
    print(f"receipts: {Path(outcome.steps[0].path).parent.as_posix()}")
    print(report(ran.receipt for ran in outcome.steps))


if __name__ == "__main__":
    main()
