"""brim fills an LLM's context window to the brim and never over it."""

from __future__ import annotations

import typing as _typing

from brim.amounts import Shares
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
from brim.meter import Meter, meter
from brim.meter.window import Window
from brim.receipts.capture import Capture
from brim.receipts.receipt import Change, Loss, Part, Receipt
from brim.receipts.section import Priority, Section
from brim.replay import replay
from brim.sections.fit import fit
from brim.sections.section_fit import Prompt
from brim.sections.stages import Stage
from brim.settings import load_config
from brim.truncate import cut
from brim.truncate.base import Cut, Truncator

if _typing.TYPE_CHECKING:
    from brim.flows.curator import Curator
    from brim.flows.pack import Pack
    from brim.history.history import History, fit_messages
    from brim.history.result import Fitted
    from brim.history.stable import Stable
    from brim.integrations.wrap import wrap
    from brim.sessions import Session, Status
    from brim.sessions.conversations import Conversations
    from brim.sessions.loop import Loop, Outcome, Step, Tick
    from brim.store import open_store
    from brim.wire.overflow import Overflow, is_overflow

__version__ = "0.1.0"

__all__ = [
    "BrimError",
    "Capture",
    "Change",
    "Conflict",
    "Conversations",
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
    "Conversations": "brim.sessions.conversations",
    "Curator": "brim.flows.curator",
    "Fitted": "brim.history.result",
    "History": "brim.history.history",
    "Loop": "brim.sessions.loop",
    "Outcome": "brim.sessions.loop",
    "Overflow": "brim.wire.overflow",
    "Pack": "brim.flows.pack",
    "Session": "brim.sessions",
    "Stable": "brim.history.stable",
    "Status": "brim.sessions",
    "Step": "brim.sessions.loop",
    "Tick": "brim.sessions.loop",
    "fit_messages": "brim.history.history",
    "is_overflow": "brim.wire.overflow",
    "open_store": "brim.store",
    "wrap": "brim.integrations.wrap",
}
"""Names that are imported when they are first asked for, so that importing brim stays cheap."""


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_LATER[name]), name)
    return found
