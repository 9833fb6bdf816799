"""brim fills an LLM's context window to the brim and never over it."""

from __future__ import annotations

from brim.errors import BrimError, DoesNotFit, InvalidType, InvalidValue, SourceError, UnknownName
from brim.fit import fit
from brim.fitting import Prompt
from brim.history.fitted import Fitted
from brim.history.history import History, fit_messages
from brim.history.stable import CachePrices, Stable
from brim.meter import Meter, meter
from brim.receipt import Capture, Change, Loss, Part, Receipt
from brim.replay import replay
from brim.section import Priority, Section
from brim.shares import Shares
from brim.truncate.base import Cut, Truncator
from brim.truncate.text import cut
from brim.window import Window

__version__ = "0.1.0"

__all__ = [
    "BrimError",
    "CachePrices",
    "Capture",
    "Change",
    "Cut",
    "DoesNotFit",
    "Fitted",
    "History",
    "InvalidType",
    "InvalidValue",
    "Loss",
    "Meter",
    "Part",
    "Priority",
    "Prompt",
    "Receipt",
    "Section",
    "Shares",
    "SourceError",
    "Stable",
    "Truncator",
    "UnknownName",
    "Window",
    "cut",
    "fit",
    "fit_messages",
    "meter",
    "replay",
]
