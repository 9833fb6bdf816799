"""The interface of a meter, and the base class that caches counts and cuts texts to a limit.

A subclass measures one text. Counts of byte-pair vocabularies are neither additive nor monotone, so every cut is
counted again before it is returned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, SupportsIndex, runtime_checkable

from brim.amounts import units
from brim.errors import InvalidType, InvalidValue
from brim.meter.catalogue import Framing
from brim.meter.chat import RequestCounter, framing_of, request_counts
from brim.meter.grapheme import boundary_after, boundary_before
from brim.meter.memo import Memo

_WINDOW = 6
"""Characters per token of the limit that a search starts with; English has about four per token."""

PROBE = "The quick brown fox: 1,234 times, 漢字, слова, 😀.\n"
"""A text for which any meter returns more than 0."""


@runtime_checkable
class Meter(Protocol):
    """Counts text in one unit. Any object with these members can be passed as a meter."""

    @property
    def name(self) -> str:
        """The vocabulary, unit or estimate that counts."""

    @property
    def exact(self) -> bool:
        """Whether counts are exact rather than estimated."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, or of the meter's other unit."""

    def head(self, text: str, limit: int) -> str:
        """Return a long prefix of `text` of at most `limit` tokens."""

    def tail(self, text: str, limit: int) -> str:
        """Return a long suffix of `text` of at most `limit` tokens."""


class BaseMeter(ABC):
    """A meter with caching and cutting built in; a subclass defines `measure`."""

    unit: str = "tokens"
    """The unit of a count."""
    model: str | None = None
    """The model whose rules for framing, tools and images apply; `None` if the meter belongs to no model."""
    template: Framing | None = None
    """The assumed overhead of the chat template, if the meter is a tokenizer file, which does not contain it."""
    slack: int = 0
    """Tokens that `upper` adds once to a text, whatever its length."""
    overhead: int = 0
    """Tokens added once to a whole prompt: the slack, if the counts are upper bounds."""

    source: tuple[Callable[..., BaseMeter], tuple[Any, ...]] | None = None
    """A function and arguments that create this meter; a pickle contains them instead of the vocabulary."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.memo: Memo[int] = Memo()

    def __repr__(self) -> str:
        return f"<Meter: {measured(self.name, exact=self.exact)}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return self.source or super().__reduce_ex__(protocol)

    @property
    def name(self) -> str:
        """The vocabulary, unit or estimate that counts."""
        return self._name

    @property
    def exact(self) -> bool:
        """Whether counts are exact rather than estimated."""
        return False

    @abstractmethod
    def measure(self, text: str) -> int:
        """Return the number of tokens of `text`; called once for each text."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, or of the meter's other unit.

        Raises:
            InvalidType: `text` is not a string.
        """
        known = self.memo.get(text) if isinstance(text, str) else refuse(text)
        if known is None:
            known = self.measure(text)
            self.memo.put(text, known)
        return known

    def count_messages(
        self,
        messages: Sequence[Any],
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        system: Any = None,
        fields: Mapping[str, Any] | None = None,
        format: str | None = None,
    ) -> int:
        """Return the tokens of a request: its messages with their framing, its tools, and the start of the reply.

        A meter made from the name of a model applies that model's rules for framing, tools and images. `system` is a
        system prompt that is sent separately from the messages. `fields` are the other fields of the request's body,
        such as `response_format`: fields that the model does not see are ignored.

        Raises:
            InvalidValue: a message or a tool is invalid; the error names its index and the problem.
        """
        return request_counts(self.counter, messages, tools, system=system, fields=fields, format=format)

    def counter(self, provider: str, count: Callable[[str], int] | None = None) -> RequestCounter:
        """Return the counter of messages in a provider's format.

        Texts are counted with `count`, by default `load`, so that the sum is never below the count of the whole.
        """
        framing = framing_of(self.unit, provider, self.model)
        overhead = self.overhead if count is None else 0
        return RequestCounter(
            count or self.load, provider, framing, self.model, overhead=overhead, template=self.template
        )

    def upper(self, text: str) -> int:
        """Return an upper bound on the true count of a text; for an exact meter, the count itself."""
        return self.upper_load(text) + self.slack if text else 0

    def upper_load(self, text: str) -> int:
        """Return the upper bound of a part of a prompt; the sum of these, plus `slack`, bounds the whole."""
        return self.count(text)

    def load(self, text: str) -> int:
        """Return the tokens to plan for `text`: the sum of loads is at least the count of the whole."""
        return self.count(text)

    def head(self, text: str, limit: int) -> str:
        """Return a long prefix of `text` of at most `limit` tokens, without splitting a grapheme.

        Raises:
            InvalidValue: `limit` is not a whole number of at least zero.
        """
        return self._cut(text, units("limit", limit), at_end=False)

    def tail(self, text: str, limit: int) -> str:
        """Return a long suffix of `text` of at most `limit` tokens, without splitting a grapheme.

        Raises:
            InvalidValue: `limit` is not a whole number of at least zero.
        """
        return self._cut(text, units("limit", limit), at_end=True)

    def _cut(self, text: str, limit: int, *, at_end: bool) -> str:
        """Return the longest prefix, or with `at_end` suffix, found within the limit.

        Its length is narrowed down step by step, from a first guess that spares reading the rest of a long text.
        """
        if not isinstance(text, str):
            refuse(text)
        low, high, guess = 0, len(text) + 1, _WINDOW * limit + 16
        while low < high - 1:
            at = at_most(text, guess, at_end=at_end) if guess < len(text) else len(text)
            if at <= low:
                at = _at_least(text, low + 1, at_end=at_end)
                if at >= high:
                    break
            size = self.measure(side(text, at, at_end=at_end))
            if size <= limit:
                low = at
            else:
                high = at
            guess = _next_guess(low, high, at, size, limit) if high <= len(text) else 2 * at
        return side(text, low, at_end=at_end)


def check_counts(meter: BaseMeter) -> None:
    """Check that a meter counts text: if it always returned 0, everything would fit.

    Raises:
        InvalidValue: it returns 0 for the probe.
    """
    if not meter.count(PROBE):
        raise InvalidValue("meter", meter.name, f"a meter that counts text: for {PROBE!r} it returns 0")


def measured(meter: str, *, exact: bool) -> str:
    """Return the name of a meter, followed by whether its counts are exact."""
    return f"{meter}, exact" if exact else f"{meter}, an estimate" if "estimate" not in meter else meter


def side(text: str, length: int, *, at_end: bool) -> str:
    """Return the first characters of a text, or with `at_end` the last ones."""
    return text[max(0, len(text) - length) :] if at_end else text[:length]


def at_most(text: str, length: int, *, at_end: bool) -> int:
    """Return the largest length up to `length` of a prefix or suffix that splits no grapheme."""
    return len(text) - boundary_after(text, len(text) - length) if at_end else boundary_before(text, length)


def _at_least(text: str, length: int, *, at_end: bool) -> int:
    """Return the smallest length from `length` on of a prefix or suffix that splits no grapheme."""
    return len(text) - boundary_before(text, len(text) - length) if at_end else boundary_after(text, length)


def _next_guess(low: int, high: int, at: int, size: int, limit: int) -> int:
    """Return the next length to try: in proportion to the last count, and at least an eighth from either end.

    Without this margin, a text with uneven token density would need many steps.
    """
    scaled = at * (limit + 1) // size if size else high
    margin = (high - low) // 8
    return min(max(scaled, low + 1 + margin), high - 1 - margin)


def refuse(text: object) -> NoReturn:
    """Refuse to count something that is not a text.

    Raises:
        InvalidType: always.
    """
    raise InvalidType("text", text, "a str")
