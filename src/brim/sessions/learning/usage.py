"""Reads the reported usage of a call in the formats of OpenAI, Anthropic, Gemini and Bedrock.

OpenAI and Gemini include cached tokens in the input, the others do not; in `ReportedUsage`, the input is always the
whole prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from brim.amounts import units
from brim.errors import InvalidType
from brim.wire import plain
from brim.wire.base import snake

_ANTHROPIC = ("cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation")
"""Fields of a usage in which the input does not include the cached tokens."""

_KEYS = ("usage", "usageMetadata")
_AROUND = ("message", "response", "metadata")
"""The keys of the usage in an answer or an event, and the keys of objects that may contain it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedUsage:
    """Tokens of one call as counted by the provider; `None` if not reported."""

    input: int | None = None
    """Tokens of the whole prompt, cached ones included."""
    output: int | None = None
    cached: int | None = None
    """Tokens of the prompt that were read from the cache."""
    written: int | None = None
    """Tokens of the prompt that were written to the cache."""
    passes: int = 1
    """Number of calls that it adds up; for more than one, the input is not the size of a prompt."""

    @property
    def prompt(self) -> int | None:
        """Tokens of the prompt; `None` if unknown."""
        return self.input if self.passes == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {slot.name: getattr(self, slot.name) for slot in fields(self)}


def reported(
    usage: Any = None,
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached_tokens: int | None = None,
) -> ReportedUsage:
    """Return the usage of a call, from a provider's answer or from numbers.

    Args:
        usage: the `usage` of an answer, or the whole answer; a mapping or a client's own object.
        input_tokens: tokens of the whole prompt, cached ones included.
        output_tokens: tokens of the answer.
        cached_tokens: tokens of the prompt that were found in the cache.

    Raises:
        InvalidValue: it is none of these, or a number is negative or not whole.
    """
    if usage is None:
        numbers = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cached_tokens": cached_tokens}
        if input_tokens is None and output_tokens is None:
            raise InvalidType("usage", usage, "the usage of an answer, unless input_tokens is set")
        for name, value in numbers.items():
            if value is not None:
                units(name, value)
        return ReportedUsage(input=input_tokens, output=output_tokens, cached=cached_tokens)
    values = _values(usage)
    if "input" in values and "input_tokens" not in values:  # As brim's own LLM client writes it.
        return ReportedUsage(input=_count(values, "input"), output=_count(values, "output"))
    if "prompt_tokens" not in values and "input_tokens" in values and any(key in values for key in _ANTHROPIC):
        return _anthropic(values)
    for input_key, output_key in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        if input_key in values:
            details = _below(values, f"{input_key}_details")
            return ReportedUsage(
                input=_count(values, input_key),
                output=_count(values, output_key),
                cached=_count(details, "cached_tokens"),
                written=_count(details, "cache_write_tokens"),
            )
    if "promptTokenCount" in values or "prompt_token_count" in values:
        return _gemini(values)
    if "inputTokens" in values:
        return _bedrock(values)
    raise InvalidType(
        "usage", values, "a mapping or object with input_tokens or prompt_tokens, as in a provider's answer"
    )


def usage_in(values: Any) -> Mapping[str, Any] | None:
    """Return the usage that a whole answer, or an event of a stream, reports; `None` if it reports none."""
    if not isinstance(values, Mapping):
        return None
    below = [values, *(values[key] for key in _AROUND if isinstance(values.get(key), Mapping))]
    return next((found for each in below for key in _KEYS if isinstance(found := each.get(key), Mapping)), None)


def _anthropic(values: Mapping[str, Any]) -> ReportedUsage:
    read, written = _count(values, "cache_read_input_tokens"), _count(values, "cache_creation_input_tokens")
    fresh = _count(values, "input_tokens")
    listed = values.get("iterations")
    served = _below(values, "server_tool_use")
    size = None if fresh is None else fresh + (read or 0) + (written or 0)
    return ReportedUsage(
        input=size,
        output=_count(values, "output_tokens"),
        cached=read,
        written=written,
        passes=len(listed) if isinstance(listed, list | tuple) and listed else 1 + any(served.values()),
    )


def _gemini(values: Mapping[str, Any]) -> ReportedUsage:
    def count(camel: str) -> int | None:
        return _count(values, camel if camel in values else snake(camel))

    said = [count(name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    output = None if said == [None, None] else sum(each or 0 for each in said)
    return ReportedUsage(input=count("promptTokenCount"), output=output, cached=count("cachedContentTokenCount"))


def _bedrock(values: Mapping[str, Any]) -> ReportedUsage:
    read, written = _count(values, "cacheReadInputTokens"), _count(values, "cacheWriteInputTokens")
    fresh = _count(values, "inputTokens")
    whole = None if fresh is None else fresh + (read or 0) + (written or 0)
    return ReportedUsage(input=whole, output=_count(values, "outputTokens"), cached=read, written=written)


def _values(usage: Any) -> Mapping[str, Any]:
    """Return the fields of a usage, or of the usage in a whole answer."""
    values = _fields(usage)
    inner = next((values[key] for key in (*_KEYS, "usage_metadata") if values.get(key) is not None), None)
    return _fields(inner) if inner is not None else values


def _fields(value: Any) -> Mapping[str, Any]:
    values = plain(value)
    if isinstance(values, Mapping):
        return values
    names = [*getattr(value, "__dict__", {}), *getattr(value, "__slots__", ())]
    if not names:
        raise InvalidType("usage", value, "the usage of an answer, as a mapping or as the client's own object")
    return {name: getattr(value, name) for name in names if not name.startswith("_")}


def _below(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = plain(values.get(key))
    return found if isinstance(found, Mapping) else getattr(found, "__dict__", {})


def _count(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return None if value is None else units(f"usage {key}", value)
