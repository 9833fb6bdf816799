"""Which keys a gateway has seen, so that none of them is taken for the name of a model or of a conversation.

Names are stored and shown to others. A client that sends the key of another client as a name must not place it there.
No key is kept: only its length and its hash by the random hash of this process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

_MOST = 4_096
"""Keys that are remembered, the newest."""
_SHORTEST = 8
"""Characters of the shortest key: a shorter one may well be a name."""
_LONGEST_NAME = 1_024
"""Characters of a name that are searched; no more of it is ever shown."""


class SeenKeys:
    """The keys that clients have sent, and those of the settings."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._seen: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._lengths: dict[int, int] = {}
        self.see(keys)

    def see(self, keys: Iterable[str]) -> None:
        """Remember keys."""
        for key in keys:
            if len(key) < _SHORTEST:
                continue
            mark = (len(key), hash(key))
            if mark not in self._seen:
                self._lengths[len(key)] = self._lengths.get(len(key), 0) + 1
            self._seen[mark] = None
            self._seen.move_to_end(mark)
            while len(self._seen) > _MOST:
                (length, _), _ = self._seen.popitem(last=False)
                self._lengths[length] -= 1
                if not self._lengths[length]:
                    del self._lengths[length]

    def found(self, names: Iterable[str]) -> list[str]:
        """Return the keys that stand in names."""
        seen, found = self._seen, []
        for name in {each[:_LONGEST_NAME] for each in names}:
            for length in self._lengths:
                starts = range(len(name) - length + 1)
                found += [key for i in starts if (length, hash(key := name[i : i + length])) in seen]
        return found
