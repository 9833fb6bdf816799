"""Prints how far counts are from the real tokenizers: exact ones and estimates apart, as in docs/design/counting.md.

Usage: python scripts/count_errors.py FOLDER [TEKKEN]

FOLDER has recorded conversations, as for `bench`. TEKKEN is a tokenizer file of Mistral's, such as `tekken_240911.json`
of the package mistral-common: the counts of `tekken` are compared with it, read by another library. The other
vocabularies come with splintr; `meter/vocabularies.py` says by which second library each was checked.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import brim

_MODELS = ("llama3", "gemma3", "tekken", "qwen3", "deepseek_v3", "kimi_k2", "glm4")
_GEMINI = "gemini-2.5-pro"
_FILES = ("tau_airline", "swe_coding_tools", "locomo_dev")
_EACH = 150
"""Texts of each file."""
_SHORTEST = 200
"""Characters of the shortest text: the rounding of a few tokens is no error."""


def texts(folder: Path) -> list[str]:
    """Return texts of recorded conversations, each once."""
    found: list[str] = []
    for name in _FILES:
        own: dict[str, None] = {}
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                said = [str(message.get("content") or "") for message in record.get("messages") or ()]
                said += ["\n".join(turn["text"] for turn in record["turns"][:40])] if "turns" in record else []
                own |= dict.fromkeys(text[:20_000] for text in said if len(text) >= _SHORTEST)
        found += list(own)[:_EACH]
    return found


def counts(given: list[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the count and the bound of each text, by vocabulary."""
    meters = {name: brim.meter(name) for name in _MODELS}
    return {name: [(meter.count(text), meter.upper(text)) for text in given] for name, meter in meters.items()}


def tekken(path: Path, given: list[str]) -> list[int]:
    """Return the counts of Mistral's own file, read by tiktoken."""
    import tiktoken

    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    config = values["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in values["vocab"][:size]}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    return [len(encoding.encode_ordinary(text)) for text in given]


def row(name: str, told: list[tuple[int, int]], true: list[int]) -> str:
    """Return one row of the table."""
    errors = [100 * (count - real) / real for (count, _), real in zip(told, true, strict=True)]
    waste = [100 * (upper - real) / real for (_, upper), real in zip(told, true, strict=True)]
    exceeded = sum(share < 0 for share in waste)
    total = 100 * (sum(count for count, _ in told) - sum(true)) / sum(true)
    shares = f"{total:+.1f} | {mean(map(abs, errors)):.1f} | {min(errors):+.0f} to {max(errors):+.0f}"
    return f"| {name} | {shares} | +{mean(waste):.0f} | {exceeded} |"


def main() -> int:
    """Read the arguments and print the table."""
    if sys.argv[1] == "--estimated":
        sys.modules["splintr"] = None  # type: ignore[assignment]  # As if the extra `open` were not installed.
        json.dump(counts(json.load(sys.stdin)), sys.stdout)
        return 0
    given = texts(Path(sys.argv[1]))
    exact = counts(given)
    child = [sys.executable, __file__, "--estimated"]
    ran = subprocess.run(child, input=json.dumps(given), capture_output=True, text=True, check=True)
    estimated = json.loads(ran.stdout)
    print(f"{len(given)} texts, {sum(map(len, given)):,} characters; percent of the true count")
    print("| vocabulary | all texts | mean error | range | bound above, mean | texts over the bound |")
    print("|---|---|---|---|---|---|")
    if len(sys.argv) > 2:
        print(row("tekken, exact, against Mistral's file", exact["tekken"], tekken(Path(sys.argv[2]), given)))
    gemini = brim.meter(_GEMINI)
    told = [(gemini.count(text), gemini.upper(text)) for text in given]
    print(row(f"{_GEMINI}, estimated, against gemma3", told, [count for count, _ in exact["gemma3"]]))
    for name in _MODELS:
        print(row(f"{name}, estimated", estimated[name], [count for count, _ in exact[name]]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
