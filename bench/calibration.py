"""How well a calibrated estimate counts for a model whose tokenizer it does not have.

Recorded runs are replayed call by call; the model is played by an exact vocabulary that reports what each prompt took.
Before each call after the first, the count is compared with what the call then takes: how often it is exceeded, and how
far above it stands after 1, 3 and 10 answers. Every second run is for tuning, the other half is reported.
"""

from __future__ import annotations

from collections.abc import Sequence

import brim
from bench import trajectories
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.trajectories import Trajectory
from brim.meter.calibration import Calibrated

MODELS = ("cl100k_base", "qwen3", "gemma3", "llama2", "mistral_v3", "deepseek_v3")
ESTIMATES = ("other", "chars/4")
ANSWERS = (1, 3, 10)
LIMITS = {1: (10.0, 30.0), 3: (1.0, 20.0), 10: (1.0, 12.0)}
"""After so many answers: percent of counts that may be exceeded, and percent above the truth on average."""
_RUNS = 48
"""Made runs that are replayed where none were recorded."""


def run(setting: Setting) -> Outcome:
    runs = trajectories.given(setting.traces, _RUNS)[1 :: 10 if setting.quick else 2]
    models = MODELS[:2] if setting.quick else MODELS
    rows: list[Sequence[Cell]] = []
    gates = []
    for estimate in ESTIMATES:
        found: dict[int, list[float]] = {answers: [] for answers in ANSWERS}
        for model in models:
            for each in runs:
                for answers, off in _offs(each, estimate, model):
                    found[answers].append(off)
        for answers, offs in found.items():
            if not offs:
                continue
            exceeded = 100 * sum(off < 0 for off in offs) / len(offs)
            above = sum(offs) / len(offs)
            rows.append([estimate, answers, exceeded, -min(0.0, *offs), above])
            most, highest = LIMITS[answers]
            name = f"calibration: {estimate} after {answers} answers"
            gates += [
                Gate(name=f"{name}, exceeded", value=exceeded, limit=most, unit="%"),
                Gate(name=f"{name}, above on average", value=above, limit=highest, unit="%"),
            ]
    columns = ["estimate", "answers", "exceeded %", "at most by %", "above, mean %"]
    notes = [f"{len(runs)} runs, with {', '.join(models)} as the model."]
    table = Table(title="Calibrated counts against the truth", columns=columns, rows=rows, notes=notes)
    return Outcome(name="calibration", tables=[table], gates=gates)


def _offs(run: Trajectory, estimate: str, model: str) -> list[tuple[int, float]]:
    """Return by how many percent the counts of a run are above the truth, with the answers recorded before each."""
    truth, meter = brim.meter(model), Calibrated(brim.meter(estimate))
    known, found = meter.calibration, []
    for answers, call in enumerate(run.calls()):
        if answers > ANSWERS[-1]:
            break
        prompt = run.messages[:call]
        took = truth.count_messages(prompt, format="openai")
        if answers in ANSWERS and took:
            counted = Calibrated(meter.inner, known).count_messages(prompt, format="openai")
            found.append((answers, 100 * (counted - took) / took))
        known = known.record(meter.size_of(prompt, format="openai"), took)
    return found
