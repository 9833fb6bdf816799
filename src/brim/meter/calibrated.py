"""An estimate that learns from the usage that a provider reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from brim.meter.base import BaseMeter
from brim.meter.calibration import NOTHING, Calibration, Mix, priced
from brim.meter.chat import RequestCounter, framing_of
from brim.meter.foreign import Foreign
from brim.meter.memo import Memo
from brim.meter.traits import traits
from brim.meter.units import UNITS
from brim.wire import format_of, wire

__all__ = ["Calibrated", "Calibration", "Mix", "begin"]


def begin(inner: BaseMeter, model: str | None = None) -> Calibration:
    """Return what is known before the first call of a model whose tokens `inner` estimates."""
    rough = inner.name in UNITS or isinstance(inner, Foreign)
    return Calibration(model=model if model is not None else inner.model, proxy=not rough)


class Calibrated(BaseMeter):
    """A meter over another's estimate: a count is what the true one should not exceed, by all calls recorded so far.

    It stays as it is, like any meter: what a further call tells makes another one, `Calibrated(inner, calibration)`.
    What was learned of a text's make is kept between them, where `like` is the one before.
    """

    def __init__(
        self, inner: BaseMeter, calibration: Calibration | None = None, *, like: Calibrated | None = None
    ) -> None:
        self.calibration = begin(inner) if calibration is None else calibration
        """What is known of the model."""
        super().__init__(f"{inner.name}, calibrated by {self.calibration.calls:,} calls")
        self.unit = inner.unit
        self.model = inner.model
        self._inner = inner
        self._rates = self.calibration.rates()
        self._mixes: Memo[Mix] = Memo() if like is None or like._inner is not inner else like._mixes

    @property
    def inner(self) -> BaseMeter:
        """What estimates."""
        return self._inner

    def measure(self, text: str) -> int:
        """Return what the true count of a text should not exceed; before the first call, the estimate's own bound."""
        if not text:
            return 0
        known = self.calibration
        if not known.calls and known.proxy:
            return self._inner.upper(text)
        return max(1, priced(self._rates, self.mix(text)))

    def best(self, text: str) -> int:
        """Return what a text is expected to take."""
        return self.calibration.best(self.mix(text)) if text else 0

    def mix(self, text: str) -> Mix:
        """Return what a text is made of."""
        known = self._mixes.get(text)
        if known is None:
            known = Mix(estimate=self._inner.count(text), traits=traits(text))
            self._mixes.put(text, known)
        return known

    def mix_of(
        self,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        system: Any = None,
        format: str | None = None,
    ) -> Mix:
        """Return what a whole request is made of: its texts with the tools, and what is fixed beside them.

        This is what `Calibration.record` takes, with the input tokens that the provider reported for the request.

        Raises:
            InvalidValue: a message or a tool that cannot be.
        """
        chosen = wire(format_of(messages) or "openai" if format is None else format)
        found = [NOTHING]

        def count(text: str) -> int:
            found[0] += self.mix(text)
            return 0

        chat = RequestCounter(count, chosen.provider, framing_of(self.unit, chosen.provider, self.model), self.model)
        read = [chosen.read(raw, i) for i, raw in enumerate(messages)]
        if system:
            read.append(wire("anthropic").read({"role": "system", "content": system}, 0))
        offered, _ = chat.tools(tools, system=any(message.role == "system" for message in read))
        fixed = sum(chat.units(message) for message in read) + offered + chat.framing.reply
        if self.model is not None and chat.framing.per_message:
            # A role is a text too, and the framing asks for each only once.
            again = Counter(message.role for message in read)
            for role, times in again.items():
                fixed += (times - 1) * self._inner.count(role)
        return found[0] + Mix(estimate=0, traits=NOTHING.traits, fixed=fixed)
