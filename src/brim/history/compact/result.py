"""A history after a compaction: the messages to go on with, and what the next compaction has to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.errors import InvalidValue

_TOLD = {"summary": str, "handles": list, "index": str, "replaced": int, "before": int, "after": int, "reason": str}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Compacted:
    """A history after a compaction."""

    messages: list[Any]
    """What to go on with, in the shape it came in. A message that was not changed is the caller's own object."""
    summary: str
    """What stands for the rest, without its mark."""
    handles: tuple[str, ...]
    """The messages that it stands for, by handle; of very many the newest."""
    texts: Mapping[str, str]
    """What went with this compaction by handle, and the index of it: what a store should keep."""
    index: str
    """The handle of the index: a line for each message that went, and the handle of the index before it."""
    replaced: int
    """Messages that the summary stands for, those of earlier summaries among them."""
    before: int
    """Units of all messages before."""
    after: int
    """Units of all messages now."""
    reason: str
    """Why, with the numbers."""

    @property
    def freed(self) -> int:
        """Units that it freed."""
        return self.before - self.after

    def to_dict(self) -> dict[str, Any]:
        """Return what the next compaction has to know, and the numbers, as JSON values; no messages and no texts."""
        return {name: kind(getattr(self, name)) for name, kind in _TOLD.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Compacted:
        """Return what `to_dict` wrote, to be given to the next plan; it has no messages and no texts.

        Raises:
            InvalidValue: it is not what `to_dict` writes.
        """
        for name, kind in _TOLD.items():
            value = values.get(name) if isinstance(values, Mapping) else None
            if not isinstance(value, kind) or isinstance(value, bool):
                raise InvalidValue(f"compaction.{name}", value, f"the {kind.__name__} that Compacted.to_dict writes")
        told = {name: values[name] for name in _TOLD}
        return cls(**{**told, "handles": tuple(told["handles"])}, messages=[], texts={})
