"""Nine points at which a run overflowed its window of 16,384 tokens, each at another rule and in another way.

The first is the one that was analysed: 1,500 tokens of system prompt, 500 of tools, 5,000 of the user's message, 6,000
in 15 pairs of calls and results, 1,300 of reasoning, and 16,385 in all. In the others the same turn grew by more or
fewer, longer or shorter results.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from server import TOOLS, tokens

SYSTEM, USER, REASONING = 1_500, 5_000, 1_300


class Point(NamedTuple):
    """One overflow: the rule, what its tools said again and again, and how large the request was."""

    rule: str
    said: str
    pairs: int
    results: int
    size: int


POINTS = (
    Point(
        "V-2301: the audit database exists", "aide --init reads /etc/aide.conf and writes it anew;", 15, 6_000, 16_385
    ),
    Point("V-2317: root cannot log in by ssh", "sshd -T: permitrootlogin yes (line 38);", 12, 6_300, 16_402),
    Point("V-2322: audit rules are immutable", "auditctl: -e 2 is missing in 99-finalize.rules;", 22, 6_600, 16_391),
    Point("V-2330: sudo asks for a password", "visudo -c: NOPASSWD on /etc/sudoers.d/deploy;", 9, 6_100, 17_240),
    Point("V-2341: no kernel module for usb", "modprobe usb-storage: module is still loaded;", 31, 6_300, 16_688),
    Point("V-2355: /tmp is mounted noexec", "findmnt /tmp: rw,nosuid,nodev,relatime;", 17, 5_800, 16_512),
    Point("V-2368: umask is 077 for all", "grep UMASK /etc/login.defs: 022, want 077;", 14, 6_200, 19_004),
    Point("V-2379: core dumps are off", "sysctl fs.suid_dumpable = 2, want 0;", 26, 6_300, 16_397),
    Point("V-2386: chrony has three sources", "chronyc sources: 1 reachable of 3, stratum 16;", 4, 6_400, 16_930),
)


def messages(point: Point) -> list[dict[str, Any]]:
    """Return the messages of a point; the tools stand beside them, with about 500 tokens."""
    said: list[dict[str, Any]] = [
        {"role": "system", "content": _text("You are the Worker.", "Change as little as the rule demands.", SYSTEM)},
        {"role": "user", "content": _text(f"{point.rule}.", f"An attempt failed: {point.said}", USER)},
    ]
    for i in range(point.pairs):
        call = {"id": f"call_{i}", "type": "function", "function": {"name": "run_check", "arguments": "{}"}}
        step = _text(f"Step {i} for {point.rule[:6]}.", "I read the output once more.", REASONING // point.pairs)
        start = json.dumps({"exit": i % 3, "step": i})
        said += [
            {"role": "assistant", "content": step, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": _text(start, point.said, point.results // point.pairs),
            },
        ]
    missing = point.size - tokens(said, TOOLS)
    said[-2]["content"] += " so" * missing
    return said


def _text(start: str, words: str, size: int) -> str:
    """Return a text of about that many tokens."""
    each = tokens([{"content": f" {words}"}]) - tokens([{"content": ""}])
    return start + f" {words}" * (size // each)
