"""The conversations that had to be cut, so that the next prompt of each begins like the last one.

What is held is in memory, and in the store where there is one: several gateways that share a store cut alike. A
conversation that fits has no state.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from brim.gateway.keeping import Keeping
from brim.history.stable import Stable
from brim.meter import Scale
from brim.sessions.shelf import Shelf
from brim.sessions.view import View, held_dict, held_from
from brim.store.base import META

KIND, PREFIX = "gateway", "gateway-prefix"
"""Kinds of documents: the cut of a conversation by its name, and its name by how it begins."""
_LOOKED = 12
"""Beginnings, the longest first, that are looked for in a store."""
_MOST_CHARS = 64 * 1024 * 1024
"""Characters of all bodies whose messages are kept in memory."""


class HeldConversation:
    """One conversation."""

    def __init__(self, name: str, keeping: Keeping) -> None:
        self.name = name
        self.lock = asyncio.Lock()
        """Held while it is fitted: one at a time, in the order in which requests came."""
        self.view: View | None = None
        self.shelf = Shelf(keeping.store, name)
        self.size = 0
        self.recalls = False
        """Whether the model was offered to recall what left."""
        self.mark = ""
        """The fingerprint of its newest request."""
        self._keeping = keeping
        self._version = 0
        self._cut: Any = None

    def show(self, messages: Sequence[Any], scale: Scale, format: str, *, stable: bool) -> View:
        """Return the view of a request's messages, with the cut that is held."""
        held = self._load(scale)
        view = self.view
        if view is not None and held is None and view.history.book.meter is scale and _begins(messages, view.messages):
            view.extend(messages[len(view.messages) :])
            return view
        kept = held if stable and held is not None else stable
        self.view = View(scale, messages, stable=kept, format=format)
        return self.view

    def shelve(self, texts: dict[str, str]) -> None:
        """Keep what left the prompt, so that the model can recall it."""
        if texts:
            self._keeping.write(self.name, [], texts)
            self.shelf.put(texts)

    def keep(self, scale: Scale, told: dict[str, Any]) -> None:
        """Write down the cut that is held now, and what the last prompt was."""
        view = self.view
        if self._keeping.store is None or view is None:
            return
        self._keeping.write(self.name, [("prompt", told), (META, {"kind": "gateway", "status": told})], {})
        stable = view.history.stable
        held = stable.held if stable is not None else None
        cut = None if held is None else (held.anchor, held.resume, held.note, tuple(held.edits))
        if cut is None or cut == self._cut:
            return
        body = {"held": held_dict(stable), "meter": scale.name}
        version = self._keeping.save(KIND, self.name, body, self._version)
        if version is not None:  # If not, another gateway cut first; its cut is taken with the next request.
            self._version, self._cut = version, cut

    def _load(self, scale: Scale) -> Stable | None:
        """Return the cut that another gateway has made, if one did."""
        saved = self._keeping.load(KIND, self.name)
        if saved is None or saved.version == self._version:
            return None
        self._version = saved.version
        held = held_from(saved.body["held"]) if saved.body.get("meter") == scale.name else None
        return None if held is None else Stable(held=held)


class HeldConversations:
    """The conversations that are known, the longest unused going first."""

    def __init__(self, most: int, keeping: Keeping) -> None:
        self._most = most
        self._keeping = keeping
        self._talks: OrderedDict[str, HeldConversation] = OrderedDict()
        self._marks: dict[str, str] = {}
        self._chars = 0

    def __len__(self) -> int:
        return len(self._talks)

    def get(self, name: str) -> HeldConversation:
        """Return the conversation of a name."""
        found = self._talks.get(name)
        if found is None:
            found = self._talks[name] = HeldConversation(name, self._keeping)
        self._talks.move_to_end(name)
        return found

    def begun(self, marks: Sequence[str]) -> str | None:
        """Return the name of the conversation that a request goes on with, by the fingerprints of its beginnings."""
        return next((name for mark in reversed(marks) if (name := self._marks.get(mark)) is not None), None)

    def stored(self, marks: Sequence[str]) -> str | None:
        """Return the same from the store, where another gateway may have written it."""
        if self._keeping.store is None:
            return None
        for mark in list(reversed(marks))[:_LOOKED]:
            if (saved := self._keeping.load(PREFIX, mark)) is not None:
                return str(saved.body["talk"])
        return None

    def moved(self, talk: HeldConversation, mark: str, size: int) -> None:
        """Take note of a conversation's newest request, and let go of what is over the bounds."""
        if mark and mark != talk.mark:
            self._marks.pop(talk.mark, None)
            self._marks[mark] = talk.name
            talk.mark = mark
        self._chars += size - talk.size
        talk.size = size
        while len(self._talks) > self._most or (self._chars > _MOST_CHARS and len(self._talks) > 1):
            oldest = next((each for each in self._talks.values() if each is not talk and not each.lock.locked()), None)
            if oldest is None:
                return
            del self._talks[oldest.name]
            self._marks.pop(oldest.mark, None)
            self._chars -= oldest.size

    def noted(self, talk: HeldConversation, before: str, mark: str) -> None:
        """Write down in the store how a conversation without a name begins now."""
        if not mark or mark == before or self._keeping.save(PREFIX, mark, {"talk": talk.name}, 0) is None:
            return
        if before:
            self._keeping.forget(PREFIX, before)


def _begins(messages: Sequence[Any], known: Sequence[Any]) -> bool:
    """Return whether messages begin with those that are known."""
    return len(known) <= len(messages) and all(map(_same, messages, known))


def _same(one: Any, other: Any) -> bool:
    return bool(one == other)
