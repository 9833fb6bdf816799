"""Counts the text in fields that a format does not know, and lists the fields that are not counted.

Unknown fields are sent too, so the prompt must fit with them. They are counted as JSON, which makes the count an
estimate. Only the fields listed here are not counted. Names are compared without underscores and case, since providers
accept several spellings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from brim.errors import InvalidType
from brim.wire.message import MEDIA, Message, Path, Piece
from brim.wire.values import encoded, json_of, plain

LABEL = 64
"""Characters of the longest kind, id or mode. A longer text is counted, even in a listed field."""

MESSAGE_LABELS = {
    # The kind of a part, which is counted with the framing, and choices among the provider's modes.
    *("type", "role", "format", "mediatype", "mimetype", "detail", "ttl", "phase", "status", "mode", "voice"),
    # Ids; they are counted as text if the template of the model may show them.
    *("id", "callid", "toolcallid", "tooluseid", "fileid", "containerid"),
}
"""Fields anywhere in a message whose text is counted only if it is longer than a label."""

MESSAGE_FIELDS = {
    *("signature", "thoughtsignature"),  # The provider checks them; the model does not read them.
    "citedtext",  # A copy of text that counts at its source; Anthropic documents that it is not charged.
    "providerdata",  # Added by the OpenAI Agents SDK; it is not sent.
    "logprobs",  # The probabilities of an answer's tokens.
}
"""Fields anywhere in a message that are not counted, however long."""

MEDIA_FIELDS = {
    *("data", "url", "uri", "imageurl", "filedata", "fileurl", "fileuri", "bytes", "result", "bucketowner"),
}
"""Fields inside an image, a recording or a document that are counted by size, not as text."""

BODY_LABELS = {
    # Choices among the provider's modes.
    *("toolchoice", "functioncall", "thinking", "reasoning", "reasoningeffort", "verbosity", "text.verbosity"),
    *("truncation", "include", "modalities", "audio", "streamoptions", "promptcacheoptions", "image"),
    *("outputconfig.effort", "servicetier", "speed", "inferencegeo", "performanceconfig", "safetysettings"),
    *("promptcacheretention", "moderation", "cachecontrol", "betas", "anthropicbeta", "anthropicversion"),
    *("outputconfig.taskbudget", "accessprograms", "fallbacks"),
    *("generationconfig.responsemimetype", "generationconfig.responsemodalities"),
    *("generationconfig.thinkingconfig", "generationconfig.speechconfig", "generationconfig.mediaresolution"),
    *("toolconfig.functioncallingconfig.mode", "toolconfig.toolchoice"),
    *("responseformat.type", "text.format.type", "outputformat.type", "outputconfig.format.type"),
    # References to text that the provider stores, which only the provider can count.
    *("previousresponseid", "conversation", "prompt.id", "prompt.version", "container"),
    *("previousinteractionid", "thread", "diagnostics"),
}
"""Fields of a body, by path, whose texts are counted only if they are longer than a label."""

BODY_FIELDS = {
    # For the caller's records and the provider's routing.
    *("model", "modelid", "user", "metadata", "requestmetadata", "labels", "safetyidentifier", "promptcachekey"),
    *("guardrailconfig", "userprofileid", "workspaceid", "fallbackcredittoken"),
    # What the provider compacts or clears, before or after the model reads the prompt.
    *("compaction", "contextmanagement"),
    "mcpservers",  # Addresses and keys of servers; the model is shown their tools.
    # For the sampler.
    *("stop", "stopsequences", "logitbias", "grammar", "guidedregex", "guidedgrammar"),
    *("generationconfig.stopsequences", "inferenceconfig.stopsequences"),
    "additionalmodelresponsefieldpaths",  # Names of fields of the answer.
    "cachedcontent",  # Text that the provider stores.
}
"""Fields of a body, by path, that the model does not read, and that are not counted, however long."""

_BY_VALUE = ("thinking", "result", *MEDIA)
"""Kinds of pieces whose place contains more text than the piece counts."""

_EMPTY, _UNKNOWN, _KNOWN = 0, 1, 2
"""The states of a value: no text to count; only uncounted text; text that is counted at least in part."""

_JSON = (str, dict, list, int, bool, float, type(None))

Judge = Callable[[Any, Path, object], int | None]
"""Returns the state of a value at a place, by its name; `None` if it depends on the values inside."""
Report = Callable[[Any, Path], None]


def folded(key: object) -> str:
    """Return the name of a field in the form used in the lists."""
    return key.replace("_", "").lower() if isinstance(key, str) else ""


def with_remainder(message: Message, index: int) -> Message:
    """Return a message with another piece for each unknown part.

    Raises:
        InvalidType: an unknown part cannot be written as JSON.
        ValueError: a number has thousands of digits.
        RecursionError: it is nested too deep.
    """
    place, found = f"messages[{index}]", list[Piece]()

    def report(left: Any, at: Path) -> None:
        found.append(Piece("remainder", json_of(left, place), at))

    state, left = _uncounted(message.raw, (), "", _message_judge(message), report)
    if state == _UNKNOWN:
        report(left, ())
    return message._replace(pieces=(*message.pieces, *found)) if found else message


def shown_fields(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the other fields of a body that are counted, without the listed ones.

    Raises:
        InvalidType: it is not a mapping, or nobody could send it.
    """
    if not isinstance(fields, Mapping | None):
        raise InvalidType("fields", fields, "the other fields of a request by name")
    shown = {}
    for key, value in (fields or {}).items():
        if len(key) <= LABEL and folded(key) in BODY_FIELDS:
            continue
        try:
            state, left = _uncounted(value, (key,), key, _judge_of_body, lambda *_: None)
        except (ValueError, RecursionError) as error:
            raise InvalidType(f"fields {key}", value, f"JSON ({error})") from error
        if state == _UNKNOWN or len(key) > LABEL:
            shown[key] = left
    return shown


def _uncounted(value: Any, at: Path, name: object, judge: Judge, report: Report) -> tuple[int, Any]:
    """Return the state of a value, and the value without listed fields; report unknown parts of a known value."""
    if type(value) not in _JSON:
        value = plain(value)
    state = judge(value, at, name)
    if state is not None:
        return state, None if state != _UNKNOWN else encoded(value) if isinstance(value, bytes) else value
    keyed = isinstance(value, Mapping)
    if not keyed and not isinstance(value, list | tuple):
        if isinstance(value, int):
            str(value)  # Raises ValueError if it has thousands of digits, which no client would write.
        return _EMPTY, value
    nodes: dict[Any, tuple[int, Any]] = {}
    most = _EMPTY
    for key, each in value.items() if keyed else enumerate(value):
        state, left = _uncounted(each, (*at, key), key if keyed else name, judge, report)
        if state == _EMPTY and keyed and len(str(key)) > LABEL:
            state = _UNKNOWN  # The name itself is a text.
        nodes[key] = state, left
        most = max(most, state)
    if most != _KNOWN:
        rest = {key: left for key, (state, left) in nodes.items() if state or left is not None}
        return most, rest if keyed else list(rest.values())
    for key, (state, left) in nodes.items():
        if state == _UNKNOWN:
            report({key: left} if keyed else left, (*at, key))
    return _KNOWN, None


def _message_judge(message: Message) -> Judge:
    """Return the function that judges the values of a message with known pieces."""
    counted = {piece.at for piece in message.pieces if piece.kind not in _BY_VALUE}
    media = {piece.at for piece in message.pieces if piece.kind in MEDIA}
    sealed = media | {piece.at for piece in message.pieces if piece.kind == "thinking"}
    known: dict[str, int] = {}
    for text in _texts_of(message):
        known[text] = known.get(text, 0) + 1

    def judge(value: Any, at: Path, name: object) -> int | None:
        if at in counted:
            return _KNOWN
        field = folded(name)
        if field in MESSAGE_FIELDS:
            return _EMPTY
        if not isinstance(value, str):
            return None if not isinstance(value, bytes) else _KNOWN if _is_inside(at, sealed) else _UNKNOWN
        if not value or (len(value) <= LABEL and field in MESSAGE_LABELS):
            return _EMPTY
        if known.get(value, 0) > 0:
            known[value] -= 1
            return _KNOWN
        return _EMPTY if field in MEDIA_FIELDS and _is_inside(at, media) else _UNKNOWN

    return judge


def _judge_of_body(value: Any, at: Path, name: object) -> int | None:  # noqa: ARG001
    """Return the state of a value in the fields of a body: listed or unknown."""
    if _is_listed(at, BODY_FIELDS):
        return _EMPTY
    if not isinstance(value, str | bytes):
        return None
    is_label = isinstance(value, str) and len(value) <= LABEL and _is_listed(at, BODY_LABELS)
    return _UNKNOWN if value and not is_label else _EMPTY


def _texts_of(message: Message) -> Iterator[str]:
    """Yield the texts that the pieces of a message count, except those at their own place."""
    yield message.name
    for piece in message.pieces:
        yield piece.id
        if piece.kind in _BY_VALUE:
            yield piece.text
        if piece.kind not in MEDIA:
            yield piece.name


def _is_inside(at: Path, places: set[Path]) -> bool:
    return any(at[:length] in places for length in range(len(at) + 1))


def _is_listed(at: Path, table: set[str]) -> bool:
    """Return whether a table contains the path to a place, or to a field that contains it."""
    path = ""
    for key in at:
        if isinstance(key, str):
            path = f"{path}.{folded(key)}" if path else folded(key)
            if path in table:
                return True
    return False
