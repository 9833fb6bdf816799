"""The terms on which a history and tools share the budget of a request with its sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from brim.amounts import Amount, check_bounds
from brim.errors import InvalidValue, check_choice
from brim.receipts.section import PriorityName, Section

KeepTools = Literal["all", "relevant"]
PAGES = ("user", "system")
"""The messages of a request that sections are part of."""

_TOOLS_FLOOR = "20%"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestTerms:
    """The priority, floor and ceiling of the history and of the tools; `fit_request` describes each."""

    history_priority: PriorityName | int = "high"
    history_floor: Amount = 0
    history_ceiling: Amount | None = None
    keep_tools: str = "all"
    tools_priority: PriorityName | int = "low"
    tools_floor: Amount = _TOOLS_FLOOR
    tools_ceiling: Amount | None = None

    def __post_init__(self) -> None:
        check_choice("keep_tools", self.keep_tools, get_args(KeepTools))
        for name in ("history", "tools"):
            _rank(name, getattr(self, f"{name}_priority"))
            floor, ceiling = getattr(self, f"{name}_floor"), getattr(self, f"{name}_ceiling")
            # A ceiling below the floor that tools have by default takes its place.
            check_bounds(f"{name}_", 0 if (name, floor) == ("tools", _TOOLS_FLOOR) else floor, ceiling)

    @property
    def history_rank(self) -> int:
        """The priority of the history as a number."""
        return _rank("history", self.history_priority)

    @property
    def tools_rank(self) -> int:
        """The priority of the tools as a number."""
        return _rank("tools", self.tools_priority)


def _rank(name: str, priority: PriorityName | int) -> int:
    """Return a priority as a number.

    Raises:
        InvalidValue: it is not one.
    """
    try:
        return Section(name, "", priority=priority).rank
    except InvalidValue as error:
        raise type(error)(f"{name}_priority", error.value, error.expected) from error
