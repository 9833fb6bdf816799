"""What a prompt holds beside its conversation: the system prompt, the tools, and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.history.fitted import Fitted
from brim.history.history import Tools
from brim.meter.base import Scale
from brim.receipts.receipt import Part, Receipt, handle, losses
from brim.receipts.section import Priority, Section
from brim.sections.fit import fit
from brim.sessions.view import View

HEAD = "## Memory"
"""What stands over memory in a prompt."""
_KINDS = ("pinned", "recalled")

Memory = str | Sequence[str] | Mapping[str, "str | Sequence[str]"]
"""A text, entries with the best first, or both kinds by name: what is pinned is served before what is recalled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aside:
    """What stands beside the conversation, as it will be sent."""

    system: Any = None
    tools: Tools | None = None
    memory: str = ""
    size: int = 0
    """Units of all of the memory that was given."""
    cut: bool = False
    """Whether some of it is left out."""

    @classmethod
    def of(
        cls, system: Any, tools: Tools | None, memory: Memory | None, limit: int, scale: Scale, *, pinned: str = ""
    ) -> Aside:
        """Return what is sent beside the conversation, with memory cut to a limit and what is pinned before it.

        Raises:
            InvalidValue: memory that cannot be.
        """
        sections = _sections(memory)
        if not sections:
            return cls(system=system, tools=tools, memory=pinned, size=scale.count(pinned))
        room = max(0, limit - scale.load(HEAD + "\n\n"))
        whole = sum(scale.count(section.text) for section in sections) + scale.count(pinned)
        made = fit(sections, room, meter=scale)
        text = "\n\n".join([*([pinned] if pinned else []), *([HEAD, made.text] if made.text.strip() else [])])
        return cls(system=system, tools=tools, memory=text, size=whole, cut=made.receipt.truncated)

    def room(self, view: View) -> int:
        """Return the units to leave free for memory."""
        book = view.history.book
        return book.chat.frame("user") + book.chat.text(self.memory) if self.memory else 0

    def units(self, view: View) -> int:
        """Return the units of all of it, with what primes the reply."""
        beside, _ = view.history.beside(self.tools, self.system)
        return sum(beside.values()) + self.room(view)

    def placed(self, fitted: Fitted, view: View, budget: int) -> Fitted:
        """Return a fitted conversation with memory at its end, and the system prompt first where it is a message.

        At the end memory may change from prompt to prompt, and everything before it is still found in the cache.
        """
        book, messages = view.history.book, fitted.messages
        wire, units = book.wire, 0
        if self.memory:
            if wire.pairs and messages and wire.read(messages[-1], 0).role == "user":
                messages, units = [*messages[:-1], wire.append(messages[-1], self.memory)], book.chat.text(self.memory)
            else:
                messages, units = [*messages, wire.say(self.memory)], self.room(view)
        if self.system and wire.name == "openai":
            messages = [{"role": "system", "content": self.system}, *messages]
        return Fitted(
            messages,
            fitted.used + units,
            budget,
            fitted.stable,
            self._receipt(fitted, units, budget),
            _prefix=lambda: fitted.stable_prefix,
        )

    def _receipt(self, fitted: Fitted, units: int, budget: int) -> Callable[[], Receipt]:
        """Return what writes the receipt: that of the conversation, with memory as one more part."""

        def write() -> Receipt:
            receipt = fitted.receipt
            if not self.memory:
                return receipt
            reason = "it was cut to the room for memory" if self.cut else "it fits whole"
            size = max(self.size, units + 1) if self.cut else units
            told = (int(Priority.HIGH), False, size, units, units, units, reason, handle(self.memory))
            part = Part("memory", "cut" if self.cut else "whole", *told)
            used, parts = receipt.used + units, (*receipt.parts, part)
            return replace(receipt, budget=budget, used=used, upper=used, parts=parts, losses=losses(parts))

        return write


def _sections(memory: Memory | None) -> list[Section]:
    """Return memory as sections, what is pinned first.

    Raises:
        InvalidValue: it is no memory.
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
            raise InvalidType(f"memory {kind}", content, "a text or a list of texts")
    return [
        Section(kind, kinds[kind], priority="high" if kind == "pinned" else "medium", keep=_keep(kinds[kind]))
        for kind in _KINDS
        if kinds.get(kind)
    ]


def _keep(content: str | Sequence[str]) -> str:
    return "head" if isinstance(content, str) else "best"
