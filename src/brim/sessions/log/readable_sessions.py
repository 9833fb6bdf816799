"""The sessions of a store that an asker may read, and their dropped texts.

The conversations of a gateway belong to its clients. All other sessions belong to the user who opens the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brim.sessions.log.dropped_texts import DroppedTexts
from brim.sessions.log.overview import GATEWAY, Overview, overview
from brim.store.base import SessionRow, Store


class ReadableSessions:
    """The sessions with these names; without names, all sessions that no gateway wrote."""

    def __init__(self, store: Store, names: Sequence[str] = ()) -> None:
        self.store = store
        """The store that has them."""
        self._names = frozenset(names)

    def overview(self, session: str | None = None) -> Overview:
        """Return the overview of the sessions.

        Raises:
            UnknownName: none of them has this id; the error names no other session.
        """
        return overview(self.store, session, may_read=self._may_read)

    def texts(self, session: str | None = None) -> DroppedTexts:
        """Return the dropped texts of a session, or of the one that was last written.

        Raises:
            UnknownName: none of the sessions has this id.
        """
        found = self.overview(session)
        rows = [row for row in (found.current, *found.gateway) if row is not None]
        newest = max(rows, key=lambda row: row.updated, default=None)
        name = session or (newest.id if newest is not None else "")
        return DroppedTexts(self.store if name else None, name)

    def _may_read(self, row: SessionRow) -> bool:
        if self._names:
            return row.id in self._names
        # A row without a status may be that of a gateway which has not written it yet.
        return row.meta.get("kind") != GATEWAY and isinstance(row.meta.get("status"), Mapping)
