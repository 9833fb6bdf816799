"""Corrects a session's meter by what the provider reported, where the meter is an estimate.

Counting everything anew with each call would cost too much, so the conversation is counted again where that changes its
count by a fiftieth, and at once when a prompt took more than was counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brim.errors import Conflict
from brim.meter import Meter, Scale, meter, meter_for
from brim.meter.calibrated import Calibrated, Calibration, Mix, begin
from brim.meter.estimate import OTHER
from brim.store.base import Store

KIND = "calibration"
"""The kind of document in which a store keeps what is known of a model."""
_UNITS = ("tokens", "units")
"""Units that a provider's tokens can be compared with."""
_WORTH = 50
"""The part of a prompt, one in so many, by which a count has to change to be worth counting everything again."""


class SentPrompt(NamedTuple):
    """The last prompt, as it went to the provider."""

    messages: Sequence[Any]
    tools: Sequence[Mapping[str, Any]] | None
    system: Any
    """Where it is sent apart from the messages."""
    format: str
    used: int


class Calibrating:
    """A meter, and what was learnt about it."""

    def __init__(self, given: Any, model: str | None, calibration: Calibration | None = None) -> None:
        self._plain = meter_for(given, model if given is None else None)
        self.learns = not self._plain.exact and self._plain.unit in _UNITS
        """Whether there is anything to learn: an exact meter has nothing to."""
        self._inner = self._plain if not self.learns else _estimate(given, model, self._plain)
        self.calibration = calibration or (begin(self._inner, model) if self.learns else None)
        """What is known of the model by now."""
        self.meter: Scale = self._plain if given != OTHER else Calibrated(self._inner, begin(self._inner))
        """What counts the conversation."""
        self.sent: SentPrompt | None = None
        self.recount()

    def recount(self) -> None:
        """Count by what is known from now on."""
        if self.calibration is not None and self.calibration.calls:
            like = self.meter if isinstance(self.meter, Calibrated) else None
            self.meter = Calibrated(self._inner, self.calibration, like=like)

    def mix(self) -> Mix | None:
        """Return what the last prompt was made of; nothing where there was none, or nothing is to be learnt."""
        if not self.learns or self.sent is None:
            return None
        scale = self.meter if isinstance(self.meter, Calibrated) else Calibrated(self._inner, self.calibration)
        sent = self.sent
        return scale.mix_of(sent.messages, sent.tools, system=sent.system, format=sent.format)

    def record(self, mix: Mix, actual: int, used: int | None = None) -> bool:
        """Learn from one more call, and return whether the conversation should be counted again."""
        known = self.calibration
        if known is None:
            return False
        self.calibration = known.record(mix, actual)
        if self.calibration.calls == known.calls:
            return False
        now = self.calibration.upper(mix)
        return self.calibration.calls == 1 or used is None or actual > used or abs(now - used) * _WORTH > used

    def copy(self) -> Calibrating:
        """Return one that can learn without this one."""
        made = Calibrating.__new__(Calibrating)
        made.__dict__.update(self.__dict__)
        return made

    def to_dict(self) -> dict[str, Any] | None:
        """Return what is known as JSON values."""
        return None if self.calibration is None or not self.calibration.calls else self.calibration.to_dict()


def shared(store: Store | None, model: str | None) -> Calibration | None:
    """Return what a store knows of a model from other sessions."""
    saved = store.load(KIND, model) if store is not None and model is not None else None
    return None if saved is None else Calibration.from_dict(saved.body)


def share(store: Store | None, model: str | None, known: Calibration | None) -> None:
    """Keep what is known of a model for other sessions, unless the store knows more already."""
    if store is None or model is None or known is None:
        return
    saved = store.load(KIND, model)
    if saved is not None and saved.body.get("calls", 0) >= known.calls:
        return
    try:
        store.save(KIND, model, known.to_dict(), version=0 if saved is None else saved.version)
    except Conflict:
        return  # Another session was faster, and knows as much.


def mix_dict(mix: Mix) -> dict[str, Any]:
    """Return a mix as JSON values."""
    return {"estimate": mix.estimate, "traits": list(mix.traits), "fixed": mix.fixed}


def mix_from(values: Mapping[str, Any]) -> Mix:
    """Return what `mix_dict` wrote."""
    return Mix(estimate=values["estimate"], traits=tuple(values["traits"]), fixed=values["fixed"])


def _estimate(given: Meter | str | None, model: str | None, plain: Scale) -> Scale:
    """Return the bare estimate of a meter, without the bound that a fit keeps to."""
    if given is not None:
        return plain
    return meter(model) if model is not None else plain
