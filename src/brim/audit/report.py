"""The result of an audit, as a value, as versioned JSON, and as the figures that the terminal shows.

It has no times, machine names or details of the executor, so the same recordings always give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from brim.audit.comparison import REPORTED, ReplayPlan
from brim.audit.index import Scanned
from brim.audit.records import Recording
from brim.audit.totals import RECORDED, AuditTotals
from brim.audit.trace import Place
from brim.files.json_strings import map_strings
from brim.redaction import redact

VERSION = 2
_PICO = 10**12


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit."""

    values: Mapping[str, Any] = field(repr=False)
    """JSON values, the same for the same recordings and policies."""

    @classmethod
    def of(cls, plan: ReplayPlan, recordings: Sequence[Recording], found: Scanned, totals: AuditTotals) -> AuditReport:
        """Return the report of the totals; API keys in the names of files and models are masked."""
        return cls(
            map_strings(
                {
                    "version": VERSION,
                    "files": [{"name": each.name, "bytes": each.size} for each in recordings],
                    "silent_files": found.silent_files,
                    "records": {
                        "formats": dict(sorted(found.formats.items())),
                        "silent": found.silent,
                        "bad": found.bad,
                        "named": _named(recordings, found.named),
                    },
                    "plan": {
                        "model": plan.model,
                        "window": plan.window,
                        "policies": [asdict(policy) for policy in plan.policies],
                    },
                    "recorded": {**_recorded(totals), "named": _named(recordings, totals.named)},
                    "policies": [_policy(totals, policy.name) for policy in plan.policies],
                },
                redact,
                keys=True,
            )
        )

    def policy(self, name: str) -> Mapping[str, Any]:
        """Return the numbers of a policy.

        Raises:
            KeyError: there is no policy of that name.
        """
        by_name: dict[str, Mapping[str, Any]] = {each["name"]: each for each in self.values["policies"]}
        return by_name[name]


def _recorded(totals: AuditTotals) -> dict[str, Any]:
    reported = _pick(totals, REPORTED, "requests", "units", "counted")
    counts = ("conversations", "overflows", "refused_by_provider", "illegal", "partial", "unreadable")
    maps = ("faults", "models")
    return {
        **_prompts(totals, RECORDED),
        **_pick(totals, RECORDED, *counts, "unknown_window", "estimated", "priced_requests"),
        **{name: totals.below(RECORDED, name) for name in maps},
        "reported": {
            **reported,
            "ratio": _share(reported["counted"], reported["units"]),
            "cache_share": _share(totals.get(REPORTED, "cached"), reported["units"]),
        },
    }


def _policy(totals: AuditTotals, name: str) -> dict[str, Any]:
    scope = f"policy {name}"
    counts = ("overflows_avoided", "repaired", "still_over", "does_not_fit", "changed", "units_of_refused")
    saved = totals.get(scope, "units_saved")
    before = saved + totals.get(scope, "units") - totals.get(scope, "units_of_refused")
    return {
        "name": name,
        **_prompts(totals, scope),
        **_pick(totals, scope, *counts, "messages_dropped", "messages_cut"),
        "units_saved": saved,
        "units_saved_share": _share(saved, before),
        "cost_saved_usd": _dollars(totals, scope, "cost_saved"),
        "cost_of_refused_usd": _dollars(totals, scope, "cost_of_refused"),
    }


def _prompts(totals: AuditTotals, scope: str) -> dict[str, Any]:
    """Return the numbers that recorded requests and the prompts of a policy have in common."""
    counts = _pick(totals, scope, "requests", "units", "cache_units")
    return {
        **counts,
        "longest": totals.get(scope, "longest"),
        "cache_share": _share(counts["cache_units"], counts["units"]),
        "cost_usd": _dollars(totals, scope, "cost"),
    }


def _pick(totals: AuditTotals, scope: str, *names: str) -> dict[str, int]:
    return {name: totals.get(scope, name) for name in names}


def _share(part: int, whole: int) -> float | None:
    """Return a share, computed exactly and rounded to six digits; `None` if the whole is zero."""
    return float(round(Fraction(part, whole), 6)) if whole else None


def _dollars(totals: AuditTotals, scope: str, name: str) -> float | None:
    """Return a sum of picodollars in dollars; `None` if no request of the scope has a price."""
    priced = totals.get(scope, "priced_requests")
    return float(round(Fraction(totals.get(scope, name), _PICO), 6)) if priced else None


def _named(recordings: Sequence[Recording], problems: Sequence[tuple[Place, str]]) -> list[dict[str, Any]]:
    return [
        {"file": recordings[place.file].name, "line": place.line, "problem": problem} for place, problem in problems
    ]


def percent(share: float | None) -> str:
    """Return a share as text."""
    return "unknown" if share is None else f"{100 * share:.1f} %"


def dollars(amount: float | None) -> str:
    """Return an amount as text."""
    if amount is None:
        return "unknown"
    size = abs(amount)
    return ("-" if amount < 0 else "") + (f"${size:,.2f}" if size >= 1 or not size else f"${size:,.4f}")


def summary(recorded: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the main numbers of the recorded requests, each with its label; rare ones only if there are any."""
    rows = [
        ("conversations", "conversations"),
        ("requests", "requests"),
        ("over the window", "overflows"),
        ("rejected as too long", "refused_by_provider"),
        ("illegal", "illegal"),
        ("tokens", "units"),
        ("tokens of the longest request", "longest"),
    ]
    rare = (
        ("partly stored at the provider", "partial"),
        ("not replayed", "unreadable"),
        ("with an unknown window", "unknown_window"),
    )
    return [(label, recorded[key]) for label, key in (*rows, *(row for row in rare if recorded[row[1]]))]


HEADS = (
    *("policy", "avoided", "repaired", "do not fit", "changed", "tokens sent"),
    *("saved", "cost", "cost saved", "cache share"),
)
"""The columns of the table of policies."""
_COUNTS = ("overflows_avoided", "repaired", "does_not_fit", "changed", "units")


def policy_rows(values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows of the table of policies, the recorded requests first."""
    recorded = values["recorded"]
    sent, cost, cached = f"{recorded['units']:,}", dollars(recorded["cost_usd"]), percent(recorded["cache_share"])
    rows: list[tuple[str, ...]] = [("as recorded", "", "", "", "", sent, "", cost, "", cached)]
    for each in values["policies"]:
        counts = (f"{each[key]:,}" for key in _COUNTS)
        costs = (dollars(each["cost_usd"]), dollars(each["cost_saved_usd"]))
        rows.append((each["name"], *counts, percent(each["units_saved_share"]), *costs, percent(each["cache_share"])))
    return rows
