"""Recorded agent runs, replayed call by call at a quarter and at half of their final size: brim and its peers.

brim replays every run; a peer replays as many as its CPU allowance lets it, in the same order for all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from bench import history_growth, registry
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.replay import Fit
from bench.trimmers import Brim, BrimHistory, Peer, StableBrim, StableBrimHistory
from bench.worker import Broken, Silent, ask

SHARES = (0.25, 0.5)
READ, WRITE = 0.1, 1.25
"""What a unit of a prompt costs when it is read from the provider's cache, and when it is new."""

_ALLOWANCE = 40
"""CPU seconds that a peer may spend on its replay."""
_PATIENCE = 300
"""Seconds without a line after which a trimmer is given up."""
_TOLD = 30
"""Seconds between two lines of progress."""
_OWN = (Brim, StableBrim, BrimHistory, StableBrimHistory)


@dataclass(kw_only=True, slots=True)
class Replayed:
    """All fits of one trimmer."""

    name: str
    runs: int = 0
    """How many there are."""
    done: int = 0
    """How many were replayed to their end."""
    fits: list[Fit] = field(default_factory=list)
    note: str = ""

    def of(self, *kinds: str) -> list[Fit]:
        """Return the fits of some kinds."""
        return [fit for fit in self.fits if fit.kind in kinds]


def run(setting: Setting) -> Outcome:
    peers = [*registry.own(), *registry.references(), *registry.others(setting.size(_ALLOWANCE))]
    found = [_replayed(peer, setting) for peer in peers]
    measured = [each for each in found if each.fits]
    tables = [_verdicts(measured, found), _worth(measured), _margins(measured), _setups(peers)]
    grown = history_growth.measured(setting)
    gates = _gates({each.name: each for each in measured}, real=setting.traces is not None)
    return Outcome(
        name="histories",
        tables=[*tables, *grown.tables],
        gates=[*gates, *(grown.gates if setting.traces else ())],
        plots=grown.plots,
    )


def _replayed(peer: Peer, setting: Setting) -> Replayed:
    """Return a trimmer's replay, telling of its progress."""
    found = Replayed(name=peer.name)
    values: dict[str, Any] = {
        "peer": peer.name,
        "traces": str(setting.traces) if setting.traces else None,
        "count": setting.size(120),
        "shares": SHARES,
        "allowance": peer.seconds,
        "most": 20 if setting.quick else 0,
    }
    start = told = time.perf_counter()
    try:
        for answer in ask("replay", _PATIENCE, **values):
            if "kind" in answer:
                found.fits.append(Fit(**answer))
            else:
                found.runs = answer.get("runs", found.runs)
                found.done = answer.get("done", found.done)
            if time.perf_counter() - told > _TOLD:
                told = time.perf_counter()
                print(f"  {peer.name}: {found.done} of {found.runs} runs, {told - start:.0f} s", flush=True)
    except (Silent, Broken) as error:
        found.note = f"{peer.name}: {error}"
    spent = time.perf_counter() - start
    print(f"  {peer.name}: {found.done} of {found.runs} runs, {len(found.fits):,} fits, {spent:.0f} s", flush=True)
    return found


def _share(fits: Sequence[Fit], test: Callable[[Fit], bool]) -> float:
    return 100 * sum(map(test, fits)) / len(fits) if fits else float("nan")


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return statistics.fmean(listed) if listed else float("nan")


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def _verdicts(measured: Sequence[Replayed], found: Sequence[Replayed]) -> Table:
    rows: list[list[Cell]] = []
    for each in measured:
        tight = each.of("tight")
        share = partial(_share, tight)
        rows.append(
            [
                each.name,
                f"{each.done} of {each.runs}",
                len(each.fits),
                len(tight),
                share(lambda fit: fit.bad),
                share(lambda fit: fit.over),
                share(lambda fit: fit.illegal is not None),
                share(lambda fit: fit.newest is None),
                share(lambda fit: not fit.system),
                share(lambda fit: fit.task is not None),
                share(lambda fit: fit.task == "whole"),
                sum(fit.error is not None for fit in tight),
            ]
        )
    return Table(
        title="Tight fits: right or wrong, in % of them",
        columns=[
            "trimmer",
            "runs",
            "fits",
            "tight",
            "bad",
            "over",
            "400",
            "newest lost",
            "system lost",
            "task kept",
            "task whole",
            "raised",
        ],
        rows=rows,
        notes=[
            "A fit is tight if the history is over the budget and the system message with the newest turn is not. Bad"
            " is one that is over, that the provider refuses, that has lost the system or the newest message, or that"
            " raised.",
            "The task is the first user message; kept is whole or cut.",
            *(each.note for each in found if each.note),
        ],
    )


def _worth(measured: Sequence[Replayed]) -> Table:
    rows: list[list[Cell]] = []
    for each in measured:
        ratios = [fit.seconds / fit.once for fit in each.of("tight") if fit.once]
        summed, mean = costs(each.fits)
        rows.append(
            [
                each.name,
                fill(each.fits),
                prefix(each.fits),
                summed,
                mean,
                _quantile(ratios, 0.5),
                _quantile(ratios, 0.95),
            ]
        )
    return Table(
        title="Tight fits: what they are worth, and what they cost",
        columns=["trimmer", "fill %", "shared prefix %", "cached cost", "mean of runs", "CPU p50", "CPU p95"],
        rows=rows,
        notes=[
            "Fill is the size by the budget. The shared prefix is that of two tight fits in a row, by the size of the"
            f" second. The cached cost is {READ:g} a unit of prefix and {WRITE:g} of the rest, over all fits of the"
            " runs, against the same without trimming: first summed over all runs, then the mean of each run's.",
            "CPU is against one tiktoken pass over the same history. Converting messages to a library's own classes and"
            " back is not measured, and brim's memory of counts is emptied before each run.",
        ],
    )


def _margins(measured: Sequence[Replayed]) -> Table:
    rows: list[list[Cell]] = []
    for each in measured:
        easy, inside = each.of("easy"), each.of("inside")
        cramped, impossible = each.of("cramped"), each.of("impossible")
        rows.append(
            [
                each.name,
                len(easy),
                _share(easy, lambda fit: fit.bad),
                _share(easy, lambda fit: fit.changed),
                len(inside),
                _share(inside, lambda fit: fit.served),
                _share(inside, lambda fit: fit.typed),
                len(cramped),
                _share(cramped, lambda fit: not fit.bad),
                _share(cramped, lambda fit: fit.served),
                len(impossible),
                _share(impossible, lambda fit: not fit.bad),
            ]
        )
    return Table(
        title="The other fits",
        columns=[
            "trimmer",
            "easy",
            "bad %",
            "changed %",
            "inside",
            "served %",
            "refused %",
            "cramped",
            "right %",
            "served %",
            "impossible",
            "right %",
        ],
        rows=rows,
        notes=[
            "Easy: the history fits, and must not be changed. Inside: the system message and the newest turn alone are"
            " over, so that only a cut inside can serve: within the budget, legal, the newest message there. Cramped:"
            " the system message, the frames and the calls of the newest turn alone are over; served is right, and so"
            " is an error of the trimmer's own. Impossible: the system message alone is over, and only such an error is"
            " right.",
        ],
    )


def _setups(peers: Sequence[Peer]) -> Table:
    from importlib.metadata import PackageNotFoundError, version

    def told(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package}, not installed"

    rows: list[list[Cell]] = [[peer.name, told(peer.package), peer.note] for peer in peers if peer.package]
    return Table(
        title="How the peers were set up",
        columns=["trimmer", "library", "set up"],
        rows=rows,
        notes=registry.LEFT_OUT,
    )


def fill(fits: Iterable[Fit]) -> float:
    """Return how full the prompts of tight fits are, in percent of the budget."""
    return _mean(100 * fit.size / fit.budget for fit in fits if fit.kind == "tight" and not fit.error)


def prefix(fits: Sequence[Fit]) -> float:
    """Return how much of a tight fit's prompt begins as the last one did, in percent of it."""
    pairs = pairwise(fits)
    return _mean(
        100 * now.shared / now.size
        for before, now in pairs
        if (before.run, before.share) == (now.run, now.share) and before.kind == now.kind == "tight" and now.size
    )


def costs(fits: Iterable[Fit]) -> tuple[float, float]:
    """Return the cached cost against no trimming: of all runs summed, and the mean of each run's.

    What nobody can answer, and what raised, counts on neither side.
    """
    runs: dict[tuple[int, float], tuple[float, float]] = {}
    last, before = None, 0
    for fit in fits:
        run = fit.run, fit.share
        before, last = (before if run == last else 0), run
        if fit.kind not in ("cramped", "impossible") and not fit.error:
            trimmed, whole = runs.get(run, (0.0, 0.0))
            runs[run] = trimmed + _cost(fit.size, fit.shared), whole + _cost(fit.whole, before)
        before = fit.whole
    pairs = runs.values()
    if not pairs:
        return float("nan"), float("nan")
    return sum(one for one, _ in pairs) / sum(other for _, other in pairs), _mean(one / other for one, other in pairs)


def _cost(size: int, shared: int) -> float:
    return READ * shared + WRITE * (size - shared)


def _gates(found: dict[str, Replayed], *, real: bool) -> list[Gate]:
    """Return what brim holds itself to; how full, cheap and fast it is, only on recorded runs."""
    own = [found[kind.name] for kind in _OWN if kind.name in found]
    if len(own) < len(_OWN):
        return [Gate(name="histories: forms of brim that were replayed", value=len(own), limit=len(_OWN), unit="")]
    every = [fit for each in own for fit in each.fits]
    held = [fit for fit in every if fit.kind not in ("impossible", "cramped")]
    raised = [fit for fit in every if fit.error and not (fit.typed and fit.kind in ("impossible", "cramped"))]
    gates = [
        Gate(name="histories: bad", value=sum(fit.bad for fit in every), limit=0, unit="fits"),
        Gate(name="histories: over the budget", value=sum(fit.over for fit in every), limit=0, unit="fits"),
        Gate(name="histories: illegal", value=sum(fit.illegal is not None for fit in every), limit=0, unit="fits"),
        Gate(name="histories: exceptions", value=len(raised), limit=0, unit="fits"),
        Gate(
            name="histories: not served by a cut inside",
            value=sum(not fit.served for fit in every if fit.kind == "inside"),
            limit=0,
            unit="fits",
        ),
        Gate(
            name="histories: task lost",
            value=sum(fit.task is None and not fit.error for fit in held),
            limit=0,
            unit="fits",
        ),
    ]
    return [*gates, *_figures(found)] if real else gates


def _figures(found: dict[str, Replayed]) -> list[Gate]:
    gates = []
    for kind in (Brim, BrimHistory):
        fits = found[kind.name].fits
        gates.append(Gate(name=f"{kind.name}: fill", value=fill(fits), limit=88, unit="%", at_least=True))
    for kind in (StableBrim, StableBrimHistory):
        fits = found[kind.name].fits
        gates += [
            Gate(name=f"{kind.name}: fill", value=fill(fits), limit=70, unit="%", at_least=True),
            Gate(name=f"{kind.name}: shared prefix", value=prefix(fits), limit=88, unit="%", at_least=True),
            Gate(name=f"{kind.name}: cached cost", value=costs(fits)[0], limit=0.62, unit="of no trimming"),
        ]
    for kind in (BrimHistory, StableBrimHistory):
        ratios = [fit.seconds / fit.once for fit in found[kind.name].of("tight") if fit.once]
        gates += [
            Gate(name=f"{kind.name}: CPU p50", value=_quantile(ratios, 0.5), limit=0.03, unit="of a tiktoken pass"),
            Gate(name=f"{kind.name}: CPU p95", value=_quantile(ratios, 0.95), limit=0.25, unit="of a tiktoken pass"),
        ]
    return gates
