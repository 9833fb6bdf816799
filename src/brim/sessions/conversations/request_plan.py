"""How a request is counted, how many tokens it may take, and what follows from that for its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brim.meter import BaseMeter
from brim.sessions.conversations.request import FittedRequest
from brim.sessions.learning.windows import Room, WindowLimits
from brim.wire.overflow import Overflow


@dataclass(kw_only=True, slots=True, eq=False)
class RequestPlan:
    """How a request is counted, and how many tokens it may take."""

    scale: BaseMeter
    chosen: Any
    """The meter, or its name, that was chosen in place of the model's own."""
    limits: WindowLimits
    room: Room | None
    """`None` if the window of the model is unknown."""
    server: str = ""

    def over(self, request: FittedRequest) -> bool:
        """Return whether a request and its longest answer exceed the window together."""
        answer, room = request.input.answer, request.room
        return answer is not None and room is not None and (request.used or 0) + answer > room.window

    def lowered(self, request: FittedRequest) -> int | None:
        """Return the tokens to ask for the answer if they have to be lowered; `None` if not."""
        asked, room, used = request.input.answer, request.room, request.used
        if not self.limits.lower_answer or asked is None or room is None or room.answer is None or used is None:
            return None
        left = room.window - used
        return left if 0 < left < asked else None

    def ceiling(self, request: FittedRequest, overflow: Overflow) -> int | None:
        """Return the tokens that a refused request may take when it is sent again; `None` leaves that to its room."""
        overflow = overflow.beside(request.input.answer)
        if overflow.reply and not overflow.accepted and self.limits.lower_answer:
            return None
        refused = overflow.sent if request.report is not None and overflow.sent else request.used or 0
        return max(1, int(refused * overflow.retry_share))
