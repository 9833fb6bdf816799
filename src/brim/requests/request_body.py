"""The body of a request to a model in a JSON file: read, counted, fitted, and written back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from brim.errors import InvalidValue, UnknownName, nearest, shown
from brim.files.json_body import JsonBody, read_body
from brim.history.history import fit_messages, system_message
from brim.history.result import Fitted
from brim.history.turns import Turns
from brim.meter import DEFAULT, BaseMeter, meter, meter_for
from brim.meter.window import Window
from brim.wire import FORMATS, KEY_FORMATS, Format, format_of
from brim.wire.base import MESSAGE_KEYS, answer_limits, loaded_tools, still_read, value_at, without_fields
from brim.wire.message import Message

PARTS = ("system", "user", "assistant", "tool results", "tools", "fields", "framing")
"""The parts of a count."""

_OF_ANTHROPIC = ("system", "anthropic_version")
_OF_BEDROCK = ("inferenceConfig", "toolConfig", "additionalModelRequestFields")
_TOOL_KEYS = ("tools", "functions", "toolConfig")
_SYSTEM_KEYS = ("system", "instructions", "systemInstruction", "system_instruction")
_NEAR = 0.75
"""How similar a key must be to one of the messages to count as misspelt."""
_INDEX = re.compile(r"messages\[(\d+)\]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCount:
    """The tokens of a request."""

    parts: Mapping[str, int]
    """The tokens of each of `PARTS`."""
    messages: int
    """How many messages it has."""
    upper: int
    """An upper bound of the true count; the same as the total if the meter is exact."""
    unit: str
    meter: str
    exact: bool

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(self.parts.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestBody:
    """A request from a file."""

    body: JsonBody = field(repr=False)
    key: str
    """The key of the messages, one of `MESSAGE_KEYS`; empty for a list of messages."""
    messages: Sequence[Any]
    tools: list[Any] | None
    """The tool definitions, including `functions` in the old form."""
    system: Any
    """The system prompt outside the messages."""

    @property
    def model(self) -> str | None:
        """The model that the body names.

        Raises:
            SourceError: it is not a text.
        """
        named = self.body.values.get("model", self.body.values.get("modelId"))
        if not isinstance(named, str | None):
            raise self.body.error(f"model must be a string, not {shown(named)}", "model")
        return named

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the body besides its messages, system prompt and tools."""
        values = self.body.values
        tools = FORMATS["bedrock"].tools_at if values.get("tools") is None else ("tools",)
        return without_fields(values, ((self.key,), (_system_key(self.key),), tools, ("functions",)))

    @property
    def format(self) -> Format | None:
        """The format of the messages; `None` if neither they nor the body show it."""
        if self.key in KEY_FORMATS:
            return KEY_FORMATS[self.key]
        known = format_of(self.messages)
        if known is None and any(key in self.body.values for key in _OF_BEDROCK):
            return "bedrock"
        schemas = [tool for tool in self.tools or () if isinstance(tool, Mapping) and "input_schema" in tool]
        if known is None and (schemas or any(key in self.body.values for key in _OF_ANTHROPIC)):
            return "anthropic"
        return known

    def fit(
        self,
        *,
        budget: int | None = None,
        model: str | None = None,
        meter: str | None = None,
        format: Format | None = None,
        **options: Any,
    ) -> Fitted:
        """Return the fitted messages; arguments override the values of the body.

        The default budget is the window of the model, less the tokens that the body allows for the answer. The other
        arguments are those of `brim.fit_messages`.

        Raises:
            DoesNotFit: the messages that always stay are bigger than the budget.
            SourceError: a value of the body is invalid.
            InvalidValue: an argument is invalid.
            UnknownName: there is no such model or meter.
        """
        own = model is None and meter is None
        named = self.model if own else model
        with self._located(own=own):
            return fit_messages(
                self.messages,
                self.budget(named) if budget is None else budget,
                model=named,
                meter=meter,
                tools=self.tools,
                system=self.system,
                fields=self.fields,
                format=self.format if format is None else format,
                **options,
            )

    def tally(self, name: str | None = None) -> RequestCount:
        """Return the tokens of the request, by the meter or model of a name, or by its own model.

        Raises:
            SourceError: a value of the body is invalid.
            UnknownName: there is no such model or meter.
        """
        named = name or self.model or DEFAULT
        with self._located(own=name is None):
            scale = meter(named)
            parts, exact = self._parts(scale)
            bound = parts if scale.exact else self._parts(meter_for(None, named))[0]
        return RequestCount(
            parts=parts,
            messages=len(self.messages),
            upper=sum(bound.values()),
            unit=scale.unit,
            meter=scale.name,
            exact=exact and scale.exact,
        )

    def written(self, messages: Sequence[Any]) -> str:
        """Return the body with these messages in place of its own; the same text if they are its own."""
        if len(messages) == len(self.messages) and all(map(is_, messages, self.messages)):
            return self.body.text
        return _json(self.with_messages(messages))

    def with_messages(self, messages: Sequence[Any]) -> Any:
        """Return the values of the body with other messages; an input that is a text stays one if possible."""
        value: Any = list(messages)
        if self.body.items is None and len(value) == 1 and isinstance(value[0]["content"], str):
            value = value[0]["content"]
        return {**self.body.values, self.key: value} if self.key else value

    def budget(self, model: str | None) -> int:
        """Return the window of a model less the maximum answer in the body.

        Raises:
            SourceError: there is no model, or the body's limit of the answer is invalid.
        """
        if model is None:
            raise self.body.error("the budget is missing: set one, or name a model to use its window")
        limits = {str(place[-1]): (value, str(place[0])) for place, value in answer_limits(self.body.values).items()}
        for key, (value, top) in limits.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise self.body.error(f"{key} must be a whole number of at least 0, not {shown(value)}", top)
        try:
            return Window.of(model, reserve=max((value for value, _ in limits.values()), default=None)).budget
        except InvalidValue as error:
            if not error.place.endswith("reserve"):
                raise
            key = max(limits, key=lambda each: limits[each])
            raise self.body.error(
                f"{key} must be {error.expected}, not {shown(error.value)}", limits[key][1]
            ) from error

    @contextmanager
    def _located(self, *, own: bool) -> Iterator[None]:
        """Add the line to errors about a value in the file; `own` says whether the file names the model."""
        try:
            yield
        except (UnknownName, InvalidValue) as error:
            text, place = str(error), "model" if isinstance(error, UnknownName) else error.place
            if place == "model" and own and self.model:
                raise self.body.error(text, "model") from error
            if found := _INDEX.match(place):
                text = text.replace("messages[", f"{self.key or 'messages'}[", 1)
                raise self.body.error(text, int(found[1])) from error
            for name, keys in (("tools", _TOOL_KEYS), ("system", _SYSTEM_KEYS)):
                if place.startswith(name):
                    key = next((key for key in keys if key in self.body.values), name)
                    raise self.body.error(text.replace(name, key, 1), key) from error
            raise

    def _parts(self, scale: BaseMeter) -> tuple[dict[str, int], bool]:
        """Return the tokens of each part, and whether they are exact, apart from the meter."""
        turns = Turns(scale, format=self.format)
        chat, framing = turns.chat, turns.chat.framing
        read = [turns.wire.read(raw, i) for i, raw in enumerate(self.messages)]
        apart = system_message(self.system, turns.wire)
        read = [read[i] for i in still_read(read, turns.wire)]
        messages = read if apart is None else [apart, *read]
        parts = dict.fromkeys(PARTS, 0)
        parts["framing"] = framing.reply
        for message in messages:
            framed = chat.frame(message.role) + (framing.per_name if message.name else 0)
            results = sum(chat.piece(piece) for piece in _answers(message))
            parts["framing"] += framed
            parts["tool results"] += results
            own = "tool results" if message.role == "tool" else message.role
            parts[own] += chat.units(message) - framed - results
        instructed = any(message.role == "system" for message in messages)
        loaded = {name for message in read for name in loaded_tools(message)}
        offered = chat.tools(self.tools, system=instructed, loaded=loaded)
        parts["tools"] = offered.total
        parts["fields"], known = chat.fields(self.fields)
        return parts, offered.exact and known and not chat.estimated


def read_request(path: str) -> RequestBody:
    """Return the request in a file: a list of messages, or a body with `messages`, `input` or `contents`.

    Raises:
        SourceError: the file cannot be read, is not JSON, or is not a request.
    """
    return request_of(read_body(path, MESSAGE_KEYS))


def request_of(body: JsonBody) -> RequestBody:
    """Return the request in a body.

    Raises:
        SourceError: it is not a request.
    """
    values = body.values
    keys = [key for key in MESSAGE_KEYS if key in values]
    if body.items is not None and not keys:
        return RequestBody(body=body, key="", messages=body.items, tools=None, system=None)
    if len(keys) != 1:
        number = " and ".join(keys) if keys else "none of them"
        hint = "; sections are described in YAML, in a file named .yaml" if "sections" in values else ""
        at = keys[1:]
        if not keys and (meant := misspelt(values)):
            hint, at = f" (did you mean {meant[1]!r}?)", [meant[0]]
        raise body.error(
            f"a request must have one of messages, input or contents, and this one has {number}{hint}", *at
        )
    key, messages = keys[0], body.items
    if messages is None:
        text = values[key]
        if key != "input" or not isinstance(text, str):
            raise body.error(f"{key} must be a list of messages, not {shown(text)}", key)
        messages = [{"role": "user", "content": text}]
    system = value_at(values, (_system_key(key),))
    return RequestBody(body=body, key=key, messages=messages, tools=_tools(body), system=system)


def misspelt(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the key of a list whose name is nearly one of `MESSAGE_KEYS`, and that one; `None` if there is none."""
    lists = (key for key, value in values.items() if isinstance(value, list))
    return next(((key, near[0]) for key in lists if (near := nearest(key, MESSAGE_KEYS, 1, _NEAR))), None)


def _system_key(key: str) -> str:
    """Return the key of the system prompt in a body whose messages have this key."""
    return FORMATS[KEY_FORMATS.get(key, "anthropic")].system_key


def _tools(body: JsonBody) -> list[Any] | None:
    """Return the tools of a body, including those in the old form."""
    tools, old = body.values.get("tools"), body.values.get("functions")
    tools = value_at(body.values, FORMATS["bedrock"].tools_at) if tools is None else tools
    if not isinstance(tools, list | None):
        raise body.error(f"tools must be a list of tool definitions, not {shown(tools)}", "tools")
    if old is None:
        return tools
    if not isinstance(old, list) or not all(isinstance(each, dict) for each in old):
        raise body.error(f"functions must be a list of function definitions, not {shown(old)}", "functions")
    return [*(tools or ()), *({"type": "function", "function": each} for each in old)]


def _answers(message: Message) -> list[Any]:
    """Return the pieces of a user's message that belong to tool results."""
    if message.role == "tool":
        return []
    places = [piece.whole for piece in message.pieces if piece.kind == "result"]
    return [piece for piece in message.pieces if any(piece.at[: len(place)] == place for place in places)]


def _json(value: Any) -> str:
    """Return a value as JSON; surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _SURROGATE.search(text) else text
