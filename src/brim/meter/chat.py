"""The tokens of a whole request: framing, names, calls, schemas, images and the start of the reply.

Providers publish the overhead of the chat format only for some models. For the others the same numbers are an estimate,
and ids count as text, because some templates write them into the prompt. A meter without a model counts what every
format has: messages, texts, names and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from brim.meter.catalogue import Framing, find
from brim.meter.media import count_media
from brim.meter.schemas import ToolCounts, tool_counts
from brim.wire import format_of, instructions, wire
from brim.wire.base import loaded_tools, still_read
from brim.wire.message import MEDIA, Message, Piece
from brim.wire.remainder import LABEL, shown_fields
from brim.wire.values import json_of

FRAMING = Framing(per_message=3, per_name=1, reply=3)
"""OpenAI's published overhead; a role counts as text. For other providers it is an estimate."""
PLAIN = Framing(per_message=3, per_name=1, reply=0)
"""For a meter without a model: roles, calls and the start of the reply have no overhead."""
TEMPLATE = Framing(per_message=4, per_name=1, reply=4)
"""For the tokenizer file of a local model: two special tokens and two line breaks per message besides its role, as in
the templates ChatML, Llama 3 and Gemma, and one token at the start of the text."""
BARE = Framing(per_message=0, per_name=0, reply=0)
"""For units other than tokens: only the texts."""

_BARE_UNITS = ("chars", "bytes")
_CALL = 3
"""Tokens per call, in addition to its id, name and arguments."""
_SEALED = {"thinking": 4, "compaction": 3}
"""Characters per token of encrypted content. Eight compactions of pi-openai-server-compaction, with many ids and
checksums, had 2.9 according to the reported usage; prose has more.
"""

Count = Callable[[str], int]


class RequestCounter:
    """Counts messages with one meter, in one provider's format, for one model."""

    def __init__(
        self,
        count: Count,
        provider: str,
        framing: Framing | None = None,
        model: str | None = None,
        *,
        overhead: int = 0,
        template: Framing | None = None,
    ) -> None:
        self.text = count
        """Returns the tokens of a text."""
        self.provider = provider
        plain = template or framing or (PLAIN if model is None else FRAMING)
        self.framing = replace(plain, reply=plain.reply + overhead) if overhead else plain
        """The overhead of the chat format; the meter's own overhead is added to the start of the reply."""
        self.model = model
        self.maker = "other" if template else provider if model is None else find(model).provider or "other"
        """The provider whose rules for tools apply: the model's own, whatever the format of the messages."""
        self._tuned = (model is not None or template is not None) and self.framing.per_message > 0
        self.call = _CALL if self._tuned else 0
        self.ids = self._tuned and self.maker != "openai"
        """Whether ids count: only for OpenAI is it known that the model does not see them."""
        self.estimated = framing is None or template is not None
        """Whether any count so far is an estimate, including that of the framing."""

    def units(self, message: Message) -> int:
        """Return the tokens of one message, its framing included."""
        total = self.frame(message.role) + sum(map(self.piece, message.pieces))
        return total + self.text(message.name) + self.framing.per_name if message.name else total

    def frame(self, role: str) -> int:
        """Return the tokens of an empty message; with a model, its role counts too."""
        return self.framing.per_message + (self.text(role) if self._tuned else 0)

    def piece(self, piece: Piece) -> int:
        """Return the tokens of one piece."""
        kind, count = piece.kind, self.text
        if kind in ("text", "output"):
            return count(piece.text)
        # No provider publishes how calls and results are framed, or whether their ids are part of the prompt.
        self.estimated |= self._tuned and kind in ("call", "result")
        if kind == "call":
            return count(piece.text) + count(piece.name) + self.call + self._id(piece.id)
        if kind == "result":
            return count(piece.name) + self._id(piece.id)
        if kind in MEDIA:
            media = count_media(kind, piece.text, piece.name or None, model=self.model, provider=self.provider)
            self.estimated |= not media.exact
            return media.units
        if kind == "unread":
            return 0
        sealed = kind in _SEALED and piece.name == "sealed"
        self.estimated |= sealed or kind in ("opaque", "remainder", "compaction")
        return -(-len(piece.text) // _SEALED[kind]) if sealed else count(piece.text)

    def _id(self, id_: str) -> int:
        """Return the tokens of a call's id; an id longer than any label counts as text."""
        return self.text(id_) if self.ids or len(id_) > LABEL else 0

    def fields(self, fields: Mapping[str, Any] | None) -> tuple[int, bool]:
        """Return the tokens of the other fields of a request, such as `response_format`, and whether they are exact.

        Raises:
            InvalidValue: `fields` is not a mapping of JSON values.
        """
        shown = shown_fields(fields) if fields else {}
        return sum(self.text(json_of({key: value}, f"fields {key}")) for key, value in shown.items()), not shown

    def tools(
        self, tools: Sequence[Mapping[str, Any]] | None, *, system: bool = True, loaded: Collection[str] = ()
    ) -> ToolCounts:
        """Return the tokens of the tools of a request.

        `system` says whether the request has a system message, to which some providers add the tools; `loaded` has the
        names of the deferred tools that were loaded.

        Raises:
            InvalidValue: `tools` is not a list of tools, or a tool is invalid.
        """
        listed = () if tools is None else tools
        return tool_counts(listed, self.text, self.maker, model=self.model, system=system, loaded=loaded)


def framing_of(unit: str, provider: str, model: str | None) -> Framing | None:
    """Return the overhead of the chat format: zero for units other than tokens; `None` if none is published."""
    if unit in _BARE_UNITS:
        return BARE
    if model is None:
        return PLAIN if provider == "openai" else None
    return find(model).framing


def request_counts(
    counter: Callable[[str], RequestCounter],
    messages: Sequence[Any],
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    system: Any = None,
    fields: Mapping[str, Any] | None = None,
    format: str | None = None,
) -> int:
    """Return the tokens of a request: its messages, its tools, and the start of the reply.

    `counter` returns the counter of a provider's messages. `system` is a system prompt that is not one of the messages,
    `fields` are the other fields of the body.

    Raises:
        InvalidValue: a message or a tool is invalid; the error names its index and the problem.
    """
    chosen = wire(format_of(messages) or "openai" if format is None else format)
    chat = counter(chosen.provider)
    read = [chosen.read(raw, i) for i, raw in enumerate(messages)]
    read = [read[i] for i in still_read(read, chosen)]
    if system:
        read.append(instructions(chosen, system))
    leads = bool(system) or any(message.role == "system" for message in read[:1])
    loaded = {name for message in read for name in loaded_tools(message)} if tools else set()
    offered = chat.tools(tools, system=leads, loaded=loaded)
    return sum(chat.units(message) for message in read) + offered.total + chat.fields(fields)[0] + chat.framing.reply
