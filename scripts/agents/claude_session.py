"""Types into Claude Code: the task, while it works one more message, and at last `/compact`.

`claude_session.py PROGRAM MODEL` prints the report.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO

from scripts.agents.task import PROMPT, SAID

_CALLS = 6
"""So many calls of the model come before the second message."""


def _type(stdin: IO[str], text: str) -> None:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    stdin.write(json.dumps({"type": "user", "message": said}) + "\n")
    stdin.flush()


def main(program: str, model: str) -> int:
    """Run the program, print its result, and return its exit code."""
    stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    command = [program, "-p", *stream, "--dangerously-skip-permissions", "--model", model]
    calls = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        _type(process.stdin, PROMPT)
        for line in process.stdout:
            row = json.loads(line)
            if row.get("type") == "assistant":
                before, made = calls, sum(block["type"] == "tool_use" for block in row["message"]["content"])
                calls += made
                if before < _CALLS <= calls:
                    _type(process.stdin, f"One more rule from me: {SAID}.")
            elif row.get("type") == "result" and not process.stdin.closed:
                print(row.get("result"), flush=True)
                _type(process.stdin, "/compact")
                process.stdin.close()
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
