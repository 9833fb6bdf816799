"""Decides how a request is counted, its budget, and which conversation it continues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from brim.gateway.client.parsed import Parsed
from brim.gateway.http.problem import HttpProblem
from brim.gateway.recall.calls import is_offered
from brim.gateway.settings import GatewaySettings, RequestRule
from brim.meter import BaseMeter
from brim.meter.calibration import Calibrated
from brim.meter.catalogue import fold, spellings
from brim.sessions.conversations import Conversations
from brim.sessions.conversations.request import RequestPlan
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.windows import Room, WindowLimits
from brim.settings.values import POLICIES

FIT, WARN, REFUSE, PASS = POLICIES


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Planned:
    """A request with its policy, meter and budget."""

    parsed: Parsed
    settings: GatewaySettings
    policy: str
    given: RequestInput
    """The input of the engine."""
    engine: RequestPlan
    """The meter and the budget."""

    @property
    def scale(self) -> BaseMeter:
        """The meter."""
        return self.engine.scale

    @property
    def room(self) -> Room | None:
        """The budget; `None` if the window of the model is unknown."""
        return self.engine.room

    def method(self, *, exact: bool) -> str:
        """Return how a request was counted: `exact`, `calibrated` or `estimate`."""
        scale = self.scale
        if scale.exact:
            return "exact" if exact else "estimate"
        return "calibrated" if isinstance(scale, Calibrated) and scale.calibration.calls else "estimate"


def plan(parsed: Parsed, settings: GatewaySettings, engine: Conversations, owner: tuple[str, ...]) -> Planned:
    """Return the rule, the meter and the budget of a request.

    Raises:
        HttpProblem: an `x-brim` header is invalid.
    """
    rule = rule_of(parsed, settings)
    policy = rule.policy or FIT
    admitted = parsed.admitted
    limits = WindowLimits(
        size=rule.window,
        yields=settings.window_yields and rule.window == settings.default.window,
        reserve=settings.reserve,
        cap=settings.cap,
        limit=settings.limit,
        margin=settings.margin,
        lower_answer=settings.lower_answer,
        lower_large=True,
    )
    recall = bool(rule.recall) and is_offered(parsed.route, parsed.values)
    given = parsed.input(pin=settings.pin, recall=recall, owner=owner)
    made = engine.plan(given, limits, rule.meter, settings.base(parsed.route))
    asked = admitted.header("x-brim-budget")
    if asked is not None:
        if not asked.isascii() or not asked.isdigit() or not 0 < len(asked) <= 12 or int(asked) < 1:
            raise HttpProblem(400, "x-brim-budget must be a whole number of at least 1")
        made = replace(made, room=Room.of(int(asked)) if made.room is None else made.room.at_most(int(asked)))
    return Planned(parsed=parsed, settings=settings, policy=policy, given=given, engine=made)


def rule_of(parsed: Parsed, settings: GatewaySettings) -> RequestRule:
    """Return the settings for a request."""
    return ruled(settings.rules, parsed.model, parsed.admitted.key, parsed.route, settings.default)


@lru_cache(maxsize=1_024)
def ruled(rules: tuple[RequestRule, ...], model: str, key: str, route: str, default: RequestRule) -> RequestRule:
    """Return the settings for a request, each from the first matching rule that sets it, or else from the default."""
    names = [fold(model), *map(fold, spellings(model))]
    matching = [
        rule
        for rule in rules
        if (rule.model is None or any(fnmatchcase(name, fold(rule.model)) for name in names))
        and rule.key in (None, key)
        and rule.route in (None, route)
    ]

    def first(name: str) -> Any:
        return next((value for rule in (*matching, default) if (value := getattr(rule, name)) is not None), None)

    return RequestRule(**{name: first(name) for name in ("policy", "window", "meter", "recall")})
