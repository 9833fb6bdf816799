"""The conformance suite, put to brim and to every peer that is installed: a process each, ten seconds a case.

The verdicts are also written as JSON, from which `scripts/conformance.py` makes the page in the docs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bench import peers, registry
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.suite import CASES, SECONDS, STATES, Judge, Verdict, put_through
from bench.trimmers import Asked, Brim, BrimHistory, Peer, StableBrim, StableBrimHistory
from bench.worker import Broken, Silent, ask

RESULT = "conformance.json"
"""The file in the results' folder that holds every verdict."""

_GRACE = 20
"""Seconds beyond its limit after which a case is ended from outside: a library may hold the interpreter."""
_HELD = (Brim, StableBrim, BrimHistory, StableBrimHistory)


def job(peer: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield that the trimmer is ready, and then the verdict on each case."""
    adapter = Asked(registry.every()[peer].make())
    judge = Judge(count=peers.tiktoken_count())
    cases = {case.name: case for case in CASES}
    yield {"ready": True}
    for name in names:
        verdict = put_through(adapter, cases[name], judge)
        yield {"case": name, "state": verdict.state, "detail": verdict.detail}


def run(setting: Setting) -> Outcome:
    every = [peer for peer in registry.every().values() if peer.package or peer.name.startswith("brim")]
    found: dict[str, dict[str, Verdict]] = {}
    notes = list(registry.LEFT_OUT)
    for peer in every:
        try:
            found[peer.name] = _verdicts(peer)
        except (Broken, Silent) as error:
            notes.append(f"{peer.name} is left out: {error}")
            print(f"  {notes[-1]}", flush=True)
            continue
        right = sum(verdict.right for verdict in found[peer.name].values())
        print(f"  {peer.name}: {right} of {len(CASES)} cases", flush=True)
    told = _write(setting, [peer for peer in every if peer.name in found], found, notes)
    held = [found.get(kind.name, {}) for kind in _HELD]
    wrong = sum(len(CASES) - sum(verdict.right for verdict in verdicts.values()) for verdicts in held)
    rows: list[list[Cell]] = [
        [name, *(sum(verdict.state == state for verdict in verdicts.values()) for state in STATES)]
        for name, verdicts in found.items()
    ]
    table = Table(
        title=f"Conformance: {len(CASES)} cases",
        columns=["trimmer", *STATES],
        rows=rows,
        notes=[
            "Refused is an error of the trimmer's own where the case allows or asks for one; any other is an error. Not"
            " asked is a case with something that the library, or its adapter here, has no place for.",
            *notes,
        ],
    )
    gate = Gate(name="conformance: cases that brim does not pass", value=wrong, limit=0, unit="cases")
    return Outcome(name="conformance", tables=[table], gates=[gate], details=told)


def _verdicts(peer: Peer) -> dict[str, Verdict]:
    """Return a peer's verdicts, beginning again after a case that had to be ended from outside.

    Raises:
        Broken: its library is not installed, or cannot be loaded.
        Silent: it cannot be loaded in time.
    """
    found: dict[str, Verdict] = {}
    while left := [case.name for case in CASES if case.name not in found]:
        ready = False
        try:
            for answer in ask("conformance", SECONDS + _GRACE, peer=peer.name, names=left):
                ready = True
                if "case" in answer:
                    found[answer["case"]] = Verdict(state=answer["state"], detail=answer["detail"])
        except Silent:
            if not ready:
                raise
            stopped = Verdict(state="timeout", detail=f"no answer in {SECONDS:g} s")
            found[next(name for name in left if name not in found)] = stopped
        except Broken as error:
            broken = Verdict(state="error", detail=str(error)[:160])
            if not ready:
                raise
            found[next(name for name in left if name not in found)] = broken
    return {case.name: found[case.name] for case in CASES}


def _write(
    setting: Setting, every: Sequence[Peer], found: dict[str, dict[str, Verdict]], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Write every verdict as JSON, and return it."""
    told = {
        "notes": list(notes),
        "cases": [{"name": case.name, "why": case.why, "refusal": case.refusal} for case in CASES],
        "trimmers": [
            {
                "name": peer.name,
                "library": _library(peer.package or "brim"),
                "note": peer.note,
                "verdicts": [
                    {"state": verdict.state, "detail": verdict.detail} for verdict in found[peer.name].values()
                ],
            }
            for peer in every
        ],
    }
    setting.out.mkdir(parents=True, exist_ok=True)
    (setting.out / RESULT).write_text(json.dumps(told, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    return told


def _library(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package}, not installed"
