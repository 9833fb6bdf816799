"""How a request is counted, how many tokens it may take, and what follows from that for its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brim.files.json_strings import map_strings
from brim.meter import BaseMeter
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.learning.model_meter import TOKENS
from brim.sessions.learning.request_input import RequestInput
from brim.sessions.learning.scope import LearningScope
from brim.sessions.learning.windows import Room, WindowLimits
from brim.wire.base import jsonable
from brim.wire.overflow import Overflow

_PLAUSIBLE = 3
"""The factor by which the numbers of a server and our count differ at the most, if both are of the same prompt."""


@dataclass(kw_only=True, slots=True, eq=False)
class RequestPlan:
    """How a request is counted, and how many tokens it may take."""

    scale: BaseMeter
    chosen: Any
    """The meter, or its name, that was chosen in place of the model's own."""
    limits: WindowLimits
    room: Room | None
    """`None` if the window of the model is unknown."""
    scope: LearningScope
    """For whom holds what the request teaches."""

    def over(self, request: FittedRequest) -> bool:
        """Return whether a request and its longest answer exceed the window together."""
        answer, room = request.input.answer, request.room
        return answer is not None and room is not None and (request.used or 0) + answer > room.window

    def lowered(self, request: FittedRequest) -> int | None:
        """Return the tokens to ask for the answer if they have to be lowered; `None` if not."""
        asked, room, used = request.input.answer, request.room, request.used
        if asked is None or room is None or not room.lowers or room.answer is None or used is None:
            return None
        left = room.window - used
        return left if 0 < left < asked else None

    def ceiling(self, request: FittedRequest, overflow: Overflow) -> int | None:
        """Return the tokens that a refused request may take when it is sent again; `None` leaves that to its room."""
        overflow = self.believed(request, overflow)
        if overflow.reply and not overflow.accepted and self.limits.lowers(overflow.reply, overflow.limit or 0):
            return None
        refused = overflow.sent if request.report is not None and overflow.sent else request.used or 0
        return max(1, int(refused * overflow.retry_share))

    def believed(self, request: FittedRequest, overflow: Overflow) -> Overflow:
        """Return what a refusal says, without numbers that cannot be those of the refused prompt.

        A server may quote what the client sent, and a number may be that of something else: of the bytes, or of the
        answer. What the client wrote itself is no word of the server.
        """
        used, sent = request.used or 0, request.input
        if any(map(str.isdigit, overflow.reason)) and _wrote(sent, overflow.reason):
            return overflow.without_numbers()
        told = overflow.beside(sent.answer, used)
        if told.accepted or told.limit is None or not used or self.scale.unit not in TOKENS:
            return told
        if told.sent is None:
            possible = told.limit < used * _PLAUSIBLE + (sent.answer or 0)
        else:
            possible = told.sent <= used * _PLAUSIBLE and used <= told.sent * _PLAUSIBLE
            possible = possible and told.limit <= told.sent + (told.reply or 0)
        return told if possible else told.without_numbers()


def _wrote(sent: RequestInput, phrase: str) -> bool:
    """Return whether a client wrote a phrase itself, anywhere in its request."""
    texts: list[str] = []

    def look(text: str) -> str:
        texts.append(text)
        return text

    map_strings([sent.model, *map(jsonable, (sent.messages, sent.tools, sent.system, sent.fields))], look, keys=True)
    return any(phrase in text for text in texts)
