"""Bounds the next prompt by what the provider reported for an earlier one.

A report is about one prompt. What the next prompt shares with it has at most the reported size; all other text counts
by its own upper bound, since it may be of another kind. So low reports on English give no room to base64. A report
above brim's count lowers the budget for everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace

from brim.meter import BaseMeter
from brim.meter.adapters import UpperBound

LOOSEST = 4
"""The largest factor between brim's count and the provider's: 3.9 for Chinese text and an unknown model."""
TOKENS = ("tokens", "units")
"""Units that are comparable with a provider's tokens."""
_EIGHTH = 8
"""If the count of new text is no upper bound, an eighth is added to it."""
_AGREEING = 4
"""Reports that must agree before they raise the budget, since another provider may have the same name."""
_VARYING = 0
"""Instead of their number, if reports contradict each other; from then on, none raises the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedPrompt:
    """A prompt that the provider counted, and how much of it is in the last prompt."""

    counted: int
    """Its tokens by brim's meter."""
    reported: int
    """Its tokens by the provider."""
    shared: int
    """Those tokens, by brim's meter, that the last prompt has too."""
    agreeing: int = 1
    """How many reports only one provider can have made; `_VARYING` if there are several."""
    scale: BaseMeter = field(compare=False)
    """The meter that counted it."""

    @classmethod
    def of(cls, numbers: Sequence[int], scale: BaseMeter) -> ReportedPrompt | None:
        """Return the prompt from the result of `numbers`; `None` if there is none, or another meter counted it."""
        if len(numbers) != 4 or scale.unit not in TOKENS:
            return None
        counted, reported, shared, agreeing = numbers
        return cls(counted=counted, reported=reported, shared=shared, agreeing=agreeing, scale=scale)

    @property
    def numbers(self) -> list[int]:
        """Its numbers, for a log."""
        return list(astuple(replace(self, scale=None))[:-1])  # type: ignore[arg-type]

    @property
    def agrees(self) -> bool:
        """Whether no correction is needed: the meter counts exactly, and the report is not above its count.

        A lower report omits something; for example, a proxy may omit cached tokens.
        """
        return self.scale.exact and self.reported <= self.counted

    @property
    def corrects(self) -> bool:
        """Whether counts are corrected: upwards by any report, downwards once reports agree."""
        return self._excess > 0 or self._raises

    def followed(self, counted: int, reported: int) -> ReportedPrompt:
        """Return what is known after the last prompt was reported too.

        What both prompts share cancels out, so their reports differ by the rest, which has bounds of its own. Other
        reports are of several providers, or omit something.
        """
        new, gone = counted - self.shared, self.counted - self.shared
        least = self.reported - gone + new // LOOSEST
        most = self.reported - gone // LOOSEST + new + new // _EIGHTH + self.scale.slack
        agreeing = self.agreeing if least <= reported <= most else _VARYING
        if agreeing and counted > most:  # A provider that counts the whole bound would have contradicted.
            agreeing = min(_AGREEING, agreeing + 1)
        return replace(self, counted=counted, reported=reported, shared=counted, agreeing=agreeing)

    def bound(self, tokens: int, shared: int) -> int:
        """Return the upper bound, by the provider's count, of a prompt.

        Args:
            tokens: its tokens by the meter.
            shared: those of them that are in the reported prompt.
        """
        if self.agrees:
            return tokens
        new, growth = tokens - min(shared, tokens), max(0, tokens - self.counted)
        spare = -(-growth // _EIGHTH) if self._is_spare else 0
        return new + self._shared_bound(tokens - new) + spare

    def budget(self, tokens: int, shared: int) -> int:
        """Return the largest count of a prompt with so many tokens of the reported one, whose bound is `tokens`."""
        if self.agrees:
            return tokens
        budget = tokens + shared - self._shared_bound(shared)
        growth = max(0, budget - self.counted)
        return budget - growth + growth * _EIGHTH // (_EIGHTH + 1) if self._is_spare else budget

    def reason(self, tokens: int, budget: int) -> str:
        """Return in words why the budget is not `tokens`; empty if it is."""
        if budget == tokens:
            return ""
        return (
            f"a budget of {tokens:,} is {budget:,} by brim's count: of an earlier prompt, the provider counted"
            f" {self.reported:,} {self.scale.unit}, brim {self.counted:,}"
        )

    @property
    def _excess(self) -> int:
        """The tokens that the provider counted more; what was left out since may not have been a part of them."""
        return max(0, self.reported - self.counted)

    @property
    def _is_spare(self) -> bool:
        """Whether new text needs more than its count, which is no upper bound."""
        return self._excess > 0 or not isinstance(self.scale, UpperBound)

    @property
    def _raises(self) -> bool:
        """Whether reports below the count are believed."""
        return self.agreeing == _AGREEING and not self.scale.exact

    def _shared_bound(self, shared: int) -> int:
        """Return the upper bound of what a prompt shares with the reported one."""
        if self._excess:
            return shared + self._excess
        if not self._raises:
            return shared
        return min(shared, self.reported - (self.counted - shared) // LOOSEST)


def report(
    before: ReportedPrompt | None, counted: int, reported: int, scale: BaseMeter, *, refused: bool = False
) -> ReportedPrompt | None:
    """Return what is known after a report of the last prompt; `before` if it cannot be of that prompt.

    If it was refused, its size is believed at once: the second attempt is for the same server.
    """
    possible = 0 < counted <= reported * LOOSEST and reported <= counted * LOOSEST
    if not possible or scale.unit not in TOKENS:
        return before
    known = ReportedPrompt(counted=counted, reported=reported, shared=counted, scale=scale)
    known = known if before is None else before.followed(counted, reported)
    return replace(known, agreeing=_AGREEING) if refused and known.agreeing != _VARYING else known
