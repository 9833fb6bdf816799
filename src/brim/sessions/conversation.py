"""One conversation, of which every request brings the whole: what is new is added to its session."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from brim.history.fitted import Fitted
from brim.history.history import Tools
from brim.sessions.request import FittedRequest
from brim.sessions.session import Session
from brim.sessions.view import jsonable
from brim.wire.overflow import Overflow

_MARKS = ("cache_control", "prompt_cache_breakpoint")

CHANGED = "changed"
"""Why a session began anew: its messages are no longer those that it knew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestExtras:
    """What a request holds beside its messages."""

    tools: Tools | None = None
    system: Any = None
    """The system prompt, where it is not one of the messages."""
    answer: int | None = None
    """Tokens that are asked for the answer."""
    aside: int = 0
    """Units that the prompt takes beside all this, which the caller has counted."""


class Conversation:
    """A session, and the messages as its requests bring them."""

    def __init__(self, session: Session, known: Sequence[Any] = ()) -> None:
        """Follow a session.

        Args:
            session: the session, new or opened again.
            known: the messages that an opened one was given so far, as its log has them.
        """
        self.session = session
        self.lock = threading.RLock()
        self._known = list(known)
        self._stored = len(self._known)
        """How many of them come from the log, where every message is JSON."""
        self._places = _paired(session.messages, self._known)
        self._last: Fitted | None = None

    def goes_on(self, messages: Sequence[Any]) -> int | None:
        """Return how many messages are known, if these begin with them; nothing where they are of another."""
        had, stored = len(self._known), self._stored
        if had > len(messages):
            return None
        start = (jsonable(raw) if at < stored else raw for at, raw in enumerate(messages[:had]))
        return had if all(map(_same, start, self._known)) else None

    def restart(self, messages: Sequence[Any]) -> None:
        """Go on with messages that do not begin as those that are known."""
        self.session.restart(messages, trigger=CHANGED)
        self._know(messages, 0)

    def fit(self, messages: Sequence[Any], beside: RequestExtras) -> FittedRequest:
        """Return the request that fits.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
            InvalidValue: a message or a tool that cannot be.
        """
        had = len(self._known)
        if had < len(messages):
            self.session.add(list(messages[had:]))
            self._know(messages, had)
        return self._prompted(list(messages), beside)

    def _prompted(self, given: list[Any], beside: RequestExtras, *, retried: bool = False) -> FittedRequest:
        session, size = self.session, self.session.settings.window.size
        most = size - beside.answer if beside.answer is not None and 0 < beside.answer < size else None
        if beside.aside:
            most = max(0, min(session.budget, size if most is None else most) - beside.aside)
        fitted = self._last = session.prompt(system=beside.system, tools=beside.tools, budget=most)
        sent = fitted.messages
        if beside.system and session.format == "openai":
            sent = sent[1:]  # The caller has it apart.
        changed = len(sent) != len(given) or any(raw is not known for raw, known in zip(sent, self._known, strict=True))
        places: list[int | None] = [*map(self._places.get, map(id, sent))] if changed else [*range(len(given))]

        def shrink(_: FittedRequest, overflow: Overflow) -> FittedRequest:
            with self.lock:
                session.refused(overflow, retried=True)
                return self._prompted(given, beside, retried=True)

        return FittedRequest(
            messages=[bare(raw) if place is None else given[place] for raw, place in zip(sent, places, strict=True)],
            places=places,
            changed=changed,
            session=session,
            fitted=fitted,
            retried=retried,
            learn=self._learn,
            shrink=shrink,
        )

    def _learn(self, request: FittedRequest, usage: Any) -> None:
        """Take a usage, if it is that of the session's newest prompt."""
        with self.lock:
            if self._last is request.fitted:
                self.session.record_usage(usage)

    def _know(self, messages: Sequence[Any], had: int) -> None:
        self._known[had:] = messages[had:]
        if not had:
            self._places, self._stored = {}, 0
        for place in range(had, len(messages)):
            self._places[id(messages[place])] = place


def bare(raw: Any) -> Any:
    """Return a message without the marks by which a client tells the provider what to cache.

    They move from request to request, so that the same message comes with and without one; and a provider takes only a
    few, so that a message which brim has changed does without.
    """
    if not isinstance(raw, dict):
        return raw
    content = raw.get("content")
    if isinstance(content, list) and any(map(_is_marked, content)):
        return {**_unmarked(raw), "content": [*map(_unmarked, content)]}
    return _unmarked(raw)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or bare(one) == bare(other))


def _is_marked(value: Any) -> bool:
    return isinstance(value, dict) and any(mark in value for mark in _MARKS)


def _unmarked(value: Any) -> Any:
    return {key: each for key, each in value.items() if key not in _MARKS} if _is_marked(value) else value


def _paired(raws: Sequence[Any], known: list[Any]) -> dict[int, int]:
    """Return which of the known messages each object is, the objects taking their place among them."""
    found, stop = {}, len(known)
    for raw in reversed(raws):
        place = next((at for at in range(stop - 1, -1, -1) if known[at] == raw), None)
        if place is not None:
            known[place], found[id(raw)], stop = raw, place, place
    return found
