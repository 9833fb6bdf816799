"""One conversation, of which every request brings the whole history.

A logged conversation is a session: only what is new is added to it. The other kind, in `held_conversation`, has no log
and keeps only the cut.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import is_
from typing import Any, NamedTuple, TypeVar

from brim.errors import Conflict, SessionPurged, StoreError
from brim.history.result import Fitted
from brim.meter import BaseMeter
from brim.sessions.beginning import Beginning, bare, leading, said
from brim.sessions.recall import RESTORED
from brim.sessions.reported_size import ReportedSize
from brim.sessions.request import FittedRequest, RequestInput
from brim.sessions.session import Session
from brim.sessions.tolerant_store import TolerantStore
from brim.sessions.windows import Room
from brim.store.base import Store
from brim.wire import wire
from brim.wire.base import Format, jsonable
from brim.wire.overflow import Overflow

CHANGED = "changed"
"""Why a session began anew: the messages of a request do not continue those that it has."""
_TRIES = 50
"""How often a request is fitted again because another process has written to its log."""
_CHUNK = 256
"""Messages that are compared at once: what differs is then looked for among these."""
_EACH_VALUE = 150
"""Bytes of a value of a message, beside its text; each is counted and indexed too."""
_EACH_SESSION = 40_000
"""Bytes of a session without messages."""
_TAIL = 2
"""Messages at the end that a client may have changed since its last request."""

T = TypeVar("T")


class ConversationKey(NamedTuple):
    """What requests of one conversation have in common, beside how their messages begin."""

    model: str
    format: Format | None
    owner: tuple[str, ...] = ()
    """Whose it is; different owners share nothing. For a gateway: the name of the client's key there, the route, and a
    tag of any other key that the client sends."""


class Conversation(ABC):
    """A conversation that requests continue."""

    def __init__(self, name: str, key: ConversationKey) -> None:
        self.name = name
        self.key = key
        self.lock = threading.Lock()
        """Held during a fit: one at a time."""
        self.size = 0
        """Characters of its newest request."""
        self.weight = 0
        """About the bytes that it takes in memory, if it has a log."""
        self.beginning: Beginning | None = None
        """How the messages of its newest request begin, if it has no name of its own and there is a store."""
        self.mark = ""
        """The fingerprint of its newest request, if it has no name of its own."""
        self.reported: ReportedSize | None = None
        """The size of its newest prompt, if the provider reported it."""
        self.openings: tuple[Any, tuple[Any, ...]] = (None, ())
        """The messages that are known, and what they were found by when they were last looked at."""
        self._compared: tuple[Any, Any, int | None] = (None, None, None)
        """The last messages that were compared with those that are known, and with which result."""
        self._dicts = True
        """Whether all that are known are dictionaries."""

    @property
    @abstractmethod
    def meter(self) -> BaseMeter:
        """The meter that counts its next request."""

    @property
    @abstractmethod
    def known(self) -> Sequence[Any]:
        """The messages of its newest request."""

    def shared(self, messages: Sequence[Any]) -> int:
        """Return with how many of its messages these begin; a system prompt before them may tell another time."""
        known = self.known
        if self._dicts and _begins(messages, known):
            return len(known)
        first = leading(known)
        return _common(known, messages, first) if leading(messages) == first else 0

    def _note_kinds(self, new: Sequence[Any], had: int) -> None:
        """Take the kinds of the messages that come after those that are known."""
        self._dicts = (self._dicts or not had) and all(type(raw) is dict for raw in new)

    def continues(self, messages: Sequence[Any]) -> int | None:
        """Return how many messages are known, if these begin with them; else `None`.

        A request is compared when its conversation is looked for, and again when it is fitted: once is enough, unless
        another one came between.
        """
        request, before, found = self._compared
        if request is messages and before is self.known and found == len(before):
            return found
        found = len(self.known) if self.shared(messages) == len(self.known) else None
        self._compared = (None, None, None) if found is None else (messages, self.known, found)
        return found

    def remarked(self, messages: Sequence[Any]) -> str:
        """Take the fingerprint of its newest request, which has these messages, and return the one before."""
        begun = self.beginning
        if begun is None or begun.length != len(messages):
            begun = Beginning(self.key)
            begun.read(messages)
        before, self.mark = self.mark, begun.mark
        return before

    def begun(self, messages: Sequence[Any]) -> Beginning | None:
        """Return how its messages begin, to go on with these; `None` if that is not known, or they do not continue."""
        found = self.beginning
        if found is None or found.length != len(self.known) or self.continues(messages) != found.length:
            return None
        return found.copy()

    def resembles(self, messages: Sequence[Any]) -> int | None:
        """Return how many messages are the same, if only the last known ones were changed; else `None`."""
        shared, known, first = self.shared(messages), len(self.known), leading(self.known)
        return shared if shared < known <= min(shared + _TAIL, 2 * shared - first) else None

    @abstractmethod
    def fit(self, request: RequestInput, room: Room, most: int | None = None) -> FittedRequest:
        """Return the request that fits; `most` is a lower ceiling than the room, after a refusal.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: a message or a tool is invalid.
        """

    def correction(self, tokens: int, messages: Sequence[Any]) -> int:
        """Return the tokens to add to a count of the whole request, which has these messages."""
        return 0 if self.reported is None else self.reported.correction(tokens, len(messages))

    def budget(self, tokens: int, messages: Sequence[Any]) -> int:
        """Return how many tokens the meter may count, so that the corrected count is at most `tokens`."""
        return tokens if self.reported is None else self.reported.budget(tokens, len(messages))

    def report(self, request: FittedRequest, tokens: int) -> None:
        """Take the tokens that the provider reported for the newest prompt."""
        counted = (request.used or 0) - request.correction
        sent = replace(request.input, messages=request.messages)
        asked = len(request.input.messages)
        size = ReportedSize(counted=counted, reported=tokens, sent=sent, scale=self.meter, asked=asked)
        self.reported = size.after(self.reported) if size.plausible else None

    def refused(self, overflow: Overflow) -> None:  # noqa: B027 - only a log has anything to note
        """Note that the newest prompt was refused as too long."""

    def answered(self, request: FittedRequest, usage: Any) -> bool:  # noqa: ARG002
        """Take the usage of an answer, and return whether the conversation has learned from it itself."""
        return False


class LoggedConversation(Conversation):
    """A conversation with a session: a log, summaries of older turns, a status."""

    def __init__(self, session: Session, key: ConversationKey, store: TolerantStore, known: Sequence[Any] = ()) -> None:
        """Follow a session.

        Args:
            session: the session, new or opened again.
            key: what its requests have in common.
            store: the store of its log, whose failures do not end a request.
            known: the messages that its requests brought so far, as the log of an opened session has them.
        """
        super().__init__(session.id, key)
        self.session, self._store = session, store
        session.sole_writer = True
        session.tolerate(store.failed)
        self._newest: Fitted | None = None
        self._behind = False
        """Whether the log has to be read again before anything is written."""
        self._sent: tuple[Sequence[Any], list[tuple[int | None, Any]]] = ((), [])
        """The newest prompt that was cut, and where its messages stand among the known ones."""
        self._counts = _MessageCounts(self.meter, session.format)
        """The tokens of the messages that are known."""
        self._know_logged(known)

    @property
    def meter(self) -> BaseMeter:
        """The meter that counts its next request."""
        return self.session.meter

    @property
    def known(self) -> Sequence[Any]:
        """The messages of its newest request."""
        return self._known

    def fit(self, request: RequestInput, room: Room, most: int | None = None) -> FittedRequest:  # noqa: ARG002
        """Return the request that fits: what is new is added to the session, and its prompt is sent.

        After a refusal the session itself keeps below the refused size.
        """
        return self._followed(lambda: self._fit(request, room))

    def _fit(self, request: RequestInput, room: Room) -> FittedRequest:
        messages, had = request.messages, self.continues(request.messages)
        self._compared = (None, None, None)
        new = list(messages[had or 0 :])
        if request.changes:
            new = [jsonable(raw) for raw in new]
        if had is None:
            self.session.restart(new, trigger=CHANGED)
            self._know(new, 0)
        elif new:
            self.session.take(new)
            self._know(new, had)
        session, start = self.session, self._start_change(messages)
        extra = request.extra + start

        def room_left(estimate: int) -> int:
            expected = estimate + extra + self.correction(estimate + extra, messages)
            return max(0, self.budget(room.fits if expected <= room.fits else room.target, messages) - extra)

        fitted = session.prompt(request.system, request.tools, fields=request.fields, budget=room_left)
        self._newest = fitted
        sent = fitted.messages
        if request.system and session.format == "openai":
            sent = sent[1:]  # The caller sends it apart.
        known = self._known
        changed = len(sent) != len(known) or not all(map(is_, sent, known))
        placed = self._placed(sent) if changed else [(at, None) for at in range(len(sent))]
        correction = self.correction(fitted.used + extra, sent)
        places = [at for at, _ in placed]
        given = iter(self._given(request, [at for at in places if at is not None]))
        return FittedRequest(
            messages=[made if at is None else next(given) for at, made in placed],
            places=places,
            input=request,
            changed=changed,
            before=self._count(request) + correction,
            room=room,
            correction=correction,
            start=start,
            session=session,
            fitted=fitted,
        )

    def _given(self, request: RequestInput, places: Sequence[int]) -> list[Any]:
        """Return some messages of the caller as they are sent now; copies, if the caller may change them later.

        A message that is known may have another mark for the cache, or be an earlier system prompt.
        """
        given = [request.messages[at] for at in places]
        if not request.changes:
            return given
        known = [self._known[at] for at in places]
        if known == given:  # The interpreter compares all at once.
            return known
        return [old if old == new else jsonable(new) for old, new in zip(known, given, strict=True)]

    def _count(self, request: RequestInput) -> int:
        """Return the tokens of a request as it came, after its prompt was made."""
        first, counts = leading(self._known), self._message_counts()
        start = counts.of(request.messages[:first])  # They may change, and are not among those that count once.
        return counts.up_to_now(self._known, first) + start + self.session.fixed_units + request.extra

    def _message_counts(self) -> _MessageCounts:
        """Return the tokens of the messages that were counted; none, once another meter counts."""
        if not self._counts.is_by(self.meter, self.session.format):
            self._counts = _MessageCounts(self.meter, self.session.format)
        return self._counts

    def _placed(self, sent: Sequence[Any]) -> list[tuple[int | None, Any]]:
        """Return the place of each message among the known ones, or `None` and what is sent that the caller has not.

        A message that stood at the same place in the last prompt is not looked up again.
        """
        before, known = self._sent
        pairs = zip(sent, before, known, strict=False)
        placed = [found if raw is old else self._place(raw) for raw, old, found in pairs]
        placed += map(self._place, sent[len(placed) :])
        self._sent = list(sent), placed
        return placed

    def _place(self, raw: Any) -> tuple[int | None, Any]:
        at = self._places.get(id(raw))
        return at, bare(raw) if at is None else None

    def _start_change(self, messages: Sequence[Any]) -> int:
        """Return by how many tokens the leading system messages are longer than those that the session has."""
        pairs = [pair for pair in zip(messages[: leading(messages)], self._known, strict=False) if not _same(*pair)]
        if not pairs:
            return 0
        counts = self._message_counts()
        return counts.of([new for new, _ in pairs]) - counts.of([old for _, old in pairs])

    def refused(self, overflow: Overflow) -> None:
        """Note in the log that the newest prompt was refused as too long."""
        with suppress(SessionPurged):  # The next request begins anew.
            self._followed(lambda: self.session.refused(overflow, retried=True))

    def answered(self, request: FittedRequest, usage: Any) -> bool:
        """Record a usage in the session, if it is that of its newest prompt."""
        with suppress(SessionPurged):
            self._followed(lambda: self.session.record_usage(usage) if self._newest is request.fitted else None)
        return True

    def _followed(self, step: Callable[[], T]) -> T:
        """Return what a step returns; if another process has written to the log, it is read first.

        Raises:
            Conflict: others were faster each time.
            SessionPurged: the session was purged.
        """
        for _ in range(_TRIES):
            try:
                if self._behind:
                    self._follow()
                return step()
            except Conflict:
                self._behind = True
            except SessionPurged:
                raise
            except StoreError as error:
                self._store.failed(error)
        return step()

    def _follow(self) -> None:
        """Continue as the log says. What could not be written is in the next request again.

        Raises:
            StoreError: the store cannot be read; it has to be read before anything is written.
        """
        store, session = self._store.store, self.session
        session.forget_owed()
        session.reload()
        self._know_logged([] if store is None else logged_messages(store, session.id))
        self._newest, self._behind = None, False

    def _know_logged(self, known: Sequence[Any]) -> None:
        self._known, self._sent = list(known), ((), [])
        self._counts = _MessageCounts(self.meter, self.session.format)
        self._note_kinds(known, 0)
        self._places = _paired(self.session.messages, self._known)
        self.weight = _EACH_SESSION + sum(map(weight_of, self._known))

    def _know(self, new: Sequence[Any], had: int) -> None:
        """Take the messages that came after those that are known."""
        if not had:
            self._known, self._places, self._sent, self.weight = [], {}, ((), []), _EACH_SESSION
            self._counts = _MessageCounts(self.meter, self.session.format)
        self._note_kinds(new, had)
        self._known[had:] = new
        self._places.update((id(raw), place) for place, raw in enumerate(new, start=had))
        self.weight += sum(map(weight_of, new))


class _MessageCounts:
    """The tokens of the messages of a conversation, each counted once by one meter."""

    __slots__ = ("_chat", "_length", "_meter", "_units", "_wire")

    def __init__(self, meter: BaseMeter, format: str) -> None:
        self._meter, self._wire = meter, wire(format)
        self._chat = meter.counter(self._wire.provider)
        self._length = self._units = 0

    def is_by(self, meter: BaseMeter, format: str) -> bool:
        """Return whether these are the counts of a meter, in a format."""
        return self._meter is meter and self._wire.name == format

    def of(self, messages: Sequence[Any]) -> int:
        """Return the tokens of some messages."""
        return sum(self._chat.units(self._wire.read(raw, i)) for i, raw in enumerate(messages))

    def up_to_now(self, messages: Sequence[Any], first: int) -> int:
        """Return the tokens of all messages from the first on that counts; they continue those of the last time."""
        self._units += self.of(messages[max(first, self._length) :])
        self._length = len(messages)
        return self._units


def logged_messages(store: Store, session: str) -> list[Any]:
    """Return the messages that the requests of a conversation brought, since it last began anew."""
    known: list[Any] = []
    for entry in store.entries(session, kinds=["message", "compaction"]):
        if entry.kind == "message" and RESTORED not in entry.body:
            known.append(entry.body["message"])
        elif entry.kind == "compaction" and entry.body["trigger"] == CHANGED:
            known = list(entry.body["view"])
    return known


def _begins(messages: Sequence[Any], known: Sequence[Any]) -> bool:
    """Return whether messages begin with those that are known, for a client that keeps the objects of its messages.

    Two lists are ordered by their first difference. It is found without a slice of either, which would touch every
    message; and if there is one, it has no order, since all that are known are dictionaries.
    """
    last = len(known) - 1
    if type(messages) is not list or type(known) is not list:
        return False
    if not 0 <= last < len(messages) or messages[last] is not known[last]:
        return False
    try:
        return known <= messages
    except TypeError:
        return False


def _common(known: Sequence[Any], messages: Sequence[Any], start: int) -> int:
    """Return the index of the first message, from `start` on, that is not the same in both."""
    known, messages = listed(known), listed(messages)
    end = min(len(known), len(messages))
    for at in range(start, end, _CHUNK):
        stop = min(at + _CHUNK, end)
        if known[at:stop] == messages[at:stop]:  # The interpreter compares many at once.
            continue
        found = next((each for each in range(at, stop) if not _same(known[each], messages[each])), None)
        if found is not None:
            return found
    return end


def listed(messages: Sequence[Any]) -> list[Any]:
    """Return messages as a list: themselves, if they are one."""
    return messages if type(messages) is list else list(messages)


def _same(one: Any, other: Any) -> bool:
    """Return whether two messages say the same; those of a log are JSON, and marks for the cache say nothing."""
    return bool(one == other or said(jsonable(one)) == said(jsonable(other)))


def weight_of(value: Any) -> int:
    """Return about the bytes that a message takes in memory."""
    if isinstance(value, str):
        return _EACH_VALUE + len(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return _EACH_VALUE + sum(map(weight_of, inner))


def _paired(raws: Sequence[Any], known: list[Any]) -> dict[int, int]:
    """Return the index of each object among the known messages; the objects take the places of their equals."""
    found, stop = {}, len(known)
    for raw in reversed(raws):
        place = next((at for at in range(stop - 1, -1, -1) if known[at] == raw), None)
        if place is not None:
            known[place], found[id(raw)], stop = raw, place, place
    return found
