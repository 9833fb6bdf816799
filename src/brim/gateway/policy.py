"""What is to be done with a request: by its model, by the client's key, by its route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from brim.settings.rules import POLICIES

FIT, WARN, REFUSE, PASS = POLICIES


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRule:
    """One rule: what holds for the requests that match it. What is left open matches everything."""

    model: str | None = None
    """A pattern such as `gpt-5*`."""
    key: str | None = None
    """The name of the environment variable with the client's key."""
    route: str | None = None
    policy: str | None = None
    window: int | None = None
    """Tokens that the model holds."""
    meter: str | None = None
    """What measures."""
    recall: bool | None = None
    """Whether the model is offered `brim_recall`."""

    def matches(self, model: str, key: str, route: str) -> bool:
        """Return whether a request is one of these."""
        return (
            (self.model is None or fnmatchcase(model, self.model))
            and self.key in (None, key)
            and self.route in (None, route)
        )


def rules_of(listed: Sequence[Mapping[str, Any]]) -> tuple[RequestRule, ...]:
    """Return the rules of the settings, which were checked when they were read."""
    return tuple(RequestRule(**each) for each in listed)


@lru_cache(maxsize=1_024)
def ruled(rules: tuple[RequestRule, ...], model: str, key: str, route: str, usual: RequestRule) -> RequestRule:
    """Return what holds for a request: each value by the first rule that matches and has one, else the usual one."""
    found = [rule for rule in rules if rule.matches(model, key, route)]

    def first(name: str) -> Any:
        return next((value for rule in (*found, usual) if (value := getattr(rule, name)) is not None), None)

    return RequestRule(
        policy=first("policy"), window=first("window"), meter=first("meter"), recall=first("recall"), route=route
    )
