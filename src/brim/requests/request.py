"""The result of fitting a request: the provider's own arguments, and the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from brim.amounts import Amount, check_bounds
from brim.errors import InvalidValue, check_choice
from brim.receipts.receipt import Receipt
from brim.receipts.section import PriorityName, Section


@dataclass(slots=True)
class Request:
    """A fitted request."""

    body: dict[str, Any]
    """The arguments for the provider's client: `client.chat.completions.create(**request.body)`."""
    messages: list[Any]
    """The messages of the body. Unchanged messages of the history are the caller's own objects."""
    system: str
    """The text of the system sections; in some formats, it is also one of the messages."""
    tools: list[Any] | None
    """The tools that are offered, in the order given."""
    used: int
    """Tokens of the whole request."""
    budget: int
    receipt: Receipt
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The text of each section that is present, by name."""


KeepTools = Literal["all", "relevant"]
PAGES = ("user", "system")
"""The messages of a request that sections can belong to."""

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
            # A ceiling below the default floor of tools replaces that floor.
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
