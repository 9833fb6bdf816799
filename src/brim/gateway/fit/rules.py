"""Which policy, window and meter apply to a request: by its model, the client's key and its route."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from brim.gateway.http.problem import HttpProblem
from brim.meter.catalogue import fold, spellings
from brim.settings.values import POLICIES

FIT, NATIVE, WARN, REFUSE, PASS = POLICIES
CUTS = (FIT, NATIVE)
"""The policies by which a request that is too long is cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRule:
    """Settings for the requests that match; a condition that is `None` matches every request."""

    model: str | None = None
    """A pattern such as `gpt-5*`. Names are compared as the catalogue does: `GPT-5` and `openai/gpt-5` match too."""
    key: str | None = None
    """The name of the environment variable with the client's key."""
    route: str | None = None
    policy: str | None = None
    window: int | None = None
    """The context window of the model, in tokens."""
    meter: str | None = None
    recall: bool | None = None
    """Whether the model is offered `brim_recall`."""
    sections: str | None = None
    """The file with the sections that are added to system prompts."""


@lru_cache(maxsize=1_024)
def ruled(rules: tuple[RequestRule, ...], model: str, key: str, route: str, default: RequestRule) -> RequestRule:
    """Return the settings for a request: each is taken from the first matching rule that has it, or the default."""
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

    return RequestRule(**{name: first(name) for name in ("policy", "window", "meter", "recall", "sections")})


def policy_of(rule: RequestRule, asked: str | None) -> str:
    """Return the policy for a request: the one that its client asks for, if it may, or that of its rule.

    Raises:
        HttpProblem: there is no such policy.
    """
    if asked is not None and asked not in POLICIES:
        raise HttpProblem(400, f"x-brim-policy must be one of {', '.join(POLICIES)}")
    return asked or rule.policy or FIT
