"""The conformance suite, put to brim and to every peer that is installed: a process each, ten seconds a case.

A row says how many cases are right, and what is wrong with the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from bench import counting, record, registry
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.suite import CASES, SECONDS, Judge, Verdict, put_through
from bench.trimmers import Asked
from bench.worker import Broken, Silent, ask

_GRACE = 110
"""Seconds beyond its limit after which a case is ended from outside: a library may hold the interpreter."""
_FAULTS = {
    "over the budget": r"units for a budget of",
    "refused by the provider": r"answers the call|has no answer|has the role|makes two calls|neither content nor calls",
    "newest lost": r"does not end with the newest|newest message is lost|is empty|there is no message",
    "task or rules lost": r"the task, the first user|is not there whole",
    "other text lost": r"texts are there; lost is",
    "changed what fits": r"the history fits",
    "most room empty": r"^only ",
}
"""What may be wrong with a prompt, each with the words of its verdicts."""
_STATES = {"error": "raised", "timeout": "too slow", "not asked": "not asked"}


def job(peer: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield that the trimmer is ready, and then the verdict on each case."""
    adapter = Asked(registry.EVERY[peer]())
    judge = Judge(count=counting.tiktoken_count())
    cases = {case.name: case for case in CASES}
    yield {"ready": True}
    for name in names:
        verdict = put_through(adapter, cases[name], judge)
        yield {"case": name, "state": verdict.state, "detail": verdict.detail}


def run(_: Setting) -> Outcome:
    found: dict[str, dict[str, Verdict]] = {}
    notes = []
    for peer in (*registry.OWN, *registry.PEERS):
        try:
            found[peer.name] = _verdicts(peer.name)
        except (Broken, Silent) as error:
            notes.append(f"{peer.name} is left out: {error}")
            print(f"  {notes[-1]}", flush=True)
            continue
        right = sum(verdict.right for verdict in found[peer.name].values())
        print(f"  {peer.name}: {right} of {len(CASES)} cases", flush=True)
    own = [found.get(peer.name, {}) for peer in registry.OWN]
    wrong = sum(len(CASES) - sum(verdict.right for verdict in verdicts.values()) for verdicts in own)
    gate = Gate(name="peers: cases that brim does not pass", value=wrong, limit=0, unit="cases")
    return Outcome(name="peers", tables=[table(found, notes)], gates=[gate])


def table(found: Mapping[str, Mapping[str, Verdict]], notes: Sequence[str]) -> Table:
    """Return the table: how many verdicts of each trimmer are right, and what the others say."""
    rows: list[list[Cell]] = []
    columns = (*_FAULTS, "other", *_STATES.values())
    for name, verdicts in found.items():
        package = registry.EVERY[name].package
        kinds = Counter(_fault(verdict) for verdict in verdicts.values() if not verdict.right)
        right = sum(verdict.right for verdict in verdicts.values())
        library = f"{package} {record.installed(package) or 'not installed'}"
        rows.append([name, library, right, *(kinds[column] for column in columns)])
    return Table(
        title=f"Prompts that are right, of {len(CASES)} cases, and what is wrong with the others",
        columns=["trimmer", "library", "right", *columns],
        rows=rows,
        notes=[
            "If a case allows an error, a trimmer that raises one is right. 'Not asked' counts cases with"
            " something that the library, or its adapter here, cannot represent.",
            *notes,
        ],
    )


def _fault(verdict: Verdict) -> str:
    """Return what is wrong, as the column that counts it."""
    if verdict.state in _STATES:
        return _STATES[verdict.state]
    return next((name for name, words in _FAULTS.items() if re.search(words, verdict.detail)), "other")


def _verdicts(peer: str) -> dict[str, Verdict]:
    """Return a peer's verdicts, beginning again after a case that had to be ended from outside.

    Raises:
        Broken: its library is not installed, or cannot be loaded.
        Silent: it cannot be loaded in time.
    """
    found: dict[str, Verdict] = {}
    while left := [case.name for case in CASES if case.name not in found]:
        ready = False
        try:
            for answer in ask("peers", SECONDS + _GRACE, peer=peer, names=left):
                ready = True
                if "case" in answer:
                    found[answer["case"]] = Verdict(state=answer["state"], detail=answer["detail"])
        except (Silent, Broken) as error:
            if not ready:
                raise
            state: Literal["timeout", "error"] = "timeout" if isinstance(error, Silent) else "error"
            stopped = Verdict(state=state, detail=str(error)[:160])
            found[next(name for name in left if name not in found)] = stopped
    return {case.name: found[case.name] for case in CASES}
