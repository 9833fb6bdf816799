"""How much a model holds: as it was set, as its server says, as the catalogue has it, or as a refusal told."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from brim.amounts import fraction
from brim.gateway.keeping import Keeping
from brim.gateway.known import known
from brim.gateway.policy import RequestRule
from brim.gateway.settings import GatewaySettings
from brim.meter.window import Window, answer_room
from brim.wire.overflow import Overflow

KIND = "gateway-window"
"""The kind of document in which a store keeps what refusals told."""
_LASTS = 3_600
"""Seconds for which a refusal is believed: a server may be started again with more room."""
_LOOK = 60
"""Seconds after which a store is asked again what other gateways were told."""
_AGAIN = 600
"""Seconds after which a server is asked again."""
_MOST = 1_000
"""Models of which something is remembered."""
_NO_NUMBERS = 0.75
"""What a prompt shrinks to after a refusal that told no numbers."""
_MARGIN = 0.95
"""What of the told room is used after a refusal that did."""
_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens", "n_ctx")
"""Where lists of models say how much each holds."""

Fetch = Callable[[str], Awaitable[Any]]
"""Brings the JSON at a path of a server; nothing where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What a request may take."""

    window: int
    """Tokens that the model holds."""
    fits: int
    """Units up to which a request is sent as it came."""
    target: int
    """Units that it is cut to where it is longer."""
    source: str
    """How the window is known: `set`, `refusal`, `server` or `catalogue`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What refusals told of a model."""

    size: int | None
    ratio: float
    """By how much the provider counts more than brim does."""
    at: float


class Windows:
    """What is known of the windows of models."""

    def __init__(self, keeping: Keeping, clock: Callable[[], float] = time.time) -> None:
        self._keeping = keeping
        self._clock = clock
        self._told: OrderedDict[str, tuple[Told | None, float]] = OrderedDict()
        self._served: dict[str, tuple[float, dict[str, int]]] = {}

    def room(
        self, settings: GatewaySettings, rule: RequestRule, model: str, answer: int | None, *, exact: bool
    ) -> Room | None:
        """Return what a request to a model may take; nothing where nobody knows the window."""
        told = self.told(model)
        found = self._size(settings, rule, model, told)
        if found is None:
            return None
        size, limit, source = found
        reserve = answer if answer is not None and answer < size else settings.reserve
        limits = [bound for bound in (settings.limit, limit) if bound is not None]
        budget = _budget(size, reserve, settings.cap, min(limits, default=None))
        if not exact and settings.margin:
            budget = int(budget * (1 - fraction("safety_margin", settings.margin)))
        if told is not None and told.ratio > 1:
            budget = int(budget / told.ratio)
        left = 0 if answer or settings.reserve else answer_room(size)
        return Room(window=size, fits=max(1, budget), target=max(1, budget - left), source=source)

    def _size(
        self, settings: GatewaySettings, rule: RequestRule, model: str, told: Told | None
    ) -> tuple[int, int | None, str] | None:
        """Return the size, a limit on the input where there is one, and how they are known."""
        least = told.size if told is not None else None
        if rule.window is not None:
            return (least, None, "refusal") if least is not None and least < rule.window else (rule.window, None, "set")
        if least is not None:
            return least, None, "refusal"
        if (served := self.served(settings.base(rule.route or ""), model)) is not None:
            return served, None, "server"
        if (row := known(model)) is None:
            return None
        size = row.window or row.max_input
        return None if size is None else (size, row.max_input, "catalogue")

    def told(self, model: str) -> Told | None:
        """Return what refusals told of a model, as long as they are believed."""
        now = self._clock()
        found, looked = self._told.get(model, (None, 0.0))
        if now - looked > _LOOK and self._keeping.store is not None:
            saved = self._keeping.load(KIND, _id(model))
            found = found if saved is None else Told(**saved.body)
            self._put(model, found)
        return found if found is not None and now - found.at < _LASTS else None

    def learn(self, model: str, overflow: Overflow, used: int, window: int | None, *, counts: bool) -> float:
        """Take note of a refusal, and return by what the prompt has to shrink.

        Args:
            model: the model that refused.
            overflow: what it said.
            used: what brim had counted.
            window: what was thought that the model holds.
            counts: whether the meter learns from what was sent itself, so that no ratio is needed.
        """
        before = self.told(model)
        size = overflow.limit or (before.size if before is not None else None)
        ratio = before.ratio if before is not None else 1.0
        fitted = window is not None and (overflow.limit is None or window <= overflow.limit)
        if not counts and used and fitted:  # It should have fitted: the provider counts otherwise.
            more = overflow.sent / used if overflow.sent else ratio / _NO_NUMBERS
            ratio = min(20.0, max(ratio, more * 1.02))
        made = Told(size=size, ratio=ratio, at=self._clock())
        self._put(model, made)
        self._save(model, made)
        return overflow.factor * _MARGIN if overflow.factor is not None else _NO_NUMBERS

    def served(self, base: str, model: str) -> int | None:
        """Return what a server said that a model of its holds."""
        _, told = self._served.get(base, (0.0, {}))
        return told.get(model, told.get(""))

    def asked(self, base: str) -> bool:
        """Return whether a server was asked lately."""
        return base in self._served and self._clock() - self._served[base][0] < _AGAIN

    async def ask(self, base: str, fetch: Fetch) -> None:
        """Ask a server how much its models hold, and remember the answer, also where there is none."""
        self._served[base] = (self._clock(), self._served.get(base, (0.0, {}))[1])
        found = listed(await fetch("models"))
        if (own := props(await fetch("/props"))) is not None:
            found = {**dict.fromkeys(found, own), "": own}
        self._served[base] = (self._clock(), found)

    def take(self, base: str, answer: Any) -> None:
        """Take what a list of models says that passed by."""
        at, before = self._served.get(base, (0.0, {}))
        self._served[base] = (at, {**listed(answer), **before})

    def _put(self, model: str, told: Told | None) -> None:
        self._told[model] = (told, self._clock())
        self._told.move_to_end(model)
        while len(self._told) > _MOST:
            self._told.popitem(last=False)

    def _save(self, model: str, told: Told) -> None:
        saved = self._keeping.load(KIND, _id(model))
        body = {"size": told.size, "ratio": told.ratio, "at": told.at}
        self._keeping.save(KIND, _id(model), body, 0 if saved is None else saved.version)


@lru_cache(maxsize=1_024)
def _budget(size: int, reserve: int, cap: float | str | None, limit: int | None) -> int:
    """Return what a window leaves for the input; one that the answer would fill is the input's alone."""
    if reserve >= size:
        return Window(size, limit=limit).budget
    return Window(size, reserve=reserve, cap=cap, limit=limit).budget


def listed(answer: Any) -> dict[str, int]:
    """Return what a list of models says that each holds."""
    found: dict[str, int] = {}
    entries = answer.get("data") if isinstance(answer, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(name := entry.get("id"), str):
            told = [value for key in _FIELDS if type(value := entry.get(key)) is int and value > 0]
            if told:
                found[name] = told[0]
        if len(found) >= _MOST:
            break
    return found


def props(answer: Any) -> int | None:
    """Return what a server of one model says that it holds."""
    settings = answer.get("default_generation_settings") if isinstance(answer, Mapping) else None
    size = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    return size if type(size) is int and size > 0 else None


def _id(model: str) -> str:
    return model.encode("utf-8", "replace").decode().replace("\0", "?")[:200] or "?"
