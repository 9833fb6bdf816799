"""An estimate corrected by the usage that a provider reports.

Each answer gives one ratio: reported tokens over estimated tokens. The bound is the highest recent ratio plus a margin
that shrinks with the number of answers; a ratio far above the others is ignored until a second one confirms it.
docs/design/counting.md has the figures. All arithmetic is on whole numbers, so that every machine gets the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

from brim.amounts import counted, units
from brim.errors import InvalidType
from brim.meter.base import BaseMeter
from brim.meter.chat import RequestCounter, request_counts
from brim.meter.units import UNITS
from brim.meter.vocabularies import CLASSES, vocabulary

MILLION = 1_000_000
_REMEMBERED = 16
"""Number of recent ratios; the bound uses the highest."""
_FIRST, _LEAST = 250_000, 30_000
"""Margin in millionths before the first answer, which falls with the square root of the answers, and its minimum."""
_SHORTEST = 512
"""Estimated tokens of the shortest request whose ratio is used unchanged. A shorter request is treated as if the
missing tokens had been estimated correctly; otherwise a few tokens of structure could raise all later counts by a
third.
"""
_OUTLIER = 1_500_000
"""The highest ratio is ignored if it exceeds the second highest by this factor, in millionths. A lower factor would
also ignore a change of language; at double, one uncounted text would triple all counts.
"""
_LOWEST, _HIGHEST = MILLION // 10, 10 * MILLION
"""Ratios outside these bounds cannot come from text, so they are clipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSize:
    """The estimated size of one request."""

    estimate: int
    """Estimated tokens of its texts, tool schemas included."""
    fixed: int = 0
    """Tokens that do not depend on text: framing and media."""
    whole: bool = True
    """Whether brim can count all of its parts. If not (a document at an address, a search), it is not recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """The ratios of reported to estimated tokens of a model; `record` returns a new one with one more."""

    model: str | None = None
    """The model whose answers these were."""
    calls: int = 0
    """Answers that were recorded."""
    ratios: tuple[int, ...] = ()
    """Reported divided by estimated tokens of the last answers, in millionths, the newest last."""

    def record(self, size: CallSize | int, actual: int) -> Calibration:
        """Return the calibration after one more answer; a request without text, or with uncounted parts, is ignored.

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
        return max(_LEAST, _FIRST * 1_000 // isqrt(MILLION * max(1, self.calls)))

    @property
    def rate(self) -> int:
        """Millionths of a token to count per estimated token, so that the count is an upper bound."""
        return self._highest * (MILLION + self.margin) // MILLION

    @property
    def _highest(self) -> int:
        """The highest recent ratio, unless it is an outlier."""
        if len(self.ratios) < 2:
            return min(*self.ratios, _OUTLIER) if self.ratios else MILLION
        second, first = sorted(self.ratios)[-2:]
        return first if first * MILLION <= second * _OUTLIER else second

    def upper(self, size: CallSize) -> int:
        """Return an upper bound on the tokens of a request."""
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
    """An estimating meter whose counts are corrected to upper bounds by the recorded answers.

    It is immutable: after another answer, make a new `Calibrated(inner, calibration)`. For a meter that counts a
    quarter of the characters, character classes are used instead, since a quarter is far off in many scripts.
    """

    def __init__(self, inner: BaseMeter, calibration: Calibration | None = None) -> None:
        self.calibration = Calibration(model=inner.model) if calibration is None else calibration
        """The recorded ratios of the model."""
        super().__init__(f"{inner.name}, calibrated by {counted(self.calibration.calls, 'call')}")
        self.unit = inner.unit
        self.model = inner.model
        self.inner = inner
        """The meter that is corrected."""
        self.overhead = 0 if self.calibration.calls else inner.slack
        self._estimate = vocabulary(CLASSES).count if inner.name in UNITS else inner.count
        self._rate = self.calibration.rate

    def measure(self, text: str) -> int:
        """Return an upper bound; before the first answer, that of the corrected meter."""
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
        """Return the size of a request for `Calibration.record`, counted as by `count_messages`.

        `system` is a system prompt that is not one of the messages, `fields` are the other fields of the body.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        count = partial(request_counts, messages=messages, tools=tools, system=system, fields=fields, format=format)
        counters: list[RequestCounter] = []

        def without_text(provider: str) -> RequestCounter:
            counters.append(self.counter(provider, count=lambda _: 0))
            return counters[0]

        fixed = count(without_text)
        estimate = count(partial(self.counter, count=self._estimate)) - fixed
        return CallSize(estimate=estimate, fixed=fixed, whole=not counters[0].uncounted)


def _times(estimate: int, rate: int) -> int:
    """Return an estimate times a rate in millionths, to the nearest token, so that sums of short texts are right."""
    return (estimate * rate + MILLION // 2) // MILLION
