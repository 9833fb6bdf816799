"""Which meter counts the requests to a model, and what reported usage teaches about it.

What is learned here holds for the owner of the requests: for all its conversations with the model, and in every process
that shares the store.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from brim.errors import StoreError
from brim.meter import BaseMeter, meter
from brim.meter.calibration import Calibrated, Calibration
from brim.meter.chat import RequestCounter, request_counts
from brim.meter.estimate import OTHER
from brim.sessions.learning.model_meter import KIND, ModelMeter, SentPrompt, load_calibration, save_calibration
from brim.sessions.learning.models import known
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import STORE_INTERVAL, LearnedValues, LearningScope
from brim.store.base import Store
from brim.wire import Wire, format_of, instructions, wire
from brim.wire.base import loaded_tools

_MOST = 256
"""Meters without anything learned that are remembered: a client can name any model."""
_SPEAKERS = ("user", "assistant")
"""Roles of messages that all formats write as a role and a text."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RequestSize(NamedTuple):
    """The tokens of a request as it came."""

    tokens: int
    exact: bool


class Meters:
    """The meters of models. Safe for threads."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._learned: LearnedValues[ModelMeter] = LearnedValues()
        self._plain: OrderedDict[tuple[str, Any], ModelMeter] = OrderedDict()
        self._looked: OrderedDict[LearningScope, None] = OrderedDict()
        """Scopes of which the store has nothing."""
        self._stored: OrderedDict[LearningScope, float] = OrderedDict()
        """Scopes of which the store has something, and when it was last seen there."""
        self._bounds: dict[str, BaseMeter] = {}
        self._counters: OrderedDict[tuple[BaseMeter, str], RequestCounter] = OrderedDict()

    def meter(self, scope: LearningScope, chosen: Any = None) -> BaseMeter:
        """Return the meter that counts requests to a model.

        Args:
            scope: whose requests they are, and the model.
            chosen: a meter, or its name, that takes the place of the model's own.

        Raises:
            UnknownName: there is no meter of that name.
        """
        found = self._of(scope, chosen)
        if found.calibration is None or found.calibration.calls or not found.learns:
            return found.meter
        return found.meter if chosen is None else self._bound(found.meter)

    def ready(self, scope: LearningScope, chosen: Any = None) -> bool:
        """Return whether the meter of a model is loaded."""
        looked = self._store is None or scope in self._looked
        return self._learned.get(scope, chosen) is not None or (looked and (scope.model, chosen) in self._plain)

    def learns(self, scope: LearningScope, chosen: Any = None) -> bool:
        """Return whether reported usage corrects the count."""
        return self._of(scope, chosen).learns

    def doubt(self, scope: LearningScope, chosen: Any, request: RequestInput) -> float:
        """Return how many times more tokens the bound of a request has than its estimate, before any usage is known.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        found = self._of(scope, chosen)
        if not found.learns or found.calibration is None or found.calibration.calls:
            return 1.0
        bound, estimate = (self.count(request, each).tokens for each in (self.meter(scope, chosen), found.estimate))
        return bound / max(1, estimate)

    def learn(self, scope: LearningScope, chosen: Any, sent: SentPrompt, tokens: int) -> None:
        """Learn from the tokens that a provider reported for a prompt."""
        found = self._of(scope, chosen)
        if not found.learns or tokens <= 0:
            return
        with self._lock:
            found = self._learned.get(scope, chosen) or found.copy()
            found.sent = sent
            size = found.sent_size()
            if size is None:
                return
            recount = found.record(size, tokens, sent.used)
            if recount:
                found.recount()
            self._learned.put(scope, found, chosen)
        if recount:
            with suppress(StoreError):  # It is learned again if need be.
                save_calibration(self._store, scope.id if scope.model else None, found.calibration, scope.about)
                self._note_stored(scope)

    def calibration(self, scope: LearningScope, chosen: Any = None) -> Calibration | None:
        """Return what is known of how a model counts; `None` if there is nothing to learn, or nothing was learned."""
        known = self._of(scope, chosen).calibration
        return known if known is not None and known.calls else None

    def adopt(self, scope: LearningScope, chosen: Any, calibration: Calibration | None) -> None:
        """Take what a session has learned, if it knows more."""
        found = self._of(scope, chosen)
        with self._lock:
            known = found.calibration
            if calibration is not None and known is not None and calibration.calls > known.calls:
                found = found.copy()
                found.calibration = calibration
                found.recount()
                self._learned.put(scope, found, chosen)

    def counter(self, scale: BaseMeter, provider: str) -> RequestCounter:
        """Return a new counter of messages: it notes whether it had to estimate."""
        made = self._counters.get((scale, provider))
        if made is None:
            made = _kept(self._counters, (scale, provider), scale.counter(provider))
        return made.fresh()

    def count(self, request: RequestInput, scale: BaseMeter) -> RequestSize:
        """Count a request as it came, without its conversation.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        format = wire(request.format or format_of(request.messages) or "openai")
        counter = self.counter(scale, format.provider)
        tokens, instructed, loaded = counter.framing.reply, False, set[str]()
        frames = {role: counter.frame(role) for role in _SPEAKERS}
        for i, raw in enumerate(request.messages):
            if type(raw) is dict and len(raw) == 2:
                role, text = raw.get("role"), raw.get("content")
                if type(role) is str and type(text) is str and role in frames:
                    tokens += frames[role] + counter.text(text)  # As `read` would, without its objects.
                    continue
            message = format.read(raw, i)
            if message.any("compaction"):  # What stands before it does not count.
                return RequestSize(_read_count(request, format, counter), exact=False)
            loaded |= loaded_tools(message)
            tokens += counter.units(message)
            instructed = instructed or message.role == "system"
        if request.system and format.name != "openai":
            tokens += counter.units(instructions(format, request.system))
            instructed = True
        offered, exact = counter.tools(request.tools, system=instructed, loaded=loaded)
        other, known = counter.fields(request.fields)
        return RequestSize(tokens + offered + other, exact and known and scale.exact and not counter.estimated)

    def _of(self, scope: LearningScope, chosen: Any) -> ModelMeter:
        self._forget(scope)
        found = self._learned.get(scope, chosen)
        if found is not None:
            return found
        plain = self._plain.get((scope.model, chosen))
        if plain is None:
            own = chosen if chosen is not None else None if known(scope.model) is not None else OTHER
            plain = ModelMeter(own, scope.model if own is None else None)
            plain.meter.count("ready")  # A vocabulary is loaded with its first count.
            with self._lock:
                _kept(self._plain, (scope.model, chosen), plain)
        saved = self._saved(scope) if plain.learns else None
        if saved is None:
            return plain
        found = plain.copy()
        found.calibration = saved
        found.recount()
        self._learned.put(scope, found, chosen)
        return found

    def _saved(self, scope: LearningScope) -> Calibration | None:
        """Return what the store knows; it is read once."""
        if self._store is None or not scope.model or scope in self._looked:
            return None
        with suppress(StoreError, ValueError, KeyError, TypeError):  # Another version may have written it.
            saved = load_calibration(self._store, scope.id)
            if saved is not None:
                self._note_stored(scope)
                return saved
        with self._lock:
            _kept(self._looked, scope, None)
        return None

    def _note_stored(self, scope: LearningScope) -> None:
        if self._store is not None:
            with self._lock:
                _kept(self._stored, scope, monotonic())

    def _forget(self, scope: LearningScope) -> None:
        """Forget a scope that somebody made the store forget; that is looked at once a minute."""
        seen = self._stored.get(scope)
        if seen is None or self._store is None or monotonic() - seen < STORE_INTERVAL:
            return
        self._note_stored(scope)
        with suppress(StoreError):
            if self._store.load(KIND, scope.id) is None:
                self._learned.drop(scope)
                self._stored.pop(scope, None)

    def _bound(self, scale: BaseMeter) -> BaseMeter:
        """Return the upper bound of an estimate about which nothing is known yet."""
        found = self._bounds.get(scale.name)
        if found is None:
            found = self._bounds[scale.name] = Calibrated(scale)
        return found


def _read_count(request: RequestInput, format: Wire, counter: RequestCounter) -> int:
    """Return the tokens of a request of which the provider does not read all messages."""
    apart = request.system if format.name != "openai" else None
    sent = request.messages, request.tools
    return request_counts(lambda _: counter, *sent, system=apart, fields=request.fields, format=format.name)


def warm() -> None:
    """Load what counting needs, so that the first request does not wait for it."""
    for name in ("gpt-5", OTHER):
        meter(name).count("ready")


def _kept(memo: OrderedDict[K, V], key: K, value: V) -> V:
    """Remember a value, and forget the oldest ones."""
    memo[key] = value
    while len(memo) > _MOST:
        memo.popitem(last=False)
    return value
