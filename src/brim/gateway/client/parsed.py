"""A client's request as far as the gateway reads it: messages, model, tools, the length of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from brim.errors import SourceError
from brim.files.depth import MOST_DEPTH
from brim.files.json_body import JsonBody, body_of
from brim.gateway.client.body import check_values, decoded, decompressed
from brim.gateway.client.names import cleaned, model_name
from brim.gateway.client.paths import model_path
from brim.gateway.http.admitted import Admitted
from brim.gateway.http.problem import BEDROCK, CHAT, GEMINI, MESSAGES, RESPONSES, HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.history.request_body import RequestBody, request_of
from brim.meter import BaseMeter
from brim.meter.catalogue import with_long_window
from brim.sessions.learning.models import known
from brim.sessions.learning.request_input import RequestInput
from brim.wire.base import MESSAGE_KEYS, Format, answer_limits, is_stateful, lowered_limits, value_at

FORMATS: dict[str, Format] = {
    CHAT: "openai",
    RESPONSES: "responses",
    MESSAGES: "anthropic",
    GEMINI: "gemini",
    BEDROCK: "bedrock",
}
"""The format of the messages of each route."""
_PLACE = "the request"
_FILES = re.compile(
    r'"type"\s*:\s*"(?:input_)?(?:image|audio|video|file|document)(?:_url)?"'
    r'|"(?:inlineData|inline_data|fileData|file_data|image|audio|video|document)"\s*:\s*\{'
)
"""Parts of messages that take other tokens than those of their JSON."""
_LONGEST_MODEL, _LONGEST_LABEL = 512, 100
"""Characters of the name of a model, which is looked up and counted by (the longest in use has about 150), and those
that are shown of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A request whose body was read."""

    admitted: Admitted
    route: str
    raw: bytes = field(repr=False)
    """The body as it came."""
    body: bytes = field(repr=False)
    """The body, decompressed."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    repeats: bool = False
    """Whether an object in it has a key twice."""
    request: RequestBody | None = field(default=None, repr=False)
    """Its messages, tools and system prompt; `None` if they cannot be read, so the request is left as it is."""
    problem: str = ""
    """Why they cannot be read."""
    model: str = ""
    """The model that its path or its body names, or what stands for a name that may be a secret."""
    label: str = ""
    """The name of the model as it may be shown."""
    keys: Sequence[str] = field(default=(), repr=False)
    """Keys that must not be part of a name: those that it sends, and those of the gateway."""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def format(self) -> Format:
        """The format of its messages."""
        return FORMATS[self.route]

    @property
    def answer(self) -> int | None:
        """Tokens that the answer may take; `None` if it does not say."""
        limits = answer_limits(self.values).values()
        return max((value for value in limits if type(value) is int and value > 0), default=None)

    @property
    def partial(self) -> bool:
        """Whether the provider stores some of the conversation, which nobody else sees."""
        return is_stateful(self.values, self.format)

    def most_tokens(self, scale: BaseMeter) -> int | None:
        """Return an upper bound of its tokens that needs no message: those of its JSON as text.

        `None` if there is no such bound, since images and files take tokens that are not in the text.
        """
        text = self.text
        return None if _FILES.search(text) else scale.upper(text)

    def input(
        self, *, pin: tuple[int | str, ...] = (), recall: bool = False, owner: tuple[str, ...] = ()
    ) -> RequestInput:
        """Return the request of an owner as the engine takes it; without messages if they cannot be read."""
        request, model = self.request, with_long_window(self.model, self.admitted.header("anthropic-beta") or "")
        if request is None:
            return RequestInput(messages=(), model=model, format=self.format, answer=self.answer, owner=owner)
        chat = self.format == "openai"
        # Chat Completions has no field `system`: if there is one, it is a field like others.
        apart = {"system": request.system} if chat and request.system is not None else {}
        return RequestInput(
            messages=request.messages,
            model=model,
            tools=request.tools,
            system=None if chat else request.system,
            fields={**request.fields, **apart},
            format=self.format,
            answer=self.answer,
            pin=pin,
            recall=recall,
            owner=owner,
        )

    def check_keys(self) -> None:
        """Check that no key stands twice in an object: which of the two counts differs from server to server.

        Raises:
            HttpProblem: one does.
        """
        if self.repeats:
            try:
                body_of(self.text, _PLACE, MESSAGE_KEYS)
            except SourceError as error:
                problem = f"{error}; servers read such a body in different ways, so no limit can be kept"
                raise HttpProblem(400, problem) from error

    def strict(self) -> RequestBody:
        """Return the request with the positions of its messages in the body.

        Raises:
            HttpProblem: the body can be read in two ways, so it cannot be shortened.
        """
        try:
            return request_of(body_of(self.text, _PLACE, MESSAGE_KEYS))
        except SourceError as error:
            raise HttpProblem(400, f"{error}; the request is too long, and its body cannot be shortened") from error


def parse(admitted: Admitted, route: str, raw: bytes, settings: GatewaySettings, keys: Sequence[str] = ()) -> Parsed:
    """Return the request of a body; `keys` are those of the gateway.

    Raises:
        HttpProblem: the body is not a JSON object, is nested too deep, or has too many values.
    """
    body = decompressed(raw, admitted.header("content-encoding") or "", settings.most_bytes)
    keys = (*keys, *admitted.shown)
    named = model_path(admitted.path)
    read = _Read.of(body, settings.most_values, named[1] if named else None)
    is_public = known(read.model) is not None  # Whatever somebody sends as a key.
    return Parsed(
        admitted=admitted,
        route=route,
        raw=raw,
        body=body,
        **read.fields,
        model=read.model if is_public else model_name(read.model, keys),
        label=read.model if is_public or not read.model else cleaned(read.model, keys)[:_LONGEST_LABEL],
        keys=keys,
    )


def with_body(parsed: Parsed, body: bytes, settings: GatewaySettings) -> Parsed:
    """Return a request with another body.

    Raises:
        HttpProblem: the body has too many values.
    """
    headers = [pair for pair in parsed.admitted.headers if pair[0] != "content-encoding"]
    read = _Read.of(body, settings.most_values, parsed.model)
    admitted = replace(parsed.admitted, headers=headers)
    return replace(parsed, admitted=admitted, raw=body, body=body, **read.fields)


class _Read(NamedTuple):
    """What a body says."""

    model: str
    fields: dict[str, Any]
    """The fields of `Parsed` that follow from it."""

    @classmethod
    def of(cls, body: bytes, most_values: int, model: str | None) -> _Read:
        """Read a body; `model` is known from elsewhere."""
        values, repeats = _values(body, most_values)
        named = values.get("model") if model is None else model
        named = named if isinstance(named, str) else ""
        if len(named) > _LONGEST_MODEL:
            raise HttpProblem(400, f"model has {len(named):,} characters; at most {_LONGEST_MODEL} are accepted")
        try:
            request, problem = request_of(_light(values)), ""
        except SourceError as error:
            request, problem = None, error.problem
        return cls(named, {"values": values, "repeats": repeats, "request": request, "problem": problem})


def unread(admitted: Admitted, route: str, raw: bytes, problem: str = "") -> Parsed:
    """Return the request of a body that cannot be read, and of which nothing is known."""
    return Parsed(admitted=admitted, route=route, raw=raw, body=raw, problem=problem)


def with_answer(text: str, tokens: int) -> str:
    """Return the body of a request that asks for an answer of at most so many tokens."""
    body = body_of(text, _PLACE, MESSAGE_KEYS)
    limits = lowered_limits(body.values, tokens)
    for place in sorted(limits, key=lambda place: body.starts[str(place[0])], reverse=True):
        at = body.starts[str(place[0])]
        # The value of the key, or that of a key inside its value.
        if len(place) > 1:
            at = text.index(":", text.index(f'"{place[1]}"', at))
        text = text[:at] + text[at:].replace(str(value_at(body.values, place)), str(limits[place]), 1)
    return text


def _values(body: bytes, most: int) -> tuple[dict[str, Any], bool]:
    try:
        check_values(body, most)
        values, repeats = decoded(body)
    except RecursionError:
        raise HttpProblem(400, f"the body is nested more than {MOST_DEPTH} levels deep") from None
    except json.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error.msg} at line {error.lineno}") from None
    except UnicodeDecodeError as error:
        raise HttpProblem(400, f"the body is not UTF-8: byte {error.start:,} cannot be read") from None
    except ValueError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise HttpProblem(400, "the body must be a JSON object")
    return values, repeats


def _light(values: Mapping[str, Any]) -> JsonBody:
    """Return a body without its text and the positions of its messages, which are needed only if it is cut."""
    lists = [value for key in MESSAGE_KEYS if type(value := values.get(key)) is list]
    return JsonBody(path=_PLACE, text="", values=values, items=lists[0] if lists else None)
