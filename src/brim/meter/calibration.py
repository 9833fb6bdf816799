"""An estimate corrected by the usage that a provider reports.

Each answer gives one ratio: reported tokens over estimated tokens. The bound is the highest recent ratio with a margin
that shrinks as answers come in; one ratio far above all others counts once another confirms it. A fit over 21
properties of the text was tried and was no better; the figures are in docs/design/counting.md. All arithmetic is on
whole numbers, so every machine learns the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType
from brim.meter.base import BaseMeter
from brim.meter.chat import RequestCounter, request_counts
from brim.meter.units import UNITS
from brim.meter.vocabularies import CLASSES, vocabulary

MILLION = 1_000_000
_REMEMBERED = 16
"""Ratios that the bound looks at."""
_UNKNOWN = 300_000
"""Margin in millionths before the first answer."""
_FIRST, _LEAST = 250_000, 30_000
"""Margin in millionths after one answer, falling with the square root of their number, and its minimum."""
_SHORTEST = 512
"""Tokens of a prompt from which on its ratio is that of texts: a shorter one is recorded as if the rest of so many had
been estimated right, since a few tokens of its structure would count as a third of all texts to come."""
_OUTLIER = 1_500_000
"""A ratio that is so many millionths of every other one waits for a second like it. With less, another language would
wait too; with double, one text that nobody counted would triple all counts."""
_LOWEST, _HIGHEST = MILLION // 10, 10 * MILLION
"""Ratios outside these bounds come from something other than text and are clipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSize:
    """The estimated size of one request."""

    estimate: int
    """Estimated tokens of its texts, tool schemas included."""
    fixed: int = 0
    """Tokens that do not depend on text: framing and media."""
    whole: bool = True
    """Whether all of its parts can be counted; others teach nothing: a document by its address, a search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """The ratios of reported to estimated tokens of a model; `record` returns a new one with one more."""

    model: str | None = None
    """The model whose answers these were."""
    calls: int = 0
    """Answers that were recorded."""
    ratios: tuple[int, ...] = ()
    """Reported over estimated tokens of the last answers, in millionths, the newest last."""

    def record(self, size: CallSize | int, actual: int) -> Calibration:
        """Return the calibration after one more answer; one without text changes nothing, nor one not to be counted.

        Args:
            size: the size of the request by `Calibrated.size_of`, or its estimated tokens.
            actual: the input tokens that the provider reported for it.

        Raises:
            InvalidValue: a number is below 0 or not a whole number.
        """
        sent = size if isinstance(size, CallSize) else CallSize(estimate=units("estimated", size))
        took = units("actual", actual) - sent.fixed
        if took < 1 or sent.estimate < 1 or not sent.whole:
            return self
        rest = max(0, _SHORTEST - sent.estimate)
        ratio = min(max((took + rest) * MILLION // (sent.estimate + rest), _LOWEST), _HIGHEST)
        return Calibration(model=self.model, calls=self.calls + 1, ratios=(*self.ratios, ratio)[-_REMEMBERED:])

    @property
    def margin(self) -> int:
        """Millionths that the bound adds to the highest recent ratio."""
        return max(_LEAST, _FIRST * 1_000 // isqrt(MILLION * self.calls)) if self.calls else _UNKNOWN

    @property
    def rate(self) -> int:
        """Millionths of a token to count for each estimated token, so that the count is an upper bound."""
        return self._highest * (MILLION + self.margin) // MILLION

    @property
    def _highest(self) -> int:
        """The highest recent ratio, unless it is an outlier."""
        if len(self.ratios) < 2:
            return min(*self.ratios, _OUTLIER) if self.ratios else MILLION
        second, first = sorted(self.ratios)[-2:]
        return first if first * MILLION <= second * _OUTLIER else second

    def upper(self, size: CallSize) -> int:
        """Return the tokens that a request should not exceed."""
        return _times(size.estimate, self.rate) + size.fixed

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"model": self.model, "calls": self.calls, "ratios": list(self.ratios)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """Return the calibration that `to_dict` wrote.

        Raises:
            InvalidValue: `values` is not a calibration.
        """
        if not isinstance(values, Mapping) or not {"model", "calls", "ratios"} <= values.keys():
            raise InvalidType("calibration", values, "a mapping with model, calls and ratios")
        model, calls, ratios = values["model"], units("calibration.calls", values["calls"]), values["ratios"]
        if not isinstance(model, str | None):
            raise InvalidType("calibration.model", model, "a name or None")
        if not isinstance(ratios, list | tuple) or not all(type(ratio) is int and ratio > 0 for ratio in ratios):
            raise InvalidType("calibration.ratios", ratios, "a list of whole numbers of at least 1")
        if bool(ratios) != bool(calls) or len(ratios) > calls:
            raise InvalidType("calibration.ratios", ratios, f"the last ratios of {calls:,} calls")
        return cls(model=model, calls=calls, ratios=tuple(ratios[-_REMEMBERED:]))


class Calibrated(BaseMeter):
    """A meter over another's estimate: a count is an upper bound by all answers recorded so far.

    It does not change: one more answer makes another meter, `Calibrated(inner, calibration)`. A quarter of the
    characters is a poor estimate of a script that was not seen before, so character classes take its place.
    """

    def __init__(self, inner: BaseMeter, calibration: Calibration | None = None) -> None:
        self.calibration = Calibration(model=inner.model) if calibration is None else calibration
        """What is known of the model."""
        super().__init__(f"{inner.name}, calibrated by {self.calibration.calls:,} calls")
        self.unit = inner.unit
        self.model = inner.model
        self.inner = inner
        """The estimate that is corrected."""
        self.overhead = 0 if self.calibration.calls else inner.slack
        self._estimate = vocabulary(CLASSES).count if inner.name in UNITS else inner.count
        self._rate = self.calibration.rate

    def measure(self, text: str) -> int:
        """Return the tokens that a text should not exceed; before the first answer, the estimate's own bound."""
        if not text:
            return 0
        if not self.calibration.calls:
            return self.inner.upper_load(text)
        return max(1, _times(self._estimate(text), self._rate))

    def size_of(
        self,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        system: Any = None,
        fields: Mapping[str, Any] | None = None,
        format: str | None = None,
    ) -> CallSize:
        """Return the size of a request, counted as `count_messages` counts it; `Calibration.record` takes it.

        `system` is a system prompt that is not one of the messages, `fields` are the other fields of the body.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        count = partial(request_counts, messages=messages, tools=tools, system=system, fields=fields, format=format)
        made: list[RequestCounter] = []

        def bare(provider: str) -> RequestCounter:
            made.append(self.counter(provider, count=lambda _: 0))
            return made[0]

        fixed = count(bare)
        estimate = count(partial(self.counter, count=self._estimate)) - fixed
        return CallSize(estimate=estimate, fixed=fixed, whole=not made[0].uncounted)


def _times(estimate: int, rate: int) -> int:
    """Return an estimate at a rate in millionths, to the nearest token, so that many short texts add up right."""
    return (estimate * rate + MILLION // 2) // MILLION
