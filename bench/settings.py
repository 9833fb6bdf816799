"""The cost of settings: loading a large file, compared with parsing its YAML alone, and resolving every step in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

import brim
from bench import clock
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from brim.settings.config import Config

_FLOWS = 200
_STEPS = 50
_LOAD = 3.0
"""Times the cost of the YAML alone that loading may take."""
_RESOLVE = 0.2
"""CPU seconds for all steps together, after loading."""


def run(setting: Setting) -> Outcome:
    flows = setting.size(_FLOWS)
    text = _text(flows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "brim.yaml"
        path.write_text(text, encoding="utf-8")
        parsed = clock.best(_parse, text, repeats=3)
        loaded = clock.best(_load, str(path), repeats=3)
        first, _ = clock.once(_resolve, _load(str(path)))
        again = clock.best(_resolve, _load(str(path)), repeats=3)
    steps = flows * _STEPS
    rows: list[list[Cell]] = [
        ["the YAML alone", parsed * 1e3, parsed * 1e6 / steps],
        ["load_config", loaded * 1e3, loaded * 1e6 / steps],
        ["all steps resolved, the first time", first * 1e3, first * 1e6 / steps],
        ["all steps resolved again", again * 1e3, again * 1e6 / steps],
    ]
    return Outcome(
        name="settings",
        tables=[Table(title=f"{flows} flows of {_STEPS} steps", columns=["what", "ms", "us a step"], rows=rows)],
        gates=[
            Gate(name="settings: loading, against the YAML alone", value=loaded / parsed, limit=_LOAD, unit="x"),
            Gate(name="settings: resolving every step", value=first * 1e3, limit=_RESOLVE * 1e3, unit="ms"),
        ],
    )


def _text(flows: int) -> str:
    """Return a file in which every flow and every step has a budget of its own."""
    rows = ["budgets:\n  preset: balanced\nflows:\n"]
    for flow in range(flows):
        rows.append(f"  flow{flow}:\n    description: Flow number {flow}\n    budget_overrides:\n")
        rows.append(f"      context_budget_chars: {150_000 + flow}\n    steps:\n")
        for step in range(_STEPS):
            rows.append(f'      - id: "{step}"\n        agent: context-loader\n        budget_overrides:\n')
            rows.append(f"          context_budget_chars: {100_000 + flow * _STEPS + step}\n")
    return "".join(rows)


def _parse(text: str) -> object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _load(path: str) -> Config:
    return brim.load_config(path, environ={})


def _resolve(config: Config) -> int:
    resolve, total = config.resolve, 0
    for flow in config.flows:
        for step in range(_STEPS):
            total += resolve(flow=flow, step=str(step))["context_budget_chars"].value
    return total
