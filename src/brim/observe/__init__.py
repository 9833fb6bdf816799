"""What happens to prompts over time, told as events to whoever watches: a log, a tracer, a scrape page.

An event holds numbers, names and handles, and never what a prompt says.
"""

from __future__ import annotations

from brim.observe.event import NAMES, Event
from brim.observe.watching import Observer, emit, watch

__all__ = ["NAMES", "Event", "Observer", "emit", "watch"]
