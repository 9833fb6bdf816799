"""The plan of a request: how it is counted, how many tokens it may take, and what a refusal of it can mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brim.files.json_strings import map_strings
from brim.meter import BaseMeter
from brim.sessions.learning.reported_prompt import LOOSEST, TOKENS
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import Room, WindowLimits
from brim.wire.base import jsonable
from brim.wire.overflow import Overflow


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestPlan:
    """How a request is counted, and how many tokens it may take."""

    scale: BaseMeter
    chosen: Any
    """The meter, or its name, to use instead of the model's own."""
    limits: WindowLimits
    room: Room | None
    """`None` if the window of the model is unknown."""
    scope: LearningScope
    """The scope of what brim learns from the request."""
    summary_of: str = ""
    """The agent that requests a summary of its conversation with this request; empty for other requests."""
    retried: bool = False
    """Whether an earlier form of the request was refused."""
    refused_in: str = ""
    """The conversation in which it was refused; empty if there was none."""
    most: int | None = None
    """A lower limit in tokens after a refusal."""

    def lowers_answer(self, overflow: Overflow) -> bool:
        """Return whether a lower answer limit suffices after a refusal."""
        reply, limit = overflow.reply or 0, overflow.limit or 0
        return reply > 0 and not overflow.accepted and self.limits.lowers(reply, limit)

    def believed(self, request: RequestInput, used: int, overflow: Overflow) -> Overflow:
        """Return a refusal without numbers that cannot belong to the refused prompt of `used` tokens.

        A server may quote text of the client, and a number may count something else, such as bytes or the answer.
        """
        if any(map(str.isdigit, overflow.reason)) and _wrote(request, overflow.reason):
            return overflow.without_numbers()
        told = overflow.beside(request.answer, used)
        if told.accepted or told.limit is None or not used or self.scale.unit not in TOKENS:
            return told
        if told.sent is None:
            possible = told.limit < used * LOOSEST + (request.answer or 0)
        else:
            possible = told.sent <= used * LOOSEST and used <= told.sent * LOOSEST
            possible = possible and told.limit <= told.sent + (told.reply or 0)
        return told if possible else told.without_numbers()


def _wrote(sent: RequestInput, phrase: str) -> bool:
    """Return whether a phrase occurs anywhere in a client's request."""
    texts: list[str] = []

    def look(text: str) -> str:
        texts.append(text)
        return text

    map_strings([sent.model, *map(jsonable, (sent.messages, sent.tools, sent.system, sent.fields))], look, keys=True)
    return any(phrase in text for text in texts)
