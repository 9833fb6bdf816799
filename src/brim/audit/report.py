"""What an audit found, as a value and as versioned JSON.

It holds no time, no name of a machine and no word of what ran it, so the same recordings give the same bytes wherever
and however they are replayed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from brim.audit.index import Scanned
from brim.audit.judge import RECORDED, ReplayPlan
from brim.audit.reading import Recording
from brim.audit.tally import AuditTotals
from brim.audit.trace import Place

VERSION = 1
BINS = 21
"""Bins of the sizes: twenty tenths of the window, and all that is more."""
_PICO = 10**12

Locate = Callable[[Place], tuple[str, int]]


class Where(Protocol):
    """What knows the files."""

    silent_files: int

    def place(self, place: Place) -> tuple[str, int]:
        """Return the file and the line of a place."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit found."""

    values: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(
        cls, plan: ReplayPlan, recordings: Sequence[Recording], found: Scanned, tally: AuditTotals, where: Where
    ) -> AuditReport:
        """Return the report of what was counted; `where` tells the file and the line of a place."""
        locate = where.place
        unreadable = [_named(locate, place, problem) for place, problem in tally.named]
        return cls(
            {
                "version": VERSION,
                "files": [{"name": each.name, "bytes": each.size} for each in recordings],
                "silent_files": where.silent_files,
                "records": {
                    "formats": dict(sorted(found.formats.items())),
                    "silent": found.silent,
                    "bad": found.bad,
                    "named": [_named(locate, place, problem) for place, problem in found.named],
                },
                "plan": {
                    "model": plan.model,
                    "window": plan.window,
                    "policies": [policy.to_dict() for policy in plan.policies],
                },
                "recorded": {**_recorded(tally), "named": unreadable},
                "policies": [_policy(tally, policy.name) for policy in plan.policies],
                "worst": [_talk(locate, talk) for talk in tally.worst],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, which are copies."""
        copied: dict[str, Any] = json.loads(self.to_json())
        return copied

    def to_json(self) -> str:
        """Return the report as JSON, the same bytes for the same recordings and policies."""
        return json.dumps(self.values, indent=2, ensure_ascii=True) + "\n"

    @property
    def requests(self) -> int:
        """Requests that were replayed."""
        return int(self.values["recorded"]["requests"])

    def policy(self, name: str) -> Mapping[str, Any]:
        """Return the numbers of a policy.

        Raises:
            KeyError: there is none of that name.
        """
        for values in self.values["policies"]:
            if values["name"] == name:
                found: Mapping[str, Any] = values
                return found
        raise KeyError(name)


def _recorded(tally: AuditTotals) -> dict[str, Any]:
    def get(*key: str) -> int:
        return tally.get(RECORDED, *key)

    requests, units, reported = get("requests"), get("units"), get("reported")
    counted = get("counted of reported")
    return {
        "conversations": get("conversations"),
        "requests": requests,
        "overflows": get("overflows"),
        "overflows_by_model": tally.below(RECORDED, "overflows by model"),
        "refused_by_provider": get("refused"),
        "illegal": get("illegal"),
        "faults": tally.below(RECORDED, "faults"),
        "partial": get("partial"),
        "unreadable": get("unreadable"),
        "unknown_window": get("unknown window"),
        "estimated": get("estimated"),
        "parted": get("parted"),
        "units": units,
        "longest": tally.peaks.get((RECORDED, "units"), 0),
        "units_by_role": tally.below(RECORDED, "roles"),
        "messages_by_role": tally.below(RECORDED, "messages"),
        "cache_units": get("shared"),
        "cache_share": share(get("shared"), units),
        "cost_usd": _dollars(get("cost"), get("priced")),
        "priced_requests": get("priced"),
        "models": tally.below(RECORDED, "models"),
        "reported": {
            "requests": get("reported requests"),
            "units": reported,
            "counted": counted,
            "ratio": share(counted, reported),
            "cache_share": share(get("reported cached"), reported),
        },
        "sizes": _sizes(tally, RECORDED),
    }


def _policy(tally: AuditTotals, name: str) -> dict[str, Any]:
    own = f"policy {name}"

    def get(*key: str) -> int:
        return tally.get(own, *key)

    units, priced = get("units"), get("priced")
    return {
        "name": name,
        "requests": get("requests"),
        "overflows_avoided": get("avoided"),
        "repaired": get("repaired"),
        "still_over": get("over") + get("refused overflows"),
        "does_not_fit": get("refused"),
        "changed": get("changed"),
        "units": units,
        "longest": tally.peaks.get((own, "units"), 0),
        "units_saved": get("saved"),
        "units_saved_share": share(get("saved"), get("saved") + units - get("rescued")),
        "units_of_refused": get("rescued"),
        "cost_usd": _dollars(get("cost"), priced),
        "cost_saved_usd": _dollars(get("saved cost"), priced),
        "cost_of_refused_usd": _dollars(get("rescued cost"), priced),
        "cache_units": get("shared"),
        "cache_share": share(get("shared"), units),
        "messages_dropped": get("dropped"),
        "messages_cut": get("cut"),
        "units_lost_by_role": tally.below(own, "lost"),
        "sizes": _sizes(tally, own),
    }


def share(part: int, whole: int) -> float | None:
    """Return a share to six digits, worked out exactly; nothing of nothing."""
    return float(round(Fraction(part, whole), 6)) if whole else None


def _dollars(pico: int, priced: int) -> float | None:
    return float(round(Fraction(pico, _PICO), 6)) if priced else None


def _sizes(tally: AuditTotals, name: str) -> list[int]:
    found = tally.below(name, "sizes")
    return [found.get(f"{each:02d}", 0) for each in range(BINS)]


def _named(locate: Locate, place: Place, problem: str) -> dict[str, Any]:
    file, line = locate(place)
    return {"file": file, "line": line, "problem": problem}


def _talk(locate: Locate, talk: Any) -> dict[str, Any]:
    file, line = locate(talk.place)
    return {
        "file": file,
        "line": line,
        "model": talk.model,
        "requests": talk.requests,
        "overflows": -talk.overflows,
        "longest": -talk.peak,
        "units_lost": -talk.lost,
    }
