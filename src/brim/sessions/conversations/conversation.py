"""One conversation whose requests carry the whole history: a session that gets only the new messages.

The session logs every message and prompt, or only its cuts; either is enough to begin the next prompt like the last
one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from brim.errors import DoesNotFit, SessionPurged, StoreError
from brim.files.json_strings import map_strings
from brim.history.result import Fitted
from brim.meter import BaseMeter
from brim.redaction import redact
from brim.sessions.conversations.breakpoint import breakpoint_at
from brim.sessions.conversations.identity import (
    Candidate,
    ConversationKey,
    Ends,
    bare,
    beginnings,
    continuation,
    fingerprints,
    first_words,
    leading,
    says_same,
    with_request,
)
from brim.sessions.conversations.plan import RequestPlan
from brim.sessions.conversations.prefix_index import PrefixIndex
from brim.sessions.conversations.request import FittedRequest, RequestSource
from brim.sessions.conversations.request_session import RequestSession
from brim.sessions.fixed_parts import FixedParts
from brim.sessions.learning.meters import looseness
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.usage import reported
from brim.sessions.learning.windows import Room
from brim.sessions.log.cut_record import folded
from brim.sessions.log.overview import GATEWAY
from brim.sessions.log.tolerant_store import attempts
from brim.sessions.process_lock import ProcessLock
from brim.sessions.session import Session
from brim.sessions.session_step import PromptLimit, SessionStep
from brim.sessions.state import SessionState
from brim.store.store import Store
from brim.store.values import interpreting
from brim.wire.base import jsonable
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
_MOST_CAPTURED = 4_000_000
"""Characters of a captured prompt in a log of cuts; of a longer prompt, only the sums are kept."""


class Diverged(Exception):
    """Another process has continued the session with other messages."""


class Conversation:
    """A conversation that requests continue."""

    def __init__(
        self,
        session: Session,
        key: ConversationKey,
        known: Sequence[Any] = (),
        *,
        named: bool = False,
        capture: bool = False,
    ) -> None:
        """Follow a session.

        Args:
            session: the session, new or opened again.
            key: what its requests have in common.
            known: the messages of its requests so far, from the log if the session was opened again.
            named: whether the caller gave it its name; if not, it is found by how its requests begin.
            capture: whether a log of cuts keeps the text of each prompt.
        """
        self.session = session
        self.name = session.id
        self.key = key
        self.named = named
        self.lock = ProcessLock()
        """Held during a fit."""
        self.ends = first_words(known)
        """The ends of its requests, which tell whether an edit is of the same user."""
        self._capture = capture
        self._newest: FittedRequest | None = None
        self._seen: RequestSession | None = None
        self._stored_mark = ""
        """The fingerprint by which the store finds it."""
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
        self._places = _paired(self.session.own_messages, self.known)
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
        """Return the fingerprints of the prefixes of `messages`, perhaps without the shortest."""
        length, last = self._marked
        if not length:
            return beginnings(messages, self.key)
        return fingerprints(messages[length:], last)

    def shared(self, messages: Sequence[Any]) -> int:
        """Return how many of its messages these begin with; the text of a leading system prompt may differ."""
        known, given = self.known, listed(messages)
        first, end = leading(known), min(len(known), len(given))
        if leading(given) != first:
            return 0
        same = known[first:end] == given[first:end]  # Almost always.
        return end if same else next((at for at in range(first, end) if not says_same(known[at], given[at])), end)

    def continues(self, messages: Sequence[Any]) -> int | None:
        """Return the number of known messages if these begin with them, else `None`."""
        return len(self.known) if self.shared(messages) == len(self.known) else None

    def compared(self, messages: Sequence[Any]) -> Candidate:
        """Return what these messages have in common with those of its newest request."""
        first = leading(self.known)
        same = leading(messages) == first and all(map(says_same, self.known[:first], messages[:first]))
        return Candidate(self.name, self.ends, len(self.known), self.shared(messages), first, same)

    def accepts(self, messages: Sequence[Any]) -> bool:
        """Return whether these messages may still continue it, which another thread may have continued meanwhile."""
        if self.named or not self.logged or not self.known:
            return True
        match = continuation([self.compared(messages)], len(messages))
        return match is not None and match.name is not None

    @property
    def seen(self) -> Session | RequestSession:
        """Its session; without a name, what its newest request may see of it."""
        return self.session if self._seen is None else self._seen

    def note_mark(self, store: PrefixIndex) -> None:
        """Let the next process find it by the fingerprint of its newest request."""
        self._stored_mark = store.move(self.name, self._stored_mark, self.mark)

    def fit(
        self, request: RequestInput, plan: RequestPlan, source: RequestSource, ends: Ends | None = None
    ) -> FittedRequest:
        """Add new messages to the session, and return its prompt as the fitted request.

        If it does not fit with the room for the answer that the plan leaves, there is less.

        Args:
            request: the request.
            plan: how it is counted, and how many tokens it may take.
            source: learns from the answer.
            ends: the ends of the requests that it goes on from; `None` if it was refused before.

        Raises:
            DoesNotFit: what has to stay is larger than the budget, even by the estimate of an unknown model.
            InvalidValue: a message or a tool is invalid.
            SessionPurged: the session was purged.
            Diverged: the messages do not continue those of another process.
        """
        with self.lock:
            for room in self._rooms(request, plan):
                try:
                    made = self._fit(request, plan, room, source)
                except DoesNotFit as error:
                    failed = error
                else:
                    self.ends = self.ends if ends is None else with_request(ends, len(request.messages))
                    return made
            raise failed

    def _rooms(self, request: RequestInput, plan: RequestPlan) -> Iterator[Room]:
        """Yield the rooms to try, with less and less room for the answer."""
        room = plan.room
        assert room is not None
        yield room
        if plan.most is None:
            yield replace(room, fits=room.most, target=room.most)
            loose = 1.0 if self.session.measured else looseness(request, plan.scale)
            if loose > 1:  # Only the upper bound of an estimate does not fit. The answer or a refusal will tell.
                yield replace(room, fits=room.most, target=room.most, looseness=loose)

    def _fit(self, request: RequestInput, plan: RequestPlan, room: Room, source: RequestSource) -> FittedRequest:
        if not self.logged:
            self.session.refresh()  # Another process may have cut it since.
        made, added = self.session.make(lambda step: self._step(step, request, plan, room, source))
        if not added.had:
            self._set_known((), self.session.reloads)
        self._places.update((id(raw), place) for place, raw in enumerate(added.new, start=added.had))
        self.known += added.new
        self._units = plan.scale, added.units
        if not self.named:
            first = request.messages[: leading(self.known)]
            self._seen = RequestSession(self.session, [*first], self.known)
        # The session as it is after the step was logged.
        self._newest = made = replace(made, session=self.seen) if self.logged else made
        return made

    def _step(
        self, step: SessionStep, request: RequestInput, plan: RequestPlan, room: Room, source: RequestSource
    ) -> tuple[FittedRequest, _NewMessages]:
        """Return the request that fits, and which of its messages are new."""
        if self.session.reloads != self._reloads:  # Another process has written to the log.
            self._set_known(self._read_log(), self.session.reloads)
            if not self.named and self.logged and self.continues(request.messages) is None:
                raise Diverged
        step.count_by(plan.scale)
        had = step.state.counts.regrets()
        added, state = self._add(step, request), step.state
        start = added.start
        parts = self.session.parts(request.system, request.tools, fields=request.fields)
        beside, exact = parts.extra(state.context)
        whole = added.units + sum(beside.values()) + start
        exact, regret, turns = exact and state.exact, state.counts.regrets(), state.context.history.turns
        repaired = sum(repair.units for repair in turns.repairs)
        fits = plan.most is None and not state.context.history.has_surplus_media
        same = state.same(parts, added.replaced)
        fits = fits and state.bound(state.estimate(parts) + start, same) <= room.fits
        is_valid = room.window == ENDLESS or not (turns.repairs or turns.seams.open or turns.idle(()))
        prompt = _Prompt([*request.messages], range(len(request.messages)))
        if self.logged or not fits or not is_valid or state.counts.cut:
            target = room.fits if fits else room.target if plan.most is None else min(room.target, plan.most)
            prompt = self._cut(step, request, parts, added, PromptLimit(target, start, added.replaced, room.looseness))
            counted, room = prompt.counted + start, replace(room, target=min(room.target, target))
            correction = int(state.bound(counted) / room.looseness) - counted
        else:
            step.send_whole(parts, whole, same)
            correction = state.bound(whole, same) - whole
        made = FittedRequest(
            messages=prompt.messages,
            places=prompt.places,
            input=request,
            plan=plan,
            source=source,
            changed=prompt.changed,
            before=whole + correction + repaired,
            room=None if room.window == ENDLESS else room,
            correction=correction,
            start=start,
            exact=exact,
            conversation=self.name,
            cut=prompt.cut,
            regret=(regret["calls"] - had["calls"], regret["tokens"] - had["tokens"]),
            fitted=prompt.fitted,
        )
        if made.fitted is not None and not self.logged:
            self._log_cut(step, made, made.fitted, room, prompt.replaced)
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
            step.restart(new, CHANGED, forget=not self.named)
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
        return _NewMessages(had or 0, new, units, *(self._start_change(step.state, messages) if had else (0, 0)))

    def _cut(
        self,
        step: SessionStep,
        request: RequestInput,
        parts: FixedParts,
        added: _NewMessages,
        limit: PromptLimit,
    ) -> _Prompt:
        """Return the prompt of a request within a limit."""
        state = step.state
        cuts = state.counts.compactions
        has_all = len(state.context.messages) == added.had + len(added.new)
        pin = request.pin if has_all else [each for each in request.pin if isinstance(each, str)]
        fitted = step.prompt(parts, limit, pin=pin, capture=self._capture)
        apart = bool(request.system) and self.session.format == "openai"  # The caller sends it separately.
        messages, places = self._placed(request, fitted.messages[apart:], added)
        cut = state.counts.compactions if state.counts.compactions > cuts else 0
        changed = places != list(range(len(request.messages)))
        replaced = len(request.messages) - sum(at is not None for at in places)
        mark = breakpoint_at(request, messages, places, fitted.settled) if changed else None
        if mark is not None:
            at, messages[mark[0]] = mark
            places[at] = None
        return _Prompt(messages, places, fitted, changed, cut, replaced)

    def _placed(
        self, request: RequestInput, sent: Sequence[Any], added: _NewMessages
    ) -> tuple[list[Any], list[int | None]]:
        """Return the messages to send and their indexes: the caller's own where they are unchanged.

        The newest version of a message is sent, since its cache marks may have changed; it is copied if the caller may
        change it later.
        """
        known, new = self._places if added.had else {}, {id(raw): at for at, raw in enumerate(added.new)}
        places = [known.get(key) if (at := new.get(key)) is None else added.had + at for key in map(id, sent)]
        given, pairs = request.messages, zip(sent, places, strict=True)
        if not request.changes:
            return [bare(raw) if at is None else given[at] for raw, at in pairs], places
        own = (raw if at is None or raw == given[at] else jsonable(given[at]) for raw, at in pairs)
        return [bare(raw) if at is None else raw for raw, at in zip(own, places, strict=True)], places

    def _start_change(self, state: SessionState, messages: Sequence[Any]) -> tuple[int, int]:
        """Return by how many tokens the leading system messages are longer, and those of the session they replace."""
        pairs = zip(messages[: leading(messages)], self.known, strict=False)
        changed = [pair for pair in pairs if not says_same(*pair)]
        turns = state.context.history.turns
        sizes = [[turns.chat.units(turns.wire.read(raw, 0)) for raw in pair] for pair in changed]
        return sum(new - old for new, old in sizes), sum(old for _, old in sizes)

    def _log_cut(self, step: SessionStep, made: FittedRequest, fitted: Fitted, room: Room, replaced: int) -> None:
        """Add the entries of a prompt to a log of cuts: the cut, the sums, and the receipt of a new cut."""
        state = step.state
        step.events.clear()  # The caller reports its requests itself.
        step.log_cut()
        status = {
            "used": made.used,
            "budget": room.target,
            "unit": state.meter.unit,
            "exact": made.exact,
            "messages": len(fitted.messages),
            "truncated": True,
            "model": self.key.model,
            "before": made.before,
            "window": room.window,
            "cuts": state.counts.compactions,
            **({"regret": state.counts.regrets()} if state.counts.regret else {}),
            "key": self.key.owner[0] if self.key.owner else "",
        }
        told = made.receipt if made.cut else None
        receipt: dict[str, Any] = {}
        if told is not None:
            reason = f"{made.before:,} tokens do not fit; {replaced:,} messages were shortened or left out"
            cut = {"before": made.before, "after": made.used, "replaced": replaced, "reason": reason}
            receipt = {"cut": cut, "receipt": {**told.to_dict(), "capture": None}}
        if self._capture:
            receipt |= _captured(fitted, state.context.messages) or {}
        step.lines.append(("prompt", {**status, **receipt}))
        step.meta = {"kind": GATEWAY, "status": status, "counts": state.counts.to_dict()}

    def report(self, request: FittedRequest, tokens: int) -> None:
        """Record the tokens that a refusal of the newest prompt states; a late one of another is ignored."""
        if self._newest is None or request.is_of(self._newest):
            self.session.measure((request.used or 0) - request.correction, tokens, refused=True)

    def refused(self, overflow: Overflow) -> None:
        """Log that the newest prompt was refused as too long; later ones stay below its size."""
        if self.logged:
            with suppress(SessionPurged):  # The next request begins anew.
                self.session.refused(overflow, retried=True)

    def answered(self, request: FittedRequest, usage: Any) -> None:
        """Record the usage of an answer to the newest request."""
        if not request.is_of(self._newest):
            return
        if self.logged:
            with suppress(SessionPurged):
                self.session.record_usage(usage)
        elif (tokens := reported(usage).prompt) is not None:
            self.session.measure((request.used or 0) - request.correction, tokens)


class _Prompt(NamedTuple):
    """What is sent for a request."""

    messages: list[Any]
    places: Sequence[int | None]
    """The index of each among the caller's messages; `None` for one that brim made."""
    fitted: Fitted | None = None
    """The fit of the session; `None` if the request is sent as it is."""
    changed: bool = False
    cut: int = 0
    """The number of the new cut; 0 if there is none."""
    replaced: int = 0
    """How many of the caller's messages were shortened or left out."""

    @property
    def counted(self) -> int:
        """The tokens by the meter, without changes of the system prompt."""
        return 0 if self.fitted is None else self.fitted.used


class _NewMessages(NamedTuple):
    """The messages of a request."""

    had: int
    """How many were known."""
    new: list[Any]
    units: int
    """The tokens of all."""
    start: int
    """By how many tokens its leading system messages are longer than those of the session."""
    replaced: int
    """The tokens of those of the session that they replace."""


def logged_messages(store: Store | None, session: str) -> list[Any]:
    """Return the messages of a conversation since it last started over.

    Raises:
        StoreError: the store cannot be read, or the log is damaged.
    """
    known: list[Any] = []
    if store is None:
        return known
    with interpreting(store.url, session):
        for entry in store.entries(session, kinds=["message", "compaction"]):
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
