"""Reads the reported usage of a call in the formats of OpenAI, Anthropic, Gemini and Bedrock.

OpenAI and Gemini include cached tokens in the input, the others do not; in `ReportedUsage`, the input is always the
whole prompt. A provider may clear or compact a part of the prompt before the model reads it, and then says so in its
answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
_EDITS, _REASON, _COMPACTED = "context_management", "stop_reason", "compaction"
"""The key of what was cleared, the key of why an answer ended, and the value of that and of blocks for a compaction."""


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
    first: int | None = None
    """Tokens of the first call's prompt, if the calls are listed."""
    edits: tuple[Mapping[str, Any], ...] = ()
    """What the provider cleared from the prompt, as listed in its answer."""
    compacted: bool = False
    """Whether the provider compacted the conversation, so it did not read the prompt that was sent."""

    @property
    def cleared(self) -> int:
        """Tokens of the prompt that the provider cleared before the model read it."""
        return sum(edit["cleared_input_tokens"] for edit in self.edits)

    @property
    def read(self) -> int | None:
        """Tokens of the prompt that the model read first; `None` if unknown, or if it was compacted."""
        if self.compacted:
            return None
        return self.input if self.passes == 1 else self.first

    @property
    def sent(self) -> int | None:
        """Tokens of the prompt as it was sent; `None` if unknown."""
        return None if self.read is None else self.read + self.cleared

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        told = {name: getattr(self, name) for name in ("input", "output", "cached", "written", "passes")}
        edits: dict[str, Any] = {"edits": [dict(edit) for edit in self.edits]} if self.edits else {}
        return told | edits | ({"compacted": True} if self.compacted else {})


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
    found, values = _edits(usage), _values(usage)
    return replace(_reported(values), **found) if found else _reported(values)


def _reported(values: Mapping[str, Any]) -> ReportedUsage:
    """Return the usage of a call from its fields."""
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
    raise InvalidType("usage", values, "a usage with input_tokens or prompt_tokens, as in answers")


def usage_in(values: Any) -> Mapping[str, Any] | None:
    """Return the usage that a whole answer, or an event of a stream, reports; `None` if it reports none.

    What the provider cleared or compacted is added, in the form that `reported` reads.
    """
    if not isinstance(values, Mapping):
        return None
    below = [values, *(values[key] for key in _AROUND if isinstance(values.get(key), Mapping))]
    found = next((found for each in below for key in _KEYS if isinstance(found := each.get(key), Mapping)), None)
    edits = {} if found is None else _edits(values)
    if found is None or not edits:
        return found
    listed = {_EDITS: {"applied_edits": edits["edits"]}} if "edits" in edits else {}
    return {**found, **listed, **({_REASON: _COMPACTED} if "compacted" in edits else {})}


def _edits(answer: Any) -> dict[str, Any]:
    """Return the edits of the prompt that an answer, an event or a usage lists, and whether there was a compaction."""
    values = _fields(answer)
    around = [values, *(inner for key in (*_AROUND, "delta") if isinstance(inner := plain(values.get(key)), Mapping))]
    told: dict[str, Any] = {}
    for each in around:
        applied = _below(each, _EDITS).get("applied_edits") if each.get(_EDITS) is not None else None
        edits = [_fields(edit) for edit in applied] if isinstance(applied, list | tuple) else []
        known = tuple(edit for edit in edits if isinstance(edit.get("cleared_input_tokens"), int))
        blocks = (plain(block) for key in ("content", "output") for block in _listed(each.get(key)))
        compacts = any(isinstance(block, Mapping) and block.get("type") == _COMPACTED for block in blocks)
        told |= {"edits": known} if known else {}
        told |= {"compacted": True} if compacts or each.get(_REASON) == _COMPACTED else {}
    return told


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _anthropic(values: Mapping[str, Any]) -> ReportedUsage:
    read, written = _count(values, "cache_read_input_tokens"), _count(values, "cache_creation_input_tokens")
    fresh = _count(values, "input_tokens")
    listed = _listed(values.get("iterations"))
    passes = [found for each in listed if isinstance(found := plain(each), Mapping)]
    served = _below(values, "server_tool_use")
    size = None if fresh is None else fresh + (read or 0) + (written or 0)
    compacted = any(each.get("type") == _COMPACTED for each in passes)
    return ReportedUsage(
        input=size,
        output=_count(values, "output_tokens"),
        cached=read,
        written=written,
        passes=len(listed) or 1 + any(served.values()),
        first=None if compacted or not passes else _anthropic({**passes[0], "iterations": None}).input,
        compacted=compacted,
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
