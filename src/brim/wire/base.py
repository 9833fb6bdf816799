"""The interface of a message format, edits of messages, and which messages a provider still reads."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from brim.errors import InvalidType, InvalidValue
from brim.wire.message import MEDIA, Message, Path, Piece
from brim.wire.remainder import LABEL, MEDIA_FIELDS, folded, with_remainder
from brim.wire.values import encoded, json_of, plain

GONE = object()
"""As the new value in an edit: removes the value at its place."""
CACHE_MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Fields that mark a part for the provider's cache; the model does not see them."""

Format = Literal["openai", "responses", "anthropic", "gemini", "bedrock"]
"""The names of the formats: Chat Completions, Responses items, Anthropic Messages, Gemini, Bedrock Converse."""

MESSAGE_KEYS = ("messages", "input", "contents")
"""Keys of a request body that hold its messages."""
ANSWER_LIMITS: tuple[Path, ...] = (
    *(("max_tokens",), ("max_completion_tokens",), ("max_output_tokens",)),
    *(("generationConfig", "maxOutputTokens"), ("inferenceConfig", "maxTokens")),
)
"""Places of the answer limit in request bodies of all formats."""

_STATE_KEYS: dict[Format, tuple[str, ...]] = {
    "responses": ("previous_response_id", "conversation"),
    "gemini": ("cachedContent", "cached_content", "previous_interaction_id"),
    "bedrock": ("promptVariables",),
}
"""Fields of a body that refer to state stored by the provider, by format."""
_THINKING: Path = ("thinking", "budget_tokens")
"""The place of the thinking limit, which must be below the answer limit."""


class Wire(ABC):
    """The message format of one provider."""

    name: str
    provider: str = "openai"
    """The provider whose rules for images and schemas apply."""
    text_type: str = "text"
    """The type of a text in a list of parts; empty if parts have no type."""
    content_key: str = "content"
    """The key of the parts of a message."""
    joins: bool = True
    """Whether text is added to string content by joining the strings, instead of adding a part."""
    pairs: bool = False
    """Whether user and assistant must alternate, starting with the user."""
    batches: bool = False
    """Whether one answer of the model may be several messages."""
    adjacent: bool = True
    """Whether a result must directly follow its call."""
    binds: bool = False
    """Whether the provider may reject thinking if text before it has changed."""
    objects: bool = False
    """Whether the arguments of a call are an object instead of a text."""
    named: bool = False
    """Whether a result may refer to its call only by the name of the function."""
    told: bool = False
    """Whether thinking is ordinary text, which brim may replace with a mark but not always drop."""
    blank: bool = True
    """Whether a text of a message may be blank; the texts of a result always may."""

    list_key: str = "messages"
    """The key of the messages in a request body."""
    system_key: str = ""
    """The key of the separate system prompt; empty if the format has none."""
    model_key: str = "model"
    """The key of the model in a request body."""
    tools_at: Path = ("tools",)
    """The place of the tool definitions in a request body."""

    def read(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message; text in unknown fields is counted too.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """
        return whole_message(lambda: self.parse(raw, index), raw, index)

    @abstractmethod
    def parse(self, raw: Any, index: int) -> Message:
        """Return a caller's object as a message, without fields that the format does not know.

        Raises:
            InvalidValue: it is invalid; the error names its index and the problem.
        """

    def say(self, text: str) -> Any:
        """Return a user message with this text."""
        return {"role": "user", self.content_key: text if self.text_type else [self.part(text)]}

    def instructions(self, system: Any) -> Message:
        """Return a separate system prompt as a message.

        Raises:
            InvalidValue: it is invalid; the error calls it the content of the first message.
        """
        return self.read({"role": "system", "content": system}, 0)

    def value(self, piece: Piece, text: str) -> Any:
        """Return a text in the form required at the place of a piece."""
        return json.loads(text) if piece.kind == "call" and self.objects else text

    def result(self, text: str) -> Any:
        """Return the content of a result with only this text."""
        return text

    def part(self, text: str) -> Any:
        """Return a text as a part of a content."""
        return {"type": self.text_type, "text": text} if self.text_type else {"text": text}

    def omitted(self, piece: Piece, text: str) -> Any:  # noqa: ARG002 - it matters in one format
        """Return what replaces an image, a recording, a document or an unknown part; `GONE` removes it."""
        return self.part(text)

    def without(self, message: Message, gone: Collection[Piece]) -> Any | None:
        """Return a copy of a message without some of its pieces, or `None` if it would be empty."""
        return without(message, gone)

    def uncited(self, raw: Any) -> Any:
        """Return a message without citations, whose documents are no longer there; its texts stay."""
        values = plain(raw)
        parts = values.get(self.content_key) if isinstance(values, Mapping) else None
        known = enumerate(map(plain, parts)) if isinstance(parts, list | tuple) else ()
        blocks = [(i, part) for i, part in known if isinstance(part, Mapping)]
        edits: dict[Path, Any] = {
            (self.content_key, i, "citations"): GONE for i, part in blocks if part.get("citations") and "text" in part
        }
        for i, part in blocks:
            cited = plain(part.get("citationsContent"))
            if isinstance(cited, Mapping):
                texts = [plain(each).get("text", "") for each in cited.get("content") or ()]
                edits[self.content_key, i] = self.part("".join(texts))
        return changed(raw, edits) if edits else raw

    def append(self, raw: Any, text: str) -> Any:
        """Return a copy of a message with this text added at its end."""
        content = fields_of(raw, 0).get(self.content_key) or ""
        if isinstance(content, str):
            if self.joins:
                return changed(raw, {(self.content_key,): f"{content}\n\n{text}" if content else text})
            content = [self.part(content)] if content else []
        return changed(raw, {(self.content_key,): [*content, self.part(text)]})

    def prompt(self, text: str) -> Any:
        """Return a separate system prompt with this text."""
        return text

    def body(
        self, messages: Sequence[Any], *, system: str = "", tools: Sequence[Any] | None = None, model: str | None = None
    ) -> dict[str, Any]:
        """Return a request as the provider's own arguments, without empty ones."""
        body: dict[str, Any] = {self.model_key: model} if model else {}
        if system and self.system_key:
            body[self.system_key] = self.prompt(system)
        told = [{"role": "system", "content": system}] if system and not self.system_key else []
        body[self.list_key] = [*told, *messages]
        if tools:
            first, *rest = self.tools_at
            body[str(first)] = {str(rest[0]): list(tools)} if rest else list(tools)
        return body


def whole_message(parse: Callable[[], Message], raw: Any, index: int) -> Message:
    """Return a parsed message with the text in its unknown fields.

    Raises:
        InvalidValue: it is invalid, or nobody could send it: a number has thousands of digits, or it is nested too
            deep.
    """
    try:
        return with_remainder(parse(), index)
    except InvalidValue:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidType(f"messages[{index}]", raw, f"JSON ({error})") from error


@lru_cache(maxsize=256)
def snake(camel: str) -> str:
    """Return a key in snake case, which Google's servers and clients accept too."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)


def place_of(values: Mapping[str, Any], path: Path) -> Path | None:
    """Return the place of a field as the body spells it; `None` if the body lacks it."""
    found: list[str | int] = []
    inner: Any = values
    for key in path:
        inner = plain(inner)
        if not isinstance(inner, Mapping):
            return None
        spelling = key if key in inner else snake(str(key))
        if spelling not in inner:
            return None
        found.append(spelling)
        inner = inner[spelling]
    return tuple(found)


def value_at(values: Mapping[str, Any], path: Path) -> Any:
    """Return a field of a body, in either spelling; `None` if the body lacks it."""
    place = place_of(values, path)
    return None if place is None else _inside(values, place)


def answer_limits(values: Mapping[str, Any]) -> dict[Path, Any]:
    """Return the answer limits in a body, by their places."""
    places = [place for path in ANSWER_LIMITS if (place := place_of(values, path)) is not None]
    return {place: value for place in places if (value := value_at(values, place)) is not None}


def lowered_limits(values: Mapping[str, Any], tokens: int) -> dict[Path, int]:
    """Return the limits of a body that must be lowered for an answer of `tokens`, by place."""
    limits = {place: (value, tokens) for place, value in answer_limits(values).items()}
    if (place := place_of(values, _THINKING)) is not None:
        limits[place] = value_at(values, place), tokens - 1
    return {place: most for place, (value, most) in limits.items() if type(value) is int and value > most}


def other_fields(values: Mapping[str, Any], format: Wire) -> dict[str, Any]:
    """Return the fields of a body except its messages, its system prompt and its tools."""
    return without_fields(values, ((format.list_key,), (format.system_key,), format.tools_at, ("functions",)))


def without_fields(values: Mapping[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Return the fields of a body without those at some paths, in either spelling."""
    places = [place for path in paths if (place := place_of(values, path))]
    made: dict[str, Any] = changed(values, dict.fromkeys(places, GONE))
    return made


def is_stateful(values: Mapping[str, Any], format: Format | None = None) -> bool:
    """Return whether a body refers to a stored response, conversation, prompt or thread, whose text it lacks.

    Without `format`, the fields of all formats are considered.
    """
    if any(values.get(key) for each, keys in _STATE_KEYS.items() if format in (None, each) for key in keys):
        return True
    prompt, thread = plain(values.get("prompt")), plain(values.get("thread"))
    if format in (None, "responses") and isinstance(prompt, Mapping):
        return True
    return format in (None, "anthropic") and isinstance(thread, Mapping) and thread.get("type") == "continue"


def jsonable(value: Any) -> Any:
    """Return a message as JSON values; objects of a client library become their set fields."""
    if isinstance(value, str):
        return value  # Most values are texts, and there are thousands in a long history.
    known = plain(value)
    if isinstance(known, Mapping):
        return {key: jsonable(each) for key, each in known.items()}
    if isinstance(known, list | tuple):
        return [jsonable(each) for each in known]
    return encoded(known) if isinstance(known, bytes | bytearray) else known


def fields_of(raw: Any, index: int) -> Mapping[str, Any]:
    """Return the fields of a message.

    Raises:
        InvalidType: it is not a message.
    """
    return mapping_at(raw, f"messages[{index}]", "a message: a mapping with a role and content")


def mapping_at(part: Any, place: str, expected: str = "a mapping") -> Mapping[str, Any]:
    """Return the fields of a part of a message.

    Raises:
        InvalidType: it is not a mapping.
    """
    values = plain(part)
    if not isinstance(values, Mapping):
        raise InvalidType(place, part, expected)
    return values


def parts_of(
    content: Any, at: Path, place: str, read: Callable[[Any, Path, str], Iterable[Piece]], expected: str
) -> list[Piece]:
    """Return the pieces of a list of parts, each part read with its place; none if there is no content.

    Raises:
        InvalidType: it is not a list, or a part is invalid.
    """
    if content is None:
        return []
    if not isinstance(content, list | tuple):
        raise InvalidType(place, content, expected)
    return [piece for i, part in enumerate(content) for piece in read(part, (*at, i), f"{place}[{i}]")]


def role_of(values: Mapping[str, Any], index: int, roles: Mapping[str, str]) -> str:
    """Return the role, as one of brim's roles.

    Raises:
        InvalidValue: the role is missing or not in `roles`.
    """
    role = values.get("role")
    known = roles.get(role) if isinstance(role, str) else None
    if known is None:
        raise InvalidValue(f"messages[{index}] role", role, f"one of {', '.join(map(repr, roles))}")
    return known


def text_at(values: Any, key: str, place: str) -> str:
    """Return a required text.

    Raises:
        InvalidType: it is missing or not a string.
    """
    found = values.get(key) if isinstance(values, Mapping) else None
    if not isinstance(found, str):
        raise InvalidType(f"{place} {key}", found, "a string")
    return found


def is_cited(block: Mapping[str, Any]) -> bool:
    """Return whether the model may cite places in a document or a search result, which a cut would move."""
    citations = plain(block.get("citations"))
    return isinstance(citations, Mapping) and bool(citations.get("enabled"))


def opaque(value: Any, at: Path, place: str) -> Piece:
    """Return a piece of unknown type, which is counted as JSON.

    Raises:
        InvalidType: it cannot be written as JSON, and so cannot be sent.
    """
    return Piece("opaque", json_of(value, place), at)


def framed(part: Any, at: Path, pieces: Sequence[Piece], place: str) -> list[Piece]:
    """Return the pieces inside a part, and a `remainder`: the rest of the part, counted as JSON.

    The rest keeps the key of each text, so that its count does not depend on cuts. It excludes media data, and cache
    marks, which clients move from prompt to prompt.

    Args:
        part: a block of a message, or a whole item.
        at: its place in the message.
        pieces: the pieces inside it, none of them at its own place.
        place: its name in an error.

    Raises:
        InvalidType: it cannot be written as JSON.
    """
    edits: dict[Path, Any] = {}
    for piece in pieces:
        path = piece.at[len(at) :]
        if piece.kind in MEDIA:
            edits[path] = _without_data(_inside(part, path))
        else:
            edits[path] = "" if piece.kind in ("text", "output") else GONE
    return [*pieces, Piece("remainder", json_of(unmarked(changed(part, edits)), place), at)]


def _inside(value: Any, path: Path) -> Any:
    """Return the value at a place inside another."""
    for key in path:
        value = plain(value)[key]
    return value


def _without_data(value: Any) -> Any:
    """Return media without their data and addresses, which are counted by size."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {key: _without_data(each) for key, each in value.items() if folded(key) not in MEDIA_FIELDS}
    return [_without_data(each) for each in value] if isinstance(value, list | tuple) else value


def unmarked(value: Any) -> Any:
    """Return a value without cache marks; a mark that is longer than a label stays."""
    value = plain(value)
    if isinstance(value, Mapping):
        return {key: unmarked(each) for key, each in value.items() if key not in CACHE_MARKS or len(str(each)) > LABEL}
    return [unmarked(each) for each in value] if isinstance(value, list | tuple) else value


def ordered(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces of a message with the remainders last, so that the texts of a result directly follow it."""
    for piece in pieces:
        if piece.kind == "remainder":
            return tuple(sorted(pieces, key=lambda piece: piece.kind == "remainder"))
    return tuple(pieces)


def changed(raw: Any, edits: Mapping[Path, Any]) -> Any:
    """Return a copy of a message with new values at the places of `edits`; the rest is shared with the original.

    An object of a client library becomes a mapping of its set fields.
    """
    by_key: dict[str | int, dict[Path, Any]] = {}
    for path, new in edits.items():
        by_key.setdefault(path[0], {})[path[1:]] = new
    value = plain(raw)
    copied: Any = dict(value) if isinstance(value, Mapping) else list(value)
    gone = {key for key, below in by_key.items() if below.get(()) is GONE}
    for key in sorted(by_key.keys() - gone, key=str):
        below = by_key[key]
        copied[key] = below[()] if () in below else changed(copied[key], below)
    if isinstance(copied, dict):
        return {key: each for key, each in copied.items() if key not in gone}
    return [each for i, each in enumerate(copied) if i not in gone]


def _says(piece: Piece) -> bool:
    """Return whether a message may consist of only this piece; providers reject messages with only thinking."""
    return piece.kind in ("call", "result", *MEDIA) or (
        bool(piece.text) and piece.kind not in ("thinking", "remainder")
    )


def without(message: Message, gone: Collection[Piece]) -> Any | None:
    """Return a copy of a message without some of its pieces, or `None` if it would be empty."""
    places = {piece.whole for piece in gone}
    kept = [p for p in message.pieces if not any(p.whole[:length] in places for length in range(len(p.whole) + 1))]
    if () in places or not any(_says(piece) for piece in kept):
        return None
    edits: dict[Path, Any] = {}
    left = {piece.whole[:-1] for piece in message.pieces if piece.whole and piece.whole not in places}
    for place in places:
        # A list that would become empty is removed: providers reject an empty list of calls.
        whole = isinstance(place[-1], int) and place[:-1] not in left
        edits[place[:-1] if whole else place] = GONE
    return changed(message.raw, edits)


def still_read(messages: Sequence[Message], format: Wire) -> Sequence[int]:
    """Return the indexes of the messages that the provider reads: all of them, or those since its newest compaction.

    A compaction replaces everything before it; that part is not counted and need not be sent. OpenAI documents two
    cases: a compaction in an answer replaces every item before it, while the result of `/responses/compact`, which
    consists of the user's messages and the compaction, is sent back unchanged. System messages at the start stay, and
    so does a call whose result follows the compaction.
    """
    found = (at for at in range(len(messages) - 1, -1, -1) if messages[at].any("compaction"))
    at = next(found, None)
    if at is None:
        return range(len(messages))
    first = next((i for i, message in enumerate(messages) if message.role != "system"), at)
    return [*range(first), *range(_start(messages, first, at) if format.batches else at, len(messages))]


def _start(messages: Sequence[Message], first: int, at: int) -> int:
    """Return where the messages of an OpenAI compaction begin; `first` is the first non-system message."""
    if all(message.role in ("user", "system") for message in messages[first:at]):
        return first  # As `/responses/compact` returned it.
    start = at
    while start > first and messages[start - 1].role == "assistant":
        start -= 1
    calls = {call for message in messages[start:at] for call in message.calls}
    answers = {call for message in messages[at + 1 :] for call in message.results}
    return at if calls.isdisjoint(answers) else start


NAMESPACE = "namespace"
"""The type of an OpenAI tool that contains other tools."""
_DEFERRED = "defer_loading"
_MARK = '"type":"tool_reference"'
_OBJECT = re.compile(r"\{[^{}]{0,300}\}")
_NAME = re.compile(r'"(?:tool_)?name":"([^"\\]{1,200})"')


def is_deferred(tool: Mapping[str, Any]) -> bool:
    """Return whether the model sees a tool only after searching for it."""
    inner = plain(tool.get("function"))
    return tool.get(_DEFERRED) is True or (isinstance(inner, Mapping) and inner.get(_DEFERRED) is True)


def loaded_tools(message: Message) -> set[str]:
    """Return the names of the deferred tools whose definitions a message loads.

    Anthropic loads a definition where a `tool_reference` names the tool, in a search result or in the tool changes of a
    compaction. OpenAI puts definitions into an input item, which is counted as such.
    """
    found: set[str] = set()
    for piece in message.pieces:
        if piece.kind in ("opaque", "compaction") and _MARK in piece.text:
            loads = [each for each in _OBJECT.findall(piece.text) if _MARK in each]
            found.update(name[1] for each in loads if (name := _NAME.search(each)))
    return found
