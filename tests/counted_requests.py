"""A long text anywhere in generated requests of every format: the count rises. For the suite and `make prove`.

A text may stay uncounted only in a field of `brim.wire.remainder`, or in a request that is refused as invalid.
Each request is compared with the same one that has a short text in the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import request_bodies
from brim.errors import InvalidValue, SourceError
from brim.files.json_body import body_of
from brim.meter import meter
from brim.requests.request_body import RequestCount, request_of
from brim.wire import FORMATS
from brim.wire import remainder as listed
from brim.wire.base import MESSAGE_KEYS

MODELS = {"openai": "gpt-4o", "responses": "gpt-5", "anthropic": "claude-sonnet-4-5"}
_OTHER_MODELS = {"gemini": "gemini-2.5-pro", "bedrock": "claude-sonnet-4-5"}
_SHORT = "w"


class Trial(NamedTuple):
    """What came of a text in one request."""

    outcome: str
    """`counted`, `listed`, `refused` or `uncounted`."""
    path: str
    """The path of the field, without indexes."""
    exact: bool = False
    """Whether the count with the text claims to be exact."""


def tried(format: str, number: int) -> Trial:
    """Return what comes of a text in one generated request."""
    random = request_bodies.seeded(format, number)
    body = request_bodies.body(format, random)
    state = random.getstate()
    long, path, _ = request_bodies.placed(body, random)
    random.setstate(state)
    short, _, _ = request_bodies.placed(body, random, _SHORT)
    names = [str(key) for key in path if not isinstance(key, int)]
    told = ".".join("(text)" if name in (request_bodies.LONG, _SHORT) else name for name in names)
    model = MODELS.get(format) or _OTHER_MODELS[format]
    try:
        counted = _count(long, model)
        before = _count(short, model).total
    except (InvalidValue, SourceError):
        return Trial("refused", told)
    if counted.total - before >= meter(model).count(request_bodies.LONG) // 2:
        return Trial("counted", told, counted.exact)
    return Trial("listed" if _is_listed(names) else "uncounted", told, counted.exact)


def _count(body: Any, model: str) -> RequestCount:
    return request_of(body_of(request_bodies.text_of(body), "the body", MESSAGE_KEYS)).tally(model)


def _is_listed(names: Sequence[str]) -> bool:
    """Return whether the list has a field of a path: in a message any of its names, in the body its first ones."""
    folded = [listed.folded(name) for name in names]
    if folded[0] in ("messages", "input", "contents"):
        return any(name in listed.MESSAGE_FIELDS or name in listed.MEDIA_FIELDS for name in folded[1:])
    return any(".".join(folded[:length]) in listed.BODY_FIELDS for length in range(1, len(folded) + 1))


def check(seed: int) -> str:
    """Return what comes of a text in the request of a seed; raise if it is not counted."""
    format = sorted(FORMATS)[seed % len(FORMATS)]
    trial = tried(format, seed // len(FORMATS))
    assert trial.outcome != "uncounted", f"{format}: a text of {trial.path} is not counted"
    return trial.outcome
