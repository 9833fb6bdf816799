"""Small logs of other programs, as their users open them in the studio."""

import json

from brim.studio import api

UNLOGGED = 17_400
"""Tokens of the system prompt and the tools, which Claude Code does not log."""


def ask(workspace, view, **fields):
    return api.call({**api.READS, **api.WRITES}[view], workspace, fields)


def claude_code(steps=9, compacted=6, boundary=True):
    """Yield the lines of a session of Claude Code that was compacted, as its provider counts it: below brim's bound."""
    about = {"sessionId": "b6a1c2d3", "isSidechain": False}
    said = second = 0

    def line(kind, content, second, **more):
        nonlocal said
        said += len(json.dumps(content)) // 4
        at = f"2026-11-03T09:{second // 60:02}:{second % 60:02}.000Z"
        message = {"role": kind, "content": content, **more.pop("message", {})}
        return {"type": kind, **about, "timestamp": at, "message": message, **more}

    yield line("user", "Find out why the export of the ledger fails in the night run.", 0)
    for i in range(steps):
        if i == compacted:
            said = 0
            if boundary:
                yield {"type": "system", "subtype": "compact_boundary", **about, "compactMetadata": {"trigger": "auto"}}
            summary = "This session is continued from one that ran out of context. The ledger fails on row 17."
            yield line("user", summary, second + 30, isCompactSummary=True)
        call = {"type": "tool_use", "id": f"toolu_{i}", "name": "Bash", "input": {"command": f"cat part_{i}.log"}}
        usage = {"input_tokens": 10, "cache_read_input_tokens": UNLOGGED, "cache_creation_input_tokens": said}
        message = {"id": f"msg_{i}", "model": "claude-sonnet-4-5", "usage": {**usage, "output_tokens": 60}}
        second = 40 * i + (900 if i >= 4 else 0)  # Somebody had a coffee.
        yield line("assistant", [call], second + 5, message=message)
        output = "\n".join(f"part {i} row {j}: amount {j * 37 % 101}.20 booked" for j in range(160))
        output += "\nValueError: row 17 of the ledger has no amount" if i == 2 else ""
        yield line("user", [{"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": output}], second + 20)


def written(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def requests(count=30, *, trim=None, clock=False, name="run-7"):
    """Yield a log of requests of one run: its client trims, or its system prompt has the time."""
    messages = [{"role": "user", "content": "Clean up the warehouse."}]
    for i in range(count):
        time = f" It is 09:{i:02} now." if clock else ""
        system = {"role": "system", "content": "You keep an archive." + time + " Answer in one line. " * 300}
        kept = messages if trim is None else messages[-trim:]
        usage = {"prompt_tokens": 1_600, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 0}}
        at = 1_790_000_000 + 30 * i
        body = {"model": "gpt-5", "messages": [system, *kept]}
        yield {"session_id": name, "ts": at, "request": body, "response": {"usage": usage}}
        messages += [{"role": "assistant", "content": f"Shelf {i} is done."}, {"role": "user", "content": f"Next: {i}"}]
