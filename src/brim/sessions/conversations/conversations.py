"""The engine for requests that carry their whole history, as clients and frameworks send them.

It decides which conversation a request continues, which meter counts it, how many tokens it may take, which cut is
kept, and what a refusal or reported usage teaches. `brim.wrap`, the frameworks and the gateway use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack
from uuid import uuid4

from brim.amounts import units
from brim.errors import SessionPurged, StoreError
from brim.history.envelopes import compacting_agent
from brim.history.history import Tools
from brim.meter import meter as metered
from brim.meter.estimate import OTHER
from brim.meter.window import Window
from brim.observe import Observer
from brim.sessions.compaction import Summariser
from brim.sessions.conversations.conversation import (
    ENDLESS,
    Conversation,
    Diverged,
    logged_messages,
)
from brim.sessions.conversations.identity import (
    ConversationKey,
    ConversationMatch,
    Ends,
    beginnings,
    continuation,
    leading,
    repeated_ends,
)
from brim.sessions.conversations.plan import RequestPlan
from brim.sessions.conversations.prefix_index import KIND, LOGGED, PrefixIndex
from brim.sessions.conversations.remembered import RememberedConversations
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.conversations.request_session import RequestSession
from brim.sessions.learning.meters import count_request, request_meter
from brim.sessions.learning.models import known
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.usage import reported
from brim.sessions.learning.windows import Room, WindowLimits, Windows
from brim.sessions.log.tolerant_store import TolerantStore, attempts
from brim.sessions.notices import Notifier, checked_observers
from brim.sessions.process_lock import ProcessLock
from brim.sessions.session import Given, Session, SessionExists
from brim.sessions.settings import SessionOptions, check_options
from brim.sessions.store_owner import StoreOwner
from brim.store import Store, opened_store
from brim.wire import format_of, wire
from brim.wire.base import Format, jsonable
from brim.wire.overflow import Overflow

_UNSTORED: Mapping[str, Any] = {"log": False, "summarise": None, "observers": ()}
"""The options of a conversation that ends with its request."""


class Conversations(StoreOwner):
    """The conversations of one program. Threads may share it. A `with` block closes it."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        model: str | None = None,
        meter: Given = None,
        store: Store | str | None = None,
        summarise: Summariser | None = None,
        observers: Iterable[Observer] = (),
        on_notice: Callable[[str], Any] | None = None,
        most: int | None = None,
        memory: int | None = None,
        log: bool = True,
        limits: WindowLimits | None = None,
        margin: float | str = 0,
        **settings: Unpack[SessionOptions],
    ) -> None:
        """Start without conversations.

        Args:
            window: the context window and how much of it a prompt may use; by default the window of each model.
            model: the model of requests that do not name one.
            meter: the meter, or its name; by default the meter of each model.
            store: where the sessions are kept, or its URL; by default memory. With a store, the next process continues
                a conversation whose messages its request begins with.
            summarise: writes the summary that replaces older turns; without it, they are shortened in place.
            observers: receive events, in addition to the observers of the process.
            on_notice: called with a notice for the user at the first cut of each conversation, and with `summarise` at
                every cut.
            most: how many conversations to keep in memory, by default as many as `memory` allows; with a store,
                others are found there.
            memory: approximate limit in bytes for these; by default 64 MB.
            log: whether each conversation is a session, with a log, summaries and a status; without it, only the cut
                of each is kept, so that the next prompt begins like the last one.
            limits: the limits for the window of each model, if there is no `window`.
            margin: the share of the budget to leave free if the count is an estimate.
            settings: further arguments of a `Session`: see `SessionOptions`.

        Raises:
            InvalidValue: an argument is invalid.
            StoreError: the store cannot be opened.
        """
        check_options(settings, SessionOptions)
        for name, limit in (("most", most), ("memory", memory)):
            if limit is not None:
                units(name, limit, least=1)
        self._window = window if window is None or isinstance(window, Window) else Window(window)
        self._limits = replace(limits or WindowLimits.of(self._window), margin=margin)
        # One object for all requests: a caller's own meter may not be hashable.
        self._model, self._meter = model or "", meter if meter is None or isinstance(meter, str) else metered(meter)
        self._store, self._owned = opened_store(store)
        self.store = TolerantStore(self._store)
        """The store, for uses in which a failure must not stop a request."""
        self.windows = Windows()
        """The learned windows of models."""
        given: dict[str, Any] = {"summarise": summarise, "observers": checked_observers(observers)}
        self._notifier = Notifier("", model, time.time, (), on_notice)
        self._settings, self._log = {**given, **settings}, log
        self.stable = bool(settings.get("stable", True))
        """Whether new conversations keep their cut."""
        self._prefixes = PrefixIndex(self.store, LOGGED if log else KIND)
        self._lock, self._opening = ProcessLock(), dict[str, ProcessLock]()  # One for each name that is being opened.
        self._known = RememberedConversations(most, memory)
        self.last: FittedRequest | None = None
        """The newest request."""

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<Conversations: {len(self):,} in memory>"

    def __dir__(self) -> list[str]:
        return ["close", "last", "request", "sessions", "store"]

    def __bool__(self) -> bool:
        return True  # Also without a conversation yet: `conversations or Conversations()` must not replace it.

    @property
    def sessions(self) -> list[Session | RequestSession]:
        """The sessions in memory; the session of the newest request is last.

        The session of a conversation without a name shows what its newest request contained.
        """
        with self._lock:
            return [each.seen for each in self._known]

    def request(
        self,
        messages: Sequence[Any],
        *,
        model: str | None = None,
        tools: Tools | None = None,
        system: Any = None,
        fields: Mapping[str, Any] | None = None,
        format: Format | None = None,
        answer: int | None = None,
        session: str | None = None,
        changes: bool = False,
    ) -> FittedRequest:
        """Return the request that fits.

        Args:
            messages: the whole history, in the format of any provider that brim knows.
            model: the model that is called.
            tools: the tool definitions of the request; they are counted.
            system: a system prompt outside the messages; it is counted.
            fields: the other fields of the body, such as `response_format`; those that the model sees are counted.
            format: `openai`, `responses`, `anthropic`, `gemini` or `bedrock`; by default it is detected.
            answer: the maximum tokens of the answer.
            session: the name of the conversation; by default the one that these messages continue.
            changes: whether you may change the messages later, so that brim has to copy them.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: a message or a tool is invalid.
        """
        request = RequestInput(
            messages=messages,
            model=model or self._model,
            tools=tools,
            system=system,
            fields=fields,
            format=format,
            answer=answer,
            name=session,
            changes=changes,
        )
        return self.fit(request, self.plan(request))

    def plan(
        self, request: RequestInput, limits: WindowLimits | None = None, meter: Any = None, server: str = ""
    ) -> RequestPlan:
        """Return how a request is counted and how many tokens it may take.

        Args:
            request: the request.
            limits: limits for this request, instead of the program's.
            meter: a meter for this request, or its name.
            server: the address of the server, if it was asked for its windows.

        Raises:
            UnknownName: there is no meter of that name.
        """
        limits = self._limits if limits is None else limits
        chosen = meter if meter is not None else self._meter
        scope = LearningScope(request.model, request.owner, server)
        scale = request_meter(request.model, chosen)
        room = self.windows.room(scope, limits, request.answer, exact=scale.exact)
        return RequestPlan(scale=scale, chosen=chosen, limits=limits, room=room, scope=scope)

    def fit(self, request: RequestInput, plan: RequestPlan) -> FittedRequest:
        """Return a planned request that fits.

        Raises:
            DoesNotFit: what has to stay is larger than the budget.
            InvalidValue: a message or a tool is invalid.
        """
        room = plan.room
        if room is None and (plan.most is not None or not self._log):
            room = Room.of(ENDLESS if plan.most is None else plan.most)
        if room is None or not request.messages:  # The window is unknown; a refusal may teach it.
            made = self._uncounted(request, plan)
        else:
            plan = replace(plan, room=room, summary_of=_compacting_agent(request))
            made = self._fit_apart(request, plan) if plan.summary_of else self._fit_in_conversation(request, plan)
        if made.cut == 1 or (made.cut and self._settings["summarise"] is not None):
            self._notifier.notify()
        self.last = made
        return made

    def _uncounted(self, request: RequestInput, plan: RequestPlan) -> FittedRequest:
        """Return a request as it is."""
        messages = [jsonable(raw) for raw in request.messages] if request.changes else [*request.messages]
        places = range(len(messages))
        return FittedRequest(messages=messages, places=places, input=request, plan=plan, source=_Source(self, None))

    def _fit_apart(self, request: RequestInput, plan: RequestPlan) -> FittedRequest:
        """Return a request for a summary; it makes losses final, so it reads as much of the history as fits."""
        once = self._opened(uuid4().hex, _key(request), plan, None, **_UNSTORED, stable=False)
        return once.fit(request, plan, _Source(self, once))

    def _fit_in_conversation(self, request: RequestInput, plan: RequestPlan) -> FittedRequest:
        """Return the fitted request of a conversation."""
        conversation, ends = self._find(request, plan)
        while True:
            try:
                with conversation.lock:
                    if conversation.accepts(request.messages):
                        source = _Source(self, conversation)
                        made = conversation.fit(request, plan, source, None if plan.retried else ends)
                        break
                conversation, ends = self._find(request, plan)
            except (SessionPurged, Diverged) as error:  # The request brings its whole history: it begins anew.
                with self._lock:
                    if self._known.get(conversation.name) is conversation:
                        self._known.drop(conversation.name)
                if isinstance(error, SessionPurged):
                    conversation = self._named(conversation.name, _key(request), plan, named=conversation.named)
                else:
                    conversation, others = self._find(request, plan)
                    ends = others or repeated_ends(ends)
        self._note_newest(conversation, changed=made.changed)
        return made

    def fit_reported(self, request: FittedRequest, plan: RequestPlan, tokens: int) -> FittedRequest:
        """Return a smaller request, of which the provider counted so many tokens before it had a conversation."""
        conversation, _ = self._find(request.input, plan)
        conversation.report(request, tokens)
        return self.fit(request.input, replace(plan, refused_in=conversation.name))

    def refused(self, request: FittedRequest, overflow: Overflow) -> None:
        """Learn from a refusal how many tokens the model accepts, and how it counts."""
        overflow = request.believed(overflow)
        window = request.room.window if request.room is not None else None
        request.source.report(request, overflow.sent or 0)
        self.windows.refused(request.plan.scope, overflow, request.used or 0, window)

    def _find(self, request: RequestInput, plan: RequestPlan) -> tuple[Conversation, Ends]:
        """Return the conversation that the caller names, or that the messages continue, or a new one.

        Without a name, also return the ends of earlier requests within this one.
        """
        messages, key = request.messages, _key(request)
        if request.name is not None:
            return self._named(request.name, key, plan), ()
        with self._lock:
            same = self._known.get(plan.refused_in)
            if same is not None and same.continues(messages) == len(messages):
                return same, same.ends
            found = self._known.continuation(messages, key) or ConversationMatch(None)
            near = None if found.name is None else self._known.get(found.name)
        stored = self._stored_name(messages, key, near)
        if stored is not None and stored != found.name:
            near = self._named(stored, key, plan, named=False)
            if not self._log:
                return near, ()
            own = [] if near.named else [near.compared(messages)]
            found = continuation(own, len(messages)) or ConversationMatch(None)
        if near is None or found.name is None:
            near = self._named(uuid4().hex, key, plan, named=False)
        return near, found.ends

    def _named(self, name: str, key: ConversationKey, plan: RequestPlan, *, named: bool = True) -> Conversation:
        """Return the conversation of a name, which the caller chose or brim."""
        found = self._get(name, key, plan, named=named)
        while found.key != key:  # Another model has another window and meter, and may have another format.
            name = f"{name}/{key.model or key.format}"
            found = self._get(name, key, plan, named=named)
        return found

    def _get(self, name: str, key: ConversationKey, plan: RequestPlan, *, named: bool) -> Conversation:
        """Return a conversation from memory or the store, or a new one, and remember it as the newest.

        While a slow store answers, only requests of the same conversation wait.
        """
        with self._lock:
            opening = self._opening.setdefault(name, ProcessLock())
        with opening:
            with self._lock:
                found = self._known.get(name)
            if found is None or found.named < named:  # The caller names one that had no name.
                found = self._open(name, key, plan, named=named)
                if named and self._log and found.known:
                    self._prefixes.forget(found.mark)
            with self._lock:
                self._opening.pop(name, None)
                if found.key == key and found.session.store is self._store:
                    self._known.put(name, found)
            return found

    def _stored_name(self, messages: Sequence[Any], key: ConversationKey, near: Conversation | None) -> str | None:
        """Return the name of the conversation in the store that messages continue; `None` if there is none.

        Another process may have continued the one in memory, which is `near`. A first message alone is not looked up:
        processes may begin conversations of their own with the same.
        """
        if self._store is None or (self._log and len(messages) - leading(messages) < 2):
            return None
        continues = near is not None and near.continues(messages) is not None
        marks = near.marks(messages) if near is not None and continues else beginnings(messages, key)
        return self._prefixes.find(marks, take=self._log)

    def _open(self, name: str, key: ConversationKey, plan: RequestPlan, *, named: bool) -> Conversation:
        """Return a conversation from the store, or a new one; if the store fails, one that is not stored."""
        for _ in attempts():
            try:
                return self._opened(name, key, plan, self._store, named=named)
            except StoreError as error:
                self.store.failed(error)
        return self._opened(name, key, plan, None, named=named, **_UNSTORED)

    def _opened(
        self,
        name: str,
        key: ConversationKey,
        plan: RequestPlan,
        store: Store | None,
        *,
        named: bool = False,
        **more: Any,
    ) -> Conversation:
        """Return a conversation from a store, or a new one.

        Raises:
            StoreError: the store cannot be read or written.
        """
        assert plan.room is not None
        settings = {**self._settings, "log": self._log, "stable": self.stable, **more}
        window = self._window if self._window is not None else self._limits.window(plan.room.window)
        first = store.entries(name, limit=1) if store is not None and self._log else []
        if not first:
            settings["meter"] = OTHER if plan.chosen is None and known(key.model) is None else plan.chosen
            try:
                session = Session(
                    window, model=key.model or None, store=store, id=name, **{"format": key.format, **settings}
                )
            except SessionExists:  # Another process was faster.
                return self._opened(name, key, plan, store, named=named, **more)
            return self._following(session, key, named=named)
        assert store is not None
        del settings["log"]
        began = first[0].body.get("settings") or {}
        size = window if self._window is not None or began.get("model") == (key.model or None) else None
        session = Session.open(name, store=store, meter=self._meter, window=size, **settings)
        opened = ConversationKey(session.settings.model or "", session.settings.format, key.owner)
        return self._following(session, opened, logged_messages(store, name), named=named)

    def _following(
        self, session: Session, key: ConversationKey, said: Sequence[Any] = (), *, named: bool
    ) -> Conversation:
        session.tolerate(self.store.failed)
        return Conversation(session, key, said, named=named, capture=bool(self._settings.get("capture")))

    def _note_newest(self, conversation: Conversation, *, changed: bool) -> None:
        """Record the newest request of a conversation, and evict conversations from memory.

        Its next request, perhaps in another process, finds it in the store. Without a log, only a cut is worth that.
        """
        if not conversation.named and self._store is not None and (changed or self._log):
            conversation.note_mark(self._prefixes)
        with self._lock:
            self._known.forget(conversation)


class _Source(NamedTuple):
    """What made a request, and learns from its answer."""

    engine: Conversations
    conversation: Conversation | None
    """`None` if the request was not counted."""

    def report(self, request: FittedRequest, tokens: int) -> None:
        """Correct the next count by the tokens that the provider reported for a request."""
        if self.conversation is not None:
            self.conversation.report(request, tokens)

    def answered(self, request: FittedRequest, usage: Any) -> None:
        """Learn from the reported usage of an answer how a model counts."""
        if self.conversation is not None:
            with self.conversation.lock:
                self.conversation.answered(request, usage)
        tokens = reported(usage).prompt
        if tokens is None:
            return
        if request.room is not None and request.answer is None:
            windows, asked = self.engine.windows, request.input.answer
            windows.learn_from_answer(request.plan.scope, tokens, asked, request.room.window)

    def smaller(self, request: FittedRequest, overflow: Overflow) -> FittedRequest | None:
        """Learn from a refusal, and return a smaller request; `None` if there are no messages to shorten."""
        if self.conversation is not None:
            with self.conversation.lock:
                self.conversation.refused(request.believed(overflow))
        given, plan = request.input, request.plan
        if request.used is None:
            if not given.messages:
                return None
            request = replace(request, before=count_request(given, plan.scale).tokens)
        self.engine.refused(request, overflow)
        again = self.engine.plan(given, plan.limits, plan.chosen, plan.scope.server)
        most, counted = request.ceiling(overflow), request.believed(overflow).sent
        again = replace(again, most=most, retried=True, refused_in=request.conversation)
        if self.conversation is None and counted and again.room is not None:  # Its window was unknown.
            return self.engine.fit_reported(request, again, counted)
        return self.engine.fit(given, again)


def _key(request: RequestInput) -> ConversationKey:
    return ConversationKey(request.model, request.format, request.owner)


def _compacting_agent(request: RequestInput) -> str:
    """Return the agent whose last message requests a summary of its conversation; empty if it does not."""
    last = wire(request.format or format_of(request.messages) or "openai").read(request.messages[-1], 0)
    return compacting_agent(last.said()) if last.role == "user" else ""
