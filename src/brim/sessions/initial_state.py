"""The first state of a session: new, or restored from its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from brim.errors import InvalidType
from brim.history.stable import Stable
from brim.meter import DEFAULT, name_of
from brim.meter.calibration import Calibration, CallSize
from brim.meter.window import Window
from brim.sessions.context import Context
from brim.sessions.counts import Counts
from brim.sessions.cut_record import cut_from
from brim.sessions.journal import SavedSession
from brim.sessions.model_meter import ModelMeter
from brim.sessions.settings import SessionSettings
from brim.sessions.state import SessionState


def new_state(
    window: Window | int | None,
    model: str | None,
    meter: Any,
    calibration: Calibration | None,
    options: Mapping[str, Any],
) -> SessionState:
    """Return the first state of a new session.

    Raises:
        InvalidValue: a setting is invalid.
        UnknownName: there is no such model or meter.
    """
    known = DEFAULT if meter is None and model is None else name_of(meter)
    own = meter is not None and known is None
    settings = SessionSettings.of(window, model, meter=known, own_meter=own, **options)
    model_meter = ModelMeter(meter, model)
    if model_meter.learns:
        model_meter.calibration = calibration or model_meter.calibration
        model_meter.recount()
    stable = Stable(high=settings.high, low=settings.low) if settings.stable else False
    context = Context(model_meter.meter, stable=stable, format=settings.format)
    return SessionState(settings=settings, context=context, model_meter=model_meter, counts=Counts())


def restored_state(saved: SavedSession, meter: Any) -> SessionState:
    """Return the state that a log describes.

    Raises:
        InvalidValue: the session was begun with a meter of the caller's own, and none is passed.
    """
    settings = saved.settings
    given = settings.meter if meter is None else meter
    if given is None and settings.own_meter:
        raise InvalidType("meter", meter, "passed again: the session was begun with a meter of the caller's own")
    known = Calibration.from_dict(saved.calibration) if saved.calibration is not None else None
    model_meter = ModelMeter(given, settings.model, known)
    for body in saved.learnt:
        model_meter.record(CallSize(**body["mix"]), body["input"])
    stable = Stable(high=settings.high, low=settings.low) if settings.stable else None
    format, summary = settings.format or saved.format, saved.compacted.marked if saved.compacted is not None else None

    context = Context(model_meter.meter, saved.context, stable=stable or False, format=format, summary=summary)
    context.extend(saved.messages)
    context.numbers = saved.numbered()
    held = cut_from(saved.cut, context.history.turns)
    if stable is not None and held is not None:
        context.history.rewind((replace(stable, held=held), None))
    return SessionState(
        settings=settings,
        context=context,
        model_meter=model_meter,
        counts=saved.counts,
        compacted=saved.compacted,
        last=saved.last,
        logged_cut=held,
        pins=saved.pins,
    )
