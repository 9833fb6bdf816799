"""The meter of one model, corrected by reported usage.

Counting everything again after each call would be too slow. So a history is only counted again if that changes its
count by a twentieth, or if a prompt took more tokens than were counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from brim.errors import Conflict
from brim.meter import BaseMeter, Meter, meter, meter_for
from brim.meter.calibration import Calibrated, Calibration, CallSize
from brim.store.base import Store

KIND = "calibration"
"""The kind of document with the calibration of a model."""
TOKENS = ("tokens", "units")
"""Units that are comparable with a provider's tokens."""
_WORTH = 20
"""The history is counted again if its count changes by at least a twentieth."""


class SentPrompt(NamedTuple):
    """A prompt as it went to the provider."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    system: Any
    """The system prompt, if it is sent apart from the messages."""
    format: str
    used: int
    fields: Mapping[str, Any] | None = None
    """The other fields of the request."""


class ModelMeter:
    """A meter, and what was learned about it."""

    def __init__(self, chosen: Any, model: str | None, calibration: Calibration | None = None) -> None:
        """Create the meter.

        Args:
            chosen: a meter or its name; `None` for the model's own.
            model: the model whose prompts it counts.
            calibration: what is known from other sessions.

        Raises:
            UnknownName: there is no such meter or model.
        """
        self._plain = meter_for(chosen, model if chosen is None else None)
        self.learns = not self._plain.exact and self._plain.unit in TOKENS
        """Whether usage corrects it; an exact meter needs no correction."""
        self.estimate = _estimate(chosen, model, self._plain)
        """The meter's estimate, without the upper bound."""
        self.calibration = (calibration or Calibration(model=model or self.estimate.model)) if self.learns else None
        """The correction so far."""
        self.meter = self._plain
        """The meter that counts the history."""
        self.sent: SentPrompt | None = None
        """The newest prompt."""
        self.bound = Calibrated(self._plain) if self.learns else self._plain
        """The meter whose upper bound is used before any usage is known."""
        self.recount()

    def recount(self) -> None:
        """Count with the current correction."""
        if self.calibration is not None and self.calibration.calls and self.calibration != self._corrected_by:
            self.meter = Calibrated(self.estimate, self.calibration)

    def use(self, meter: BaseMeter) -> bool:
        """Count with another meter and its correction, and return whether it counts differently."""
        before = self.meter, self._corrected_by
        self.meter = meter
        self.calibration = self._corrected_by or (Calibration(model=meter.model) if self.learns else None)
        return meter is not before[0] and (self._corrected_by is None or self._corrected_by != before[1])

    @property
    def _corrected_by(self) -> Calibration | None:
        return self.meter.calibration if isinstance(self.meter, Calibrated) else None

    def sent_size(self) -> CallSize | None:
        """Return the estimated size of the newest prompt; `None` if there is none, or it has uncountable parts."""
        sent = self.sent
        if not self.learns or sent is None:
            return None
        scale = self.meter if isinstance(self.meter, Calibrated) else Calibrated(self.estimate, self.calibration)
        size = scale.size_of(sent.messages, sent.tools, system=sent.system, fields=sent.fields, format=sent.format)
        return size if size.whole else None

    def record(self, size: CallSize, actual: int, used: int | None = None) -> bool:
        """Learn from one more call, and return whether the history should be counted again."""
        known = self.calibration
        if known is None:
            return False
        self.calibration = known.record(size, actual)
        if self.calibration.calls == known.calls:
            return False
        now = self.calibration.upper(size)
        return self.calibration.calls == 1 or used is None or actual > used or abs(now - used) * _WORTH > used

    def copy(self) -> ModelMeter:
        """Return a copy that learns independently."""
        return copy(self)

    def to_dict(self) -> dict[str, Any] | None:
        """Return the correction as JSON values; `None` before the first call."""
        return None if self.calibration is None or not self.calibration.calls else self.calibration.to_dict()


def load_calibration(store: Store | None, id_: str | None) -> Calibration | None:
    """Return the correction in a store, by the id of a scope, which is the model in a program with one owner."""
    saved = store.load(KIND, id_) if store is not None and id_ is not None else None
    return None if saved is None else Calibration.from_dict(saved.body)


def save_calibration(
    store: Store | None, id_: str | None, known: Calibration | None, about: Mapping[str, Any] | None = None
) -> None:
    """Save a correction for other sessions, and its scope, unless the store has one based on more calls."""
    if store is None or id_ is None or known is None:
        return
    saved = store.load(KIND, id_)
    if saved is not None and Calibration.from_dict(saved.body).calls >= known.calls:
        return
    try:
        store.save(KIND, id_, {**known.to_dict(), **(about or {})}, version=0 if saved is None else saved.version)
    except Conflict:
        return  # Another session was faster, and has learned as much.


def _estimate(chosen: Meter | str | None, model: str | None, plain: BaseMeter) -> BaseMeter:
    """Return the meter that estimates, without the upper bound that a fit uses."""
    named = model if chosen is None else chosen
    return meter(named) if isinstance(named, str) else plain
