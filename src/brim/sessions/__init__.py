"""A conversation over time whose prompts stay within a budget."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brim.sessions.compaction import NOTICE
    from brim.sessions.session import Session
    from brim.sessions.status import Status

__all__ = ["NOTICE", "Session", "Status"]

_PLACES = {"NOTICE": "compaction", "Session": "session", "Status": "status"}

if not TYPE_CHECKING:  # Imported when first used: `brim status` reads a store, and needs no session.

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
