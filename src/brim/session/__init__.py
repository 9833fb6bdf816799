"""A conversation over time, with a budget that it keeps to."""

from __future__ import annotations

from brim.session.session import Session
from brim.session.shrinking import NOTICE
from brim.session.status import Status

__all__ = ["NOTICE", "Session", "Status"]
