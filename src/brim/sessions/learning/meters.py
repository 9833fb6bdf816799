"""Chooses the meter that counts the requests to a model, and corrects it by reported usage.

A correction applies to all of one owner's conversations with the model, in every process that shares the store.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import lru_cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple

from brim.errors import StoreError
from brim.meter import BaseMeter, meter
from brim.meter.chat import request_counts
from brim.meter.estimate import OTHER
from brim.sessions.learning.model_meter import ModelMeter, SentPrompt, load_calibration, save_calibration
from brim.sessions.learning.models import MOST_NAMES, known
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import STORE_INTERVAL, LearnedValues, LearningScope
from brim.store.base import Store
from brim.wire import format_of, wire


class RequestSize(NamedTuple):
    """The tokens of a request before it is cut."""

    tokens: int
    exact: bool


class Meters:
    """The meters of models. Threads may share it."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._learned: LearnedValues[ModelMeter] = LearnedValues()
        self._uncorrected = lru_cache(maxsize=MOST_NAMES)(_uncorrected)
        self._read = LearnedValues[float]()
        """When the store was last read for a scope."""

    def meter(self, scope: LearningScope, chosen: Any = None) -> BaseMeter:
        """Return the meter that counts requests to a model.

        Args:
            scope: the owner of the requests, and the model.
            chosen: a meter, or its name, to use instead of the model's own.

        Raises:
            UnknownName: there is no meter of that name.
        """
        found = self._model_meter(scope, chosen)
        is_unknown = found.calibration is not None and not found.calibration.calls
        return found.bound if is_unknown and chosen is not None else found.meter

    def learns(self, scope: LearningScope, chosen: Any = None) -> bool:
        """Return whether reported usage corrects the count."""
        return self._model_meter(scope, chosen).learns

    def doubt(self, scope: LearningScope, chosen: Any, request: RequestInput) -> float:
        """Return the upper bound of a request divided by its estimate, or 1 once usage is known.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        found = self._model_meter(scope, chosen)
        if found.calibration is None or found.calibration.calls:
            return 1.0
        bound, estimate = (self.count(request, each).tokens for each in (self.meter(scope, chosen), found.estimate))
        return bound / max(1, estimate)

    def learn(self, scope: LearningScope, chosen: Any, sent: SentPrompt, tokens: int) -> None:
        """Learn from the tokens that a provider reported for a prompt."""
        found = self._model_meter(scope, chosen)
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
            with suppress(StoreError):  # It can be learned again.
                save_calibration(self._store, scope.id if scope.model else None, found.calibration, scope.about)

    def count(self, request: RequestInput, scale: BaseMeter) -> RequestSize:
        """Count a request by itself, before it is cut.

        Raises:
            InvalidValue: a message or a tool is invalid.
        """
        format = wire(request.format or format_of(request.messages) or "openai")
        counter, apart = scale.counter(format.provider), request.system if format.name != "openai" else None
        sent = request.messages, request.tools
        tokens = request_counts(lambda _: counter, *sent, system=apart, fields=request.fields, format=format.name)
        exact = counter.tools(request.tools, system=True)[1] and counter.fields(request.fields)[1]
        return RequestSize(tokens, exact and scale.exact and not counter.estimated)

    def _model_meter(self, scope: LearningScope, chosen: Any) -> ModelMeter:
        plain = self._uncorrected(scope.model, chosen)
        if not plain.learns:
            return plain
        if self._store is not None and scope.model and monotonic() - (self._read.get(scope) or -inf) > STORE_INTERVAL:
            self._load_correction(self._store, scope, plain, chosen)
        return self._learned.get(scope, chosen) or plain

    def _load_correction(self, store: Store, scope: LearningScope, plain: ModelMeter, chosen: Any) -> None:
        """Use the calibration in the store if there is none here; forget it if it was removed from the store."""
        self._read.put(scope, monotonic())
        with suppress(StoreError, ValueError, KeyError, TypeError):  # Another version may have written it.
            saved = load_calibration(store, scope.id)
            if saved is None:
                self._learned.drop(scope)
            elif self._learned.get(scope, chosen) is None:
                found = plain.copy()
                found.calibration = saved
                found.recount()
                self._learned.put(scope, found, chosen)


def _uncorrected(model: str, chosen: Any) -> ModelMeter:
    own = chosen if chosen is not None else None if known(model) is not None else OTHER
    made = ModelMeter(own, model if own is None else None)
    made.meter.count("ready")  # A vocabulary is loaded with its first count.
    return made


def warm() -> None:
    """Load what counting needs, so that the first request need not wait for it."""
    for name in ("gpt-5", OTHER):
        meter(name).count("ready")
