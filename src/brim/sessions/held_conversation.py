"""A conversation without a log: only its cut is kept, so that the next prompt begins like the last one.

The cut is in memory, and in the store if there is one: processes that share a store cut alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brim.files.json_strings import map_strings
from brim.history.compact.secrets import redact
from brim.history.result import Fitted
from brim.history.stable import Stable
from brim.meter import BaseMeter
from brim.sessions import recall_tool as recall
from brim.sessions.beginning import bare, leading, said
from brim.sessions.context import Context, DroppedTurn, held_dict, held_from
from brim.sessions.conversation import Conversation, ConversationKey, listed
from brim.sessions.journal import Journal
from brim.sessions.prompt_step import dropped_lines
from brim.sessions.request import FittedRequest, RequestInput
from brim.sessions.sent_messages import folded
from brim.sessions.tolerant_store import TolerantStore
from brim.sessions.windows import Room

_MOST_CAPTURED = 4_000_000
"""Characters of a captured prompt in the log; a longer one has its sums alone."""
KIND = "gateway"
"""The kind of document in which a store keeps the cut of a conversation, by its name."""


class HeldConversation(Conversation):
    """A conversation of which the cut is kept."""

    def __init__(
        self,
        name: str,
        key: ConversationKey,
        store: TolerantStore,
        *,
        stable: bool = True,
        capture: bool = False,
    ) -> None:
        super().__init__(name, key)
        self.scale: BaseMeter | None = None
        """The meter that counts the next request."""
        self._journal = Journal(store.store, name, on_failure=store.failed)
        self.dropped = self._journal.dropped
        """The texts that were dropped while the model could recall them."""
        self._store = store
        self._stable = stable
        self._capture = capture
        self._context: Context | None = None
        self._version = 0
        self._cut: Any = None
        """The cut of the newest prompt."""
        self._saved: Any = None
        """The cut that the store has."""
        self._cuts = 0
        """How often it was cut."""
        self._indexed: tuple[Any, int, dict[int, int]] = (None, 0, {})
        """The messages that are known, and the indexes of so many of them."""

    @property
    def meter(self) -> BaseMeter:
        """The meter that counts its next request."""
        assert self.scale is not None
        return self.scale

    @property
    def known(self) -> Sequence[Any]:
        """The messages of its newest request."""
        return self._context.messages if self._context is not None else ()

    def fit(self, request: RequestInput, room: Room, most: int | None = None) -> FittedRequest:
        """Return the request that fits, cut as the one before if that still fits."""
        context = self._context = self._shown(request)
        history = context.history
        turns, tools = history.turns, request.tools
        extra, known = history.extra_units(tools, request.system, request.fields)
        exact = known and turns.meter.exact and not turns.chat.estimated
        count = context.units + sum(extra.values()) + request.extra
        correction = self.correction(count, request.messages)
        before = count + correction
        if most is None and before <= room.fits:
            return FittedRequest(
                messages=listed(request.messages),  # Not copied: there may be tens of thousands.
                places=range(len(request.messages)),
                input=request,
                before=before,
                room=room,
                correction=correction,
                exact=exact and not correction,
            )
        target = room.target if most is None else min(room.target, most)
        if request.recall:
            tools = [*(tools or ()), recall.tool(turns.wire.name)]
            extra, known = history.extra_units(tools, request.system, request.fields)
        history.show_handles = request.recall
        fitted = context.fit(
            max(0, self.budget(target, request.messages) - request.extra),
            before={"tools": tools, "system": request.system, "fields": request.fields},
            counted=(extra, known),
            capture=self._capture,
            pin=request.pin,
        )
        if request.recall:
            self._log_dropped(context.left_out(fitted.messages))
        places = self._places(fitted.messages, context.messages)
        made = FittedRequest(
            messages=[
                bare(raw) if at is None else request.messages[at]
                for raw, at in zip(fitted.messages, places, strict=True)
            ],
            places=places,
            input=replace(request, tools=tools),
            changed=True,
            before=before,
            room=replace(room, target=target),
            correction=self.correction(fitted.used + request.extra, fitted.messages),
            exact=exact and self.reported is None,
            dropped=self.dropped,
            fitted=fitted,
            recalls=request.recall,
            cut=self._counted(),
        )
        self._keep(made)
        return made

    def _shown(self, request: RequestInput) -> Context:
        """Return the context of a request: the one before with what is new, or another with the cut that is held."""
        scale, context, messages = self.meter, self._context, request.messages
        held = self._load()
        if context is not None and held is None and context.history.turns.meter is scale:
            had, first = self.continues(messages), leading(messages)
            self._compared = (None, None, None)
            if had is not None and [*map(said, messages[:first])] == [*map(said, context.messages[:first])]:
                context.extend(messages[had:])
                self._note_kinds(messages[had:], had)
                return context
        if held is None and context is not None:
            held = context.history.stable
        kept: Stable | bool = held if self._stable and held is not None else self._stable
        context = Context(scale, messages, stable=kept, format=request.format)
        self._note_kinds(messages, 0)
        return context

    def _places(self, sent: Sequence[Any], own: list[Any]) -> list[int | None]:
        """Return the index of each message that is sent as it came."""
        indexed, known, at = self._indexed
        if indexed is not own:
            known, at = 0, {}
        at.update((id(own[index]), index) for index in range(known, len(own)))
        self._indexed = own, len(own), at
        return [at.get(id(raw)) for raw in sent]

    def _log_dropped(self, turns: list[DroppedTurn]) -> None:
        """Log what was dropped, so that the model can recall it."""
        if turns:
            self._journal.append(dropped_lines(turns))
            assert self._context is not None
            self._context.kept()

    def _counted(self) -> int:
        """Return the number of the cut that the newest prompt made; 0 if it is cut as the one before."""
        assert self._context is not None
        stable = self._context.history.stable
        cut = None if stable is None or stable.held is None else stable.held.identity
        if cut is not None and cut == self._cut:
            return 0
        self._cut = cut
        self._cuts += 1
        return self._cuts

    def _keep(self, made: FittedRequest) -> None:
        """Write the cut that is held now, what the newest prompt was, and the receipt of a new cut."""
        context, fitted = self._context, made.fitted
        if self._store.store is None or context is None or fitted is None:
            return
        scale = context.history.turns.meter
        status = {
            "used": made.used,
            "budget": made.room.target if made.room is not None else None,
            "unit": scale.unit,
            "exact": made.exact,
            "messages": len(fitted.messages),
            "truncated": True,
            "model": self.key.model,
            "before": made.before,
            "window": made.room.window if made.room is not None else None,
            "cuts": self._cuts,
            "key": self.key.owner[0] if self.key.owner else "",
        }
        told = made.receipt if made.cut else None
        receipt = {} if told is None else {"receipt": {**told.to_dict(), "capture": None}}
        if self._capture:
            receipt = _captured(fitted, context) or receipt
        meta = {"kind": "gateway", "status": status}
        self._journal.append([("prompt", {**status, **receipt})], meta)
        if self._cut is None or self._cut == self._saved:
            return
        body = {"held": held_dict(context.history.stable), "cuts": self._cuts}
        version = self._store.save(KIND, self.name, body, self._version)
        if version is not None:  # If not, another process cut first; its cut is taken with the next request.
            self._version, self._saved = version, self._cut

    def _load(self) -> Stable | None:
        """Return the cut that another process has made, if one did."""
        saved = self._store.load(KIND, self.name)
        if saved is None or saved.version == self._version:
            return None
        self._version = saved.version
        self._cuts = max(self._cuts, saved.body.get("cuts", 0))
        held = held_from(saved.body["held"])
        if held is None:
            return None
        self._cut = self._saved = held.identity
        return Stable(held=held)


def _captured(fitted: Fitted, context: Context) -> dict[str, Any]:
    """Return a prompt with its texts, secrets masked; empty if it is too long to be kept."""
    values = {"receipt": fitted.receipt.to_dict(), "sent": folded(fitted.messages, context.messages)}
    if len(json.dumps(values)) > _MOST_CAPTURED:
        return {}
    masked: dict[str, Any] = map_strings(values, redact)
    return masked
