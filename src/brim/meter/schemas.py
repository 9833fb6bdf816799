"""The tokens of tool definitions.

OpenAI's cookbook has a rule for functions with flat parameters, measured against its models. It is applied recursively
to objects and lists inside parameters, which makes the count an estimate. Any other definition is counted as its JSON,
which is longer than what OpenAI's models see, plus what the provider adds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from brim.errors import InvalidType, InvalidValue
from brim.files.depth import MOST_DEPTH
from brim.meter.catalogue import fold, lookup, spellings
from brim.wire import definitions
from brim.wire.base import CACHE_MARKS, NAMESPACE, is_deferred
from brim.wire.remainder import LABEL
from brim.wire.values import json_of, plain

Count = Callable[[str], int]

_FUNCTION, _OLD_FUNCTION, _END = 7, 10, 12
"""Tokens for each function, for each function on gpt-4 and gpt-3.5, and once per request."""
_OWN_MESSAGE = 4
"""Tokens for a system message that contains only the tools."""
_PROPERTIES, _PROPERTY, _CHOICES, _CHOICE = 3, 3, -3, 3
"""Tokens for a list of properties, each property, a list of values, and each value."""
_MEASURED = {"gpt-4o": _FUNCTION, "gpt-4o-mini": _FUNCTION, "gpt-4": _OLD_FUNCTION, "gpt-3-5-turbo": _OLD_FUNCTION}
"""The models that the cookbook measured."""

_LONGEST_PROMPT = 804
"""The longest prompt that Anthropic adds to requests with tools, for a model whose own is unknown."""
_OTHER_PROMPT = 200
"""The prompt that the chat templates of open models add; the longest known has about 150."""
_WRAPPING = 12
"""Tokens around the JSON of one tool."""
_COMPACT = ("openai", "anthropic", "google")
"""Providers whose tools count as compact JSON. The chat templates of open models write it with spaces, and Llama's with
an indentation of four."""

_BUILT_INS = {"bash": 245, "text": 700, "computer": 735}
"""Anthropic's published numbers for its own tools, by the first word of the type; the largest stands for all others."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_FLAT_TYPES = ("string", "number", "integer", "boolean")
_KNOWN = {"type", "description", "enum", "properties", "required", "items", "additionalProperties"}
"""The keys that a schema may have for OpenAI's rule to apply."""


class ToolCounts(NamedTuple):
    """The tokens of the tools of a request."""

    once: int
    """Tokens that are added once if a request has tools."""
    each: list[int]
    """Tokens of each tool; in some formats a tool has several functions, or none."""
    exact: bool
    """Whether a published rule makes the numbers exact."""

    @property
    def total(self) -> int:
        """Tokens of all tools."""
        return self.once + sum(self.each)


def tool_counts(
    tools: Sequence[Mapping[str, Any]],
    count: Count,
    provider: str,
    *,
    model: str | None = None,
    system: bool = True,
    loaded: Collection[str] = (),
) -> ToolCounts:
    """Return the tokens of each tool of a request.

    The formats of all providers and of MCP are accepted for every provider. Without a model, OpenAI's rule is that of
    gpt-4o, and Anthropic's prompt is the longest one. `system` says whether the request has a system message: OpenAI
    adds the tools to it, or else to a separate message. A deferred tool counts fully if it is `loaded`; before that,
    OpenAI shows its name and description, and other providers nothing.

    Raises:
        InvalidValue: a tool is invalid; the message has its index and the problem.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Sequence):
        raise InvalidType("tools", tools, "a list of tools")
    names = [fold(name) for name in spellings(model)] if model is not None else ["gpt-4o"]
    measured = next((_MEASURED[name] for name in names if name in _MEASURED), None)
    each = [0] * len(tools)
    listed = [definitions([entry]) for entry in tools]
    exact = system and measured is not None and provider == "openai"
    function = _OLD_FUNCTION if measured is None else measured
    for i, functions in enumerate(listed):
        for raw in functions:
            known = [_Tool(f"tools[{i}]", shown, provider) for shown in _shown(raw, provider, loaded)]
            each[i] += sum(tool.units(count, function, provider) for tool in known)
            exact = exact and all(tool.regular and tool.measured for tool in known)
    if not any(listed):
        return ToolCounts(0, each, True)
    if provider == "openai":
        return ToolCounts(_END if system else _END + _OWN_MESSAGE, each, exact)
    row = lookup(model) if provider == "anthropic" else None
    prompt = _OTHER_PROMPT if provider != "anthropic" else (row and row.tool_prompt) or _LONGEST_PROMPT
    return ToolCounts(prompt, each, False)


def _shown(raw: Any, provider: str, loaded: Collection[str]) -> list[Any]:
    """Return the definitions of a tool that the model sees: its own, those of a namespace, or only a summary."""
    if not isinstance(raw, Mapping):
        return [raw]
    inner = next((each for key in ("function", "custom") if isinstance(each := raw.get(key), Mapping)), raw)
    name = next((inner[key] for key in ("name", "server_label") if key in inner), None)
    described = next((inner[key] for key in ("description", "server_description") if key in inner), None)
    brief = [{"type": "function", "name": name, "description": described}] if provider == "openai" else []
    if is_deferred(raw) and name not in loaded:
        return brief
    if raw.get("type") == NAMESPACE and isinstance(raw.get("tools"), list | tuple):
        held = (plain(each) for each in raw["tools"])
        return brief + [each for each in held if not isinstance(each, Mapping) or not is_deferred(each)]
    return [raw]


class _Tool:
    """One tool, in any provider's format.

    Raises:
        InvalidValue: it is not a definition of a tool.
    """

    def __init__(self, place: str, raw: Any, provider: str) -> None:
        if not isinstance(raw, Mapping):
            raise InvalidType(place, raw, "an object that describes a tool")
        kind = raw.get("type")
        if not isinstance(kind, str | None):
            raise InvalidType(f"{place}.type", kind, "a string such as function")
        nested = next((key for key in ("function", "custom") if key in raw), None)
        where, inner = (f"{place}.{nested}", raw[nested]) if nested else (place, raw)
        self.place = place
        shown = {key: each for key, each in raw.items() if key not in CACHE_MARKS or len(str(each)) > LABEL}
        self.raw = shown
        self.kind = "" if nested or kind in ("function", "custom", None) else kind
        """The type of a tool that the provider defines; empty for any other."""
        self.regular = False
        """Whether OpenAI's rule applies: its schema has only objects, lists, plain types and enums of strings."""
        if self.kind:
            return
        if not isinstance(inner, Mapping):
            raise InvalidType(where, inner, "an object with a name")
        if nested and provider in _COMPACT and _only(shown, {"type", nested}):
            self.raw = dict(inner)  # The wrapper of a function belongs to OpenAI's format; models are not shown it.
        self.name, description = inner.get("name"), inner.get("description")
        if not isinstance(self.name, str):
            raise InvalidType(f"{where}.name", self.name, "a string")
        if not self.name:
            raise InvalidValue(f"{where}.name", self.name, "a non-empty string")
        if not isinstance(description, str | None):
            raise InvalidType(f"{where}.description", description, "a string")
        self.description = description or ""
        key = next((key for key in _SCHEMAS if key in inner), "")
        self.schema = inner.get(key)
        # Only the Responses API allows null.
        if key and not isinstance(self.schema, Mapping) and (self.schema is not None or nested or kind != "function"):
            raise InvalidType(f"{where}.{key}", self.schema, "a JSON Schema object")
        if not key and provider == "anthropic" and not nested:
            raise InvalidValue(where, list(inner), "an object with name and input_schema")
        if provider == "openai" and "custom" not in (nested, kind):
            own = {"name", "description", key, *(["strict"] if isinstance(inner.get("strict"), bool | None) else [])}
            alone = _only(shown, {"type", nested} if nested else {"type", *own})
            self.regular = alone and (not nested or inner.keys() <= own) and _is_regular(self.schema or {}, root=True)

    @property
    def measured(self) -> bool:
        """Whether all its properties have plain types and descriptions, as those used to measure the rule."""
        found = (self.schema or {}).get("properties", {}).values()
        plain = all(each.get("description") and each["type"] in _FLAT_TYPES for each in found)
        return bool(self.description and self.schema) and plain

    def units(self, count: Count, function: int, provider: str) -> int:
        """Return its tokens; `function` are OpenAI's tokens per function."""
        if not self.regular:
            return self._by_json(count, function if provider == "openai" else _WRAPPING, provider)
        name = count(f"{self.name}:{self.description.removesuffix('.')}")
        return function + name + _by_rule(self.schema or {}, count)

    def _by_json(self, count: Count, around: int, provider: str) -> int:
        """Return the tokens of the definition as JSON, in the form that the provider's models see."""
        text = json_of(self.raw, self.place)
        if provider not in _COMPACT:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=4 if provider == "meta" else None)
        own = _BUILT_INS.get(self.kind.partition("_")[0], max(_BUILT_INS.values())) if self.kind else 0
        return around + count(text) + own


def _only(fields: Mapping[str, Any], known: set[str]) -> bool:
    """Return whether the definition has no other fields, and a short `type`, which the rule does not count."""
    return fields.keys() <= known and len(str(fields.get("type"))) <= LABEL


def _by_rule(node: Mapping[str, Any], count: Count) -> int:
    """Return the tokens of the properties, items and enums of a regular schema."""
    properties, units = node.get("properties", {}), 0
    inner = {**properties, "": node["items"]} if "items" in node else properties
    units += _PROPERTIES * bool(inner)
    for name, each in inner.items():
        line = f"{name}:{each['type']}:{each.get('description', '').removesuffix('.')}"
        units += _PROPERTY + count(line.removesuffix(":")) + _by_rule(each, count)
    if choices := node.get("enum"):
        units += _CHOICES + sum(_CHOICE + count(choice) for choice in choices)
    return units


def _is_regular(node: Any, *, root: bool = False, levels: int = MOST_DEPTH) -> bool:
    """Return whether a schema has only objects, lists, plain types with descriptions, and enums of strings."""
    if not levels or not isinstance(node, Mapping) or not _only(node, _KNOWN | ({"$schema"} if root else set())):
        return False
    properties, needed, choices = (
        node.get(key, empty) for key, empty in (("properties", {}), ("required", []), ("enum", []))
    )
    inner = (
        [*properties.values(), *([node["items"]] if "items" in node else [])] if isinstance(properties, Mapping) else []
    )
    return (
        isinstance(properties, Mapping)
        and all(isinstance(name, str) for name in properties)
        and isinstance(needed, list | tuple)
        and all(isinstance(name, str) and name in properties for name in needed)
        and isinstance(node.get("additionalProperties", False), bool)
        and len(str(node.get("$schema"))) <= LABEL
        and isinstance(node.get("description", ""), str)
        and not (root and "description" in node)
        and (root or node.get("type") in (*_FLAT_TYPES, "object", "array"))
        and isinstance(choices, list | tuple)
        and all(isinstance(choice, str) for choice in choices)
        and all(_is_regular(each, levels=levels - 1) for each in inner)
    )
