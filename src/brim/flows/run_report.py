"""The report on a run: how near its prompts came to the budget, what they dropped, and which calls were refused.

It reads `prompt_assembled` events and receipts of steps; other entries of a log are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from brim.amounts import fraction
from brim.errors import InvalidType

_NEAR = 0.85
"""The share of the budget above which prompts were seen to fail."""
_REFUSED = 400
"""The HTTP status of a prompt that is too long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """The numbers of a run."""

    prompts: int
    """Prompts that were assembled."""
    near: int
    """Prompts that used at least the share of their budget that counts as near."""
    over: int
    """Prompts that used more than their budget: none, if brim built them."""
    largest: float
    """The largest share of a budget that was used."""
    truncated: int
    """Prompts with truncated or dropped sections."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How often each section was dropped, the most often first."""
    cut: Mapping[str, int] = field(default_factory=dict)
    """How often each section was truncated, the most often first."""
    refused: int = 0
    """Calls with an HTTP 400 response."""
    failed: int = 0
    """Steps that failed."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.prompts:,} prompts, {self.near:,} near their budget, {self.truncated:,} truncated;"
            f" the fullest used {100 * self.largest:.0f} %",
            f"{self.refused:,} calls refused with HTTP 400, {self.failed:,} steps failed",
        ]
        lines += [f"dropped {count:,} times: {name}" for name, count in self.dropped.items()]
        lines += [f"truncated {count:,} times: {name}" for name, count in self.cut.items()]
        return "\n".join(lines)


def report(log: Iterable[Mapping[str, Any]], *, near: float | str = _NEAR) -> RunReport:
    """Return the report on a log.

    Args:
        log: events and receipts, in any order.
        near: the share of a budget from which a prompt counts as near it.

    Raises:
        InvalidValue: an item is not a mapping, or `near` is not a share.
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
        if item.get("event") == "prompt_assembled":
            used, budget = item["used_tokens"], item["budget_tokens"]
            lost, shortened = (_named(item.get(f"sections_{state}", ())) for state in ("dropped", "truncated"))
        elif "context_truncation" in item and "used_chars" in item:
            used, budget, rows = item["used_chars"], item["budget_chars"], item.get("sections", ())
            lost, shortened = ([row["name"] for row in rows if row["state"] == state] for state in ("dropped", "cut"))
        else:
            continue
        shares.append(Fraction(used, budget) if budget else Fraction(0))
        dropped.update(lost)
        cut.update(shortened)
        truncated += bool(lost or shortened)
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


def _named(sections: Iterable[str]) -> list[str]:
    """Return the names of sections; the turns of a history, whose names are positions, are `messages`."""
    return list(dict.fromkeys("messages" if name.startswith("messages[") else name for name in sections))


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
