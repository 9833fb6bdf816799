"""Begins a session, or takes one up where its log left it."""

from __future__ import annotations

from typing import Any

from brim.errors import InvalidType
from brim.history.stable import Stable
from brim.meter import DEFAULT, name_of
from brim.meter.calibrated import Calibration
from brim.session.calibrating import Calibrating, mix_from, shared
from brim.session.counts import Counts
from brim.session.journal import Read
from brim.session.settings import Settings
from brim.session.state import State
from brim.session.view import View
from brim.store.base import Store
from brim.window import Window


def begun(window: Window | int | None, model: str | None, meter: Any, store: Store | None, told: Any) -> State:
    """Return a session's first state.

    Raises:
        InvalidValue: a setting that cannot be.
        UnknownName: no such model or meter.
    """
    known = DEFAULT if meter is None and model is None else name_of(meter)
    own = meter is not None and known is None
    settings = Settings.of(window, model, meter=known, own_meter=own, **told)
    calibrating = Calibrating(meter, model)
    if calibrating.learns:
        calibrating.calibration = shared(store, model) or calibrating.calibration
        calibrating.recount()
    view = View(calibrating.meter, stable=settings.stable, shape=settings.shape)
    return State(settings=settings, view=view, calibrating=calibrating, counts=Counts())


def resumed(told: Read, meter: Any) -> State:
    """Return the state that a log tells.

    Raises:
        InvalidValue: the session was begun with a meter of the caller's own, and none is given.
    """
    settings = told.settings
    given = settings.meter if meter is None else meter
    if given is None and settings.own_meter:
        raise InvalidType("meter", meter, "given again: the session was begun with one of the caller's own")
    known = Calibration.from_dict(told.calibration) if told.calibration is not None else None
    calibrating = Calibrating(given, settings.model, known)
    for body in told.learnt:
        calibrating.record(mix_from(body["mix"]), body["input"])
    stable: Stable | bool = Stable(held=told.held) if settings.stable else False
    view = View(calibrating.meter, told.view, stable=stable, shape=settings.shape or told.shape)
    view.extend(told.messages)
    return State(
        settings=settings,
        view=view,
        calibrating=calibrating,
        counts=told.counts,
        compacted=told.compacted,
        last=told.last,
        pins=told.pins,
    )
