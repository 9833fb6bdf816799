"""What the catalogue says about a model: its window, whether answers count in it, how long prompts are cached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from brim.errors import BrimError
from brim.meter.catalogue import Model, find

MOST_NAMES = 1_024
"""Limit on cached lookups of model names, since a client can send any name."""
_SUMMED = re.compile(r"claude-(?:[123]|instant|(?:opus|sonnet)-4(?:-[01])?$)")
"""Anthropic models that reject a prompt if the prompt and the longest answer together exceed the window; later models
do not.
"""


@lru_cache(maxsize=MOST_NAMES)
def known(name: str) -> Model | None:
    """Return the model of a name; `None` if the catalogue does not list it."""
    try:
        return find(name)
    except BrimError:
        return None


@lru_cache(maxsize=MOST_NAMES)
def counts_answer(name: str) -> bool | None:
    """Return whether prompt and answer together must fit the window of a model; `None` if unknown."""
    row = known(name)
    if row is None:
        return None
    if row.provider == "anthropic":
        return _SUMMED.match(row.id) is not None
    return False if row.shared is False else None


MARK = "cache_control"
_ASKED = ("prompt_cache_options", MARK)
"""Fields of a request that may set the lifetime of the cache."""
_TIME = re.compile(r"(\d+)([mh])")
_SECONDS = {"m": 60, "h": 3_600}
_NEWEST = 4
"""Number of newest messages in which brim looks for cache marks, since clients mark the newest."""


def marks_of(messages: Iterable[Any]) -> Iterator[Any]:
    """Yield the marks in the contents of messages, and in the results there."""
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        yield from block_marks(content)
        if isinstance(content, list):
            yield from marks_of(block for block in content if isinstance(block, Mapping) and "tool_use_id" in block)


def block_marks(blocks: Any) -> list[Any]:
    """Return the marks of blocks; a string has none."""
    listed = blocks if isinstance(blocks, list | tuple) else ()
    return [block[MARK] for block in listed if isinstance(block, Mapping) and block.get(MARK)]


def lifetime(
    model: str | None, tools: Any, system: Any, fields: Mapping[str, Any] | None, messages: Sequence[Any]
) -> int | None:
    """Return the seconds for which the provider caches a prompt; `None` if not published.

    It is the longest lifetime that a mark in the request requests, by default the provider's shortest.
    """
    row = known(model) if model else None
    if row is None or row.cache is None or not row.cache.ttl:
        return None
    own = [fields[name] for name in _ASKED if name in fields] if fields else []
    marks = [*own, *block_marks(tools), *block_marks(system), *marks_of(messages[-_NEWEST:])]
    times = (_TIME.fullmatch(str(mark.get("ttl"))) for mark in marks if isinstance(mark, Mapping))
    return max((int(time[1]) * _SECONDS[time[2]] for time in times if time), default=row.cache.ttl[0])
