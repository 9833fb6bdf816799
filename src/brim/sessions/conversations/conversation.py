"""One conversation whose requests carry the whole history: a session that gets only the new messages.

The session logs every message and prompt, or only its cuts; either is enough to begin the next prompt like the last
one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from brim.errors import SessionPurged, StoreError
from brim.files.json_strings import map_strings
from brim.history.result import Fitted
from brim.meter import BaseMeter
from brim.redaction import redact
from brim.sessions.conversations.beginning import bare, fingerprints, leading, says_same
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.learning.reported_size import corrected
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.windows import Room
from brim.sessions.log.cut_record import folded
from brim.sessions.log.overview import GATEWAY
from brim.sessions.log.tolerant_store import attempts
from brim.sessions.process_lock import ProcessLock
from brim.sessions.session import Session
from brim.sessions.session_step import SessionStep
from brim.sessions.state import SessionState
from brim.store.store import Store
from brim.wire.base import Format, jsonable
from brim.wire.overflow import Overflow

CHANGED = "changed"
"""The trigger for starting a session over: the messages of a request do not continue those of the session."""
ENDLESS = 1 << 62
"""Stands for the size of an unknown window: without a log, such a request is still counted as part of its
conversation.
"""
_EACH_VALUE = 150
"""Estimated bytes of each value in a message in addition to its text."""
_EACH_SESSION = 40_000
"""Bytes of a session without messages."""
_TAIL = 2
"""Messages at the end that a client may have changed since its last request."""
_MOST_CAPTURED = 4_000_000
"""Characters of a captured prompt in a log of cuts; of a longer prompt, only the sums are kept."""


class ConversationKey(NamedTuple):
    """What the requests of a conversation have in common, apart from their first messages."""

    model: str
    format: Format | None
    owner: tuple[str, ...] = ()
    """The owner; different owners share nothing. In a gateway, it consists of the name of the client's key, the route,
    and a tag of any other keys that the client sends.
    """


class Diverged(Exception):
    """Another process has continued the session with other messages."""


class Conversation:
    """A conversation that requests continue."""

    def __init__(
        self, session: Session, key: ConversationKey, known: Sequence[Any] = (), *, capture: bool = False
    ) -> None:
        """Follow a session.

        Args:
            session: the session, new or opened again.
            key: what its requests have in common.
            known: the messages of its requests so far, from the log if the session was opened again.
            capture: whether a log of cuts keeps the text of each prompt.
        """
        self.session = session
        self.name = session.id
        self.key = key
        self.lock = ProcessLock()
        """Held during a fit."""
        self.size = 0
        """Bytes of its newest request, approximately."""
        self.auto = False
        """Whether it is found by its first messages, because the caller gave it no name."""
        self.found_by = ""
        """The fingerprint by which the store finds it."""
        self._capture = capture
        self._newest: Fitted | None = None
        self._set_known(known, session.reloads)

    def _set_known(self, known: Sequence[Any], reloads: int) -> None:
        """Set the messages of its newest request; the session may have only a part of them."""
        self.known = list(known)
        """The messages of its newest request."""
        self._reloads = reloads
        self._marked: tuple[int, str] = (0, "")
        """The number of messages in the fingerprint, and the fingerprint."""
        self._weighed: tuple[int, int] = (0, _EACH_SESSION)
        """The number of messages in the weight, and the weight."""
        self._units: tuple[BaseMeter | None, int] = (None, 0)
        """The tokens of the known messages, and the meter that counted them."""
        self._places = _paired(self.session.messages, self.known)
        """The indexes of the known messages by object id."""

    @property
    def logged(self) -> bool:
        """Whether its messages are logged, not only its cuts."""
        return self.session.logs_messages

    @property
    def weight(self) -> int:
        """The bytes that it takes in memory, approximately."""
        length, weight = self._weighed
        weight += sum(map(weight_of, self.known[length:]))
        self._weighed = len(self.known), weight
        return weight

    @property
    def mark(self) -> str:
        """The fingerprint of the messages of its newest request, and of its key."""
        self._marked = len(self.known), (self.marks(self.known) or [self._marked[1]])[-1]
        return self._marked[1]

    def marks(self, messages: Sequence[Any]) -> list[str]:
        """Return the fingerprints of the prefixes of `messages`, perhaps without the shortest; they continue its own.

        Raises:
            InvalidValue: a message is invalid.
        """
        length, last = self._marked
        if not length:
            return beginnings(messages, self.key)
        return fingerprints(messages[length:], self.key.format, last)

    def shared(self, messages: Sequence[Any]) -> int:
        """Return how many of its messages these begin with; the text of a leading system prompt may differ."""
        known, given = self.known, listed(messages)
        first, end = leading(known), min(len(known), len(given))
        if leading(given) != first:
            return 0
        same = known[first:end] == given[first:end]  # Almost always.
        format, places = self.key.format, range(first, end)
        return end if same else next((at for at in places if not says_same(known[at], given[at], format)), end)

    def continues(self, messages: Sequence[Any]) -> int | None:
        """Return the number of known messages if these begin with them, else `None`."""
        return len(self.known) if self.shared(messages) == len(self.known) else None

    def resembles(self, messages: Sequence[Any]) -> int | None:
        """Return the number of equal messages if only the last known messages differ, else `None`."""
        shared, known, first = self.shared(messages), len(self.known), leading(self.known)
        return shared if shared < known <= min(shared + _TAIL, 2 * shared - first) else None

    def fit(self, request: RequestInput, room: Room, scale: BaseMeter, most: int | None = None) -> FittedRequest:
        """Add new messages to the session, and return its prompt as the fitted request.

        Args:
            request: the request.
            room: how many tokens it may take.
            scale: the meter.
            most: a lower limit, after a refusal.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: a message or a tool is invalid.
            SessionPurged: the session was purged.
            Diverged: the messages do not continue those of another process.
        """
        if not self.logged:
            self.session.refresh()  # Another process may have cut it since.
        made, added = self.session.make(lambda step: self._fit(step, request, room, scale, most))
        if not added.had:
            self._set_known((), self.session.reloads)
        self._places.update((id(raw), place) for place, raw in enumerate(added.new, start=added.had))
        self.known += added.new
        self._units, self._newest = (scale, added.units), made.fitted
        return made

    def _fit(
        self, step: SessionStep, request: RequestInput, room: Room, scale: BaseMeter, most: int | None
    ) -> tuple[FittedRequest, _NewMessages]:
        """Return the request that fits, and which of its messages are new."""
        if self.session.reloads != self._reloads:  # Another process has written to the log.
            self._set_known(self._read_log(), self.session.reloads)
            if self.auto and self.logged and self.continues(request.messages) is None:
                raise Diverged
        step.count_by(scale)
        had = step.state.counts.regrets()
        added, state = self._add(step, request), step.state
        start = self._start_change(state, request.messages, added)
        parts = self.session.parts(request.system, request.tools, fields=request.fields)
        beside, exact = parts.extra(state.context)
        count = added.units + sum(beside.values()) + start
        expected = state.estimate(parts) + start
        fits = most is None and not state.context.history.has_surplus_media
        fits = fits and corrected(expected, state.reported) <= room.fits
        made = FittedRequest(
            messages=listed(request.messages),  # Not copied: there may be tens of thousands.
            places=range(len(request.messages)),
            input=request,
            correction=corrected(count, state.reported) - count,
            room=room,
            start=start,
            session=self.session if self.logged else None,
        )
        regret = state.counts.regrets()
        made.regret = regret["calls"] - had["calls"], regret["tokens"] - had["tokens"]
        made.exact = exact and state.exact
        turns = state.context.history.turns
        made.before = count + made.correction + sum(repair.units for repair in turns.repairs)
        is_valid = room.window == ENDLESS or not (turns.repairs or turns.seams.open or turns.idle(()))
        if self.logged or not fits or not is_valid or state.counts.cut:
            target = room.fits if fits else room.target if most is None else min(room.target, most)
            self._cut(step, made, parts, added, target)
        return made, added

    def _read_log(self) -> list[Any]:
        """Return the messages in the log; none if the store keeps failing, so that the session starts over."""
        for _ in attempts():
            try:
                return logged_messages(self.session.store, self.name)
            except StoreError as error:
                self.session.note_failure(error)
        return []

    def _add(self, step: SessionStep, request: RequestInput) -> _NewMessages:
        """Add the new messages of a request to the session, or start over with all of them."""
        context, messages, had = step.state.context, request.messages, self.continues(request.messages)
        if not self.known and len(context.messages):
            had = None
        new = list(messages[had or 0 :])
        if request.changes:
            new = [jsonable(raw) for raw in new]
        before, units = context.units, self._units[1] if self._units[0] is step.state.meter else None
        if had is None:
            step.restart(new, CHANGED)
            before, units = 0, 0
        elif new:
            step.add(new)
        context, turns = step.state.context, step.state.context.history.turns
        if len(context.messages) == (had or 0) + len(new):
            units = context.units
        elif units is not None:
            units += context.units - before
        else:  # The meter has changed, and the session has only a part of the messages.
            units = sum(turns.chat.units(turns.wire.read(raw, i)) for i, raw in enumerate([*self.known, *new]))
        return _NewMessages(had or 0, new, units)

    def _cut(self, step: SessionStep, made: FittedRequest, parts: FixedParts, added: _NewMessages, target: int) -> None:
        """Build the prompt of a request within `target` tokens by the provider's count."""
        session, state, request = self.session, step.state, made.input
        cuts = state.counts.compactions
        has_all = len(state.context.messages) == added.had + len(added.new)
        pin = request.pin if has_all else [each for each in request.pin if isinstance(each, str)]
        fitted = step.prompt(parts, target, start=made.start, pin=pin, capture=self._capture)
        made.fitted = fitted
        sent = fitted.messages
        if request.system and session.format == "openai":
            sent = sent[1:]  # The caller sends it separately.
        self._place(made, sent, added)
        whole = (made.before or 0) - made.correction
        counted = fitted.used + made.start
        made.correction = corrected(counted, state.reported) - counted
        made.before = whole + made.correction
        made.cut = state.counts.compactions if state.counts.compactions > cuts else 0
        if made.room is not None and target < made.room.target:
            made.room = replace(made.room, target=target)
        if not self.logged:
            self._log_cut(step, made)

    def _place(self, made: FittedRequest, sent: Sequence[Any], added: _NewMessages) -> None:
        """Set the messages to send: the caller's own where they are unchanged, otherwise those that brim made.

        The newest version of a message is sent, since its cache marks may have changed; it is copied if the caller may
        change it later.
        """
        places, new = self._places if added.had else {}, {id(raw): at for at, raw in enumerate(added.new)}
        found = [places.get(key) if (at := new.get(key)) is None else added.had + at for key in map(id, sent)]
        given, pairs = made.input.messages, zip(sent, found, strict=True)
        made.places, made.changed = found, len(found) != len(given) or found != [*range(len(given))]
        if made.input.changes:
            own = (raw if at is None or raw == given[at] else jsonable(given[at]) for raw, at in pairs)
            made.messages = [bare(raw) if at is None else raw for raw, at in zip(own, found, strict=True)]
        else:
            made.messages = [bare(raw) if at is None else given[at] for raw, at in pairs]

    def _start_change(self, state: SessionState, messages: Sequence[Any], added: _NewMessages) -> int:
        """Return by how many tokens the leading system messages are longer than those of the session."""
        if not added.had:
            return 0
        pairs = zip(messages[: leading(messages)], self.known, strict=False)
        changed = [pair for pair in pairs if not says_same(*pair, self.key.format)]
        turns = state.context.history.turns
        sizes = [[turns.chat.units(turns.wire.read(raw, 0)) for raw in pair] for pair in changed]
        return sum(new - old for new, old in sizes)

    def _log_cut(self, step: SessionStep, made: FittedRequest) -> None:
        """Add the entries of a prompt to a log of cuts: the cut, the sums, and the receipt of a new cut."""
        fitted, state, room = made.fitted, step.state, made.room
        assert fitted is not None
        step.events.clear()  # The caller reports its requests itself.
        step.log_cut()
        status = {
            "used": made.used,
            "budget": None if room is None else room.target,
            "unit": state.meter.unit,
            "exact": made.exact,
            "messages": len(fitted.messages),
            "truncated": True,
            "model": self.key.model,
            "before": made.before,
            "window": None if room is None else room.window,
            "cuts": state.counts.compactions,
            **({"regret": state.counts.regrets()} if state.counts.regret else {}),
            "key": self.key.owner[0] if self.key.owner else "",
        }
        told = made.receipt if made.cut else None
        receipt: dict[str, Any] = {}
        if told is not None:
            replaced = len(made.input.messages) - sum(at is not None for at in made.places)
            reason = f"{made.before:,} tokens do not fit; {replaced:,} messages were shortened or left out"
            cut = {"before": made.before, "after": made.used, "replaced": replaced, "reason": reason}
            receipt = {"cut": cut, "receipt": {**told.to_dict(), "capture": None}}
        if self._capture:
            receipt |= _captured(fitted, state.context.messages) or {}
        step.lines.append(("prompt", {**status, **receipt}))
        step.meta = {"kind": GATEWAY, "status": status, "counts": state.counts.to_dict()}

    def report(self, request: FittedRequest, tokens: int) -> None:
        """Record the tokens that the provider reported for the newest prompt."""
        self.session.measure((request.used or 0) - request.correction, tokens)

    def refused(self, overflow: Overflow) -> None:
        """Log that the newest prompt was refused as too long; later ones stay below its size."""
        if self.logged:
            with suppress(SessionPurged):  # The next request begins anew.
                self.session.refused(overflow, retried=True)

    def answered(self, request: FittedRequest, usage: Any) -> None:
        """Log the usage of an answer to the newest request."""
        if self.logged and self._newest is request.fitted:
            with suppress(SessionPurged):
                self.session.record_usage(usage)


class _NewMessages(NamedTuple):
    """The messages of a request: how many were known, the new ones, and the tokens of all."""

    had: int
    new: list[Any]
    units: int


def beginnings(messages: Sequence[Any], key: ConversationKey) -> list[str]:
    """Return the fingerprint of each beginning of a conversation without its system prompt: one message, two, ...

    Raises:
        InvalidValue: a message is invalid.
    """
    first = leading(messages)
    return fingerprints(messages[first:] or messages, key.format, json.dumps(key))


def logged_messages(store: Store | None, session: str) -> list[Any]:
    """Return the messages of a conversation since it last started over."""
    known: list[Any] = []
    for entry in store.entries(session, kinds=["message", "compaction"]) if store is not None else ():
        if entry.kind == "message":
            known.append(entry.body["message"])
        elif entry.body["trigger"] == CHANGED:
            known = list(entry.body["view"])
    return known


def listed(messages: Sequence[Any]) -> list[Any]:
    """Return messages as a list; a list is not copied."""
    return messages if type(messages) is list else list(messages)


def weight_of(value: Any) -> int:
    """Return the bytes that a message takes in memory, approximately."""
    if isinstance(value, str):
        return _EACH_VALUE + len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return _EACH_VALUE + sum(map(weight_of, inner))


def _paired(raws: Sequence[Any], known: list[Any]) -> dict[int, int]:
    """Return the index of each object in the known messages, where it replaces the equal message."""
    found, stop = {}, len(known)
    for raw in reversed(raws):
        place = next((at for at in range(stop - 1, -1, -1) if known[at] == raw), None)
        if place is not None:
            known[place], found[id(raw)], stop = raw, place, place
    return found


def _captured(fitted: Fitted, history: Sequence[Any]) -> dict[str, Any]:
    """Return a prompt with its text, secrets masked; empty if it is too long to be kept."""
    values = {"receipt": fitted.receipt.to_dict(), "sent": folded(fitted.messages, history)}
    if len(json.dumps(values)) > _MOST_CAPTURED:
        return {}
    masked: dict[str, Any] = map_strings(values, redact)
    return masked
