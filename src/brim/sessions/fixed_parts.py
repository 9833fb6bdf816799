"""The parts of a prompt outside the history: the system prompt, the tools, and memory.

Memory comes last, so that changes to it do not affect the cached prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from brim.errors import InvalidType, InvalidValue
from brim.history.history import Tools
from brim.history.result import Fitted
from brim.meter.base import BaseMeter
from brim.receipts.receipt import Part, Receipt, handle, losses
from brim.receipts.section import Priority, Section
from brim.sections.fit import fit
from brim.sessions.context import Context
from brim.wire import Wire

HEAD = "## Memory"
"""The heading above memory in a prompt."""
_KINDS = ("pinned", "recalled")

Memory = str | Sequence[str] | Mapping[str, "str | Sequence[str]"]
"""A text, entries with the best first, or a mapping with both kinds; pinned memory takes precedence over recalled
memory.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedParts:
    """The parts outside the history, as they will be sent."""

    system: Any = None
    tools: Tools | None = None
    fields: Mapping[str, Any] | None = None
    """The other fields of the request."""
    memory: str = ""
    size: int = 0
    """Tokens of the whole memory."""
    cut: bool = False
    """Whether some of the memory is dropped."""
    sections: tuple[Section, ...] = field(default=(), repr=False)
    """The whole memory."""
    scale: BaseMeter | None = field(default=None, repr=False, compare=False)
    _extra: dict[Any, tuple[dict[str, int], bool]] = field(default_factory=dict, repr=False, compare=False)
    """The tokens outside the history, by the counter for its messages."""

    @classmethod
    def of(
        cls,
        system: Any,
        tools: Tools | None,
        memory: Memory | None,
        limit: int,
        scale: BaseMeter,
        *,
        fields: Mapping[str, Any] | None = None,
    ) -> FixedParts:
        """Return the parts, with memory cut to a limit.

        Raises:
            InvalidValue: the memory is invalid.
        """
        sections = tuple(_sections(memory))
        parts = cls(system=system, tools=tools, fields=fields, sections=sections, scale=scale)
        return parts.with_memory(limit)

    def with_memory(self, limit: int) -> FixedParts:
        """Return the parts with memory cut to a limit in tokens."""
        scale = self.scale
        if scale is None or not self.sections:
            return self
        whole = sum(scale.count(section.text) for section in self.sections)
        made = fit(self.sections, max(0, limit - scale.load(HEAD + "\n\n")), meter=scale)
        text = f"{HEAD}\n\n{made.text}" if made.text.strip() else ""
        return replace(self, memory=text, size=whole, cut=made.receipt.truncated)

    @property
    def before(self) -> dict[str, Any]:
        """The parts before the messages."""
        return {"tools": self.tools, "system": self.system, "fields": self.fields}

    def room(self, context: Context) -> int:
        """Return the tokens of memory as a message."""
        turns = context.history.turns
        return turns.chat.frame("user") + turns.chat.text(self.memory) if self.memory else 0

    def units(self, context: Context) -> int:
        """Return the tokens of all parts, including those that start the reply."""
        beside, _ = self.extra(context)
        return sum(beside.values()) + self.room(context)

    def extra(self, context: Context) -> tuple[dict[str, int], bool]:
        """Return the tokens of a prompt except messages and memory, by name, and whether they are exact."""
        turns = context.history.turns
        key = (turns.chat, bool(turns.leading), turns.loaded)
        if key not in self._extra:
            self._extra[key] = context.history.extra_units(**self.before)
        return self._extra[key]

    def placed(self, fitted: Fitted, context: Context, budget: int) -> Fitted:
        """Return a fitted history with memory at its end, and the system prompt first if it is a message."""
        turns, messages = context.history.turns, fitted.messages
        wire, units = turns.wire, 0
        if self.memory:
            at = _last_said(messages, wire) if wire.pairs else None
            if at is not None:
                messages = [*messages[:at], wire.append(messages[at], self.memory), *messages[at + 1 :]]
                units = turns.chat.text(self.memory)
            else:
                messages, units = [*messages, wire.say(self.memory)], self.room(context)
        if self.system and wire.name == "openai":
            messages = [{"role": "system", "content": self.system}, *messages]
        return Fitted(
            messages,
            fitted.used + units,
            budget,
            fitted.last,
            self._receipt(fitted, units, budget),
            stable_prefix=fitted.stable_prefix,
            settled=fitted.settled,
            shared=fitted.shared,
        )

    def _receipt(self, fitted: Fitted, units: int, budget: int) -> Callable[[], Receipt]:
        """Return a function that writes the receipt of the history with memory as one more part."""

        def write() -> Receipt:
            receipt = fitted.receipt
            if not self.memory:
                return receipt
            reason = "it was cut to the room for memory" if self.cut else "it fits whole"
            size = max(self.size, units + 1) if self.cut else units
            told = (int(Priority.HIGH), False, size, units, units, units, reason, handle(self.memory))
            part = Part("memory", "cut" if self.cut else "whole", *told)
            used, parts = receipt.used + units, (*receipt.parts, part)
            upper = receipt.upper + units
            return replace(receipt, budget=budget, used=used, upper=upper, parts=parts, losses=losses(parts))

        return write


def _last_said(messages: Sequence[Any], wire: Wire) -> int | None:
    """Return the index of the last message, ignoring system messages at the end, if it is the user's."""
    for at in range(len(messages) - 1, -1, -1):
        role = wire.read(messages[at], at).role
        if role != "system":
            return at if role == "user" else None
    return None


def _sections(memory: Memory | None) -> list[Section]:
    """Return memory as sections, pinned memory first.

    Raises:
        InvalidValue: the memory is invalid.
    """
    if memory is None:
        return []
    kinds = memory if isinstance(memory, Mapping) else {"recalled": memory}
    for kind, content in kinds.items():
        if kind not in _KINDS:
            raise InvalidValue("memory: a key", kind, "'pinned' or 'recalled'")
        if not isinstance(content, str) and not (
            isinstance(content, Sequence) and all(isinstance(entry, str) for entry in content)
        ):
            raise InvalidType(f"memory {kind}", content, "a string or a list of strings")
    return [
        Section(kind, kinds[kind], priority="high" if kind == "pinned" else "medium", keep=_keep(kinds[kind]))
        for kind in _KINDS
        if kinds.get(kind)
    ]


def _keep(content: str | Sequence[str]) -> Literal["head", "best"]:
    return "head" if isinstance(content, str) else "best"
