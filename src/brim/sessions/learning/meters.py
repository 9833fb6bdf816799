"""Which meter counts the requests to a model, and what reported usage teaches about it.

What is learned here holds for the owner of the requests: for all its conversations with the model, and in every process
that shares the store.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from brim.errors import StoreError
from brim.meter import BaseMeter, meter
from brim.meter.calibration import Calibration
from brim.meter.chat import request_counts
from brim.meter.estimate import OTHER
from brim.sessions.learning.model_meter import ModelMeter, SentPrompt, load_calibration, save_calibration
from brim.sessions.learning.models import known
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import STORE_INTERVAL, LearnedValues, LearningScope
from brim.store.base import Store
from brim.wire import format_of, wire

_MOST = 256
"""Meters without anything learned that are remembered: a client can name any model."""

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
        self._read: OrderedDict[LearningScope, float] = OrderedDict()
        """When the store was last read for a scope."""

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
        return found.meter if chosen is None else found.bound

    def ready(self, scope: LearningScope, chosen: Any = None) -> bool:
        """Return whether the meter of a model is loaded."""
        looked = self._store is None or scope in self._read
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

    def count(self, request: RequestInput, scale: BaseMeter) -> RequestSize:
        """Count a request as it came, without its conversation.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        format = wire(request.format or format_of(request.messages) or "openai")
        counter, apart = scale.counter(format.provider), request.system if format.name != "openai" else None
        sent = request.messages, request.tools
        tokens = request_counts(lambda _: counter, *sent, system=apart, fields=request.fields, format=format.name)
        exact = counter.tools(request.tools, system=True)[1] and counter.fields(request.fields)[1]
        return RequestSize(tokens, exact and scale.exact and not counter.estimated)

    def _of(self, scope: LearningScope, chosen: Any) -> ModelMeter:
        plain = self._plain.get((scope.model, chosen))
        if plain is None:
            own = chosen if chosen is not None else None if known(scope.model) is not None else OTHER
            plain = ModelMeter(own, scope.model if own is None else None)
            plain.meter.count("ready")  # A vocabulary is loaded with its first count.
            with self._lock:
                _kept(self._plain, (scope.model, chosen), plain)
        if not plain.learns:
            return plain
        if self._store is not None and scope.model and monotonic() - self._read.get(scope, -inf) > STORE_INTERVAL:
            self._read_store(self._store, scope, plain, chosen)
        return self._learned.get(scope, chosen) or plain

    def _read_store(self, store: Store, scope: LearningScope, plain: ModelMeter, chosen: Any) -> None:
        """Take what the store knows, if nothing is known here; forget what somebody made the store forget."""
        with self._lock:
            _kept(self._read, scope, monotonic())
        with suppress(StoreError, ValueError, KeyError, TypeError):  # Another version may have written it.
            saved = load_calibration(store, scope.id)
            if saved is None:
                self._learned.drop(scope)
            elif self._learned.get(scope, chosen) is None:
                found = plain.copy()
                found.calibration = saved
                found.recount()
                self._learned.put(scope, found, chosen)


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
