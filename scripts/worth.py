"""Fits the chance that a name seen earlier is used by the agent's next message, and prints its weights.

    python scripts/worth.py RUNS.jsonl.gz...           the weights, to paste into src/brim/history/worth.py
    python scripts/worth.py RUNS.jsonl.gz... --json    the same figures as JSON

A history that has to be shortened keeps the names that the agent is likely to use next. How likely that is follows from
recorded runs by logistic regression: an example is a name and a step, its label whether the step used the name. Names
in a system message or in the newest two messages are no examples, since a prompt shows them anyway. The files are JSON
lines, plain or gzipped, a run a line: `{"messages": [...]}`, or the list alone; other lines are passed over. The
even-numbered runs of each file are fitted, the odd-numbered ones measured; a feature without an effect there is left
out.
"""

from __future__ import annotations

import argparse
import gzip
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, log1p
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brim.history.envelopes import body
from brim.history.names import names_in
from brim.history.turns import Turns
from brim.testing import CharMeter
from brim.wire.message import Message

_STRIDE = 3
"""Of so many steps of a run one is an example: neighbours are much alike."""
_MOST_STEPS = 40
"""Steps of one run that are examples."""
_VISIBLE = 2
"""The newest messages, which a prompt shows anyway."""
_LONGEST = 40
"""Characters of a name that count for its length."""
_LEAST_EFFECT = 0.0001
"""Nats of log loss that a feature has to save on the measured runs."""
_ROUNDS = 30
"""Newton steps of a fit at most; ten are usual."""
_RIDGE = 1e-3
"""Added to the curvature of each weight: a feature that is always zero would have none."""
_BINS = 10
Array = Any
"""An array of numpy, which the environment of the type checks does not have."""
Weights = dict[str, float]

FEATURES = {
    "one": "the same for all names",
    "agent": "uses by the agent, log(1 + n)",
    "people": "uses by people",
    "results": "uses in results",
    "seen": "messages since its last use, log",
    "own": "messages since the agent last used it",
    "never": "the agent never used it",
    "task": "the task has it",
    "asked": "a person's last message has it",
    "slash": "it has a slash",
    "dot": "it has a dot",
    "length": "tens of characters",
    "first": "messages since its first use",
    "rare": "1 / all uses",
    "crowd": "names of the message that used it last, log",
}
"""What is known of a name, in the order of `features`, by the keys of `worth.py`."""

EARLIER: Weights = {
    "one": 0.510,
    "agent": 0.731,
    "people": -0.362,
    "results": -0.132,
    "seen": -0.393,
    "own": -0.319,
    "never": -1.622,
    "task": 0.649,
    "slash": -0.421,
    "dot": -0.239,
    "length": -0.127,
    "first": -0.505,
    "rare": -1.378,
}
"""Weights of an earlier fit, for comparison; that fit had more features, and counted a name once a message."""


@dataclass(slots=True)
class NameRecord:
    """The uses of one name so far."""

    first: int
    """The message in which it was first seen."""
    last: int = -1
    by_agent: int = -1
    """The message in which the agent last used it; -1 if it never did."""
    agent: int = 0
    people: int = 0
    results: int = 0
    crowd: int = 1
    """The names of the message that used it last."""


class RunNames:
    """The names of a run up to a message."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.records: dict[str, NameRecord] = {}
        self.system: set[str] = set()
        self.task: set[str] = set()
        self.instruction: set[str] = set()
        """The names in the last message by a person after the task."""

    def add(self, position: int) -> set[str]:
        """Read the message at a position, and return its names."""
        message, printed = self._turns.messages[position], self._turns.printed(position)
        uses = list(_uses(message, printed))
        found = {name for _, name in uses}
        if message.role == "system":
            self.system |= found
            return found
        if position == self._turns.task:
            self.task = found
        elif message.role == "user" and not printed and message.any("text"):
            self.instruction = found
        for voice, name in uses:
            record = self.records.setdefault(name, NameRecord(position))
            record.last, record.crowd = position, len(found)
            if voice == "agent":
                record.agent += 1
                record.by_agent = position
            elif voice == "people":
                record.people += 1
            else:
                record.results += 1
        return found


def _uses(message: Message, printed: bool) -> Iterator[tuple[str, str]]:
    """Yield who used each name of a message (the agent, people or results), and the name."""
    voice = "agent" if message.role == "assistant" else "results" if printed or message.role == "tool" else "people"
    for piece in message.pieces:
        if piece.kind in ("text", "output", "call"):
            for name, _ in names_in(piece.text[: body(piece.text)]):
                yield ("results" if piece.kind == "output" else voice), name


def features(name: str, record: NameRecord, count: int, names: RunNames) -> tuple[float, ...]:
    """Return what is known of a name after a number of messages, in the order of `FEATURES`."""
    used = record.by_agent >= 0
    return (
        1.0,
        log1p(record.agent),
        log1p(record.people),
        log1p(record.results),
        _age(count, record.last),
        _age(count, record.by_agent) if used else 0.0,
        float(not used),
        float(name in names.task),
        float(name in names.instruction),
        float("/" in name),
        float("." in name),
        min(len(name), _LONGEST) / 10,
        _age(count, record.first),
        1 / (record.agent + record.people + record.results),
        log(record.crowd),
    )


def _age(count: int, position: int) -> float:
    return log(max(1, count - position))


class Examples(NamedTuple):
    """Names at steps of runs: a row of features each, and whether the step used the name."""

    rows: Array
    used: Array

    def without(self, left_out: Sequence[str]) -> Examples:
        """Return the same examples without some of the features."""
        return Examples(self.rows[:, [i for i, name in enumerate(FEATURES) if name not in left_out]], self.used)


def examples(runs: Sequence[Turns]) -> Examples:
    """Return the examples of runs."""
    rows, used = array("d"), array("d")
    for run in runs:
        for row, label in _of_run(run):
            rows.extend(row)
            used.append(label)
    return Examples(np.array(rows).reshape(-1, len(FEATURES)), np.array(used))


def _of_run(turns: Turns) -> Iterator[tuple[tuple[float, ...], bool]]:
    """Yield the examples of one run: a row of features, and whether the step used the name."""
    names, steps = RunNames(turns), _steps(turns.messages)
    newest: list[set[str]] = []
    for position, message in enumerate(turns.messages):
        if position in steps:
            following = {name for _, name in _uses(message, printed=False)}
            visible = names.system.union(*newest)
            for name, record in names.records.items():
                if name not in visible:
                    yield features(name, record, position, names), name in following
        newest = [*newest, names.add(position)][-_VISIBLE:]


def _steps(messages: Sequence[Message]) -> set[int]:
    """Return the positions of the agent's messages that are examples, at equal distances."""
    found = [position for position, message in enumerate(messages) if message.role == "assistant"]
    stride = max(_STRIDE, -(-len(found) // _MOST_STEPS))
    return set(found[stride - 1 :: stride])


def runs_of(path: Path) -> list[Turns]:
    """Return the runs of a file.

    Raises:
        SystemExit: a line is not JSON, or one of its messages is invalid.
    """
    found = list[Turns]()
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                if messages := _messages(line):
                    found.append(Turns(CharMeter()))
                    found[-1].extend(messages)
            except ValueError as error:
                raise SystemExit(f"{path}, line {number}: {error}") from error
    return found


def _messages(line: str) -> list[Any]:
    """Return the messages of a line; none if it is no run."""
    value = json.loads(line) if line.strip() else None
    found = value.get("messages") if isinstance(value, dict) else value
    return found if isinstance(found, list) else []


def fitted(given: Examples) -> Array:
    """Return the weights of the logistic regression, one for each feature of the examples: the most likely ones."""
    rows, used = given
    weights, loss = np.zeros(rows.shape[1]), np.inf
    for _ in range(_ROUNDS):
        chances = _chances(rows, weights)
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows + _RIDGE * np.eye(rows.shape[1])
        step = np.linalg.solve(curvature, rows.T @ (used - chances) - _RIDGE * weights)
        while (now := log_loss(_chances(rows, weights + step), used)) > loss + 1e-12:
            step = step / 2
        weights = weights + step
        if loss - now < 1e-10:
            break
        loss = now
    return weights


def _chances(rows: Array, weights: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))


def log_loss(chances: Array, used: Array) -> float:
    """Return the mean negative log-likelihood of the labels, in nats an example."""
    return float(-np.mean(np.where(used > 0, np.log(chances), np.log1p(-chances))))


class Bin(NamedTuple):
    """A tenth of the expected uses: how many examples share it, and their expected and real share of uses."""

    examples: int
    expected: float
    real: float


def calibration(chances: Array, used: Array) -> list[Bin]:
    """Return bins of examples from unlikely to likely; each expects as many uses as the others."""
    order = np.argsort(chances)
    ends = np.searchsorted(np.cumsum(chances[order]), np.arange(1, _BINS) * chances.sum() / _BINS)
    parts = [part for part in np.split(order, ends) if len(part)]
    return [Bin(len(part), float(chances[part].mean()), float(used[part].mean())) for part in parts]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """The weights, and how well they do on the runs that were not fitted."""

    weights: Weights
    fitted_examples: int
    examples: int
    """Examples that were measured."""
    rate: float
    """The share of fitted examples whose name was used."""
    losses: dict[str, float]
    """Log loss of each way to guess, on the measured runs."""
    effects: dict[str, float]
    """How much the log loss rises without a feature, from the fit with all of them."""
    left_out: list[str]
    """Features without an effect, in the order in which they were left out."""
    bins: list[Bin]


def fit(known: Examples, measured: Examples) -> Fit:
    """Return weights of some examples, without the features that have no effect on others."""
    whole, left_out = _loss_without((), known, measured), list[str]()
    effects = {name: _loss_without((name,), known, measured) - whole for name in [*FEATURES][1:]}
    loss = whole
    while len(left_out) < len(effects):  # One at a time: of two that are much alike only one has to go.
        tries = {name: _loss_without((*left_out, name), known, measured) for name in effects if name not in left_out}
        least = min(tries, key=lambda name: tries[name])
        if tries[least] - loss >= _LEAST_EFFECT:
            break
        left_out.append(least)
        loss = tries[least]
    names = [name for name in FEATURES if name not in left_out]
    weights: Array = np.round(fitted(known.without(left_out)), 3)
    rate, earlier = float(known.used.mean()), np.array([EARLIER.get(name, 0.0) for name in FEATURES])
    chances = _chances(measured.without(left_out).rows, weights)
    return Fit(
        weights={name: float(weight) for name, weight in zip(names, weights, strict=True)},
        fitted_examples=len(known.used),
        examples=len(measured.used),
        rate=rate,
        losses={
            "the mean rate": log_loss(np.full(len(measured.used), rate), measured.used),
            "the earlier weights": log_loss(_chances(measured.rows, earlier), measured.used),
            "all features": whole,
            "these weights": log_loss(chances, measured.used),
        },
        effects=effects,
        left_out=left_out,
        bins=calibration(chances, measured.used),
    )


def _loss_without(left_out: Sequence[str], known: Examples, measured: Examples) -> float:
    kept = measured.without(left_out)
    return log_loss(_chances(kept.rows, fitted(known.without(left_out))), kept.used)


def report(found: Fit) -> str:
    """Return the weights and figures as text."""
    lines = ["_CHANCE = {", *(f'    "{name}": {weight:.3f},' for name, weight in found.weights.items()), "}"]
    lines += ["", f"{found.fitted_examples:,} examples fitted, {found.rate:.2%} of them used."]
    lines += [f"log loss on {found.examples:,} others, in nats:"]
    lines += [f"  {name:20} {loss:.5f}" for name, loss in found.losses.items()]
    lines += ["", "how much the log loss rises without a feature:"]
    lines += [f"  {name:8} {rise:+.5f}  {FEATURES[name]}{_mark(name, found)}" for name, rise in found.effects.items()]
    lines += ["", "calibration, each row a tenth of the expected uses:", "  examples  expected   real"]
    lines += [f"  {row.examples:8,} {row.expected:9.4f} {row.real:.4f}" for row in found.bins]
    return "\n".join(lines)


def _mark(name: str, found: Fit) -> str:
    return " (left out)" if name in found.left_out else ""


def _as_json(found: Fit) -> Mapping[str, Any]:
    return {
        "weights": found.weights,
        "fitted_examples": found.fitted_examples,
        "examples": found.examples,
        "rate": found.rate,
        "log_loss": found.losses,
        "effects": found.effects,
        "left_out": found.left_out,
        "calibration": [row._asdict() for row in found.bins],
    }


def main() -> None:
    """Fit the runs of the files that are named, and print the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="RUNS", help="JSON lines, plain or gzipped")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    runs = [runs_of(path) for path in options.files]
    known = examples([run for each in runs for run in each[0::2]])
    measured = examples([run for each in runs for run in each[1::2]])
    if not known.used.any() or not measured.used.any():
        parser.error("in one half of the runs no name of an earlier message is used again; two long runs are the least")
    found = fit(known, measured)
    print(json.dumps(_as_json(found), indent=2) if options.json else report(found))


if __name__ == "__main__":
    main()
