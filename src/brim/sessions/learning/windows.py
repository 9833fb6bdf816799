"""The window of a model, from the settings, a refusal, the server, or the catalogue.

What is learned from a refusal applies to the owner of the refused request, for an hour. It can lower the window of the
catalogue, and a configured window at most by half.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from brim.amounts import fraction
from brim.meter.catalogue import fold, spellings
from brim.meter.window import Window, answer_room
from brim.sessions.learning.models import counts_answer, known
from brim.sessions.learning.scope import LearnedValues, LearningScope
from brim.wire.overflow import Overflow

_LASTS = 3_600
"""Seconds for which a refusal applies, since a server may be restarted with a larger window."""
_SERVER_INTERVAL = 600
"""Seconds after which a server is asked again."""
_MOST = 1_000
"""Maximum number of models to read from a server's list."""
_UNSURE = 4
"""While it is unknown whether the answer counts in the window, at most a quarter of the window is reserved for it; if
the answer turns out to count, a longer limit is lowered. With a third, an answer of 32,000 tokens would leave less than
64,000 of 96,000.
"""
LEAST_WINDOW = 256
"""The smallest window in tokens: if a shorter prompt is refused, its length is not the reason."""
_LOWERED = 2
"""A refusal lowers a configured window at most to a half."""
_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens", "n_ctx")
"""Fields that state the window of a model in a server's list."""

PROPERTIES = "/props"
"""The path at which a server of one model states its window."""
Fetch = Callable[[str], Awaitable[Any]]
"""Fetches the JSON at a path of a server; `None` if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowLimits:
    """The limits that a program sets for its requests; `None` means that the value is looked up, or no limit."""

    size: int | None = None
    """The size of the context window in tokens."""
    yields: bool = False
    """Whether a smaller window of the model is used instead of `size`, as if `size` comes from a profile."""
    reserve: int = 0
    """Tokens kept free for the answer if the request sets no limit for it."""
    cap: float | str | None = None
    limit: int | None = None
    warn: float | str | None = None
    """The share of the window from which a session warns."""
    margin: float | str = 0
    """The share of the budget to leave free if the count is an estimate."""
    spare: bool = True
    """Whether a request that must be cut leaves room for an answer of unknown length."""
    lower_answer: bool = False
    """Whether the answer limit of a request may be lowered if it is more than a quarter of the window."""

    @classmethod
    def of(cls, window: Window | None) -> WindowLimits:
        """Return the limits for a window; no more than its reserve is left for an answer."""
        if window is None:
            return cls()
        return cls(size=window.size, reserve=window.reserve, cap=window.cap, limit=window.limit, spare=False)

    def lowers(self, answer: int, size: int) -> bool:
        """Return whether the limit of an answer that counts in the window is lowered."""
        return self.lower_answer and answer > size // _UNSURE

    def window(self, size: int) -> Window:
        """Return a window of this size, without the reserve if that would fill it."""
        reserve = self.reserve if self.reserve < size else 0
        return Window(size, reserve=reserve, cap=self.cap, warn=self.warn, limit=self.limit)


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """How many tokens a request may take."""

    window: int
    """The size of the context window in tokens."""
    fits: int
    """A request of at most this many tokens is sent unchanged."""
    target: int
    """A longer request is cut to this many tokens, to leave room for the answer."""
    most: int
    """The maximum for the parts that must stay; it may leave less room for the answer than requested."""
    answer: int | None = None
    """Tokens of the answer, if the window must hold it together with the prompt; `None` if the server checks only the
    prompt.
    """
    lowers: bool = False
    """Whether the limit on the answer may be lowered to make it fit."""
    looseness: float = 1.0
    """The upper bound of the request divided by its estimate, if what must stay fits only by the estimate."""

    @classmethod
    def of(cls, tokens: int) -> Room:
        """Return the room of a window without reserve and cap."""
        return cls(window=tokens, fits=tokens, target=tokens, most=tokens)

    def at_most(self, tokens: int) -> Room:
        """Return the room with a lower ceiling."""
        fits, target, most = (min(each, tokens) for each in (self.fits, self.target, self.most))
        return replace(self, fits=fits, target=target, most=most)


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedWindow:
    """The window of a model, as learned from refusals."""

    size: int | None
    """The stated size; `None` if no refusal stated one."""
    at: float
    ceiling: int | None = None
    """The maximum tokens of a prompt, as counted by brim, after a refusal that no known window explains; otherwise
    `None`.
    """
    answer_counts: bool | None = None
    """Whether prompt and answer together must fit the window; `None` if unknown."""


class Windows:
    """The windows of models. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._learned: LearnedValues[LearnedWindow] = LearnedValues()
        self._served: LearnedValues[dict[str, int]] = LearnedValues()
        self._asked = LearnedValues[float]()
        """When a server was last asked, by source."""

    def room(
        self, scope: LearningScope, limits: WindowLimits, answer: int | None = None, *, exact: bool
    ) -> Room | None:
        """Return how many tokens a request may take; `None` if the window of the model is unknown.

        Args:
            scope: the owner of the request, and the model.
            limits: what the program sets.
            answer: the answer limit of the request; `None` if it sets none.
            exact: whether the request is counted exactly.
        """
        learned = self.learned(scope)
        ceiling = learned.ceiling if learned is not None else None
        if ceiling is not None and limits.size is not None:
            ceiling = max(ceiling, limits.size // _LOWERED)
        found = self._size(scope, limits, learned)
        if found is None:
            return Room.of(ceiling) if ceiling is not None else None
        size, most = found
        if limits.limit is not None:
            most = limits.limit if most is None else min(limits.limit, most)
        counts = self.answer_counts(scope) if answer is not None else False
        lowers = bool(counts) and limits.lowers(answer or 0, size)
        share = 1.0 if exact or not limits.margin else float(1 - fraction("safety_margin", limits.margin))
        reserves = _reserves(size, limits, answer, counts, lowers=lowers)
        fits, target, last = [max(1, int(_budget(size, each, limits.cap, most) * share)) for each in reserves]
        held = answer if counts else None
        room = Room(window=size, fits=fits, target=target, most=last, answer=held, lowers=lowers)
        return room if ceiling is None else room.at_most(ceiling)

    def _size(
        self, scope: LearningScope, limits: WindowLimits, learned: LearnedWindow | None
    ) -> tuple[int, int | None] | None:
        """Return the window of a model, and its limit on the input if it has one."""
        refused = learned.size if learned is not None else None
        if limits.size is not None and not limits.yields:
            return min(limits.size, max(refused or limits.size, limits.size // _LOWERED)), None
        size, most = refused, None
        if size is None and (size := self.served(scope)) is None:
            row = known(scope.model)
            size, most = (None, None) if row is None else (row.window or row.max_input, row.max_input)
        sizes = [each for each in (size, limits.size) if each is not None]
        return (min(sizes), most) if sizes else None

    def learned(self, scope: LearningScope) -> LearnedWindow | None:
        """Return what was learned about a model from refusals in the last hour."""
        found = self._learned.get(scope)
        return found if found is not None and self._clock() - found.at < _LASTS else None

    def answer_counts(self, scope: LearningScope) -> bool | None:
        """Return whether prompt and answer together must fit the window of a model; `None` if unknown."""
        learned = self.learned(scope)
        return counts_answer(scope.model) if learned is None or learned.answer_counts is None else learned.answer_counts

    def learn_from_answer(self, scope: LearningScope, used: int, answer: int | None, window: int) -> None:
        """Learn from an accepted request: if prompt and answer exceed the window, the answer does not count in it.

        Args:
            scope: the owner of the request, and the model that answered.
            used: tokens of the prompt.
            answer: the answer limit of the request.
            window: the window that was assumed.
        """
        if answer is None or answer >= window or used + answer <= window or self.answer_counts(scope) is False:
            return
        before = self.learned(scope) or LearnedWindow(size=None, at=0)
        self._learned.put(scope, replace(before, answer_counts=False, at=self._clock()))

    def refused(self, scope: LearningScope, overflow: Overflow, used: int, window: int | None) -> None:
        """Learn from a refusal. If it does not state the window, prompts stay below the refused size from then on.

        Args:
            scope: the owner of the request, and the model that refused it.
            overflow: what the refusal says, without implausible numbers.
            used: tokens of the refused prompt as counted by brim.
            window: the window that was assumed.
        """
        before = self.learned(scope) or LearnedWindow(size=None, at=0)
        size, ceiling = before.size, before.ceiling
        least = LEAST_WINDOW if window is None else min(LEAST_WINDOW, window // _LOWERED)
        if overflow.limit is not None and overflow.limit >= least:
            size = overflow.limit
        undercounted = overflow.sent is not None and overflow.sent > used
        if (overflow.limit is None or undercounted) and used > least:
            ceiling = min(ceiling or used, max(least, int(used * overflow.retry_share)))
        counts = not overflow.accepted if overflow.reply else before.answer_counts
        learned = LearnedWindow(size=size, at=self._clock(), ceiling=ceiling, answer_counts=counts)
        if replace(learned, at=before.at) != before or (size is not None and size == overflow.limit):
            self._learned.put(scope, learned)

    def served(self, scope: LearningScope) -> int | None:
        """Return the window of a model as its server stated it to this owner or to all; `None` if it did not."""
        names = _names(scope.model)
        found = (self._served.get(source(scope.server, owner)) or {} for owner in (scope.owner, ()))
        return next((windows[name] for windows in found for name in names if name in windows), None)

    def asked(self, source: LearningScope) -> bool:
        """Return whether a server was asked in the last ten minutes."""
        before = self._asked.get(source)
        return before is not None and self._clock() - before < _SERVER_INTERVAL

    async def ask(self, source: LearningScope, fetch: Fetch) -> None:
        """Ask a server for the windows of its models, and remember when, even without an answer.

        Windows that the server does not state this time are kept.
        """
        self._asked.put(source, self._clock())
        found, before = stated(await fetch("models"), await fetch(PROPERTIES)), self._served.get(source) or {}
        found = {**before, **{fold(name): size for name, size in found.items()}, **found}
        if "" in found:
            found = dict.fromkeys(found, found[""])
        if found:
            self._served.put(source, found)


def source(server: str, owner: tuple[str, ...] = ()) -> LearningScope:
    """Return the scope of a server's windows: the owner of the key used to ask it, or all clients."""
    return LearningScope("", owner, server)


@lru_cache(maxsize=1_024)
def _names(model: str) -> tuple[str, ...]:
    """Return the names under which a server may list a model; the empty name has the window for all its models."""
    return (model, *map(fold, spellings(model)), "")


def _reserves(
    size: int, limits: WindowLimits, answer: int | None, counts: bool | None, *, lowers: bool
) -> tuple[int, int, int]:
    """Return the tokens to leave free for the answer: by a request that fits, by a cut request, and at least."""
    spare = answer_room(size) if limits.spare else 0
    if answer is None or (answer >= size and not counts):
        return limits.reserve, limits.reserve or spare, limits.reserve
    if lowers or counts is False:
        enough = min(answer, max(limits.reserve, answer_room(size)))
        return enough, enough, 0
    if counts is None:  # A server that counts the answer refuses once; from then on all of it is reserved.
        answer = min(answer, size // _UNSURE)
    return answer, answer, answer if counts else 0


def _budget(size: int, reserve: int, cap: float | str | None, limit: int | None) -> int:
    """Return the budget of a window; if the reserve would fill it, the input may take all of it."""
    if reserve >= size:
        return Window(size, limit=limit).budget
    return Window(size, reserve=reserve, cap=cap, limit=limit).budget


def stated(models: Any, properties: Any) -> dict[str, int]:
    """Return the windows that a server states, by model; the empty name has the window of all its models.

    Args:
        models: its list of models.
        properties: its answer at `PROPERTIES`, where a server of one model, such as llama.cpp, states its window.
    """
    found: dict[str, int] = {}
    entries = models.get("data") if isinstance(models, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(name := entry.get("id"), str):
            sizes = [value for key in _FIELDS if type(value := entry.get(key)) is int and value > 0]
            if sizes:
                found[name] = sizes[0]
        if len(found) >= _MOST:
            break
    settings = properties.get("default_generation_settings") if isinstance(properties, Mapping) else None
    size = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    return {**found, "": size} if type(size) is int and size > 0 else found
