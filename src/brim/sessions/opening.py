"""Begins a session, or takes one up where its log left it."""

from __future__ import annotations

from typing import Any

from brim.errors import InvalidType
from brim.history.stable import Stable
from brim.meter import DEFAULT, name_of
from brim.meter.calibrated import Calibration
from brim.meter.window import Window
from brim.sessions.calibrating import Calibrating, mix_from, shared
from brim.sessions.counts import Counts
from brim.sessions.journal import SavedSession
from brim.sessions.settings import SessionSettings
from brim.sessions.state import SessionState
from brim.sessions.view import View
from brim.store.base import Store


def begun(window: Window | int | None, model: str | None, meter: Any, store: Store | None, told: Any) -> SessionState:
    """Return a session's first state.

    Raises:
        InvalidValue: a setting that cannot be.
        UnknownName: no such model or meter.
    """
    known = DEFAULT if meter is None and model is None else name_of(meter)
    own = meter is not None and known is None
    settings = SessionSettings.of(window, model, meter=known, own_meter=own, **told)
    calibrating = Calibrating(meter, model)
    if calibrating.learns:
        calibrating.calibration = shared(store, model) or calibrating.calibration
        calibrating.recount()
    view = View(calibrating.meter, stable=settings.stable, format=settings.format)
    return SessionState(settings=settings, view=view, calibrating=calibrating, counts=Counts())


def resumed(told: SavedSession, meter: Any) -> SessionState:
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
    view = View(calibrating.meter, told.view, stable=stable, format=settings.format or told.format)
    view.extend(told.messages)
    return SessionState(
        settings=settings,
        view=view,
        calibrating=calibrating,
        counts=told.counts,
        compacted=told.compacted,
        last=told.last,
        pins=told.pins,
    )
