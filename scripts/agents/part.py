"""Prints one part of a long log: `python3 part.py STEP CHARS`.

The agents run it by their shell tool, so it imports nothing but the standard library.
"""

from __future__ import annotations

import random
import sys

_WORDS = ("socket", "retry", "commit", "lease", "shard", "vacuum", "index", "replica", "quorum", "latency", "parse")


def part(step: int, chars: int) -> str:
    """Return part `step` of the log, about `chars` characters: the same text every time."""
    dice = random.Random(step)
    lines, size = [f"PART {step} BEGIN"], 0
    while size < chars:
        time = f"2026-03-{dice.randint(1, 28):02d} {dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}"
        said = " ".join(dice.choices(_WORDS, k=8))
        event = f"{dice.choice(_WORDS)}.{dice.choice(_WORDS)} id={dice.getrandbits(40):x}"
        lines.append(f"{time} worker-{dice.randint(1, 64)} {event} {said}")
        size += len(lines[-1]) + 1
    return "\n".join([*lines, f"PART {step} END {dice.getrandbits(32):08x}"])


if __name__ == "__main__":
    print(part(int(sys.argv[1]), int(sys.argv[2])))
