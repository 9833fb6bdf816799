"""What a run tells once it is over: how near its prompts came to the budget, what they lost, what was refused.

It reads `prompt_assembled` events and receipts of steps alike; whatever else a log holds is passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from brim.amounts import fraction
from brim.errors import InvalidType

_NEAR = 0.85
"""The share of the budget from which prompts were seen to start failing."""
_REFUSED = 400
"""The HTTP status of a prompt that is too long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """What a run tells."""

    prompts: int
    """Prompts that were assembled."""
    near: int
    """Those that used the share of their budget that counts as near, or more."""
    over: int
    """Those that used more than their budget: none, if brim made them."""
    largest: float
    """The largest share of a budget that was used."""
    truncated: int
    """Prompts that lost something."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How often each section was dropped, the most often first."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """How often each section was cut, the most often first."""
    refused: int = 0
    """Calls that were answered with HTTP 400."""
    failed: int = 0
    """Steps that failed, for whatever reason."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        names = ("prompts", "near", "over", "largest", "truncated", "refused", "failed")
        return {**{name: getattr(self, name) for name in names}, "dropped": dict(self.dropped), "cut": dict(self.cut)}

    def __str__(self) -> str:
        lines = [
            f"{self.prompts:,} prompts, {self.near:,} near their budget, {self.truncated:,} that lost something;"
            f" the fullest used {100 * self.largest:.0f} %",
            f"{self.refused:,} calls answered with HTTP 400, {self.failed:,} steps failed",
        ]
        lines += [f"dropped {count:,} times: {name}" for name, count in self.dropped.items()]
        lines += [f"cut {count:,} times: {name}" for name, count in self.cut.items()]
        return "\n".join(lines)


def report(log: Iterable[Mapping[str, Any]], *, near: float | str = _NEAR) -> RunReport:
    """Return what a log tells.

    Args:
        log: events and receipts, in any order.
        near: the share of a budget from which a prompt counts as near it.

    Raises:
        InvalidValue: an item is no mapping, or `near` is no share.
    """
    line = fraction("near", near)
    shares: list[Fraction] = []
    dropped: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    truncated = refused = failed = 0
    for i, item in enumerate(log):
        if not isinstance(item, Mapping):
            raise InvalidType(f"log[{i}]", item, "an event or a receipt")
        refused += _REFUSED in (item.get("http_status"), item.get("status"))
        failed += item.get("status") == "failed"
        told = _prompt(item)
        if told is not None:
            used, budget, lost, lessened = told
            shares.append(Fraction(used, budget) if budget else Fraction(0))
            dropped.update(lost)
            cut.update(lessened)
            truncated += bool(lost or lessened)
    return RunReport(
        prompts=len(shares),
        near=sum(share >= line for share in shares),
        over=sum(share > 1 for share in shares),
        largest=round(float(max(shares, default=Fraction(0))), 4),
        truncated=truncated,
        dropped=_ranked(dropped),
        cut=_ranked(cut),
        refused=refused,
        failed=failed,
    )


def _prompt(item: Mapping[str, Any]) -> tuple[int, int, list[str], list[str]] | None:
    """Return the use, the budget, and the sections dropped and cut of a prompt; nothing for anything else."""
    if item.get("event") == "prompt_assembled":
        lost, lessened = item.get("sections_dropped", []), item.get("sections_truncated", [])
        return item["used_tokens"], item["budget_tokens"], list(lost), list(lessened)
    if "context_truncation" not in item or "used_chars" not in item:
        return None
    states = [(section["state"], section["name"]) for section in item.get("sections", ())]
    lost = [name for state, name in states if state == "dropped"]
    return item["used_chars"], item["budget_chars"], lost, [name for state, name in states if state == "cut"]


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
