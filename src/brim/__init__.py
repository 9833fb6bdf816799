"""brim fills an LLM's context window to the brim and never over it."""

from __future__ import annotations

import typing as _typing

from brim.config import load_config
from brim.errors import (
    BrimError,
    Conflict,
    DoesNotFit,
    InvalidType,
    InvalidValue,
    LeaseLost,
    ModelError,
    NoProgress,
    SourceError,
    StoreError,
    UnknownName,
)
from brim.fit import fit
from brim.fitting import Prompt
from brim.meter import Meter, meter
from brim.receipt import Capture, Change, Loss, Part, Receipt
from brim.replay import replay
from brim.section import Priority, Section
from brim.shares import Shares
from brim.stages import Stage
from brim.truncate.base import Cut, Truncator
from brim.truncate.text import cut
from brim.window import Window

if _typing.TYPE_CHECKING:
    from brim.history.fitted import Fitted
    from brim.history.history import History, fit_messages
    from brim.history.stable import CachePrices, Stable
    from brim.integrations.wrap import wrap
    from brim.loop import Loop, Outcome, Step, Tick
    from brim.overflow import Overflow, is_overflow
    from brim.pack import Curator, Pack
    from brim.session import Session, Status
    from brim.store import open_store

__version__ = "0.1.0"

__all__ = [
    "BrimError",
    "CachePrices",
    "Capture",
    "Change",
    "Conflict",
    "Curator",
    "Cut",
    "DoesNotFit",
    "Fitted",
    "History",
    "InvalidType",
    "InvalidValue",
    "LeaseLost",
    "Loop",
    "Loss",
    "Meter",
    "ModelError",
    "NoProgress",
    "Outcome",
    "Overflow",
    "Pack",
    "Part",
    "Priority",
    "Prompt",
    "Receipt",
    "Section",
    "Session",
    "Shares",
    "SourceError",
    "Stable",
    "Stage",
    "Status",
    "Step",
    "StoreError",
    "Tick",
    "Truncator",
    "UnknownName",
    "Window",
    "cut",
    "fit",
    "fit_messages",
    "is_overflow",
    "load_config",
    "meter",
    "open_store",
    "replay",
    "wrap",
]

_LATER = {
    "CachePrices": "brim.history.stable",
    "Curator": "brim.pack",
    "Fitted": "brim.history.fitted",
    "History": "brim.history.history",
    "Loop": "brim.loop",
    "Outcome": "brim.loop",
    "Overflow": "brim.overflow",
    "Pack": "brim.pack",
    "Session": "brim.session",
    "Stable": "brim.history.stable",
    "Status": "brim.session",
    "Step": "brim.loop",
    "Tick": "brim.loop",
    "fit_messages": "brim.history.history",
    "is_overflow": "brim.overflow",
    "open_store": "brim.store",
    "wrap": "brim.integrations.wrap",
}
"""Names that are imported when they are first asked for, so that importing brim stays cheap."""


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_LATER[name]), name)
    return found
