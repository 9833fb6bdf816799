"""What a provider reported for the newest prompt of a conversation, by which the count of the next one is corrected.

Most of the next prompt was in the last one, whose size is known. So only what is new is as uncertain as the meter. A
prompt that was cut is between the smallest one of the conversation, mostly tools and instructions, and the last. After
the first cut, what it took away tells how the provider counts what the next one takes away: results, mostly. Where a
provider counts more than the meter does, nobody knows whether that is by text or by message, as with ids and metadata
that a shortened message still has. So both are worked out, and the larger one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from brim.meter import BaseMeter
from brim.sessions.learning.request_input import RequestInput

_SHORTER = 50
"""The part of a shorter prompt, one in so many, that is added: the reported tokens may be unevenly distributed."""
_NEW = 8
"""The part of what is new, one in so many, that is added: it may be of another kind."""
_PLAUSIBLE = 3
"""A report that differs by a larger factor counts something else."""
_NOTE = 1
"""Messages that a cut adds."""
_STRUCTURE = 8
"""The part of a prompt, one in so many, that ids and metadata take at most."""
_APART = 8
"""The part of the prompt, one in so many, that the smallest one must lack at the least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSize:
    """The size of one prompt: as we counted it, and as the provider reported it."""

    counted: int
    reported: int
    sent: RequestInput
    """The prompt, to be counted again by another meter."""
    scale: BaseMeter
    """The meter that counted it."""

    cleared: int = 0
    """Tokens that the provider cleared of it before it counted; it will clear them of the next one too."""
    asked: int = 0
    """Messages of the request that it was made of."""
    least: ReportedSize | None = None
    """The smallest prompt of the conversation that was reported."""
    taken: tuple[int, int] | None = None
    """Tokens that the last cut took away, as we counted them, and by what was reported; `None` before the first."""

    @property
    def plausible(self) -> bool:
        """Whether both numbers can mean the same prompt."""
        return _alike(self.counted, self.reported + self.cleared)

    @property
    def _agrees(self) -> bool:
        """Whether the meter is right to the token: then it needs no correction."""
        return self.scale.exact and self.counted == self.reported

    def after(self, last: ReportedSize | None) -> ReportedSize:
        """Return this size with what is known of a conversation whose last size is given."""
        if last is None:
            return self
        least, taken = last.least or last, last.taken
        counted, reported = last.counted - self.counted, last.reported - self.reported
        if counted > last.counted // _APART and _alike(counted, reported):
            taken = counted, reported
        return replace(self, least=least if least.counted < self.counted else None, taken=taken)

    def recounted(self, count: Callable[[RequestInput], int], scale: BaseMeter) -> ReportedSize:
        """Return this size with its prompts counted by another meter."""
        least, counted, taken = self.least, count(self.sent), self.taken
        if least is not None:
            least = least.recounted(count, scale)
        if taken is not None:
            taken = max(1, taken[0] * counted // max(1, self.counted)), taken[1]
        return replace(self, counted=counted, scale=scale, least=least, taken=taken)

    def correction(self, tokens: int, messages: int) -> int:
        """Return the tokens to add to the count of a prompt that has most of its content in common with this one.

        Args:
            tokens: the count of the prompt.
            messages: how many messages it has.
        """
        if self._agrees:
            return 0
        by_text = self._by_text(tokens) - tokens
        by_message = self._by_message(messages)
        return by_text if by_message is None else max(by_text, by_message)

    def budget(self, tokens: int, messages: int) -> int:
        """Return how many counted tokens a prompt may take, so that its corrected count is at most `tokens`.

        Args:
            tokens: what it may take.
            messages: how many messages the request has of which it is made.
        """
        if self._agrees:
            return tokens
        text = self._text_budget(tokens)
        sent = min(messages, len(self.sent.messages) + max(0, messages - self.asked) + _NOTE)
        by_message = self._by_message(sent)
        return text if by_message is None else min(text, tokens - by_message)

    def _by_text(self, tokens: int) -> int:
        """Return the size of a prompt if the provider counts each text higher or lower than the meter."""
        more = tokens - self.counted
        if more >= 0:
            return tokens + self.reported - self.counted + more // _NEW
        least = self._start()
        if least is None:
            found = self._share(tokens)
        elif tokens < least.counted:
            found = least._share(tokens)
        else:
            found = self._less(more, self.counted - least.counted, self.reported - least.reported)
        return found if self.taken is None else max(found, self._less(more, *self.taken))

    def _text_budget(self, tokens: int) -> int:
        more = tokens - self.reported
        if more >= 0:
            return self.counted + more * _NEW // (_NEW + 1)
        least = self._start()
        if least is None:
            found = self._part(tokens)
        else:
            found = self._within(more, self.counted - least.counted, self.reported - least.reported)
            if found < least.counted:
                found = min(least._part(tokens), least.counted - 1)
        return found if self.taken is None else min(found, self._within(more, *self.taken))

    def _less(self, more: int, counted: int, reported: int) -> int:
        """Return the size of a prompt that is smaller by `-more`, if `counted` tokens of ours are `reported` ones."""
        return self.reported + more * reported * (_SHORTER - 1) // (counted * _SHORTER) + 1

    def _within(self, more: int, counted: int, reported: int) -> int:
        """Return how many counted tokens a prompt may take whose size is to be smaller by `-more`."""
        return self.counted + (more - 1) * counted * _SHORTER // (reported * (_SHORTER - 1))

    def _by_message(self, messages: int) -> int | None:
        """Return the tokens that a prompt has beside its count if what the provider counts more is by message.

        `None` if it counts less: then each message would make the prompt smaller. If only one size is known, it is by
        message if it is not much: a large difference is one of the texts.
        """
        least, more = self._start(), self.reported - self.counted
        if least is None:
            return more if 0 < more <= self.counted // _STRUCTURE else None
        grown, count = more - (least.reported - least.counted), len(self.sent.messages)
        if grown <= 0 or count <= len(least.sent.messages):
            return None
        return more - (count - messages) * grown // (count - len(least.sent.messages))

    def _start(self) -> ReportedSize | None:
        """Return the smallest prompt, if it is so much smaller that the difference tells how texts are counted."""
        least = self.least
        if least is None or self.counted - least.counted < self.counted // _APART:
            return None
        return least if _alike(self.counted - least.counted, self.reported - least.reported) else None

    def _share(self, tokens: int) -> int:
        """Return a bound for the size of a shorter prompt, by its share of this one."""
        share = -(-tokens * (self.reported * _SHORTER + self.counted) // (self.counted * _SHORTER))
        return min(share, self.reported)

    def _part(self, tokens: int) -> int:
        """Return how many counted tokens a shorter prompt may take, by its share of this one."""
        return tokens * self.counted * _SHORTER // (self.reported * _SHORTER + self.counted)


def _alike(counted: int, reported: int) -> bool:
    """Return whether a count and a report can mean the same text."""
    return 0 < counted <= reported * _PLAUSIBLE and reported <= counted * _PLAUSIBLE
