"""brim fills an LLM's context window to the brim and never over it."""

from __future__ import annotations

import sys as _sys
import typing as _typing
from types import ModuleType as _ModuleType

if _typing.TYPE_CHECKING:
    from brim.amounts import Shares
    from brim.errors import (
        BrimError,
        Conflict,
        DoesNotFit,
        InvalidType,
        InvalidValue,
        MeterError,
        ModelError,
        NoProgress,
        SessionPurged,
        SourceError,
        StoreError,
        UnknownName,
    )
    from brim.flows.curator import Curator
    from brim.flows.pack import Pack
    from brim.history.history import History, fit_messages
    from brim.history.result import Fitted
    from brim.history.stable import Stable
    from brim.integrations.wrap import wrap
    from brim.meter import Meter, meter
    from brim.meter.window import Window
    from brim.receipts.capture import Capture
    from brim.receipts.receipt import Change, Loss, Part, Receipt
    from brim.receipts.section import Priority, Section
    from brim.requests.fit import fit_request
    from brim.requests.replay import replay
    from brim.requests.request import Request
    from brim.sections.fit import fit
    from brim.sections.prompt_fit import Prompt
    from brim.sections.stages import Stage
    from brim.sessions import Session, Status
    from brim.sessions.conversations import Conversations
    from brim.sessions.loop import Loop, Outcome, Step, Tick
    from brim.settings import load_config
    from brim.store import open_store
    from brim.truncate import cut
    from brim.truncate.base import Cut, Truncator
    from brim.wire.overflow import Overflow, is_overflow

__version__ = "0.2.0"

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
    "Loop",
    "Loss",
    "Meter",
    "MeterError",
    "ModelError",
    "NoProgress",
    "Outcome",
    "Overflow",
    "Pack",
    "Part",
    "Priority",
    "Prompt",
    "Receipt",
    "Request",
    "Section",
    "Session",
    "SessionPurged",
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
    "fit_request",
    "is_overflow",
    "load_config",
    "meter",
    "open_store",
    "replay",
    "wrap",
]

_MODULES = {
    "amounts": ("Shares",),
    "errors": (
        *("BrimError", "Conflict", "DoesNotFit", "InvalidType", "InvalidValue", "MeterError", "ModelError"),
        *("NoProgress", "SessionPurged", "SourceError", "StoreError", "UnknownName"),
    ),
    "flows.curator": ("Curator",),
    "flows.pack": ("Pack",),
    "history.history": ("History", "fit_messages"),
    "history.result": ("Fitted",),
    "history.stable": ("Stable",),
    "integrations.wrap": ("wrap",),
    "meter": ("Meter", "meter"),
    "meter.window": ("Window",),
    "receipts.capture": ("Capture",),
    "receipts.receipt": ("Change", "Loss", "Part", "Receipt"),
    "receipts.section": ("Priority", "Section"),
    "requests.fit": ("fit_request",),
    "requests.replay": ("replay",),
    "requests.request": ("Request",),
    "sections.fit": ("fit",),
    "sections.prompt_fit": ("Prompt",),
    "sections.stages": ("Stage",),
    "sessions": ("Session", "Status"),
    "sessions.conversations": ("Conversations",),
    "sessions.loop": ("Loop", "Outcome", "Step", "Tick"),
    "settings": ("load_config",),
    "store": ("open_store",),
    "truncate": ("cut",),
    "truncate.base": ("Cut", "Truncator"),
    "wire.overflow": ("Overflow", "is_overflow"),
}
"""The public names by module. A module is imported when a name of it is first used, so that `import brim` is fast."""
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


class _Package(_ModuleType):
    """The package; it keeps `brim.meter` a function when the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, _ModuleType) and name in _MODULES and name in _PLACES:
            value = getattr(value, name)
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return list(__all__)


if not _typing.TYPE_CHECKING:  # A type checker should know the names above, and refuse any other.

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
        setattr(_sys.modules[__name__], name, found)
        return found
