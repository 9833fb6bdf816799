"""A conversation over time, with a budget that it keeps to."""

from __future__ import annotations

from brim.sessions.compaction import NOTICE
from brim.sessions.session import Session
from brim.sessions.status import Status

__all__ = ["NOTICE", "Session", "Status"]
