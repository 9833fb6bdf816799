"""Events of prompts over time, for observers: a log, a tracer, a metrics page.

An event has numbers, names and handles, and never the text of a prompt.
"""

from __future__ import annotations

from brim.observe.events import NAMES, Event, Observer, emit, watch

__all__ = ["NAMES", "Event", "Observer", "emit", "watch"]
