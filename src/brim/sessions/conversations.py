"""Fits requests that each bring their whole history, as frameworks and clients send them.

Each conversation is a session: its messages are counted once, its cut is held for the cache, its older turns become a
summary, what a provider reports corrects the count. Which conversation a request belongs to is told by its messages:
they begin with those of its last request.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

from brim.errors import UnknownName
from brim.history.history import Tools
from brim.meter.catalogue import find
from brim.meter.estimate import OTHER
from brim.meter.window import Window, answer_room
from brim.observe import Observer
from brim.sessions.conversation import CHANGED, Conversation, RequestExtras
from brim.sessions.request import FittedRequest
from brim.sessions.session import Given, Session
from brim.sessions.shrinking import Summariser
from brim.store import Store, open_store
from brim.wire.overflow import Overflow

_MOST = 64
"""Conversations that are remembered, the longest unused going first."""
_OWN = {"tool_limit": "100%"}
"""How the sessions differ from those that an agent keeps itself: what fits is sent as it came."""

Key = tuple[str | None, str | None]


class Conversations:
    """The conversations of one program. Safe for threads."""

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
        most: int = _MOST,
        **settings: Any,
    ) -> None:
        """Begin with none.

        Args:
            window: what the models hold and what of it a prompt may use; without it, the window of each model.
            model: the model of requests that name none.
            meter: what measures; without it, the meter of each model.
            store: where the sessions are kept, or its URL; without one they live in memory.
            summarise: what makes summaries of older turns; without it they are made of the conversation's own words.
            observers: who is told of events, beside those that watch the process.
            on_notice: called with what the user should be told, once for each compaction.
            most: how many conversations are remembered.
            settings: further arguments of a `Session`: `stable`, `compact_at`, `keep_turns`, `tool_limit`, ...

        Raises:
            StoreError: the store cannot be opened.
        """
        self._window = window if window is None or isinstance(window, Window) else Window(window)
        self._model, self._meter = model, meter
        self._store = open_store(store) if isinstance(store, str) else store
        told = {"summarise": summarise, "observers": tuple(observers), "on_notice": on_notice}
        self._told = {**told, **_OWN, **settings}
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Key, Conversation]] = OrderedDict()
        self._learned: dict[str | None, int] = {}
        self.last: FittedRequest | None = None
        """The newest request."""

    def __len__(self) -> int:
        return len(self._known)

    def __bool__(self) -> bool:
        return True  # Also with none yet: `given or Conversations()` must not take another's place.

    @property
    def sessions(self) -> list[Session]:
        """The sessions that are remembered, the one of the newest request last."""
        with self._lock:
            return [conversation.session for _, conversation in self._known.values()]

    def request(
        self,
        messages: Sequence[Any],
        *,
        model: str | None = None,
        tools: Tools | None = None,
        system: Any = None,
        format: str | None = None,
        answer: int | None = None,
        session: str | None = None,
        aside: int = 0,
    ) -> FittedRequest:
        """Return the request that fits.

        Args:
            messages: the whole history, in the shape of OpenAI chat, Responses items or Anthropic.
            model: the model that is asked.
            tools: the tool definitions that are sent along; they are counted.
            system: a system prompt that is sent apart from the messages; it is counted.
            shape: `openai`, `responses` or `anthropic`; without it, what the messages look like.
            answer: tokens that are asked for the answer.
            session: the name of the conversation; without it, the one whose messages these begin with.
            aside: units that the prompt takes beside all this, counted by the caller.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
            InvalidValue: a message or a tool that cannot be.
        """
        model = model or self._model
        window = self._window_of(model)
        beside = RequestExtras(tools=tools, system=system, answer=answer, aside=aside)
        if window is None or not messages:
            return self._unknown(messages, model, beside, format, session)
        with self._lock:
            found = self._found(messages, (model, format), session, window)
        with found.lock:
            if found.goes_on(messages) is None:
                found.restart(messages)
            made = self.last = found.fit(messages, beside)
        return made

    def _found(self, messages: Sequence[Any], key: Key, name: str | None, window: Window) -> Conversation:
        """Return the conversation of a name, or the one that goes on longest with these messages, or a new one."""
        if name is None:
            fits = {
                each: had
                for each, (own, conversation) in self._known.items()
                if own == key and (had := conversation.goes_on(messages))
            }
            name = max(fits, key=lambda each: fits[each], default=None)
        found = self._known.get(name) if name is not None else None
        if name is None or found is None:
            name = name or uuid4().hex
            opened = self._opened(name, key, window)
            found = self._known[name] = ((opened.session.settings.model, opened.session.settings.format), opened)
        if found[0] != key:  # Another model has another window and another count, and may have another shape.
            return self._found(messages, key, f"{name}/{key[0] or key[1]}", window)
        self._known.move_to_end(name)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return found[1]

    def _opened(self, name: str, key: Key, window: Window) -> Conversation:
        """Return a conversation that the store has, or a new one."""
        model, format = key
        store, asked = self._store, dict(self._told)
        meter = OTHER if self._meter is None and _catalogued(model) is None else self._meter
        if store is None or not store.entries(name, limit=1):
            session = Session(window, model=model, meter=meter, store=store, id=name, format=format, **asked)
            return Conversation(session)
        kept = ("summarise", "observers", "on_notice", "capture")
        asked = {name: asked[name] for name in kept if name in asked}
        session = Session.open(name, store=store, meter=self._meter, **asked)
        return Conversation(session, _given(store, name))

    def _window_of(self, model: str | None) -> Window | None:
        """Return the window of a model as it was set, as a refusal told, or as the catalogue has it."""
        if (told := self._learned.get(model)) is not None:
            return Window(told, reserve=answer_room(told))
        if self._window is not None:
            return self._window
        row = _catalogued(model)
        size = None if row is None else row.window or row.max_input
        return None if size is None or model is None else Window.of(model, reserve=answer_room(size))

    def _unknown(
        self, messages: Sequence[Any], model: str | None, beside: RequestExtras, format: str | None, session: str | None
    ) -> FittedRequest:
        """Return the request as it came, since nobody knows what the model holds; a refusal may tell."""

        def shrink(_: FittedRequest, overflow: Overflow) -> FittedRequest | None:
            if overflow.limit is None:
                return None
            self._learned[model] = overflow.limit
            made = self.request(
                messages,
                model=model,
                tools=beside.tools,
                system=beside.system,
                format=format,
                answer=beside.answer,
                session=session,
                aside=beside.aside,
            )
            made.retried = True
            return made

        given = list(messages)
        made = self.last = FittedRequest(messages=given, places=[*range(len(given))], shrink=shrink if given else None)
        return made


def _given(store: Store, name: str) -> list[Any]:
    """Return the messages that a conversation was given, since it last began anew."""
    known: list[Any] = []
    for entry in store.entries(name, kinds=["message", "compaction"]):
        if entry.kind == "message":
            known.append(entry.body["message"])
        elif entry.body["trigger"] == CHANGED:
            known = list(entry.body["view"])
    return known


def _catalogued(model: str | None) -> Any:
    """Return what the catalogue knows of a model; nothing where it does not know it."""
    try:
        return None if model is None else find(model)
    except UnknownName:
        return None
